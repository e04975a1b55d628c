package secretary

import (
	"context"
	"sync"
	"sync/atomic"

	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/speech/player"
	"hako/run/fault"
)

// A Speaker speaks in the background, one text after the other. Engine is required,
// and a player or a file.
type Speaker struct {
	Engine *speech.Engine
	Player *player.Player // nil means that nothing is played
	File   string         // the WAV file to write; empty means none
	Warn   func(error)
	Speaks func() bool // whether she is to be heard just now; nil means always

	last   string      // what was warned of last
	failed atomic.Bool // what she said last could not be made heard
	queue  chan speech.Speech
	busy   sync.WaitGroup
}

// Begin speaks until ctx ends.
func (s *Speaker) Begin(ctx context.Context) {
	s.queue = make(chan speech.Speech, 16)
	go s.work(ctx)
}

// Unwritten says that the file which somebody asked for lacks what she said last.
func (s *Speaker) Unwritten() error {
	if s == nil || !s.failed.Load() {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "write", Subject: s.File,
		Why:  "what she said last is not in it, as there is no sound of that",
		Hint: "the warning above says what to do; her words are whole"}
}

// silent tells that nobody wants to hear her just now.
func (s *Speaker) silent() bool { return s.Speaks != nil && !s.Speaks() }

// Say implements [Voice].
func (s *Speaker) Say(_ context.Context, words Speech) error {
	if s.silent() {
		return nil
	}
	spoken, err := words.speech()
	if err != nil {
		return err
	}
	s.busy.Add(1)
	select {
	case s.queue <- spoken:
	default:
		s.busy.Done() // she is far behind already
	}
	return nil
}

func (s *Speaker) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case words := <-s.queue:
			err := s.speak(ctx, words)
			if s.failed.Store(err != nil && ctx.Err() == nil); s.failed.Load() {
				s.warnOnce(err)
			}
			s.busy.Done()
		}
	}
}

// warnOnce warns, but not of the same twice in a row.
func (s *Speaker) warnOnce(err error) {
	if why := err.Error(); why != s.last {
		s.last = why
		s.Warn(err)
	}
}

func (s *Speaker) speak(ctx context.Context, words speech.Speech) error {
	if s.silent() { // by now
		return nil
	}
	if s.File == "" {
		_, err := s.Engine.Speak(ctx, words, s.Player)
		return err
	}
	wav, err := s.Engine.Say(ctx, words)
	if err != nil || wav == nil {
		return err
	}
	return speech.WriteFile(s.File, wav)
}

// Wait returns when all is said, or ctx has ended.
func (s *Speaker) Wait(ctx context.Context) {
	if s == nil {
		return
	}
	done := make(chan struct{})
	go func() { s.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
