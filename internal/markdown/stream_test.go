package markdown_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"hako/internal/markdown"
	"hako/internal/text"
)

// TestAtOnce says what must be on the terminal when Write returns.
func TestAtOnce(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"first letter", "H", "H"},
		{"a word that begins the line", "Hel", "Hel"},
		{"a word and a blank", "Hello there ", "Hello there"},
		{"the word before the last", "Hello there wor", "Hello there"},
		{"a wide character", "日本語", "日本語"},
		{"wide after narrow", "abc 日本", "abc 日本"},
		{"an item", "- H", "• H"},
		{"a second item", "- a\n- b", "• a\n• b"},
		{"a heading", "# Ti", "Ti"},
		{"a quote", "> a", "│ a"},
		{"code as it comes", "```go\nx := 1 +", "go\nx := 1 +"},
		{"bold when it is closed", "**a b** c ", "a b c"},
		{"code when it is closed", "`a b` c ", "a b c"},
		{"a formula", "2*3 = 6 and ", "2*3 = 6 and"},
		{"a new paragraph", "a\n\nb", "a\n\nb"},
		{"a line that goes on", "a\nb ", "a b"},
		{"a word after a year", "2024 was ", "2024 was"},
		{"what is no list", "-5 degrees ", "-5 degrees"},
		{"what is no link", "a[1] = 2 and ", "a[1] = 2 and"},
		{"a lone ampersand", "a & b and ", "a & b and"},
		{"html", "<b>x</b> and ", "<b>x</b> and"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, next := range []func(int) int{whole, single} {
				var out bytes.Buffer
				w := markdown.NewWriter(&out, markdown.Options{Width: 40})
				for in := tt.in; in != ""; in = in[next(len(in)):] {
					io.WriteString(w, in[:next(len(in))])
				}
				if got := out.String(); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

// TestHeldBack says what must not be shown before it is known what it is.
func TestHeldBack(t *testing.T) {
	for _, in := range []string{"*", "**bold", "`code", "[text](http", "-", "1", "1.", "#", "##", "```", "```go", "|",
		"| a |\n", "&am", "\\", "<http", "\xe6\x97", "---"} {
		var out bytes.Buffer
		w := markdown.NewWriter(&out, markdown.Options{Width: 40})
		io.WriteString(w, in)
		if out.Len() > 0 {
			t.Errorf("%q: shows %q too early", in, out.String())
		}
		w.Close()
		if out.Len() == 0 && !strings.HasPrefix(in, "```") && !strings.HasPrefix(in, "#") {
			t.Errorf("%q: never shown", in)
		}
	}
}

// TestNobodyWaitsLong writes a marker that is never closed.
func TestNobodyWaitsLong(t *testing.T) {
	for _, start := range []string{"*", "**", "~~", "`", "[", "![", "[a](", "<http://", "&", "| ", "a http://x/", "\n```",
		"- [a](b "} {
		var out bytes.Buffer
		w := markdown.NewWriter(&out, markdown.Options{Width: 40})
		io.WriteString(w, start)
		for range 1000 {
			io.WriteString(w, "text ")
		}
		if out.Len() < 500 {
			t.Errorf("%q: only %d bytes of 5000 shown", start, out.Len())
		}
	}
}

// TestWithin5ms measures the time from a byte to the terminal.
func TestWithin5ms(t *testing.T) {
	best := time.Hour
	for range 20 {
		var out bytes.Buffer
		w := markdown.NewWriter(&out, markdown.Options{Width: 80, Color: true})
		begin := time.Now()
		io.WriteString(w, "H")
		if out.String() != "H" {
			t.Fatalf("got %q", out.String())
		}
		best = min(best, time.Since(begin))
	}
	if best > 5*time.Millisecond {
		t.Errorf("took %v", best)
	}
}

// TestWidth checks that no line of prose is wider than it may be.
func TestWidth(t *testing.T) {
	in := "The quick *brown* fox `jumps` over **the lazy** dog. 日本語の文章は、文字の間で「折り返す」ことができる。" +
		"A verylongwordthatfitsonnoline and 混ざったtextもある。Ça va: ёлка été, 한국어 문장입니다.\n\n> - Quote, 引用。 and more words in it\n"
	for width := 4; width < 60; width++ {
		out := render(t, markdown.Options{Width: width}, in, whole)
		for line := range strings.Lines(out) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > max(width, 4+min(width, 10)) {
				t.Errorf("width %d: %q has %d columns", width, line, n)
			}
		}
	}
}

// columns counts those of text in which nothing combines.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x2e80 {
			n++
		}
	}
	return n
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestWriteErrors(t *testing.T) {
	w := markdown.NewWriter(brokenWriter{}, markdown.Options{})
	if _, err := io.WriteString(w, "a"); err == nil || err.Error() != "gone" {
		t.Errorf("Write returned %v", err)
	}
	if _, err := io.WriteString(w, "b"); err == nil {
		t.Error("the error is forgotten")
	}
	if err := w.Close(); err == nil || err.Error() != "gone" {
		t.Errorf("Close returned %v", err)
	}
}

