package editor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/encoding/japanese"

	"hako/run/fault"
)

func TestReplaceBytes(t *testing.T) {
	sjis, euc := shiftJISBytes, eucJPBytes
	for name, c := range map[string]struct{ file, old, new, want string }{
		"tabs stay":                {"\tif x {\n\t\ty  \n\t}\n", "y", "z", "\tif x {\n\t\tz  \n\t}\n"},
		"no line end stays":        {"a\nb", "a", "A", "A\nb"},
		"last line end can go":     {"a\nb\n", "b\n", "b", "a\nb"},
		"crlf stays":               {"a\r\nb\r\nc\r\n", "b", "B", "a\r\nB\r\nc\r\n"},
		"crlf found by lf":         {"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"},
		"crlf found by crlf":       {"a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\nc\r\n"},
		"mixed is exact":           {"a\r\nb\nc\r\n", "b\nc", "B\nC", "a\r\nB\nC\r\n"},
		"crlf can be written":      {"a\nb\n", "a", "a\r", "a\r\nb\n"},
		"cr alone stays":           {"a\rb\rc", "b", "B", "a\rB\rc"},
		"mark stays":               {"\ufeffa\nb\n", "a", "A", "\ufeffA\nb\n"},
		"mark is not text":         {"\ufeffa\nb\n", "a\nb\n", "", "\ufeff"},
		"overlong space":           {"a\u3000b\u00a0c\n", "b", "B", "a\u3000B\u00a0c\n"},
		"composed or not":          {"e\u0301 é\n", "é", "x", "e\u0301 x\n"},
		"shift_jis":                {sjis("表\\示\r\nソース\r\n"), "示", "面", sjis("表\\面\r\nソース\r\n")},
		"shift_jis trailing bytes": {sjis("表示 C:\\x ソ\n"), "\\", "/", sjis("表示 C:/x ソ\n")},
		"shift_jis half width":     {sjis("ｶﾅ漢字\n"), "ﾅ", "ﾆ", sjis("ｶﾆ漢字\n")},
		"shift_jis twins":          {"\x87\x90\x81\xe0 " + sjis("日本語です\n"), "日本", "和", "\x87\x90\x81\xe0 " + sjis("和語です\n")},
		"euc-jp":                   {euc("これは日本語\nです\n"), "日本語\n", "英語\n", euc("これは英語\nです\n")},
		"euc-jp three bytes":       {"\x8f\xb0\xa1" + euc("漢字ｶﾅ\n"), "字", "文", "\x8f\xb0\xa1" + euc("漢文ｶﾅ\n")},
		"latin-1":                  {"caf\xe9\nx\n", "x", "y", "caf\xe9\ny\n"},
		"broken utf-8":             {"日本語\xe3\x81 です\n", "です", "だ", "日本語\xe3\x81 だ\n"},
		"nul far away": {strings.Repeat("text\n", 200) + "\x00 end\n", "end", "END",
			strings.Repeat("text\n", 200) + "\x00 END\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.file)
			b.ok("str_replace", "f", "old_str", c.old, "new_str", c.new)
			b.wantFile("f", c.want)
			b.ok("undo_edit", "f")
			b.wantFile("f", c.file)
		})
	}
}

func shiftJISBytes(s string) string { return encoded(japanese.ShiftJIS.NewEncoder().String(s)) }
func eucJPBytes(s string) string    { return encoded(japanese.EUCJP.NewEncoder().String(s)) }

