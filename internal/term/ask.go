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

// Ask returns what puts a question to the person at the terminal, or nil if
// nobody is there: then the answer is no. All questions at a terminal are put by it.
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
		return s.put(ctx, q)
	}
}

// put puts a question at the terminal, on which nobody else writes meanwhile.
func (s Streams) put(ctx context.Context, q gate.Question) (gate.Answer, error) {
	screen := FileOf(s.Err)
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
func (s Streams) settle(ctx context.Context, screen *os.File) {
	if out := FileOf(s.Out); out != nil && !Is(out) {
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
func (s Streams) answerTo(ctx context.Context, screen *os.File, question string) (string, error) {
	s.ForgetTyped()
	if _, err := io.WriteString(screen, question); err != nil {
		return "", err // nobody has seen it
	}
	return bufio.NewReader(stream.WithContext(ctx, s.Keys)).ReadString('\n')
}

// ForgetTyped drops what was typed before there was a question: nobody can have
// meant it for an answer.
func (s Streams) ForgetTyped() {
	if f, ok := s.In.(*os.File); ok {
		dropInput(f)
	}
	over, stop := context.WithCancel(context.Background())
	stop()
	if keys, ok := s.Keys.(*stream.Shared); ok {
		drain(stream.WithContext(over, keys)) // which only gets what is there already
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
