package editor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDo sends two edits to a file of any contents by any path. Nothing outside
// is touched, what is refused changes nothing, and undoing brings back every byte.
func FuzzDo(f *testing.F) {
	for _, file := range []string{"a\nb\n", "a\r\nb", "\ufeffa\n", shiftJISBytes("表\\示\r\nソ\n"), eucJPBytes("日本語です\n"),
		"caf\xe9\n", "\x00", "", "日本\xff語"} {
		f.Add([]byte(file), "f", byte(2), "a", "b", 1)
		f.Add([]byte(file), "link", byte(3), "示", "能\n", 2)
		f.Add([]byte(file), "../secret", byte(1), "日", "x", -1)
		f.Add([]byte(file), "out/x", byte(1), "\n", "", 0)
		f.Add([]byte(file), "d/../new/../x/y", byte(1), "\r", "\ufeff", 0)
	}
	names := []string{view, create, strReplace, insert, undoEdit, "other"}
	f.Fuzz(func(t *testing.T, file []byte, path string, command byte, old, new string, n int) {
		b := newBench(t)
		outer := filepath.Dir(b.dir)
		b.write("f", string(file))
		b.write("d/g", "x\n")
		b.link("f", "link")
		b.link("../secret", "out")
		must(t, os.WriteFile(filepath.Join(outer, "secret"), []byte("canary 5f1c"), 0o600))
		before := tree(t, outer)
		calls := []Call{call(names[int(command)%len(names)], at+"/"+path, old, new, n),
			call(strReplace, at+"/f", old, new, n), call(insert, at+"/f", old, new, n)}
		var done []Call
		for _, c := range calls {
			was := tree(t, outer)
			r := b.Do(context.Background(), c)
			if is := tree(t, outer); is != was {
				if !r.Success {
					t.Fatalf("%+v was refused, but changed\n%s\nto\n%s", r, was, is)
				}
				done = append(done, c)
			}
			if !utf8.ValidString(r.Content) || strings.Contains(r.Content, "\x1b") ||
				strings.Contains(r.Content, "canary 5f1c") {
				t.Fatalf("content %q", r.Content)
			}
		}
		for i := len(done) - 1; i >= 0; i-- {
			if r := b.Do(context.Background(), Call{Command: undoEdit, Path: done[i].Path}); !r.Success &&
				done[i].Command != undoEdit {
				t.Fatalf("undo %+v: %s", done[i], r.Error)
			}
		}
		if after := tree(t, outer); after != before {
			t.Fatalf("undoing %+v left\n%s\nof\n%s", done, after, before)
		}
	})
}

// call gives a command the arguments it takes.
func call(command, path, old, new string, n int) Call {
	c := Call{Command: command, Path: path}
	switch command {
	case view:
		c.ViewRange = []int{n, -1}
	case create:
		c.FileText = &new
	case strReplace:
		c.OldStr, c.NewStr, c.Match = &old, &new, &n
	case insert:
		c.InsertLine, c.InsertText = &n, &new
	}
	return c
}

// FuzzAnswer sends anything for a call.
func FuzzAnswer(f *testing.F) {
	for _, raw := range []string{`{"command":"view","path":"/workspace/project/f"}`,
		`{"command":"insert","path":"/","insert_line":0,"insert_text":"\ud83d\ude00"}`,
		`{"view_range":[1,-1]`, `[]`, `{"command":"create","path":"a","file_text":"\u00"}`, `{"a":{"b":[1]}}`} {
		f.Add([]byte(raw))
	}
	e := &Editor{}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r := e.Answer(context.Background(), raw); r.Success || r.Error == "" {
			t.Fatalf("%q: %+v", raw, r)
		}
	})
}

// FuzzCharset checks that every place in the text is found in the file.
func FuzzCharset(f *testing.F) {
	for _, s := range []string{shiftJISBytes("表示ｶﾅabc"), eucJPBytes("日本語ｶﾅabc"), "\x87\x90\x81\xe0", "\x8f\xb0\xa1",
		"caf\xe9", "日本\xff"} {
		f.Add([]byte(s), 2, 3)
	}
	f.Fuzz(func(t *testing.T, raw []byte, from, to int) {
		d := parse(raw, nil)
		if !bytes.HasSuffix(raw, []byte("\n")) && d.lines() > 0 && !d.noFinalNewline() {
			t.Fatalf("%q ends with a line end", raw)
		}
		from, to = d.whole(from), d.whole(to)
		if from > to {
			from, to = to, from
		}
		s, err := d.splice(from, to, "x")
		if err != nil {
			t.Fatal(err)
		}
		after := s.apply(raw)
		want := string(d.text[:from]) + "x" + string(d.text[to:])
		if text, ok := d.set.decode(after[d.bom:]); !ok || string(text) != want {
			t.Fatalf("%q with x for %d to %d is %q in %s, want %q", d.text, from, to, text, d.set.name, want)
		}
		if back := s.back(raw).apply(after); !bytes.Equal(back, raw) {
			t.Fatalf("%q became %q", raw, back)
		}
	})
}

// whole returns a place in the text where a character begins.
func (d *document) whole(n int) int {
	n = max(n%(len(d.text)+1), 0)
	for n < len(d.text) && d.set.codec != nil && !utf8.RuneStart(d.text[n]) {
		n++
	}
	return n
}