func encoded(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

func TestCharactersTheFileCannotHold(t *testing.T) {
	b := newBench(t)
	b.write("s", shiftJISBytes("日本語\n"))
	b.write("e", eucJPBytes("日本語です\n"))
	b.write("l", "caf\xe9\n")
	hint := "\nuse characters that the encoding of the file has, or convert the file first"
	for _, c := range []struct{ file, text, why string }{
		{"s", "😀", "Shift_JIS has no '😀' (U+1F600)"},
		{"s", "本\u00a5", "Shift_JIS has no '¥' (U+00A5)"}, // it would become a backslash
		{"e", "日本é😀", "EUC-JP has no '😀' (U+1F600)"},
		{"l", "日", "the encoding of the file is unknown, and '日' (U+65E5) is not ASCII"},
	} {
		b.no(fault.Invalid, "insert "+at+"/"+c.file+": "+c.why+hint, "insert", c.file, "insert_line", 1, "insert_text",
			c.text)
	}
}

// A guess would take a file for UTF-8 once its last Japanese character is gone.
func TestEncodingOutlivesItsEvidence(t *testing.T) {
	b := newBench(t)
	b.write("s", shiftJISBytes("x = 日本\n"))
	b.ok("str_replace", "s", "old_str", "日本", "new_str", "1")
	b.wantFile("s", "x = 1\n")
	b.ok("str_replace", "s", "old_str", "1", "new_str", "東京")
	b.wantFile("s", shiftJISBytes("x = 東京\n"))
}

func TestReplaceDeletes(t *testing.T) {
	b := newBench(t)
	b.write("f", "a b c\n")
	b.ok("str_replace", "f", "old_str", " b")
	b.wantFile("f", "a c\n")
	b.ok("str_replace", "f", "old_str", " c", "new_str", nil)
	b.wantFile("f", "a\n")
	if got := b.ok("str_replace", "f", "old_str", "a\n"); got != "The file "+at+"/f has been edited. It is empty now." {
		t.Errorf("got %q", got)
	}
	b.wantFile("f", "")
}

func TestMatches(t *testing.T) {
	b := newBench(t)
	b.write("f", "begin\n  x\nend\nother\nbegin\n  x\nend\n")
	b.no(fault.Invalid, "No replacement was performed. Multiple occurrences of old_str `begin\n  x\n` in lines [1-2, 5-6]. Please ensure it is unique\n"+
		"match 1: lines 1-2: begin\nmatch 2: lines 5-6: begin\nGive more of the text around it, or \"match\": N for one of these.",
		"str_replace", "f", "old_str", "begin\n  x\n", "new_str", "y\n")
	b.ok("str_replace", "f", "old_str", "begin\n  x\n", "new_str", "y\n", "match", 2)
	b.wantFile("f", "begin\n  x\nend\nother\ny\nend\n")
	b.ok("str_replace", "f", "old_str", "begin", "new_str", "BEGIN", "match", 1) // there is only one left
	b.wantFile("f", "BEGIN\n  x\nend\nother\ny\nend\n")

	b.write("same", "aXbXc\n")
	b.no(fault.Invalid, "No replacement was performed. Multiple occurrences of old_str `X` in lines [1]. Please ensure it is unique\n"+
		"match 1: line 1: aXbXc\nmatch 2: line 1: aXbXc\nGive more of the text around it, or \"match\": N for one of these.",
		"str_replace", "same", "old_str", "X")
	b.ok("str_replace", "same", "old_str", "X", "new_str", "Y", "match", 2)
	b.wantFile("same", "aXbYc\n")

	b.write("overlap", "aaa\n") // which two are meant?
	if r := b.call("str_replace", "overlap", "old_str", "aa"); r.Success {
		t.Error("one of two was chosen")
	}
	b.write("many", strings.Repeat("x\n", 1000))
	r := b.call("str_replace", "many", "old_str", "x")
	if !strings.Contains(r.Error, "19, 20, …]. Please") ||
		!strings.Contains(r.Error, "\nThere are more; these are the first 20.\n") || strings.Contains(r.Error, "match 21") {
		t.Errorf("got %s", r.Error)
	}
	b.no(fault.Invalid, "str_replace "+at+"/many: there is no match 21\nchoose one from 1 to 20", "str_replace", "many",
		"old_str", "x", "match", 21)
}

// The number of a match means nothing in a file that changed since.
func TestMatchOfAnotherFile(t *testing.T) {
	b := newBench(t)
	b.write("f", "x\nx\n")
	if r := b.call("str_replace", "f", "old_str", "x"); r.Success {
		t.Fatal("not refused")
	}
	b.write("f", "x\nx\nx\n")
	b.no(fault.Invalid, changedText("str_replace", "f"), "str_replace", "f", "old_str", "x", "new_str", "y", "match", 2)
}

func changedText(command, file string) string {
	return command + " " + at + "/" + file +
		": the file changed since it was last viewed or edited here\nview it again, then repeat the edit if it still makes sense"
}

func TestInsert(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		line int
		text string
		want string
	}{
		"beginning":             {"a\nb\n", 0, "x", "x\na\nb\n"},
		"middle":                {"a\nb\n", 1, "x", "a\nx\nb\n"},
		"end":                   {"a\nb\n", 2, "x", "a\nb\nx\n"},
		"own line end":          {"a\nb\n", 1, "x\n", "a\nx\nb\n"},
		"several":               {"a\nb\n", 1, "x\n\ty\n\n", "a\nx\n\ty\n\nb\n"},
		"empty line":            {"a\nb\n", 1, "", "a\n\nb\n"},
		"empty file":            {"", 0, "x", "x\n"},
		"after an open line":    {"a\nb", 2, "x", "a\nb\nx"},
		"closing an open line":  {"a\nb", 2, "x\n", "a\nb\nx\n"},
		"before an open line":   {"a\nb", 1, "x", "a\nx\nb"},
		"crlf":                  {"a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"},
		"crlf after open line":  {"a\r\nb", 2, "x", "a\r\nb\r\nx"},
		"behind the mark":       {"\ufeffa\n", 0, "x", "\ufeffx\na\n"},
		"mixed":                 {"a\r\nb\n", 1, "x", "a\r\nx\nb\n"},
		"shift_jis":             {shiftJISBytes("表\nソ\n"), 1, "能", shiftJISBytes("表\n能\nソ\n")},
		"euc-jp":                {eucJPBytes("あいう\nえお\n"), 2, "漢", eucJPBytes("あいう\nえお\n漢\n")},
		"only line ends":        {"\n\n", 1, "x", "\nx\n\n"},
		"one line, no line end": {"a", 0, "x", "x\na"},
		"shift_jis with crlf":   {shiftJISBytes("表\r\n"), 1, "十", shiftJISBytes("表\r\n十\r\n")},
	} {
		for _, argument := range []string{"insert_text", "new_str"} {
			t.Run(name+"/"+argument, func(t *testing.T) {
				b := newBench(t)
				b.write("f", c.file)
				b.ok("insert", "f", "insert_line", c.line, argument, c.text)
				b.wantFile("f", c.want)
				b.ok("undo_edit", "f")
				b.wantFile("f", c.file)
			})
		}
	}
}

