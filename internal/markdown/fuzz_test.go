package markdown_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hako/internal/markdown"
)

// FuzzWriter checks the two promises: pieces do not show, and nothing reaches
// the terminal but text and our own sequences.
func FuzzWriter(f *testing.F) {
	for i, g := range goldens(f) {
		f.Add(g.in, uint64(i), byte(i*7), true, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, in string, seed uint64, width byte, color, links bool) {
		check(t, in, seed, markdown.Options{Width: int(width), Color: color, Links: links})
	})
}

func check(t *testing.T, in string, seed uint64, o markdown.Options) {
	t.Helper()
	want := render(t, o, in, whole)
	if why := unsafe(want, o); why != "" {
		t.Error(why)
	}
	if got := render(t, o, in, single); got != want {
		t.Errorf("%+v: byte by byte\n%q\nat once\n%q", o, got, want)
	}
	if got := render(t, o, in, random(seed)); got != want {
		t.Errorf("%+v: in pieces\n%q\nat once\n%q", o, got, want)
	}
	if want != "" && !strings.HasSuffix(want, "\n") {
		t.Errorf("%+v: the last line is not ended: %q", o, want)
	}
}

// scraps are what markdown is made of, and what it must survive.
var scraps = strings.Split(
	"a|b |word |the |*|**|_|__|~~|`|``|```|\n|\n\n|\n|  \n|\\|\\\\\n|[|]|](|)|!|<|>|&|&amp;|&#27;|;|#|## | |  |    |\t|- |-|--|---|1. |23) |> |"+
		"=|===|·|·-·\n|· a · b ·\n|·---·:-:·\n|http://|https://x.y/z|<a@b>|](http://x)|日|本|、|「|」|é|e\u0301|👍🏽|❤️|\u200d|\x1b|\x1b[31m|\r|\r\n|\u202e|\xff|\xe6\x97|"+
		"- [ ] |- [x] |+ |h|ht|0|9|.|,|(|'|\"|"+strings.Repeat("x", 300)+"|"+strings.Repeat("ab ", 200), "|")

// TestScraps is the fuzz target's blunter brother: it needs no luck to hit upon
// a marker.
func TestScraps(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		var b strings.Builder
		for range 1 + r.IntN(40) {
			b.WriteString(strings.ReplaceAll(scraps[r.IntN(len(scraps))], "·", "|"))
		}
		check(t, b.String(), r.Uint64(), markdown.Options{Width: r.IntN(50), Color: r.IntN(2) == 0, Links: r.IntN(2) == 0})
		if t.Failed() {
			t.Fatalf("text %q", b.String())
		}
	}
}

// TestNothingLost puts a letter that stands for nothing else among markers and
// counts what comes out. Titles of links, the rest of a fence's first line and
// entities are meant to vanish; they need a character that is left out here.
func TestNothingLost(t *testing.T) {
	parts := slices.DeleteFunc(slices.Clone(scraps), func(s string) bool { return strings.ContainsAny(s, "`\"'&~") })
	for range 15 {
		parts = append(parts, "Q", "Q ", " Q")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		for range 1 + r.IntN(40) {
			b.WriteString(strings.ReplaceAll(parts[r.IntN(len(parts))], "·", "|"))
		}
		o := markdown.Options{Width: r.IntN(50)}
		out := render(t, o, b.String(), whole)
		if got, want := strings.Count(out, "Q"), strings.Count(b.String(), "Q"); got != want {
			t.Fatalf("%+v: %d of %d left of %q:\n%s", o, got, want, b.String(), out)
		}
	}
}
