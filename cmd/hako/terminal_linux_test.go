package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"hako/gate"
)

// TestTypedAheadIsNoAnswer types before there is a question, whole lines and half
// of one: only what is typed afterwards counts.
func TestTypedAheadIsNoAnswer(t *testing.T) {
	for after, want := range map[string]gate.Answer{"n\n": gate.No, "\n": gate.No, "s\n": gate.Session, "y\n": gate.Once} {
		master, slave := openPty(t)
		watcher := &screen{t: t, keys: master}
		go watcher.watch()
		ask := askAt(newStreams(slave, io.Discard, slave))
		watcher.press("y\ny\nye")
		watcher.waitFor("y\r\ny\r\nye") // the terminal has it
		answers := make(chan gate.Answer, 1)
		go func() {
			a, err := ask(t.Context(), gate.Question{Command: "git push"})
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
		watcher.waitFor("[N]o: ")
		watcher.press(after)
		if got := <-answers; got != want {
			t.Errorf("%q: %v, want %v", after, got, want)
		}
		slave.Close()
	}
}

// TestUnclearAnswers types what is no answer: the question is put again, three
// times in all, and nothing that was typed before counts for it.
func TestUnclearAnswers(t *testing.T) {
	const prompt, explained = "[N]o: ", "run it this once"
	for name, c := range map[string]struct {
		typed []string // one after each question
		want  gate.Answer
	}{
		"then yes":         {[]string{"?\n", "y\n"}, gate.Once},
		"twice, then yes":  {[]string{"?\n", "what\n", "s\n"}, gate.Session},
		"then no":          {[]string{"Yess\n", "no\n"}, gate.No},
		"then nothing":     {[]string{"x\n", "\n"}, gate.No},
		"then the end":     {[]string{"x\n", pressD}, gate.No},
		"three times":      {[]string{"?\n", "?\n", "?\n"}, gate.No},
		"the end":          {[]string{pressD}, gate.No},
		"half, at the end": {[]string{"w" + pressD + pressD}, gate.No},
		"yes too early":    {[]string{"?\ny\ny\n", "s\n"}, gate.Session},
		"half too early":   {[]string{"?\ny", "\n"}, gate.No},
	} {
		t.Run(name, func(t *testing.T) {
			watcher, answers := askedAtPty(t, t.Context())
			for i, line := range c.typed {
				if i > 0 {
					watcher.waitFor(explained)
				}
				watcher.waitFor(prompt)
				watcher.press(line)
			}
			if got := <-answers; got.answer != c.want || got.err != nil {
				t.Errorf("%v, %v, want %v", got.answer, got.err, c.want)
			}
		})
	}
}

// TestPastedAnswer: text that is pasted comes in pieces, and none of them is an
// answer to a question that was put in between.
func TestPastedAnswer(t *testing.T) {
	watcher, answers := askedAtPty(t, t.Context())
	watcher.waitFor("[N]o: ")
	watcher.press("some pasted text\n")
	time.Sleep(30 * time.Millisecond)
	watcher.press("y\n")
	watcher.waitFor("run it this once")
	watcher.waitFor("[N]o: ")
	watcher.press("n\n")
	if got := <-answers; got.answer != gate.No || got.err != nil {
		t.Errorf("%v, %v", got.answer, got.err)
	}
}

// TestUnclearAnswersTakeNoMoreTime ends while the question is put again.
func TestUnclearAnswersTakeNoMoreTime(t *testing.T) {
	ctx, over := context.WithCancel(t.Context())
	watcher, answers := askedAtPty(t, ctx)
	watcher.waitFor("[N]o: ")
	watcher.press("?\n")
	watcher.waitFor("run it this once")
	watcher.waitFor("[N]o: ")
	over()
	if got := <-answers; got.answer != gate.No || got.err == nil || !strings.Contains(got.err.Error(), "canceled") {
		t.Errorf("%v, %v", got.answer, got.err)
	}
}

// decided is what somebody at a terminal answered.
type decided struct {
	answer gate.Answer
	err    error
}

// askedAtPty puts a question at a terminal of its own.
func askedAtPty(t *testing.T, ctx context.Context) (*screen, <-chan decided) {
	t.Helper()
	master, slave := openPty(t)
	t.Cleanup(func() { slave.Close() })
	watcher := &screen{t: t, keys: master}
	go watcher.watch()
	ask := askAt(newStreams(slave, io.Discard, slave))
	answers := make(chan decided, 1)
	go func() {
		a, err := ask(ctx, gate.Question{Command: "git push"})
		answers <- decided{a, err}
	}()
	return watcher, answers
}
