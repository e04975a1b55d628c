package markdown_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hako/internal/markdown"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// A golden is one pair name.md, name.out of an archive in testdata. The lines
// before the first file are its options: width N, color, links. In both files
// \e stands for ESC; in the input \xNN stands for a byte.
type golden struct {
	name, in, out string
	options       markdown.Options
}

func goldens(t testing.TB) []golden {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.txtar")
	var all []golden
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for i := 0; i+1 < len(ar.Files); i += 2 {
			in, out := ar.Files[i], ar.Files[i+1]
			name, ok := strings.CutSuffix(in.Name, ".md")
			if !ok || out.Name != name+".out" {
				t.Fatalf("%s: %s is not followed by its result", file, in.Name)
			}
			all = append(all, golden{base + "/" + name, bytesOf(string(in.Data)), string(out.Data), optionsOf(t, ar)})
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d goldens", len(all))
	}
	return all
}

func optionsOf(t testing.TB, ar *txtar.Archive) markdown.Options {
	var o markdown.Options
	for word := range strings.FieldsSeq(string(ar.Comment)) {
		switch n, err := strconv.Atoi(word); {
		case err == nil:
			o.Width = n
		case word == "color":
			o.Color = true
		case word == "links":
			o.Links = true
		case word != "width":
			t.Fatalf("unknown option %q", word)
		}
	}
	return o
}

// bytesOf resolves \e and \xNN.
func bytesOf(s string) string {
	s = strings.ReplaceAll(s, `\e`, "\x1b")
	for {
		i := strings.Index(s, `\x`)
		if i < 0 {
			return s
		}
		n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
		if err != nil {
			return s
		}
		s = s[:i] + string([]byte{byte(n)}) + s[i+4:]
	}
}

func visible(s string) string { return strings.ReplaceAll(s, "\x1b", `\e`) }

// render writes in, in the pieces that next cuts off.
func render(t testing.TB, o markdown.Options, in string, next func(rest int) int) string {
	t.Helper()
	var out bytes.Buffer
	w := markdown.NewWriter(&out, o)
	for len(in) > 0 {
		n := next(len(in))
		if m, err := w.Write([]byte(in[:n])); m != n || err != nil {
			t.Fatalf("Write returned %d, %v", m, err)
		}
		in = in[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func whole(rest int) int { return rest }
func single(int) int     { return 1 }

func random(seed uint64) func(int) int {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(rest int) int { return 1 + r.IntN(min(rest, 9)) }
}

func TestGolden(t *testing.T) {
	if *update {
		rewrite(t)
	}
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			if got := visible(render(t, g.options, g.in, whole)); got != g.out {
				t.Errorf("got\n%s\nwant\n%s", got, g.out)
			}
		})
	}
}

func rewrite(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var files []txtar.File
		for _, f := range ar.Files {
			if name, ok := strings.CutSuffix(f.Name, ".md"); ok {
				out := visible(render(t, optionsOf(t, ar), bytesOf(string(f.Data)), whole))
				files = append(files, f, txtar.File{Name: name + ".out", Data: []byte(out)})
			}
		}
		ar.Files = files
		if err := os.WriteFile(file, txtar.Format(ar), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCutAnywhere is the promise of the package: how the text was cut into
// pieces does not show.
func TestCutAnywhere(t *testing.T) {
	for _, g := range goldens(t) {
		for _, o := range []markdown.Options{g.options, {}, {Width: 7, Color: true, Links: true}, {Width: 20},
			{Width: 80, Color: true}} {
			want := render(t, o, g.in, whole)
			if got := render(t, o, g.in, single); got != want {
				t.Errorf("%s %+v, byte by byte:\n%s\nat once:\n%s", g.name, o, visible(got), visible(want))
			}
			for seed := range uint64(10) {
				if got := render(t, o, g.in, random(seed)); got != want {
					t.Errorf("%s %+v, pieces %d:\n%s\nat once:\n%s", g.name, o, seed, visible(got), visible(want))
				}
			}
		}
	}
}

// TestOnlyOurSequences feeds every golden with every option.
func TestOnlyOurSequences(t *testing.T) {
	for _, g := range goldens(t) {
		for i := range 8 {
			o := markdown.Options{Width: i & 1 * 30, Color: i&2 != 0, Links: i&4 != 0}
			if why := unsafe(render(t, o, g.in, whole), o); why != "" {
				t.Errorf("%s %+v: %s", g.name, o, why)
			}
		}
	}
}

// unsafe says what in s should not reach a terminal.
func unsafe(s string, o markdown.Options) string {
	for i := 0; i < len(s); {
		if n := sequence(s[i:], o); n > 0 {
			i += n
			continue
		}
		r, n := rune(s[i]), 1
		if r >= 0x80 {
			for _, r = range s[i:] {
				break
			}
			n = len(string(r))
		}
		if forbidden(r) || r == 0xfffd && !strings.HasPrefix(s[i:], "\ufffd") {
			return fmt.Sprintf("%q at byte %d of %q", r, i, s)
		}
		i += n
	}
	return ""
}

func forbidden(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
		r <= 0x2069
}

// sequence returns the length of one of our own escape sequences.
func sequence(s string, o markdown.Options) int {
	if rest, ok := strings.CutPrefix(s, "\x1b["); ok && o.Color {
		if n := strings.IndexFunc(rest, func(r rune) bool { return r != ';' && (r < '0' || r > '9') }); n >= 0 &&
			rest[n] == 'm' {
			return 2 + n + 1
		}
	}
	if rest, ok := strings.CutPrefix(s, "\x1b]8;;"); ok && o.Links {
		url, _, ok := strings.Cut(rest, "\x1b\\")
		plain := strings.IndexFunc(url, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
		allowed := url == ""
		for _, scheme := range []string{"http:", "https:", "mailto:"} {
			allowed = allowed || strings.HasPrefix(strings.ToLower(url), scheme)
		}
		if ok && plain && allowed {
			return 5 + len(url) + 2
		}
	}
	return 0
}

// TestSameLayout checks that colours change nothing but colours.
func TestSameLayout(t *testing.T) {
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, g := range goldens(t) {
		o := g.options
		o.Color = true
		coloured := sgr.ReplaceAllString(render(t, o, g.in, whole), "")
		o.Color = false
		if plain := render(t, o, g.in, whole); plain != coloured {
			t.Errorf("%s: plain\n%s\ncoloured\n%s", g.name, visible(plain), visible(coloured))
		}
	}
}
