package markdown

import (
	"io"
	"strings"
	"testing"
)

// TestHoldsLittle feeds what would make a careless reader hold back more and
// more, and look at it again with each byte. Where little is held there is
// little to look at, so this stands for the time as well, without a clock.
func TestHoldsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	for _, piece := range []string{"*a ", "**a", "_ a_", "[", "![", "[]", "]", "`", "`` ` ", "<", "<a:", "&", "\\", "#",
		"# #", "|", "|a\n", "|-\n", "- ", ">", " ", "\t",
		"\n", "-", "=", "~", "~~a", "1. ", "http://", "[a](", "[a](b", "[a](<b", "[a](b \"", "*a [b_ ", "e\u0301", "\u0301",
		"日", "、", "「", "\u200d", "a*_~`[", "```\n", "```",
		"(\\", "| a |\n|---|\n", "a_ []", "a[b](http://c)", "- [ ] ", "\r", "\x1b", "\xe6", "    a\n\n", "> |a\n"} {
		for _, width := range []int{0, 30} {
			w := NewWriter(io.Discard, Options{Width: width, Color: true, Links: true})
			most := 0
			for i := range 8_000 {
				w.Write([]byte{piece[i%len(piece)]})
				most = max(most, len(w.in)+len(w.inline.buf)+len(w.inline.held)+40*len(w.inline.nodes)+len(w.flow.unit)+
					len(w.out.urls)*20)
			}
			if w.Close(); most > 30_000 {
				t.Errorf("%q: holds %d bytes", piece, most)
			}
		}
	}
}

// TestTableBounds checks the two places where whole lines are kept.
func TestTableBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	for _, in := range []string{"|", "| a ", "|a|\n|-|\n|", "|a|\n|-|\n" + strings.Repeat("|b|\n", 9)} {
		w := NewWriter(io.Discard, Options{Width: 30})
		io.WriteString(w, in)
		for range 1000 {
			io.WriteString(w, strings.Repeat("x|", 500))
			if n := len(w.table.row) + w.table.size; n > longestTable+2*longestRow {
				t.Fatalf("%q: %d bytes kept", in, n)
			}
		}
		w.Close()
	}
}

func TestColumns(t *testing.T) {
	tests := map[rune]int{'a': 1, 'é': 1, 'あ': 2, '箱': 2, '한': 2, '、': 2, 'Ａ': 2, 'ｱ': 1, '\u0301': 0, '\u200d': 0,
		'\u3099': 0, '😀': 2, '…': 1, '│': 1, '\ufe0f': 0, '\u1161': 0, 'ё': 1}
	for r, want := range tests {
		if got := columns(r); got != want {
			t.Errorf("%q: %d columns, want %d", r, got, want)
		}
	}
}

func TestSafeURL(t *testing.T) {
	tests := map[string]string{
		"https://example.com/?a=b;c#d":   "https://example.com/?a=b;c#d",
		"HTTP://example.com":             "HTTP://example.com",
		"mailto:a@example.com":           "mailto:a@example.com",
		"https://example.com/\x1b\\\x07": "https://example.com/%1B\\%07",
		"https://example.com/ é":         "https://example.com/%20%C3%A9",
		"javascript:alert(1)":            "",
		"file:///etc/passwd":             "",
		"ssh://host":                     "",
		" https://example.com":           "",
		"https":                          "",
		"https:":                         "",
		"":                               "",
		"https://" + strings.Repeat("a", longestURL): "",
	}
	for in, want := range tests {
		if got := safeURL(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	for in, want := range map[string]string{"a": "a", `a\*b`: "a*b", `a\b`: `a\b`, "&amp;&x;&#27;": "&&x;␛", `\`: `\`,
		"&": "&"} {
		if got := unescape([]byte(in)); got != want {
			t.Errorf("unescape %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"|a|b|": "a,b", "| a | b": " a , b", `|a\|b|`: "a|b", "|": "", "||": "",
		"|a||b|": "a,,b"} {
		if got := strings.Join(cells([]byte(in)), ","); got != want {
			t.Errorf("cells %q: got %q, want %q", in, got, want)
		}
	}
	if n := len(cells([]byte(strings.Repeat("|a", 1000)))); n != maxColumns {
		t.Errorf("%d columns", n)
	}
}
