package cli

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"hako/internal/gate"
	"hako/internal/stream"
)

// A question looks the same whatever a model says.
func TestQuestionCannotBeForged(t *testing.T) {
	q := gate.Question{Actor: "secretary", Command: "git push\n    git tag", Dir: "/w/proj", Reason: "to share it", Why: "others see it", Rule: "my.policy:3"}
	const want = "hako: secretary wants to run: git push\n    git tag\nhako: in /w/proj\nhako: it says: to share it\nhako: others see it (my.policy:3)\nhako: allow? [y]es once, for this [s]ession, [N]o: "
	if got := questionText(q); got != want {
		t.Errorf("got %q", got)
	}
	for _, evil := range []string{"\r\nhako: harmless (x)\n", "\x1b[2K\x1b[1A", "\u202ehsup\u202c", "\u2066a\u2069", "a\u200bb\u200fc\ufeff", "\u2028\u2029\u0085\v\f", "\u009b2J", "\u3164\u115f\ufe0f", "\xff\xfe"} {
		forged := questionText(gate.Question{Actor: "a" + evil, Command: "git push", Dir: "/w" + evil, Reason: "r" + evil, Why: "w" + evil, Rule: "f:1" + evil})
		if strings.Count(forged, "\n") != 4 || strings.ContainsAny(forged, "\r\x1b\u202e\u202c\u2066\u2069\u200b\u200f\ufeff\u2028\u2029\u0085\v\f\u009b\u3164\u115f\ufe0f\ufffd") {
			t.Errorf("%q: %q", evil, forged)
		}
		for line := range strings.Lines(forged) {
			if !strings.HasPrefix(line, "hako: ") {
				t.Errorf("%q: %q", evil, line)
			}
		}
	}
}

func TestLongReasonsAreCut(t *testing.T) {
	got := questionText(gate.Question{Reason: strings.Repeat("あ ", 5000), Command: strings.Repeat("x", 3000)})
	if strings.Count(got, "あ") != 150 || strings.Count(got, "x") != 3000 {
		t.Errorf("%d of the reason, %d of the command", strings.Count(got, "あ"), strings.Count(got, "x"))
	}
}

// What somebody else waited for in vain is not an answer either.
func TestBufferedKeysAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		s := streams{keys: stream.NewShared(r)}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := stream.Patient(gone, s.keys).Read(make([]byte, 9)); err == nil {
			t.Fatal("something was typed")
		}
		io.WriteString(w, "y\n")
		synctest.Wait()
		forgetTyped(s)
		go io.WriteString(w, "n\n")
		if line, err := bufio.NewReader(s.keys).ReadString('\n'); line != "n\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	})
}
