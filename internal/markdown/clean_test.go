package markdown_test

import (
	"bytes"
	"io"
	"testing"
	"unicode/utf8"

	"hako/internal/markdown"
)

var cleaned = []struct{ in, want string }{
	{"", ""},
	{"plain **text**\n\ttab", "plain **text**\n\ttab"},
	{"\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
	{"\x1b]8;;http://x\x1b\\y\x07", "␛]8;;http://x␛\\y␇"},
	{"\u009b31m \u0085", "�31m �"},
	{"\x9b31m", "�31m"},
	{"a\u202eb\u2066c\u2069", "abc"},
	{"a\r\nb\rc\r", "a\nb␍c␍"},
	{"\r\r\n", "␍\n"},
	{"\x00\x7f\x08", "␀␡␈"},
	{"日本語 👍 é", "日本語 👍 é"},
	{"\xe6\x97", "��"},
	{"\xe6\x97a\xff", "��a�"},
	{"a\u2028b", "a b"},
}

func TestClean(t *testing.T) {
	for _, tt := range cleaned {
		if got := markdown.Clean(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
		if got := cleanBytes(t, tt.in, single); got != tt.want {
			t.Errorf("%q byte by byte: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func cleanBytes(t *testing.T, in string, next func(int) int) string {
	t.Helper()
	var out bytes.Buffer
	w := markdown.CleanWriter(&out)
	for len(in) > 0 {
		n := next(len(in))
		if m, err := io.WriteString(w, in[:n]); m != n || err != nil {
			t.Fatalf("Write returned %d, %v", m, err)
		}
		in = in[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCleanErrors(t *testing.T) {
	w := markdown.CleanWriter(brokenWriter{})
	if _, err := io.WriteString(w, "a"); err == nil {
		t.Error("Write hides the error")
	}
	if _, err := io.WriteString(w, "\xe6"); err != nil {
		t.Errorf("half a character: %v", err)
	}
	if w.Close() == nil {
		t.Error("Close hides the error")
	}
}

func FuzzClean(f *testing.F) {
	for _, tt := range cleaned {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := markdown.Clean(in)
		if !utf8.ValidString(out) {
			t.Errorf("%q is not valid", out)
		}
		if why := unsafe(out, markdown.Options{}); why != "" {
			t.Error(why)
		}
		if again := markdown.Clean(out); again != out {
			t.Errorf("%q is not clean: %q", out, again)
		}
		if got := cleanBytes(t, in, single); got != out {
			t.Errorf("byte by byte %q, at once %q", got, out)
		}
	})
}
