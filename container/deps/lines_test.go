package deps

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLines(t *testing.T) {
	var told []string
	l := &lines{report: func(line string) { told = append(told, line) }}
	for _, p := range []string{"one\ntw", "o\r\n\n 50%\r100%\r\n", "\x1b[1;32mgreen\x1b[0m\tand\x07 箱\x1b]0;title\n",
		"end"} {
		fmt.Fprint(l, p)
	}
	l.flush()
	l.flush()
	want := []string{"one", "two", " 50%", "100%", "green\tand 箱0;title", "end"}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", told)
	}
	if got := ending("it failed", l, &lines{}); got != "it failed; its last output:\n"+strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
	if got := ending("it failed", &lines{}, &lines{}); got != "it failed and printed nothing" {
		t.Errorf("got %q", got)
	}
}

func TestLongLines(t *testing.T) {
	var told []string
	l := &lines{report: func(line string) { told = append(told, line) }}
	for range 100 {
		fmt.Fprint(l, strings.Repeat("x", 1<<16))
	}
	fmt.Fprint(l, "\nshort\n")
	if len(told) != 2 || told[0] != strings.Repeat("x", longLine)+" …" || told[1] != "short" {
		t.Errorf("got %d lines", len(told))
	}
	if cap(l.part) > 2*longLine {
		t.Errorf("%d bytes are held", cap(l.part))
	}
}

// What a registry's tool prints may have a key in it; a model must not see it.
func TestLinesHideKeys(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	var told string
	l := &lines{report: func(line string) { told += line }}
	fmt.Fprintf(l, "npm error 401 token %s refused\n", secret)
	if got := ending("it failed", l); strings.Contains(got+told, secret) || !strings.Contains(told, "refused") {
		t.Errorf("told %q", told)
	}
}

// unprintable reports what must not reach a terminal: controls but the tab, and what
// changes the direction of text.
func unprintable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m\n\x1b"), 3)
	f.Add([]byte("\x1b[\x80\xff\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		l := &lines{report: func(line string) {
			if !utf8.ValidString(line) || len(line) > 4*longLine+10 ||
				strings.ContainsFunc(line, unprintable) {
				t.Errorf("told %q", line)
			}
		}}
		at = max(0, min(at, len(text)))
		l.Write(text[:at])
		l.Write(text[at:])
		l.flush()
		if len(ending("", l)) > 2*tailSize {
			t.Error("the ending is too long")
		}
	})
}
