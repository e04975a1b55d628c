package cli

import (
	"io"
	"testing"

	"hako/internal/gate"
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
