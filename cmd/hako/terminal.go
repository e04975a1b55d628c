package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"hako/gate"
	"hako/shell/stream"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// askAt returns what puts a question to the person at the terminal, or nil if
// nobody is there: then the answer is no. All that ask at a terminal ask by it.
func askAt(s streams) func(context.Context, gate.Question) (gate.Answer, error) {
	if !isTerminal(s.in) || !isTerminal(s.err) {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		release, err := s.lock.hold(ctx)
		if err != nil {
			return gate.No, err
		}
		defer release()
		return s.put(ctx, q)
	}
}

// put puts a question at the terminal, on which nobody else writes meanwhile.
func (s streams) put(ctx context.Context, q gate.Question) (gate.Answer, error) {
	screen := fileOf(s.err)
	s.settle(ctx, screen)
	text := questionText(q, sizeOf(screen))
	for range mostTries {
		line, err := s.answerTo(ctx, screen, text)
		if err != nil && err != io.EOF {
			return gate.No, err
		}
		if a, clear := answer(line); clear || err == io.EOF {
			return a, nil
		}
		wait(ctx, afterthought)
		text = whatAnswersMean + allow
	}
	fmt.Fprintln(screen, "hako: taken for no")
	return gate.No, nil
}

// settling is how long a terminal may take to do what programs have asked of it:
// what it types by itself meanwhile, as an answer to ESC [ 6 n or ENQ, answers no
// question.
const settling = 150 * time.Millisecond

// settle brings the terminal to a known state. A pipe that standard output is may
// lead to the same terminal: what is in it is read first, if that does not take
// long.
func (s streams) settle(ctx context.Context, screen *os.File) {
	if out := fileOf(s.out); out != nil && !isTerminal(out) {
		for end := time.Now().Add(time.Second); unread(out) > 0 && ctx.Err() == nil && time.Now().Before(end); {
			wait(ctx, 10*time.Millisecond)
		}
	}
	enableSequences(screen)
	_, _ = io.WriteString(screen, knownState)
	wait(ctx, settling)
}

// mostTries is how often a question is put to somebody who gives no clear answer.
const mostTries = 3

// afterthought is within what time of an unclear line the rest of it comes: of
// text that was pasted, it must not answer the question that is put again.
const afterthought = 500 * time.Millisecond

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// answerTo puts a question and returns the line that is typed after it. What was
// typed before does not count, for a question that is put again neither: it was
// meant for another.
func (s streams) answerTo(ctx context.Context, screen *os.File, question string) (string, error) {
	forgetTyped(s)
	if _, err := io.WriteString(screen, question); err != nil {
		return "", err // nobody has seen it
	}
	return bufio.NewReader(stream.Patient(ctx, s.keys)).ReadString('\n')
}

// forgetTyped drops what was typed before there was a question: nobody can have
// meant it for an answer.
func forgetTyped(s streams) {
	if f, ok := s.in.(*os.File); ok {
		dropInput(f)
	}
	over, stop := context.WithCancel(context.Background())
	stop()
	if keys, ok := s.keys.(*stream.Shared); ok {
		drain(stream.Patient(over, keys)) // which only gets what is there already
	}
}

// drain reads until there is nothing more.
func drain(r io.Reader) {
	b := make([]byte, 4096)
	for {
		if _, err := r.Read(b); err != nil {
			return
		}
	}
}

// answer reads an answer. One that is not clear is a no, unless it is asked for
// again.
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
