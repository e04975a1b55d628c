package audit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestVerifierReadsWhatIsNew changes what was checked already: within the time of
// trust that is not seen, and afterwards it is.
func TestVerifierReadsWhatIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 5)
	now := time.Now()
	v := &Verifier{Path: path, Trust: time.Minute, Now: func() time.Time { return now }}
	want := func(why string, ok bool, events int64) {
		t.Helper()
		if r, err := v.Verify(t.Context()); err != nil || r.OK() != ok || r.Events != events || r.Path != path {
			t.Errorf("%s: %v, %v", why, r, err)
		}
	}
	want("the first time", true, 5)
	want("nothing new", true, 5)
	fill(t, path, 3)
	want("three more", true, 8)
	text, _ := os.ReadFile(path)
	forged := bytes.Replace(text, []byte(`"id":"r1"`), []byte(`"id":"r9"`), 1)
	os.WriteFile(path, forged, 0o600)
	os.Chtimes(path, now, now.Add(time.Hour))
	want("changed, and nothing appended", false, 1)
	os.WriteFile(path, text, 0o600)
	want("as it was", true, 8)
	os.WriteFile(path, forged, 0o600)
	fill(t, path, 1)
	want("changed and appended, within the time", true, 9)
	now = now.Add(time.Minute)
	want("after the time", false, 1)
}

func TestVerifierSeesWhatIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 5)
	v := &Verifier{Path: path, Trust: time.Hour}
	check := func(why string, ok bool, events int64) {
		t.Helper()
		if r, err := v.Verify(t.Context()); err != nil || r.OK() != ok || r.Events != events {
			t.Errorf("%s: %v, %v", why, r, err)
		}
	}
	check("whole", true, 5)
	text, _ := os.ReadFile(path)
	lines := bytes.SplitAfter(text, []byte("\n"))
	os.WriteFile(path, bytes.Join(lines[:3], nil), 0o600)
	check("cut", false, 3)
	os.WriteFile(path, append(bytes.Join(lines[:5], nil), "junk\n"...), 0o600)
	check("junk at the end", false, 5)
	os.WriteFile(path, text, 0o600)
	check("as it was", true, 5)
	os.WriteFile(HeadPath(path), bytes.Replace(must(os.ReadFile(HeadPath(path))), []byte("5 "), []byte("4 "), 1), 0o600)
	check("another note", false, 4)
	os.WriteFile(HeadPath(path), []byte("junk"), 0o600)
	check("no note", false, 5)
	os.Remove(path)
	os.Remove(HeadPath(path))
	fill(t, path, 2)
	check("another log", true, 2)
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

func TestVerifierIsStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := &Verifier{Path: path, Trust: time.Hour}
	if _, err := v.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if r, err := v.Verify(t.Context()); err != nil || r.Events != 5 {
		t.Errorf("afterwards: %v, %v", r, err)
	}
}

func TestNewestReadsBackwards(t *testing.T) {
	path := sample(t)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(bytes.Repeat([]byte("x"), 3*backwardBlock)) // longer than what is read at once
	f.WriteString("\njunk\n")
	f.Close()
	log := must(os.ReadFile(path))
	for _, c := range []struct {
		f    Filter
		want []int64
	}{
		{Filter{}, []int64{5, 4, 3, 2, 1}},
		{Filter{Limit: 2}, []int64{5, 4}},
		{Filter{Before: 3}, []int64{2, 1}},
		{Filter{What: Ended}, []int64{5, 3}},
		{Filter{Actor: "agent:coder", What: Denied}, []int64{4}},
		{Filter{Text: "CAT X"}, []int64{2, 1}},
		{Filter{Text: "-rf 箱"}, []int64{4}},
		{Filter{Text: "rm -rf\t"}, nil},
	} {
		got, err := Newest(t.Context(), bytes.NewReader(log), 0, int64(len(log)), c.f)
		if err != nil || !equal(seqs(got), c.want) {
			t.Errorf("%+v: %v, %v; want %v", c.f, seqs(got), err, c.want)
		}
	}
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
