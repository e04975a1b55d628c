package regex

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func mustCompile(t testing.TB, pattern string, o Options) *Regexp {
	t.Helper()
	re, err := Compile(pattern, o)
	if err != nil {
		t.Fatalf("compile %q: %v", pattern, err)
	}
	return re
}

// TestFind holds what POSIX and GNU say about places and groups.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		o       Options
		text    string
		want    string // offsets, or "" for no match
	}{
		{"a|ab", Options{Syntax: ERE}, "xabx", "[1 3]"},
		{"(a|ab)(c|bcd)(d*)", Options{Syntax: ERE}, "abcd", "[0 4 0 1 1 4 4 4]"},
		{"(foo|foobar)(.*)", Options{Syntax: ERE}, "foobarx", "[0 7 0 3 3 7]"},
		{`\(a*\)b\1`, Options{}, "aabaa", "[0 5 0 2]"},
		{`\(.\)\1`, Options{}, "abccd", "[2 4 2 3]"},
		{`a\+b\?`, Options{}, "xaab", "[1 4]"},
		{`a\|b`, Options{}, "xb", "[1 2]"},
		{`a+`, Options{}, "aa+", "[1 3]"},
		{`*a`, Options{}, "b*a", "[1 3]"},
		{`^*a`, Options{}, "*a", "[0 2]"},
		{`\(*a\)`, Options{}, "*a", "[0 2 0 2]"},
		{`a\{2,3\}`, Options{}, "aaaa", "[0 3]"},
		{`a{2}`, Options{Syntax: ERE}, "baa", "[1 3]"},
		{`a{,2}b`, Options{Syntax: ERE}, "aaab", "[1 4]"},
		{`a{x`, Options{Syntax: ERE}, "a{x", "[0 3]"},
		{`a^b$c`, Options{}, "a^b$c", "[0 5]"},
		{`^a$`, Options{}, "a\nb", ""},
		{`^b$`, Options{Multiline: true}, "a\nb\nc", "[2 3]"},
		{"\\`b", Options{Multiline: true}, "a\nb", ""},
		{`\<foo\>`, Options{}, "afoo foo", "[5 8]"},
		{`\bfoo\b`, Options{Syntax: ERE}, "foox foo.", "[5 8]"},
		{`\Boo`, Options{}, "oo foo", "[4 6]"},
		{`foo`, Options{Word: true}, "foobar foo", "[7 10]"},
		{`foo.*`, Options{Word: true}, "foobar", "[0 6]"},
		{`a|ab`, Options{Syntax: ERE, WholeLine: true}, "ab", "[0 2]"},
		{`[]a]`, Options{}, "x]", "[1 2]"},
		{`[^]a]`, Options{}, "]ab", "[2 3]"},
		{`[a-]`, Options{}, "-", "[0 1]"},
		{`[[:digit:]]\+`, Options{}, "ab12", "[2 4]"},
		{`[\n]`, Options{}, `n\`, "[0 1]"},
		{`[\]]`, Options{BracketEscapes: true}, `]`, "[0 1]"},
		{`ABC`, Options{Fold: true}, "xaBc", "[1 4]"},
		{`[a-c]+`, Options{Syntax: ERE, Fold: true}, "xABc", "[1 4]"},
		{`é`, Options{Fold: true}, "É", "[0 2]"},
		{`日.語`, Options{}, "x日本語", "[1 10]"},
		{`.`, Options{}, "\xff", "[0 1]"},
		{`^..$`, Options{}, "é", ""},
		{`^..$`, Options{}, "\xc3\xc3", "[0 2]"},
		{`\w+`, Options{Syntax: ERE}, "- 日本_1", "[2 10]"},
		{`a.c`, Options{Syntax: Fixed}, "abc a.c", "[4 7]"},
		{`x*`, Options{}, "aaa", "[0 0]"},
		{`(a*)*`, Options{Syntax: ERE}, "b", "[0 0 -1 -1]"},
		{`(a*)+`, Options{Syntax: ERE}, "aa", "[0 2 0 2]"},
		{`()`, Options{Syntax: ERE}, "a", "[0 0 0 0]"},
		{`a||b`, Options{Syntax: ERE}, "b", "[0 1]"},
		{`foo(?=bar)`, Options{Syntax: Perl}, "foo foobar", "[4 7]"},
		{`foo(?!bar)`, Options{Syntax: Perl}, "foobar foo", "[7 10]"},
		{`(?<=a)b`, Options{Syntax: Perl}, "bab", "[2 3]"},
		{`(?<!a)b`, Options{Syntax: Perl}, "abb", "[2 3]"},
		{`foo\K\d+`, Options{Syntax: Perl}, "foo12", "[3 5]"},
		{`a+?`, Options{Syntax: Perl}, "aaa", "[0 1]"},
		{`a|ab`, Options{Syntax: Perl}, "ab", "[0 1]"},
		{`(?i)abc`, Options{Syntax: Perl}, "ABC", "[0 3]"},
		{`(?s)a.b`, Options{Syntax: Perl}, "a\nb", "[0 3]"},
		{`(?s:a.)c|a.b`, Options{Syntax: Perl}, "a\nb a\nc", "[4 7]"},
		{`(?s-s)a.b`, Options{Syntax: Perl}, "a\nb", ""},
		{`(?<x>a)\k<x>`, Options{Syntax: Perl}, "aa", "[0 2 0 1]"},
		{`\x{65e5}\p{L}`, Options{Syntax: Perl}, "日本", "[0 6]"},
		{`a++a`, Options{Syntax: Perl}, "aaa", ""},
		{`[\d-]+`, Options{Syntax: Perl}, "a1-2", "[1 4]"},
		{`(?:a|b)c`, Options{Syntax: Perl}, "bc", "[0 2]"},
		{`\Qa.b\E+`, Options{Syntax: Perl}, "a.bb", "[0 4]"},
	} {
		re := mustCompile(t, tt.pattern, tt.o)
		got := ""
		if loc := re.Find([]byte(tt.text), 0, nil); loc != nil {
			got = fmt.Sprint(loc)
		}
		if got != tt.want {
			t.Errorf("%q on %q: got %s, want %s", tt.pattern, tt.text, got, tt.want)
		}
		if re.Match([]byte(tt.text)) != (tt.want != "") {
			t.Errorf("%q on %q: Match disagrees with Find", tt.pattern, tt.text)
		}
		if start, _ := re.FindMatchingLine([]byte(tt.text), 0); (start >= 0) != (tt.want != "") &&
			!strings.Contains(tt.text, "\n") {
			t.Errorf("%q on %q: FindMatchingLine disagrees with Find", tt.pattern, tt.text)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		o       Options
		want    syntaxError
	}{
		{"[a", Options{}, errBracket}, {"[[:alpha:", Options{}, errBracket}, {"[[:foo:]]", Options{}, errClass},
		{`\(a`, Options{}, errParen}, {`a\)`, Options{}, errParenEnd}, {`(a`, Options{Syntax: ERE}, errParen},
		{`a)`, Options{Syntax: ERE}, errParenEnd}, {`a\`, Options{}, errBackslash}, {`\(a\)\2`, Options{}, errRef},
		{`a\{1`, Options{}, errBrace}, {`a\{2,1\}`, Options{}, errInterval}, {`a\{x\}`, Options{}, errInterval},
		{`*a`, Options{Syntax: ERE, Strict: true}, errPreceding}, {`[b-a]`, Options{}, errRange},
		{`[:space:]`, Options{}, errNotClass}, {`\{1\}`, Options{}, errPreceding},
		{`(a{1000}){1000}`, Options{Syntax: ERE}, errTooBig}, {`x{30000}`, Options{Syntax: ERE}, errTooBig},
		{`x{99999999999999999999}`, Options{Syntax: ERE}, errTooBig},
		{strings.Repeat("(", 20000), Options{Syntax: ERE}, errTooBig},
		{strings.Repeat("(?:", 400) + strings.Repeat("){30000}", 400), Options{Syntax: Perl}, errTooBig},
		{strings.Repeat("a{9}", 1) + strings.Repeat("{9}", 30), Options{Syntax: ERE}, errTooBig},
		{"a" + strings.Repeat("*", 100000), Options{Syntax: ERE}, errTooBig},
	} {
		if _, err := Compile(tt.pattern, tt.o); err != tt.want {
			t.Errorf("%.40q: got %v, want %v", tt.pattern, err, tt.want)
		}
	}
}

// TestRunaway has patterns that cost others minutes.
func TestRunaway(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		o             Options
		gives         bool
	}{
		{`\(a*\)*\1b`, strings.Repeat("a", 5000), Options{}, true},
		{`(x+x+)+y`, strings.Repeat("x", 100000), Options{Syntax: ERE}, false},
		{`(a|aa)+$`, strings.Repeat("a", 100000) + "b", Options{Syntax: Perl}, false},
		{`[ab]*a[ab]{2000}[cde]`, randomAB(120000), Options{Syntax: ERE}, true},
		{`a*b`, strings.Repeat("a", 1<<20) + "c", Options{}, false},
		{`a*[bc]d`, strings.Repeat("a", 1<<18) + "cd", Options{}, false},
	} {
		re := mustCompile(t, tt.pattern, tt.o)
		re.Find([]byte(tt.text), 0, nil)
		re.FindMatchingLine([]byte(tt.text), 0)
		if (re.Err() != nil) != tt.gives {
			t.Errorf("%q: err %v", tt.pattern, re.Err())
		}
	}
}

func randomAB(n int) string {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = "ab"[r.IntN(2)]
	}
	return string(b)
}

func TestMulti(t *testing.T) {
	re := mustCompile(t, `\(a\)\1`, Options{Multi: []string{`\(b\)\1`, "c"}})
	for text, want := range map[string]bool{"aa": true, "bb": true, "ab": false, "c": true} {
		if re.Match([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
	words := make([]string, 5000)
	for i := range words {
		words[i] = fmt.Sprintf("word%dx", i)
	}
	re = mustCompile(t, "none", Options{Syntax: Fixed, Word: true, Multi: words})
	if !re.Match([]byte("a word4999x b")) || re.Match([]byte("a word4999xy b")) || re.Err() != nil {
		t.Error("list of words", re.Err())
	}
}

var pieces = []string{"a", "b", "c", "ab", ".", "[ab]", "[^a]", "é", "\\.", "x", "foo", "1", "[0-9]", "[a-z]"}

// randomPattern makes a pattern that means the same in ERE and in Go.
func randomPattern(r *rand.Rand, depth int) string {
	var s strings.Builder
	for range 1 + r.IntN(4) {
		piece := pieces[r.IntN(len(pieces))]
		if depth > 0 && r.IntN(3) == 0 {
			piece = "(" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")"
		}
		if utf := piece == "é" || len(piece) == 1 || piece[0] == '[' || piece[0] == '('; utf && r.IntN(3) == 0 {
			piece += []string{"*", "+", "?", "{2}", "{1,3}", "{2,}"}[r.IntN(6)]
		}
		s.WriteString(piece)
	}
	switch r.IntN(8) {
	case 0:
		return "^" + s.String()
	case 1:
		return s.String() + "$"
	}
	return s.String()
}

func randomText(r *rand.Rand) string {
	var s strings.Builder
	for range r.IntN(30) {
		s.WriteString([]string{"a", "b", "c", "ab", "é", "x", "foo", "1", "7", " ", ".", "\xff", "z", "A"}[r.IntN(14)])
	}
	return s.String()
}

// TestAgainstGo compares bounds and lines with the standard library.
func TestAgainstGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		pattern := randomPattern(r, 2)
		fold := r.IntN(4) == 0
		source := "(?s)" + pattern
		if fold {
			source = "(?is)" + pattern
		}
		std, err := regexp.Compile(source)
		if err != nil {
			continue
		}
		std.Longest()
		re, err := Compile(pattern, Options{Syntax: ERE, Fold: fold})
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		var block []byte
		var want []int
		for range 6 {
			text := randomText(r)
			compareOne(t, re, std, pattern, text)
			start := len(block)
			block = append(block, text+"\n"...)
			if std.MatchString(text) {
				want = append(want, start, len(block))
			}
		}
		if got := re.MatchingLines(block, nil, -1); !reflect.DeepEqual(got, want) {
			t.Fatalf("lines of %q (fold %v) in %q: got %v, want %v", pattern, fold, block, got, want)
		}
		if n := re.CountLines(block); n != len(want)/2 {
			t.Fatalf("count of %q in %q: got %d", pattern, block, n)
		}
	}
}

func compareOne(t *testing.T, re *Regexp, std *regexp.Regexp, pattern, text string) {
	t.Helper()
	want := std.FindStringSubmatchIndex(text)
	got := re.Find([]byte(text), 0, nil)
	if (want == nil) != (got == nil) || want != nil && (got[0] != want[0] || got[1] != want[1]) {
		t.Fatalf("%q on %q: got %v, want %v", pattern, text, got, want)
	}
	if re.Match([]byte(text)) != (want != nil) {
		t.Fatalf("%q on %q: Match says otherwise", pattern, text)
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`\(a*\)\1`, "[[:alpha:]]+", "(a|b)*c", `\<x\>`, "a{2,3}", "(?i)x", "[^]x-z]"} {
		f.Add(s, "some text ab 12", uint8(0))
		f.Add(s, "a\nb\xff", uint8(9))
	}
	f.Fuzz(func(t *testing.T, pattern, text string, bits uint8) {
		o := Options{Syntax: Syntax(bits & 3), Fold: bits&4 != 0, Word: bits&8 != 0, WholeLine: bits&16 != 0,
			Strict: bits&32 != 0}
		re, err := Compile(pattern, o)
		if err != nil {
			return
		}
		loc := re.Find([]byte(text), 0, nil)
		if match := re.Match([]byte(text)); re.Err() == nil && match != (loc != nil) {
			t.Fatalf("%q on %q: Match %v, Find %v", pattern, text, match, loc)
		}
		line, _, _ := strings.Cut(text, "\n")
		start, _ := re.FindMatchingLine([]byte(line+"\n"), 0)
		if re.Err() == nil && (start >= 0) != re.Match([]byte(line)) && re.Err() == nil {
			t.Fatalf("%q on line %q: FindMatchingLine %d", pattern, line, start)
		}
	})
}

// TestNewlineEndsALine: a newline in a pattern never matches the one that ends a line.
func TestNewlineEndsALine(t *testing.T) {
	for _, pattern := range []string{"\n", "0\n", "[\n]", "[\n0]", "0*\n", "[^a]", `\n`, "(0|\n)", "b0\n", "(b0|b\n)"} {
		for bits := range uint8(64) {
			re, err := Compile(pattern, Options{Syntax: Syntax(bits & 3), Fold: bits&4 != 0, Word: bits&8 != 0,
				WholeLine: bits&16 != 0, Strict: bits&32 != 0})
			if err != nil {
				continue
			}
			for _, line := range []string{"0", "", "b0", "b"} {
				start, _ := re.FindMatchingLine([]byte(line+"\n"), 0)
				if (start >= 0) != re.Match([]byte(line)) {
					t.Errorf("%q (bits %b) on line %q: FindMatchingLine %d", pattern, bits, line, start)
				}
			}
		}
	}
}

// TestTogether uses one Regexp from several goroutines; it is for -race.
func TestTogether(t *testing.T) {
	for _, pattern := range []string{"needle", `[a-z]+[0-9]{3}`, `(a|b)+c`, `(.)\1`, `n[a-z]*e$`} {
		re := mustCompile(t, pattern, Options{Syntax: ERE})
		text := []byte(strings.Repeat("hay abc123\nbook\nneedle\nbbac\n", 200))
		want := re.CountLines(text)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					if got := re.CountLines(text); got != want {
						t.Errorf("%q: got %d lines, want %d", pattern, got, want)
					}
					re.Find(text, 0, nil)
				}
			})
		}
		all.Wait()
	}
}
