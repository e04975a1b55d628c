package builtin

import (
	"strings"
	"testing"
)

// TestAnswers asks every question of the tables and has the real executor carry
// out what the model calls for.
func TestAnswers(t *testing.T) {
	for _, name := range []string{"english.txt", "japanese.txt"} {
		b := newBox(t)
		list := questions(t, name)
		for _, q := range list {
			text := b.ask(q.request, q.files...)
			for _, want := range q.want {
				want = strings.ReplaceAll(want, `\n`, "\n")
				not, inverted := strings.CutPrefix(want, "!")
				if inverted == strings.Contains(text, strings.TrimPrefix(want, "!")) {
					t.Errorf("%s ← %v\nwant %q in %v:\n%s\n%s", q.request, q.files, not, !inverted, strings.Join(b.commands, "\n"), brief(text))
				}
			}
		}
		if len(list) < 150 {
			t.Errorf("%s has only %d questions", name, len(list))
		}
	}
}

// TestDeclines asks what the rules do not know. No answer is to hold a result.
func TestDeclines(t *testing.T) {
	for _, name := range []string{"english_declined.txt", "japanese_declined.txt"} {
		b := newBox(t)
		list := questions(t, name)
		for _, q := range list {
			if text := b.ask(q.request, q.files...); !declined(text) {
				t.Errorf("%s ← %v was answered:\n%s\n%s", q.request, q.files, strings.Join(b.commands, "\n"), brief(text))
			}
		}
		if len(list) < 50 {
			t.Errorf("%s has only %d requests", name, len(list))
		}
	}
}

func brief(text string) string {
	if r := []rune(text); len(r) > 500 {
		return string(r[:500]) + "…"
	}
	return text
}
