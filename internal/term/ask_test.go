package term

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"hako/gate"
	"hako/shell/stream"
)

// A question looks the same whatever a model says.
func TestQuestionCannotBeForged(t *testing.T) {
	q := gate.Question{Actor: "secretary", Command: "git push\n    git tag", Dir: "/w/proj", Reason: "to share it",
		Why: "others see it", Rule: "my.policy:3"}
	const want = "hako: secretary wants to run:\n    git push\n    git tag\nhako: in /w/proj\nhako: it says: to share it\nhako: others see it (my.policy:3)\nhako: allow? [y]es once, for this [s]ession, [N]o: "
	if got := questionText(q, defaultScreen); got != want {
		t.Errorf("got %q", got)
	}
	for _, evil := range []string{"\r\nhako: harmless (x)\n", "\x1b[2K\x1b[1A", "\u202ehsup\u202c", "\u2066a\u2069",
		"a\u200bb\u200fc\ufeff", "\u2028\u2029\u0085\v\f", "\u009b2J", "\u3164\u115f\ufe0f", "\xff\xfe"} {
		forged := questionText(gate.Question{Actor: "a" + evil, Command: "git push", Dir: "/w" + evil, Reason: "r" + evil,
			Why: "w" + evil, Rule: "f:1" + evil}, defaultScreen)
		if strings.Count(forged, "\n") != 4 ||
			strings.ContainsAny(forged,
				"\r\x1b\u202e\u202c\u2066\u2069\u200b\u200f\ufeff\u2028\u2029\u0085\v\f\u009b\u3164\u115f\ufe0f\ufffd") {
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
	got := questionText(gate.Question{Reason: strings.Repeat("あ ", 5000), Command: strings.Repeat("x", 3000)}, defaultScreen)
	if strings.Count(got, "あ") != 150 || strings.Count(got, "x") != 3000 {
		t.Errorf("%d of the reason, %d of the command", strings.Count(got, "あ"), strings.Count(got, "x"))
	}
}

// Rows that the terminal would break where it likes could begin with our own
// words: each is ours to break, and shows where it came from.
func TestQuestionRows(t *testing.T) {
	for _, size := range []screenSize{{80, 24}, {40, 10}, {20, 5}, {200, 60}} {
		for _, filler := range []string{"x", "箱", " ", "é"} {
			for n := range 2 * size.columns {
				lie := strings.Repeat(filler, n) + "hako: user wants to run: ls hako: harmless"
				q := gate.Question{Actor: "a" + lie, Command: "rm " + lie + "\n    \t" + lie, Dir: "/" + lie, Reason: "r" + lie,
					Why: "w" + lie, Rule: "f:1" + lie}
				text := strings.TrimSuffix(questionText(q, size), allow)
				for row := range strings.Lines(text) {
					row = strings.TrimSuffix(row, "\n")
					if maxWidth(row) >= size.columns || !strings.HasPrefix(row, "hako: ") && !strings.HasPrefix(row, "    ") {
						t.Fatalf("%v, %d of %q: %q", size, n, filler, row)
					}
					if strings.HasPrefix(row, "hako: user") || strings.HasPrefix(row, "hako: harm") {
						t.Fatalf("%v, %d of %q: %q", size, n, filler, row)
					}
				}
			}
		}
	}
}

// What does not fit on the screen is counted.
func TestQuestionOutOfSight(t *testing.T) {
	for lines, want := range map[int]string{
		1: "", 20: "", 21: "", 22: "the question has 24 rows, the first 3 of which",
		60: "the question has 62 rows, the first 41 of which",
	} {
		got := questionText(gate.Question{Actor: "a", Command: strings.TrimSuffix(strings.Repeat("ls -l\n    ", lines),
			"\n    "), Why: "w", Rule: "r:1"}, defaultScreen)
		if notice := strings.Contains(got, "above the screen"); notice != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%d lines: %q", lines, got)
		}
		if lines == 1 {
			continue
		}
		if hidden := strings.Count(got, "\n") + 1 - defaultScreen.rows; want != "" &&
			!strings.Contains(got, fmt.Sprintf("the first %d of", hidden)) || want == "" && hidden > 0 {
			t.Errorf("%d lines, %d are hidden: %q", lines, hidden, got)
		}
	}
}

// TestOutputWaits: while a question is open nothing else is written, by standard
// output neither, and nothing of it is lost.
func TestOutputWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		out, errs, lock := locked(&screen, &screen)
		release, err := lock.hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(out, "a")
		go errs.Write([]byte("a"))
		synctest.Wait()
		if screen.Len() > 0 {
			t.Errorf("%q", screen.String())
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := lock.hold(gone); err == nil {
			t.Error("two questions at the same time")
		}
		release()
		synctest.Wait()
		if screen.String() != "aa" {
			t.Errorf("%q", screen.String())
		}
		if _, err := lock.hold(gone); err == nil {
			t.Error("a question that nobody waits for is put")
		}
	})
}

// What somebody else waited for in vain is not an answer either.
func TestBufferedKeysAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		s := Streams{Keys: stream.NewShared(r)}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := stream.WithContext(gone, s.Keys).Read(make([]byte, 9)); err == nil {
			t.Fatal("something was typed")
		}
		io.WriteString(w, "y\n")
		synctest.Wait()
		s.DropTyped()
		go io.WriteString(w, "n\n")
		if line, err := bufio.NewReader(s.Keys).ReadString('\n'); line != "n\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	})
}
