package term

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hako/gate"
	"hako/shell/stream"
)

// Ask returns a function that asks the person at the terminal, or nil if there is none, which means no.
func (s Streams) Ask() func(context.Context, gate.Question) (gate.Answer, error) {
	if !Is(s.In) || !Is(s.Err) {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		release, err := s.lock.hold(ctx)
		if err != nil {
			return gate.No, err
		}
		defer release()
		return s.askOne(ctx, q)
	}
}

// askOne asks a question while nobody else writes to the terminal.
func (s Streams) askOne(ctx context.Context, q gate.Question) (gate.Answer, error) {
	screen := fileOf(s.Err)
	s.settle(ctx, screen)
	text := questionText(q, sizeOf(screen))
	for range maxTries {
		line, err := s.readAnswer(ctx, screen, text)
		if err != nil && err != io.EOF {
			return gate.No, err
		}
		if a, clear := answer(line); clear || err == io.EOF {
			return a, nil
		}
		wait(ctx, pasteTime)
		text = whatAnswersMean + allow
	}
	fmt.Fprintln(screen, "hako: taken for no")
	return gate.No, nil
}

// settleTime is how long a terminal may take to process escape sequences of programs. Its replies, as to ESC [ 6 n or
// ENQ, must not answer a question.
const settleTime = 150 * time.Millisecond

// settle brings the terminal to a known state. Standard output may be a pipe to the same terminal, so its data is
// drained first, for at most a second.
func (s Streams) settle(ctx context.Context, screen *os.File) {
	if out := fileOf(s.Out); out != nil && !Is(out) {
		for end := time.Now().Add(time.Second); unread(out) > 0 && ctx.Err() == nil && time.Now().Before(end); {
			wait(ctx, 10*time.Millisecond)
		}
	}
	enableSequences(screen)
	_, _ = io.WriteString(screen, knownState)
	wait(ctx, settleTime)
}

// maxTries is how often a question is asked without a clear answer.
const maxTries = 3

// pasteTime is how long the rest of a pasted text may take to arrive: it must not answer the repeated question.
const pasteTime = 500 * time.Millisecond

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// readAnswer asks and returns the line that is typed afterwards. Earlier input is dropped, also before a repeated
// question.
func (s Streams) readAnswer(ctx context.Context, screen *os.File, question string) (string, error) {
	s.DropTyped()
	if _, err := io.WriteString(screen, question); err != nil {
		return "", err // the question was not shown
	}
	return bufio.NewReader(stream.WithContext(ctx, s.Keys)).ReadString('\n')
}

// DropTyped drops input that was typed before the question and so cannot be its answer.
func (s Streams) DropTyped() {
	if f, ok := s.In.(*os.File); ok {
		dropInput(f)
	}
	over, stop := context.WithCancel(context.Background())
	stop()
	if keys, ok := s.Keys.(*stream.Shared); ok {
		drain(stream.WithContext(over, keys)) // reads only what is buffered
	}
}

func drain(r io.Reader) {
	b := make([]byte, 4096)
	for {
		if _, err := r.Read(b); err != nil {
			return
		}
	}
}

// answer parses an answer. An unclear one is a no, unless the question is repeated.
func answer(line string) (a gate.Answer, clear bool) {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return gate.Once, true
	case "s", "session":
		return gate.Session, true
	case "n", "no", "":
		return gate.No, true
	}
	return gate.No, false
}
