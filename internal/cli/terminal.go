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

	"golang.org/x/term"

	"hako/internal/fault"
	"hako/internal/gate"
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
		fmt.Fprintf(s.err, "hako: %s wants to run: %s\n", q.Actor, q.Command)
		if q.Reason != "" {
			fmt.Fprintf(s.err, "hako: it says: %s\n", q.Reason)
		}
		fmt.Fprintf(s.err, "hako: %s (%s)\nhako: allow? [y]es once, for this [s]ession, [N]o: ", q.Why, q.Rule)
		line, err := bufio.NewReader(stream.Patient(ctx, s.keys)).ReadString('\n')
		if err != nil && err != io.EOF {
			return gate.No, err
		}
		return answer(line), nil
	}
}

func answer(line string) gate.Answer {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return gate.Once
	case "s", "session":
		return gate.Session
	}
	return gate.No
}
