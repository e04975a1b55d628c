package asksocket

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"hako/gate"
)

// FuzzQuestion: no line breaks the reader, and what is taken is what was sent: a
// person who sees it sees all of it.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte(`{"version":1,"actor":"a","command":"c","wait_ms":5}` + "\n"))
	f.Add([]byte(`{"version":1,"actor":"a","command":"` + strings.Repeat("x", 5000) + `"}` + "\nmore"))
	f.Add([]byte("{\"version\":1,\"actor\":\"a\xff\",\"command\":\"\\ud800\"}\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		line, err := readLine(bytes.NewReader(sent), maxQuestion)
		if err != nil {
			if err == io.EOF && len(sent) > 0 {
				t.Fatal("something was taken for nothing")
			}
			return
		}
		if len(line) > maxQuestion || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("a line of %d bytes", len(line))
		}
		q, err := parse(line)
		if err != nil {
			return
		}
		again, err := parse(encode(q))
		if err != nil || !reflect.DeepEqual(again, q) {
			t.Fatalf("%+v became %+v: %v", q, again, err)
		}
		back, err := encodeQuestion(q.withProcess(0), time.Duration(q.Wait)*time.Millisecond)
		if err != nil {
			return
		}
		if same, err := parse(back); err != nil || same.Command != q.Command || same.Actor != q.Actor || same.Wait != q.Wait {
			t.Fatalf("%+v became %+v: %v", q, same, err)
		}
	})
}

// FuzzReply: no line is a yes by accident.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"answer":"once"}`))
	f.Add([]byte(`{"taken":true}`))
	f.Add([]byte(`{"answer":"session","error":"x"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r reply
		if decode(line, &r) != nil {
			return
		}
		if a, _ := gate.ParseAnswer(r.Answer); a != gate.No && !bytes.Contains(line, []byte("once")) &&
			!bytes.Contains(line, []byte("session")) && !bytes.Contains(line, []byte(`\u`)) {
			t.Fatalf("%q is a yes", line)
		}
	})
}
