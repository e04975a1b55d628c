package text_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"hako/run"
	"hako/shell"
	"hako/shell/command"
)

// trickle gives out its text in small pieces, as a pipe does.
type trickle struct{ r io.Reader }

func (t trickle) Read(p []byte) (int, error) { return t.r.Read(p[:min(len(p), 60000)]) }

// TestGrepOfALiveInput checks that what is found in a large stream comes out
// once and in order, although several workers look for it.
func TestGrepOfALiveInput(t *testing.T) {
	text := strings.Repeat("an ERROR\nnothing\n", 600_000)
	for _, script := range []string{"grep ERROR", "grep -n ERROR", "cat | grep ERROR"} {
		var out bytes.Buffer
		s := shell.New(shell.Options{Commands: command.All()})
		if _, err := s.Run(t.Context(), &run.Request{Script: script, Stdin: trickle{strings.NewReader(text)},
			Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "an ERROR\n"); got != 600_000 || strings.Count(out.String(), "\n") != got {
			t.Errorf("%s: %d lines of %d bytes", script, got, out.Len())
		}
	}
}
