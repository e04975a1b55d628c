package gate

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSpelled(t *testing.T) {
	for text, want := range map[string]string{
		"git push origin main":          "git push origin main",
		"echo こんにちは、世界":                 "echo こんにちは、世界",
		"cat файл.txt Ελλάδα café":      "cat файл.txt Ελλάδα café",
		"echo か\u3099":                  "echo か\u3099", // as macOS names files
		"git push https://gіthub.com":   `git push https://g\u0456thub.com`,
		"curl https://аррӏе.com":        `curl https://\u0430\u0440\u0440\u04cf\u0435.com`,
		"r\u217f -rf":                   `r\u217f -rf`, // a Roman numeral
		"\U0001d69b\U0001d696 x":        `\U0001d69b\U0001d696 x`,
		"rm \u2212rf a\u2215b":          `rm \u2212rf a\u2215b`,
		"e\u0301 a\u0336b":              `e\u0301 a\u0336b`,
		"ก\u0e48\u0e49\u0e4a\u0e4b":     "ก\u0e48\u0e49\\u0e4a\\u0e4b",
		"a\x1b[8mb\u202ec\u200bd":       `a\x1b[8mb\u202ec\u200bd`,
		"ls" + strings.Repeat(" ", 500): "ls [500 spaces] ",
		"a\n\n\n\n\n\n\n\nb":            "a\n[7 empty lines]\nb",
		"if x; then\n\n\ty\nfi":         "if x; then\n\n\ty\nfi",
		"        eight":                 "        eight",
	} {
		if got := visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A directory that looks like another is another.
func TestSpelledName(t *testing.T) {
	for name, want := range map[string]string{
		"/w/proj": "/w/proj", "/w/箱": "/w/箱", `C:\w`: `C:\w`,
		"/w/proj\u200b": `/w/proj\u200b`, "/w/p\nhako: x\ty": `/w/p\nhako: x\ty`, "/w/рroj": `/w/\u0440roj`,
	} {
		if got := visibleName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func FuzzSpelled(f *testing.F) {
	for _, s := range []string{"rm -rf /", "gіthub", "\x1b]0;x\a", "a\u0301\u0301\u0301", "\u202e", "\xff", "   \n\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := visible(text)
		if !utf8.ValidString(got) || len(got) > 10*len(text)+20 {
			t.Fatalf("%q: %q", text, got)
		}
		for _, c := range got {
			if c != '\n' && c != '\t' && (!unicode.IsPrint(c) || isInvisible(c) || looksLikeASCII(c)) {
				t.Fatalf("%q: %q has %U", text, got, c)
			}
		}
		if strings.Contains(got, strings.Repeat(" ", maxSpaces+1)) || strings.Contains(got, "\n\n\n\n\n") {
			t.Fatalf("%q: a gap in %q", text, got)
		}
	})
}
