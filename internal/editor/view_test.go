package editor

import (
	"fmt"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		lines []int
		want  string
	}{
		"plain":       {"a\n\n\tb\n", nil, "     1\ta\n     2\t\n     3\t\tb\n"},
		"empty":       {"", nil, "[the file is empty]\n"},
		"one line":    {"\n", nil, "     1\t\n"},
		"no line end": {"a\nb", nil, "     1\ta\n     2\tb\n[no line end at the end of the file]\n"},
		"part":        {"a\nb\nc\nd", []int{2, 3}, "     2\tb\n     3\tc\n"},
		"to the end":  {"a\nb\nc\n", []int{2, -1}, "     2\tb\n     3\tc\n"},
		"one":         {"a\nb\nc\n", []int{3, 3}, "     3\tc\n"},
		"crlf": {"a\r\nb\r\n", nil,
			"     1\ta\n     2\tb\n[lines end in CRLF; edits keep that, so write plain line ends]\n"},
		"mixed": {"a\r\nb\n", nil, "     1\ta␍\n     2\tb\n" +
			"[some lines end in CRLF, with ␍ for the CR; edits take line ends as they are written]\n"},
		"mark":      {"\ufeffa\n", nil, "     1\ta\n[the file begins with a byte order mark; edits keep it]\n"},
		"only mark": {"\ufeff", nil, "[the file is empty]\n[the file begins with a byte order mark; edits keep it]\n"},
		"japanese":  {"日本語　全角\n한국어 😀\n", nil, "     1\t日本語　全角\n     2\t한국어 😀\n"},
		"shift_jis": {shiftJISBytes("表示\nｶﾅ\n"), nil,
			"     1\t表示\n     2\tｶﾅ\n[the file is in Shift_JIS; edits keep that]\n"},
		"euc-jp":  {eucJPBytes("日本語です\n"), nil, "     1\t日本語です\n[the file is in EUC-JP; edits keep that]\n"},
		"latin-1": {"caf\xe9\n", nil, "     1\tcaf\ufffd\n[the file is in an unknown encoding; edits keep that]\n"},
		"broken": {"日本\xff語\n", nil,
			"     1\t日本\ufffd語\n[the file is in UTF-8 with broken characters; edits keep that]\n"},
		"controls": {"a\x1b[31mb\x07\x7f text text\rx\u0085y\u202ez\n", nil,
			"     1\ta␛[31mb␇␡ text text␍x‹U+0085›y‹U+202E›z\n"},
		"far nul": {strings.Repeat("x", 600) + "\n\x00\n", []int{2, 2}, "     2\t␀\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.file)
			if got := b.ok("view", "f", "view_range", c.lines); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestLongFilesAreClipped(t *testing.T) {
	b := newBench(t)
	var file, want strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&file, "line %d\n", i+1)
		fmt.Fprintf(&want, "%6d\tline %d\n", i+1, i+1)
	}
	b.write("f", file.String())
	b.MaxView = 5000
	seen, from := "", 1
	for pages := 0; from <= 10_000; pages++ { // going on as told shows everything once
		got := b.ok("view", "f", "view_range", []int{from, -1})
		if len(got) > 5200 || pages > 100 {
			t.Fatalf("%d bytes on page %d", len(got), pages)
		}
		body, note, clipped := strings.Cut(got, "[clipped")
		seen += body
		if !clipped {
			break
		}
		var after, next, last int
		if _, err := fmt.Sscanf(note, ` after line %d; to go on, view with "view_range": [%d, %d]]`, &after, &next,
			&last); err != nil || next != after+1 || last != 10_000 {
			t.Fatalf("note %q: %v", note, err)
		}
		from = next
	}
	if seen != want.String() {
		t.Errorf("the pages are not the file: %d bytes, want %d", len(seen), want.Len())
	}
}

func TestLongLinesAreClipped(t *testing.T) {
	b := newBench(t)
	b.write("f", strings.Repeat("語", 100_000)+"\nnext\n")
	want := "     1\t" + strings.Repeat("語", 1333) +
		" … [the line has 300000 bytes; cut -c shows the rest]\n     2\tnext\n"
	if got := b.ok("view", "f"); got != want {
		t.Errorf("got %d bytes: …%s", len(got), got[len(got)-100:])
	}
}

func TestList(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"b.txt", "a/inner/deep/x", "a/z", "a/.hidden", ".git/config", "c c/\x1bd", "a.txt"} {
		b.write(name, "")
	}
	want := strings.Join([]string{"", "", "/a", "/a/inner", "/a/z", "/a.txt", "/b.txt", "/c c", "/c c/␛d"}, "\n"+at)[1:] +
		"\n"
	if got := b.ok("view", at); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := b.ok("view", "a//"); got != at+"/a\n"+at+"/a/inner\n"+at+"/a/inner/deep\n"+at+"/a/z\n" {
		t.Errorf("got\n%s", got)
	}
	if got := b.ok("view", ".git"); got != at+"/.git\n"+at+"/.git/config\n" {
		t.Errorf("got\n%s", got)
	}
}

// What is long must not hide what comes after it.
func TestLongListsAreClipped(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		b.write(fmt.Sprintf("many/%02d", i), "")
	}
	b.write("src/main", "")
	b.MaxEntries = 12
	got := b.ok("view", at)
	want := []string{at, at + "/many", at + "/many/00", at + "/many/04",
		"[clipped: " + at + "/many has 45 other names; view it to see them]", at + "/src", at + "/src/main"}
	if n := strings.Count(got, "\n"); n != 10 {
		t.Errorf("%d lines:\n%s", n, got)
	}
	for _, line := range want {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
	if got := b.ok("view", "many"); !strings.HasSuffix(got,
		"/11\n[clipped: "+at+"/many has 38 other names; list them with ls]\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestTenMegabytes(t *testing.T) {
	b := newBench(t)
	line := strings.Repeat("x", 99) + "\n"
	b.write("f", strings.Repeat(line, 10<<20/100))
	n := 10 << 20 / 100
	if got := b.ok("view", "f", "view_range", []int{n, -1}); got != fmt.Sprintf("%6d\t%s", n, line) {
		t.Fatalf("got %q", got)
	}
	b.ok("insert", "f", "insert_line", n-1, "insert_text", "the end")
	b.ok("str_replace", "f", "old_str", "the end\n")
	b.wantFile("f", strings.Repeat(line, n))
}
