package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"hako/internal/fault"
	"hako/internal/gate"
	"hako/internal/markdown"
	"hako/internal/stream"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// reasonOf strips the operation and path from an error of package os; our own
// errors name both already.
func reasonOf(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// clock returns the clock of a session: the real one, or one that stands still.
func clock(text string) (func() time.Time, error) {
	if text == "" {
		return time.Now, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "set clock", Subject: text, Why: "it is not a time", Hint: "write it as 2006-01-02T15:04:05Z"}
	}
	return func() time.Time { return t }, nil
}

// askAt returns what puts a question to the person at the terminal, or nil if
// nobody is there: then the answer is no.
func askAt(s streams) func(context.Context, gate.Question) (gate.Answer, error) {
	if !isTerminal(s.in) || !isTerminal(s.err) {
		return nil
	}
	return func(ctx context.Context, q gate.Question) (gate.Answer, error) {
		text := questionText(q)
		for range mostTries {
			line, err := answerTo(ctx, s, text)
			if err != nil && err != io.EOF {
				return gate.No, err
			}
			if a, clear := answer(line); clear || err == io.EOF {
				return a, nil
			}
			wait(ctx, afterthought)
			text = whatAnswersMean + allow
		}
		fmt.Fprintln(s.err, "hako: taken for no")
		return gate.No, nil
	}
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
func answerTo(ctx context.Context, s streams, question string) (string, error) {
	forgetTyped(s)
	fmt.Fprint(s.err, question)
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

// mostReason is how much of a reason is shown: who wants something approved must
// not be able to move it out of sight by talking.
const mostReason = 300

// allow ends every question.
const allow = "hako: allow? [y]es once, for this [s]ession, [N]o: "

const whatAnswersMean = `hako: that is none of the answers:
hako:   y, yes      run it this once
hako:   s, session  run it, and what is like it until this session ends, without asking
hako:   n, no       do not run it; so does an empty line
`

// questionText words a question. Everything in it but the command, which the gate
// has spelled out, stands on a line of its own, whatever it contains: what a
// model says must not look like what we say.
func questionText(q gate.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "hako: %s wants to run: %s\n", oneLine(q.Actor), markdown.Clean(q.Command))
	if q.Dir != "" {
		fmt.Fprintf(&b, "hako: in %s\n", oneLine(q.Dir))
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "hako: it says: %s\n", brief(oneLine(q.Reason), mostReason))
	}
	fmt.Fprintf(&b, "hako: %s (%s)\n%s", oneLine(q.Why), oneLine(q.Rule), allow)
	return b.String()
}

// oneLine makes a line of a text and leaves out what is not to be seen, or what
// would change how the rest is seen.
func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case c == unicode.ReplacementChar, !unicode.IsPrint(c), unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return c
	}, text)
	return strings.Join(strings.Fields(text), " ")
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
