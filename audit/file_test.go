package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/redact"
	"hako/run/fault"
)

func open(t testing.TB, path string) *File {
	t.Helper()
	l, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func fill(t testing.TB, path string, n int) {
	t.Helper()
	l := open(t, path)
	for i := range n {
		if err := l.Append(Event{ID: fmt.Sprint("r", i), Actor: "user", What: Asked,
			Script: "echo 日本語 \"x\"\n\t\x01\xff"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, path string) Report {
	t.Helper()
	r, err := VerifyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	now := time.Date(2024, 2, 3, 4, 5, 6, 789000, time.UTC)
	set := new(redact.Set)
	set.Add("my own secret")
	l, err := Open(path, Options{Now: func() time.Time { return now }, Secrets: set, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	want := Event{ID: "a/1", Actor: "agent:coder", What: Ended, Script: "echo 'a\nb' 日本語 \u2028",
		Argv:   []string{"grep", "a|b", ""},
		Effect: "allow", Rule: "hako.policy:7", Reason: "why not", Exit: 3, Error: "e", Kind: "denied", Micros: 12,
		Path: "/box/a", Mode: "read",
		Bytes: 7, Count: 2, Provider: "m", Input: 1, Cached: 2, Output: 3, Tokens: 4, Cost: 0.25,
		Commands: map[string]int{"wc": 1, "cat": 2}}
	for range 2 {
		if err := l.Append(want); err != nil {
			t.Fatal(err)
		}
	}
	l.Append(Event{What: Asked, Script: "echo my own secret ghp_0123456789abcdef0123",
		Argv: []string{"x", "--password", "hunter2"}})
	l.Close()

	text, _ := os.ReadFile(path)
	lines := strings.Split(string(text), "\n")
	var got Event
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil {
		t.Fatal(err)
	}
	want.Seq, want.Time, want.Prev, want.Hash = 2, now, got.Prev, got.Hash
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", b, a)
	}
	if s := lines[2]; strings.Contains(s, "own secret") || strings.Contains(s, "ghp_") || strings.Contains(s, "hunter2") {
		t.Errorf("a secret is on record: %s", s)
	}
	if r := check(t, path); !r.OK() || r.Events != 3 || !r.HeadSeen {
		t.Errorf("%+v", r)
	}
}

func TestLongTextIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	words := strings.Split(strings.Repeat("word ", 50_000), " ")
	if err := l.Append(Event{What: Asked, Script: strings.Repeat("箱", 1<<20), Argv: words}); err != nil {
		t.Fatal(err)
	}
	l.Append(Event{What: Ended})
	l.Close()
	info, _ := os.Stat(path)
	if r := check(t, path); !r.OK() || r.Events != 2 || info.Size() > 4*maxText {
		t.Errorf("%+v, %d bytes", r, info.Size())
	}
	fill(t, path, 1) // finds the end behind a line longer than one look
	if r := check(t, path); !r.OK() || r.Events != 3 {
		t.Errorf("%+v", r)
	}
}

func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	for i := range 4 {
		l := open(t, path) // a handle of its own, as another process has
		for range 2 {
			wg.Go(func() {
				for range 200 {
					if err := l.Append(Event{What: Asked, ID: fmt.Sprint(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		defer l.Close()
	}
	wg.Wait()
	if r := check(t, path); !r.OK() || r.Events != 1600 {
		t.Errorf("%+v", r)
	}
}

func TestTornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 3)
	whole, _ := os.ReadFile(path)
	for _, cut := range []int{1, 2, 40, 200} {
		os.Remove(HeadPath(path))
		os.WriteFile(path, whole[:len(whole)-cut], 0o600)
		r := check(t, path)
		if !r.OK() || r.Events != 2 || r.Torn == 0 || !strings.Contains(r.String(), "up to the last whole line") {
			t.Errorf("cut %d: %v", cut, r)
		}
		l := open(t, path)
		if torn := l.Recovered(); (torn == nil) != (cut == 1) {
			t.Errorf("cut %d: recovered %v", cut, torn)
		}
		l.Append(Event{What: Asked})
		l.Append(Event{What: Ended})
		l.Close()
		// Where only the newline was missing, the third event is there.
		want := Report{Events: 4, Recovered: 1}
		if cut == 1 {
			want = Report{Events: 5}
		}
		if r := check(t, path); !r.OK() || r.Torn != 0 || r.Events != want.Events || r.Recovered != want.Recovered {
			t.Errorf("cut %d, after recovery: %+v", cut, r)
		}
	}
}

func TestCutTailIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 5)
	whole, _ := os.ReadFile(path)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	os.WriteFile(path, bytes.Join(lines[:3], nil), 0o600)
	r := check(t, path)
	if r.OK() || !strings.Contains(r.Cut, "event 5") || r.Err() == nil {
		t.Errorf("%+v", r)
	}
	fill(t, path, 1)
	if r := check(t, path); r.OK() {
		t.Error("forgotten after one more event")
	}
	fill(t, path, 5)
	if r := check(t, path); r.OK() || r.Bad == nil {
		t.Errorf("forgotten when the log had grown past it: %+v", r)
	}
	os.WriteFile(HeadPath(path), []byte("nonsense"), 0o600)
	os.WriteFile(path, whole, 0o600)
	if r := check(t, path); r.OK() {
		t.Error("an unreadable side file passes")
	}
}

func TestChangedHeadIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 3)
	whole, _ := os.ReadFile(path)
	good, _ := os.ReadFile(HeadPath(path))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for _, head := range []string{"", "nonsense", string(good[:20]), string(good) + "x", "-" + string(good[1:]),
		strings.Repeat("0", 300)} {
		os.WriteFile(path, bytes.Join(lines[:2], nil), 0o600)
		os.WriteFile(HeadPath(path), []byte(head), 0o600)
		for range 2 {
			fill(t, path, 1)
			if got, _ := os.ReadFile(HeadPath(path)); string(got) != head {
				t.Errorf("%q became %q", head, got)
			}
			if r := check(t, path); r.OK() || !strings.Contains(r.Cut, "side file is not as it was written") {
				t.Errorf("%q: %v", head, r)
			}
		}
	}
	os.Remove(HeadPath(path))
	fill(t, path, 1)
	if r := check(t, path); !r.OK() || !r.HeadSeen {
		t.Errorf("after it was moved away: %v", r)
	}
	os.Chmod(HeadPath(path), 0o644) // others may have written it: neither believed nor replaced
	before, _ := os.ReadFile(HeadPath(path))
	fill(t, path, 1)
	after, _ := os.ReadFile(HeadPath(path))
	if _, err := VerifyFile(path); err == nil || !bytes.Equal(before, after) {
		t.Errorf("open to others: %v, %q", err, after)
	}
}

func TestUnwritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	l.f.Close()
	err := l.Append(Event{What: Asked})
	if fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Errorf("closed file: %v", err)
	}
	if f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		full := &File{opt: Options{Now: time.Now}, path: path, f: f, last: chainStart}
		if err := full.Append(Event{What: Asked}); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("full disk: %v", err)
		}
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	os.WriteFile(path, []byte("not an event\n"), 0o600)
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(fault.Hint(err), "hako audit verify") {
		t.Errorf("a strange file was continued: %v", err)
	}
	os.Chmod(path, 0o644)
	if _, err := Open(path, Options{}); !strings.Contains(fault.Hint(err), "chmod 600 "+path) {
		t.Errorf("world-readable: %v", err)
	}
	if _, err := VerifyFile(filepath.Join(dir, "none")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("missing: %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "audit.jsonl"))
	defer l.Close()
	b.ReportAllocs()
	for b.Loop() {
		l.Append(Event{ID: "r1", Actor: "user", What: Allowed, Argv: []string{"grep", "-n", "x", "file.txt"}, Effect: "allow",
			Rule: "default:12"})
	}
}

func BenchmarkEncode(b *testing.B) {
	b.ReportAllocs()
	var enc encoder
	now := time.Now()
	for b.Loop() {
		enc.buf = enc.buf[:0]
		enc.line(&Event{Time: now, Prev: chainStart.hash, ID: "r1", Actor: "user", What: Allowed,
			Argv: []string{"grep", "-n", "x", "file.txt"}, Effect: "allow", Rule: "default:12"})
	}
}