func TestCreate(t *testing.T) {
	b := newBench(t)
	for _, text := range []string{"", "x", "a\tb\r\n", "\ufeff日本語\n", "a\rb\n"} {
		name := fmt.Sprintf("d/%x/f.txt", text)
		if got, want := b.ok("create", name, "file_text", text), "File created successfully at: "+at+"/"+name; got != want {
			t.Errorf("got %q", got)
		}
		b.wantFile(name, text)
	}
	info, err := os.Stat(filepath.Join(b.dir, "d", "78", "f.txt"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(b.dir, "usual"), nil, 0o666))
	usual, err := os.Stat(filepath.Join(b.dir, "usual"))
	must(t, err)
	if info.Mode() != usual.Mode() {
		t.Errorf("the new file has mode %v, others %v", info.Mode(), usual.Mode())
	}
}

// On file systems without links the name is taken with an empty file first.
func TestClaim(t *testing.T) {
	b := newBench(t)
	c := &Call{Command: create, Path: at + "/f"}
	claim := func() error {
		s, err := b.enter(c, filePath{rel: "f"})
		must(t, err)
		defer s.close()
		temp, err := s.temp([]byte("text"), 0o666, func(*os.File) error { return nil })
		must(t, err)
		return s.createWithoutLink(temp)
	}
	must(t, claim())
	b.wantFile("f", "text")
	before := tree(t, b.dir)
	if err := claim(); result("", err).Error != "File already exists at: "+at+
		"/f. Cannot overwrite files using command `create`." {
		t.Errorf("got %v", err)
	}
	if after := tree(t, b.dir); after != before {
		t.Errorf("left behind:\n%s", after)
	}
}

func TestChangedUnderneath(t *testing.T) {
	b := newBench(t)
	b.write("f", "a\nb\n")
	b.ok("str_replace", "f", "old_str", "a", "new_str", "A") // without a view before
	b.write("f", "A\nb\nc\n")
	b.no(fault.Invalid, changedText("str_replace", "f"), "str_replace", "f", "old_str", "b", "new_str", "B")
	b.no(fault.Invalid, changedText("insert", "f"), "insert", "f", "insert_line", 0, "insert_text", "B")
	b.ok("view", "f", "view_range", []int{1, 1})
	b.ok("str_replace", "f", "old_str", "b", "new_str", "B")
	b.wantFile("f", "A\nB\nc\n")

	b.write("g", "x\n")
	b.ok("view", "g")
	b.write("g", "y\n")
	b.no(fault.Invalid, changedText("insert", "g"), "insert", "g", "insert_line", 0, "insert_text", "z")
	b.write("g", "x\n") // as it was
	b.ok("insert", "g", "insert_line", 0, "insert_text", "z")
}

func TestTwoEditors(t *testing.T) {
	b := newBench(t)
	b.write("f", "a\n")
	other := &bench{open(t, b.dir), t, b.dir}
	b.ok("view", "f")
	other.ok("insert", "f", "insert_line", 1, "insert_text", "b")
	b.no(fault.Invalid, changedText("str_replace", "f"), "str_replace", "f", "old_str", "a", "new_str", "A")
	b.ok("view", "f")
	b.ok("str_replace", "f", "old_str", "a", "new_str", "A")
	other.no(fault.Invalid, "undo_edit "+at+"/f"+changedSinceText, "undo_edit", "f")
}

