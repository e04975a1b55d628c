package speech

import (
	"context"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"hako/run/fault"
)

// A Player plays a WAV and returns at its end.
type Player interface {
	Play(ctx context.Context, wav []byte) error
}

// playSlack is how much longer than the sound a player may take.
const playSlack = 10 * time.Second

// Say returns a speech as one WAV; nil means that there is nothing to speak.
func (e *Engine) Say(ctx context.Context, s Speech) ([]byte, error) { return e.Speak(ctx, s, nil) }

// Speak is Say with a player, which gets the first sentences while the next ones are made. If the player
// fails, the whole sound is returned with its error. A nil player plays nothing.
func (e *Engine) Speak(ctx context.Context, s Speech, by Player) ([]byte, error) {
	var whole sound
	var silent error // why playing stopped
	for piece, err := range e.pieces(ctx, s) {
		if err != nil {
			return nil, err
		}
		if err := whole.add(piece); err != nil {
			return nil, e.problem(fault.TooLarge, err.Error(), "ask for a shorter answer")
		}
		if by != nil && silent == nil {
			silent = play(ctx, by, piece)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if whole.format == nil {
		return nil, nil
	}
	return whole.wav(), silent
}

// play bounds the time of a player: one that waits for a missing sound card would block everything.
func play(ctx context.Context, by Player, s *sound) error {
	allowed := s.length() + playSlack
	ctx, cancel := context.WithTimeoutCause(ctx, allowed, &fault.Error{Kind: fault.Timeout, Op: "play sound",
		Why:      fmt.Sprintf("the player did not end within %v", allowed.Round(time.Second)),
		Hint:     "check the sound card, or set speech.enabled to false",
		FlagHint: "check the sound card, or go without sound: --no-audio"})
	defer cancel()
	return by.Play(ctx, s.wav())
}

// pieces yields the sound of a speech part by part, and makes the next one meanwhile.
func (e *Engine) pieces(ctx context.Context, s Speech) iter.Seq2[*sound, error] {
	return func(yield func(*sound, error) bool) {
		texts := split(speakable(s.Text), maxPiece)
		if len(texts) == 0 {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		made := make(chan part)
		go e.synthesise(ctx, s, texts, made)
		defer func() {
			cancel()
			for range made { // wait for the other goroutine
			}
		}()
		for p := range made {
			if !yield(p.sound, p.err) || p.err != nil {
				return
			}
		}
	}
}

type part struct {
	sound *sound
	err   error
}

// synthesise makes the parts of a speech until an error.
func (e *Engine) synthesise(ctx context.Context, s Speech, texts []string, made chan<- part) {
	defer close(made)
	voice, err := e.voice(ctx, s.Voice)
	if err != nil {
		made <- part{err: err}
		return
	}
	asWritten := len(texts) == 1 && texts[0] == strings.TrimSpace(s.Text)
	if !asWritten {
		s.Accents = nil // they belong to another text
	}
	s.Voice, s.Tone = voice, s.Tone.Clamped()
	for _, text := range texts {
		s.Text = text
		p, err := e.synthesis(ctx, &s)
		made <- part{p, err}
		if err != nil {
			return
		}
	}
}

// synthesis makes one part. After a server error, which unusual tones cause, it retries with a neutral tone
// and keeps that for the rest of the speech.
func (e *Engine) synthesis(ctx context.Context, s *Speech) (*sound, error) {
	made, err := e.sound(ctx, "/v1/synthesis", s)
	if statusOf(err) != http.StatusInternalServerError {
		return made, err
	}
	s.Tone = s.Tone.neutralized()
	return e.sound(ctx, "/v1/synthesis", s)
}

// sound requests a WAV.
func (e *Engine) sound(ctx context.Context, path string, body any) (made *sound, err error) {
	err = e.ask(ctx, request{path: path, body: body, accept: "audio/wav", wait: e.Wait}, func(resp *http.Response) error {
		if kind := mediaType(resp); !strings.HasPrefix(kind, "audio/") || !strings.Contains(kind, "wav") {
			return e.problem(fault.Unavailable, fmt.Sprintf("it answered with %s where sound was asked for",
				oneLine(kind, maxName)), "check that a COEIROINK v2 engine listens there")
		}
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if made, err = parse(data); err != nil {
			return e.problem(fault.Unavailable, "what it sent cannot be played: "+err.Error(), "try again, or update COEIROINK")
		}
		return nil
	})
	return made, err
}

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "" {
		return "something"
	}
	return kind
}
