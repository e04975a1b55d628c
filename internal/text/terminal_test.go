package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hako/internal/text"
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
	{"👩\u200d💻 ❤\ufe0f\u200d🔥 می\u200cخواهم 辻\U000e0100", "👩\u200d💻 ❤\ufe0f\u200d🔥 می\u200cخواهم 辻\U000e0100"},
	{"a\u200bb\u00adc\ufeff\U000e0041\ue000", "abc"},
	{"日\U000e0100\U000e0101\U000e0102", "日\U000e0100"},
	{"日本\u3000語\u00a0x", "日本\u3000語\u00a0x"},
}

func TestForTerminal(t *testing.T) {
	for _, tt := range cleaned {
		if got := text.ForTerminal(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
		if got := cleanBytes(tt.in); got != tt.want {
			t.Errorf("%q byte by byte: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func cleanBytes(in string) string {
	var f text.TerminalFilter
	var out []byte
	for i := range len(in) {
		out = f.Append(out, []byte(in[i:i+1]))
	}
	return string(f.Flush(out))
}

func FuzzForTerminal(f *testing.F) {
	for _, tt := range cleaned {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := text.ForTerminal(in)
		if !utf8.ValidString(out) {
			t.Errorf("%q is not valid", out)
		}
		if strings.ContainsFunc(out, obeyed) {
			t.Errorf("%q still has what a terminal obeys", out)
		}
		if again := text.ForTerminal(out); again != out {
			t.Errorf("%q is not clean: %q", out, again)
		}
		if got := cleanBytes(in); got != out {
			t.Errorf("byte by byte %q, at once %q", got, out)
		}
	})
}

// obeyed is what terminals act on, or what turns the direction of writing.
func obeyed(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 &&
		r <= 0x2069
}
