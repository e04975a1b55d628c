package secretary

import (
	"context"
	"sync"
	"sync/atomic"

	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/speech/player"
	"hako/run/fault"
)

// A Speaker speaks in the background, one text after another. It needs an Engine, and a Player or a File.
type Speaker struct {
	Engine *speech.Engine
	Player *player.Player // nil means that nothing is played
	File   string         // WAV file to write; empty means none
	Warn   func(error)
	Speaks func() bool // whether the voice is on; nil means always

	last   string      // the last warning
	failed atomic.Bool // the last text could not be spoken
	queue  chan speech.Speech
	busy   sync.WaitGroup
}

// Begin starts the speaker, which runs until ctx ends.
func (s *Speaker) Begin(ctx context.Context) {
	s.queue = make(chan speech.Speech, 16)
	go s.work(ctx)
}

// Unwritten returns an error if the WAV file lacks the last text.
func (s *Speaker) Unwritten() error {
	if s == nil || !s.failed.Load() {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "write", Subject: s.File,
		Why:  "the last answer is not in it because it could not be spoken",
		Hint: "the warning above says what to do; the text of the answer is complete"}
}

func (s *Speaker) silent() bool { return s.Speaks != nil && !s.Speaks() }

// Say implements [Voice]. It drops the text if too many are waiting.
func (s *Speaker) Say(_ context.Context, words speech.Speech) error {
	if s.silent() {
		return nil
	}
	s.busy.Add(1)
	select {
	case s.queue <- words:
	default:
		s.busy.Done()
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

// warnOnce does not repeat a warning.
func (s *Speaker) warnOnce(err error) {
	if why := err.Error(); why != s.last {
		s.last = why
		s.Warn(err)
	}
}

func (s *Speaker) speak(ctx context.Context, words speech.Speech) error {
	if s.silent() {
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

// Wait returns when everything was spoken, or ctx ends.
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
