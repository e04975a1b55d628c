package audit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestVerifyNamesTheFirstBadLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 6)
	whole, _ := os.ReadFile(path)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	join := func(ls ...[]byte) []byte { return bytes.Join(ls, nil) }
	for name, c := range map[string]struct {
		log  []byte
		line int64
		why  string
	}{
		"changed":    {bytes.Replace(whole, []byte(`"id":"r3"`), []byte(`"id":"r8"`), 1), 4, "does not match its hash"},
		"taken out":  {join(lines[0], lines[1], lines[3], lines[4]), 3, "written after"},
		"swapped":    {join(lines[0], lines[2], lines[1], lines[3]), 2, "written after"},
		"repeated":   {join(lines[0], lines[1], lines[1], lines[2]), 3, "written after"},
		"slipped in": {join(lines[0], []byte("junk\n"), lines[1]), 2, "does not end with a hash"},
		"blank":      {join(lines[0], []byte("\n"), lines[1]), 2, "does not end with a hash"},
		"first gone": {join(lines[1:]...), 1, "written after"},
		"junk last":  {join(lines[0], []byte("junk\n")), 2, "does not end with a hash"},
		"two junk":   {join(lines[0], []byte("junk\njunk\n"), lines[1]), 2, "does not end with a hash"},
	} {
		r, err := Verify(bytes.NewReader(c.log))
		if err != nil || r.OK() || r.Bad == nil || r.Bad.Line != c.line || !strings.Contains(r.Bad.Why, c.why) {
			t.Errorf("%s: %v, %v; want line %d: %s", name, r, err, c.line, c.why)
		}
	}
}

// junk is a reader of so many bytes without a newline.
type junk struct{ left int64 }

func (j *junk) Read(p []byte) (int, error) {
	n := min(int64(len(p)), j.left)
	if n > 0 {
		p[0] = 'x'
	}
	for done := int64(1); done < n; done *= 2 { // the race detector looks at every step of a loop
		copy(p[done:n], p[:done])
	}
	if j.left -= n; n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

func (j *junk) ReadAt(p []byte, off int64) (int, error) {
	return (&junk{max(0, j.left-off)}).Read(p)
}

// frugal fails the test if do allocates more than a few of the longest lines.
func frugal(t *testing.T, what string, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 15*maxLine {
		t.Errorf("%s allocates %d MB", what, used>>20)
	}
}

func TestOverlongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much text for one goroutine: nothing for a race detector")
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 2)
	whole, _ := os.ReadFile(path)
	const size = 20 * maxLine
	none := func(Event) error { return nil }
	for _, end := range []string{"", "\n", "\n" + string(whole)} {
		log := func() io.Reader {
			return io.MultiReader(bytes.NewReader(whole), &junk{size}, strings.NewReader(end))
		}
		frugal(t, "verify", func() {
			r, err := Verify(log())
			if err != nil || r.Events != 2 || r.Bad == nil || r.Bad.Line != 3 ||
				r.Bad.Why != "the line is longer than any event" {
				t.Errorf("end %.5q: %v, %v", end, r, err)
			}
		})
		frugal(t, "scan", func() {
			if skipped, err := scan(log(), none); err != nil || skipped != 1 {
				t.Errorf("scan: %d, %v", skipped, err)
			}
		})
		frugal(t, "follow", func() {
			if left, err := follow(log(), nil, none); err != nil || len(left) > maxLine {
				t.Errorf("follow: %d, %v", len(left), err)
			}
		})
	}
	frugal(t, "open", func() {
		if _, err := readTail(&junk{size}, size); err != errLong {
			t.Errorf("the tail: %v", err)
		}
	})
	if events, err := Tail(&junk{size}, size, 3); err != nil || len(events) != 0 {
		t.Errorf("the last events: %v, %v", events, err)
	}
	// A line of just the length may be a recorded crash, one more byte may not.
	for n, want := range map[int64]string{maxLine - 1: "does not end with a hash", maxLine: "longer than any event"} {
		r, _ := Verify(io.MultiReader(&junk{n}, strings.NewReader("\n")))
		if r.Bad == nil || !strings.Contains(r.Bad.Why, want) {
			t.Errorf("%d bytes: %v", n, r)
		}
	}
}

func TestTheLongestEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much text for one goroutine: nothing for a race detector")
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	s := strings.Repeat("\x01", 1<<20)
	e := Event{ID: s, Actor: s, What: s, Script: s, Argv: []string{s, s}, Effect: s, Rule: s, Reason: s, Error: s, Kind: s,
		Path: s, Mode: s, Provider: s, Commands: map[string]int{s: 1}}
	for i := range 200_000 {
		e.Commands[fmt.Sprint("command", i)] = 1
	}
	for range 2 {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
		l.Close()
		l = open(t, path) // must find the end again
	}
	l.Close()
	if r := check(t, path); !r.OK() || r.Events != 2 {
		t.Errorf("%v", r)
	}
}

// recoveredLog has a crash in the middle.
func recoveredLog(t testing.TB) []byte {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 2)
	whole, _ := os.ReadFile(path)
	os.WriteFile(path, whole[:len(whole)-30], 0o600)
	os.Remove(HeadPath(path))
	fill(t, path, 2)
	whole, _ = os.ReadFile(path)
	return whole
}

func detected(t testing.TB, log []byte) bool {
	r, err := Verify(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	return !r.OK() || r.Torn > 0
}

func TestEveryChangedByteIsFound(t *testing.T) {
	log := recoveredLog(t)
	if r, _ := Verify(bytes.NewReader(log)); !r.OK() || r.Recovered != 1 || r.Events != 3 {
		t.Fatalf("%+v", r)
	}
	for i := range log {
		for _, bit := range []byte{1, 0x20, 0x80, log[i] ^ '\n'} {
			if bit == 0 {
				continue
			}
			log[i] ^= bit
			if !detected(t, log) {
				t.Errorf("byte %d changed by %#x passes", i, bit)
			}
			log[i] ^= bit
		}
	}
}

func FuzzChain(f *testing.F) {
	log := recoveredLog(f)
	f.Add(uint(0), byte(1), uint8(0))
	f.Add(uint(len(log)-1), byte('x'), uint8(1))
	f.Add(uint(500), byte('\n'), uint8(2))
	f.Fuzz(func(t *testing.T, at uint, b byte, how uint8) {
		i := int(at % uint(len(log)))
		var changed []byte
		switch how % 3 {
		case 0: // replaced
			changed = bytes.Clone(log)
			changed[i] = b
		case 1: // slipped in
			changed = append(append(bytes.Clone(log[:i]), b), log[i:]...)
		case 2: // taken out
			changed = append(bytes.Clone(log[:i]), log[i+1:]...)
		}
		if !bytes.Equal(changed, log) && !detected(t, changed) {
			t.Errorf("a change at byte %d passes", i)
		}
	})
}

const childEnv = "HAKO_TEST_AUDIT_CHILD"

// TestKilled kills a process that writes as fast as it can, several times over
// the same log.
func TestKilled(t *testing.T) {
	if path := os.Getenv(childEnv); path != "" {
		l := open(t, path)
		for {
			if err := l.Append(Event{What: Asked, Script: strings.Repeat("x", 2000)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var before int64
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		child.Env = append(os.Environ(), childEnv+"="+path)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		waitForGrowth(t, path, before)
		child.Process.Kill()
		child.Wait()
		r := check(t, path)
		if !r.OK() || r.Events <= before {
			t.Fatalf("after a kill: %v", r)
		}
		before = r.Events
		fill(t, path, 1)
		if r := check(t, path); !r.OK() || r.Torn > 0 {
			t.Fatalf("going on after a kill: %v", r)
		}
	}
}

func waitForGrowth(t *testing.T, path string, events int64) {
	t.Helper()
	for range 500 {
		if info, err := os.Stat(path); err == nil && info.Size() > (events+300)*2300 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the child writes nothing")
}