const changedSinceText = ": the file changed since that edit, and undoing would lose the change\nview it and edit it by hand"

// Every edit that was reported as done is in the file, whoever made it.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	b.write("f", "")
	editors := []*Editor{b.Editor, open(t, b.dir), open(t, b.dir)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := map[string]bool{}
	for i := range 6 {
		wg.Go(func() {
			e := editors[i%len(editors)]
			for k := range 15 {
				text, line := fmt.Sprintf("line %d of %d", k, i), 0
				for try := 0; ; try++ {
					e.Do(context.Background(), Call{Command: "view", Path: at + "/f"})
					r := e.Do(context.Background(), Call{Command: "insert", Path: at + "/f", InsertLine: &line, InsertText: &text})
					if r.Success {
						break
					}
					if r.Error != changedText("insert", "f") || try > 10000 {
						t.Error(r.Error)
						return
					}
				}
				mu.Lock()
				done[text] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got := strings.Split(strings.TrimSuffix(b.read("f"), "\n"), "\n")
	if len(got) != len(done) || len(done) != 90 {
		t.Errorf("%d lines for %d edits", len(got), len(done))
	}
	for _, line := range got {
		if !done[line] {
			t.Errorf("line %q", line)
		}
	}
}

func TestSnippet(t *testing.T) {
	b := newBench(t)
	b.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	got := b.ok("str_replace", "f", "old_str", "6\n7", "new_str", "six\n\tand\nseven")
	want := "The file " + at + "/f has been edited. Lines 2 to 12 are now:\n" +
		"     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\tsix\n     7\t\tand\n     8\tseven\n     9\t8\n    10\t9\n    11\t10\n    12\t11\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
	got = b.ok("insert", "f", "insert_line", 0, "insert_text", strings.Repeat("long line\n", 1000))
	if !strings.HasSuffix(got, " are not shown]\n") || len(got) > 10000 {
		t.Errorf("got %d bytes: %s", len(got), got[len(got)-100:])
	}
	b.write("g", "a\nb\n")
	if got := b.ok("str_replace", "g", "old_str", "b\n"); got != "The file "+at+
		"/g has been edited. Lines 1 to 1 are now:\n     1\ta\n" {
		t.Errorf("got\n%s", got)
	}
}

func TestResultTooLarge(t *testing.T) {
	b := newBench(t)
	b.MaxFile = 100
	b.write("f", strings.Repeat("x", 95)+"\n")
	b.no(fault.TooLarge, "insert "+at+"/f: 101 bytes are more than the 100 that can be edited\n"+parts, "insert", "f",
		"insert_line", 1, "insert_text", "1234")
	b.ok("insert", "f", "insert_line", 1, "insert_text", "123")
}

// Those who are not editors can be quicker than the exchange of the files.
func TestChangedInTheMiddle(t *testing.T) {
	for name, meanwhile := range map[string]func(file string) error{
		"longer":   func(file string) error { return os.WriteFile(file, []byte("theirs\n"), 0o644) },
		"removed":  os.Remove,
		"exchange": func(file string) error { return os.Rename(file+"2", file) },
	} {
		b := newBench(t)
		b.write("f", "ours\n")
		b.write("f2", "ours\n")
		s, err := b.enter(&Call{Command: insert, Path: at + "/f"}, filePath{rel: "f"})
		must(t, err)
		d, err := s.load(os.O_RDWR)
		must(t, err)
		must(t, meanwhile(filepath.Join(b.dir, "f")))
		before := tree(t, b.dir)
		_, err = s.write(d, splice{bytes: []byte("x")})
		if got := result("", err).Error; got != changedText("insert", "f") {
			t.Errorf("%s: %s", name, got)
		}
		if after := tree(t, b.dir); after != before {
			t.Errorf("%s: left\n%s", name, after)
		}
		s.close()
	}
}

func TestCreatedInTheMiddle(t *testing.T) {
	b := newBench(t)
	s, err := b.enter(&Call{Command: create, Path: at + "/f"}, filePath{rel: "f"})
	must(t, err)
	defer s.close()
	b.write("f", "theirs\n")
	before := tree(t, b.dir)
	if got := result("", s.create([]byte("ours"))).Error; got != "File already exists at: "+at+
		"/f. Cannot overwrite files using command `create`." {
		t.Errorf("got %s", got)
	}
	if after := tree(t, b.dir); after != before {
		t.Errorf("left\n%s", after)
	}
}
