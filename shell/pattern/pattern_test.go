package pattern

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pat, text string
		want      bool
	}{
		{"*.txt", "a.txt", true}, {"*.txt", "a.txtx", false}, {"a?c", "abc", true}, {"a?c", "aéc", true},
		{"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"[]a]", "]", true}, {"[^]]", "]", false},
		{"[[:digit:]]*", "5ab", true}, {`\*`, "*", true}, {`\*`, "a", false}, {"@(a|b)c", "bc", true},
		{"+(ab)", "ababab", true}, {"?(a)b", "b", true}, {"!(a|b)", "c", true}, {"!(a|b)", "a", false},
		{"*.!(txt)", "a.md", true}, {"[a", "[a", true}, {"日*", "日本", true}, {"a*b*c", "axxbyyc", true},
		{"[a-]", "-", true}, {"**", "abc", true}, {"@(*.c|*.h)", "x.h", true}, {"[\\]]", "]", true},
	} {
		if got := Compile(c.pat, ExtGlob).Match(c.text); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pat, c.text, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		pat, text                      string
		short, long, sufShort, sufLong int
	}{
		{"*/", "a/b/c", 2, 4, -1, -1},
		{"/*", "a/b/c", -1, -1, 3, 1},
		{"?", "abc", 1, 1, 2, 2},
		{"*", "abc", 0, 3, 3, 0},
		{"[a-b]*", "abc", 1, 3, 1, 0},
	} {
		p := Compile(c.pat, 0)
		got := [4]int{p.Prefix(c.text, false), p.Prefix(c.text, true), p.Suffix(c.text, false), p.Suffix(c.text, true)}
		if want := [4]int{c.short, c.long, c.sufShort, c.sufLong}; got != want {
			t.Errorf("%q on %q: %v, want %v", c.pat, c.text, got, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("a*[b-", "x")
	f.Fuzz(func(t *testing.T, pat, text string) {
		p := Compile(pat, ExtGlob)
		p.Match(text)
		p.Prefix(text, true)
		p.Suffix(text, false)
		if !Compile(Quote(text), ExtGlob).Match(text) && len(text) < 100 {
			t.Errorf("quoted %q does not match itself", text)
		}
	})
}
