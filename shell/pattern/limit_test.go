package pattern

import (
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
)

// TestLongPatterns reads long patterns, in which nothing
// closes what it opens.
func TestLongPatterns(t *testing.T) {
	for _, piece := range []string{"[", "[[:", "[[:alpha:]", `[\]`, "[a-", "[!", "*(", "@(", "!(", "@(*(", "*(|", "[]",
		"(", ")", "|", "?", "*", "[a]", "*[", "\\", "[[", "@()", "[^", "*([", "+([!"} {
		src := strings.Repeat(piece, 200_000/len(piece))
		start := time.Now()
		Compile(src, ExtGlob)
		Compile(src, ExtGlob|Fold)
		if took := time.Since(start); took > testload.Bound(30*time.Second) {
			t.Errorf("a pattern of %q took %v", piece, took)
		}
	}
}

func TestDepth(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("@(", n) + "a" + strings.Repeat(")", n) }
	if p := Compile(deep(maxDepth), ExtGlob); p.Err() != nil || !p.Match("a") {
		t.Errorf("a pattern of %d groups does not match: %v", maxDepth, p.Err())
	}
	p := Compile(deep(maxDepth+1), ExtGlob)
	if p.Err() == nil || p.Match("a") || p.Prefix("a", true) >= 0 || p.Suffix("a", false) >= 0 {
		t.Error("a pattern of too many groups is taken")
	}
	if i, _ := p.Under(nil).Finder("a").Find(0); i >= 0 {
		t.Error("a pattern of too many groups is found")
	}
}

// TestStopped matches what takes long until the check answers no.
func TestStopped(t *testing.T) {
	text := strings.Repeat("ab", 200_000)
	for _, src := range []string{"*(a|b|ab|ba)c", "*!(*a)!(*b)!(c)c", "*[a]?c*[b]", "+(*(a)*(b))c", "*(ab)!(*)"} {
		for _, mode := range []Mode{ExtGlob, ExtGlob | Fold} {
			asked := 0
			m := Compile(src, mode).Under(func(int) bool { asked++; return asked < 3 })
			start := time.Now()
			m.Match(text)
			m.Prefix(text, true)
			m.Suffix(text, false)
			m.Finder(text).Find(0)
			if took := time.Since(start); took > testload.Bound(5*time.Second) || asked == 0 {
				t.Errorf("%s: it went on for %v, asked %d times", src, took, asked)
			}
		}
	}
}

// TestGroups has what a regular expression cannot say.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		pat, text string
		want      bool
	}{
		{"@(!(a))", "b", true}, {"@(!(a))", "a", false}, {"*(!(a))", "a", false}, {"!(!(a))", "a", true},
		{"!(!(a))", "b", false},
		{"!(*a*)", "bcd", true}, {"!(*a*)", "bad", false}, {"!(a)!(b)", "ab", true}, {"x!(a|b)y", "xay", false},
		{"x!(a|b)y", "xcy", true},
		{"*(", "*(", true}, {"a*(b", "axx(b", true}, {"@(a(b|c)d)", "a(b|c)d", true}, {"+(a|)", "aa", true},
		{"@(|a)", "", true},
		{"?(é|日)本", "日本", true}, {"*([!a])a", "日本a", true}, {"!(日)", "日", false}, {"!(日)", "日本", true},
		{"+(?é)", "xéyé", true},
	} {
		if got := Compile(c.pat, ExtGlob).Match(c.text); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pat, c.text, got, c.want)
		}
	}
}

// TestFind replaces from left to right.
func TestFind(t *testing.T) {
	for _, c := range []struct{ pat, text, want string }{
		{"a*c", "xabcabcx", "x_x"}, {"+(a)", "aabaa", "_b_"}, {"[ab]", "abc", "__c"}, {"!(b)", "ab", "_"}, {"?", "日本", "__"},
		{"z*", "abc", "abc"},
	} {
		f, out, at := Compile(c.pat, ExtGlob).Under(nil).Finder(c.text), "", 0
		for at < len(c.text) {
			i, j := f.Find(at)
			if i < 0 || j == i {
				break
			}
			out, at = out+c.text[at:i]+"_", j
		}
		if out += c.text[at:]; out != c.want {
			t.Errorf("%q in %q: %q, want %q", c.pat, c.text, out, c.want)
		}
	}
}