func TestClosed(t *testing.T) {
	var out bytes.Buffer
	w := markdown.NewWriter(&out, markdown.Options{})
	io.WriteString(w, "**a")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := io.WriteString(w, "b"); err == nil {
		t.Error("Write after Close")
	}
	if got := out.String(); got != "**a\n" {
		t.Errorf("got %q", got)
	}
}

func TestNothing(t *testing.T) {
	for _, in := range []string{"", "\n", "\n\n \n", "\t", "#", "```\n```"} {
		if got := render(t, markdown.Options{Width: 20, Color: true}, in, whole); got != "" {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

// TestLongTable checks that a table without end is shown all the same.
func TestLongTable(t *testing.T) {
	in := "| a | b |\n|---|---|\n" + strings.Repeat("| some text | and more |\n", 20_000)
	var out bytes.Buffer
	w := markdown.NewWriter(&out, markdown.Options{Width: 60})
	io.WriteString(w, in)
	if out.Len() == 0 {
		t.Error("nothing was shown before the end")
	}
	w.Close()
	if got := strings.Count(out.String(), "some text"); got != 20_000 {
		t.Errorf("%d rows", got)
	}
	row := "| a |\n|---|\n|" + strings.Repeat("x ", 100_000)
	if got := strings.Count(render(t, markdown.Options{}, row, whole), "x"); got != 100_000 {
		t.Errorf("%d cells' letters", got)
	}
}

const essay = "# A title of the answer\n\nThis is a paragraph with **bold** and *italic* words, `code spans`, and [a link](https://example.com/path). " +
	"It goes on for a while, as paragraphs do, so that there is something to wrap, and it has\nmore than one line.\n\n" +
	"- an item\n- another with `code`\n  - nested\n\n```go\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n```\n\n" +
	"日本語の文章も含まれています。折り返しは文字の間で行われ、句読点は行頭に来ません。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> A quote, too.\n\n"

const prose = "This is a plain paragraph without any markup at all, as most of an answer is, and it goes on until the line has to be wrapped.\n\n"

func BenchmarkWriter(b *testing.B) {
	for _, bb := range []struct {
		name, text string
		piece      int
	}{{"token", essay, 4}, {"chunk", essay, 4096}, {"prose", prose, 4096}} {
		b.Run(bb.name, func(b *testing.B) {
			in := []byte(strings.Repeat(bb.text, 100))
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				w := markdown.NewWriter(io.Discard, markdown.Options{Width: 80, Color: true, Links: true})
				for rest := in; len(rest) > 0; rest = rest[min(bb.piece, len(rest)):] {
					w.Write(rest[:min(bb.piece, len(rest))])
				}
				w.Close()
			}
		})
	}
}

func BenchmarkClean(b *testing.B) {
	in := []byte(strings.Repeat(essay, 100))
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		new(text.TerminalFilter).Append(nil, in)
	}
}
