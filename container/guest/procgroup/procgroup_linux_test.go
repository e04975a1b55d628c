package procgroup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// nurse is the one nursery that a process can have.
var nurse = sync.OnceValues(func() (*Group, error) { return Open(Options{}) })

func open(t *testing.T) *Group {
	t.Helper()
	n, err := nurse()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := open(t).Start(Program{Path: "/bin/sh", Argv: []string{"sh", "-c", script},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(0); p.close() })
	return p
}

func members(p *Process) int {
	pids, _ := p.descendants()
	return len(pids)
}

func count(n *Group) int {
	all, _ := n.Count()
	return all
}

func TestStart(t *testing.T) {
	p := start(t, "echo out; echo err >&2; cat; exit 5")
	out, _ := io.ReadAll(p.Stdout)
	errs, _ := io.ReadAll(p.Stderr)
	if end := p.Ending(); end.Exit != 5 || end.Signal != 0 || string(out) != "out\n" || string(errs) != "err\n" {
		t.Errorf("%+v, %q, %q", end, out, errs)
	}
	p = start(t, "kill -TERM $$")
	if end := p.Ending(); end.Exit != 143 || end.Signal != 15 {
		t.Errorf("%+v", end)
	}
	p.Signal(9) // nobody is hit
	for path, want := range map[string]error{"/no/such": syscall.ENOENT, "/etc/passwd": syscall.EACCES,
		"/": syscall.EACCES} {
		if _, err := open(t).Start(Program{Path: path, Argv: []string{"x"}, Dir: "/"}); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestInput(t *testing.T) {
	p, err := open(t).Start(Program{Path: "/bin/cat", Argv: []string{"cat"}, Dir: "/", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.Stdin.Write([]byte("through"))
	p.Stdin.Close()
	if out, _ := io.ReadAll(p.Stdout); string(out) != "through" {
		t.Errorf("%q", out)
	}
}

func TestPending(t *testing.T) {
	p := start(t, "printf 12345")
	<-p.Done()
	if n := Pending(p.Stdout); n != 5 {
		t.Error(n)
	}
}

// TestEnd ends families, by either kind of mark.
func TestEnd(t *testing.T) {
	n := open(t)
	pool := n.marks.pool
	for name, use := range map[string]groupRange{"group": pool, "variable": {}} {
		t.Run(name, func(t *testing.T) {
			if name == "group" && pool.count == 0 {
				t.Skip("groups cannot be given")
			}
			n.marks.pool = use
			defer func() { n.marks.pool = pool }()
			p := start(t, "trap '' TERM; (setsid sh -c 'setsid sleep 600 & sleep 600' &); setsid sleep 600 & echo ready; sleep 600")
			io.ReadFull(p.Stdout, make([]byte, len("ready\n")))
			eventually(t, "all five are seen",
				func() bool { return members(p) >= 5 }) // who is just becoming a program may be overlooked once
			p.End(50 * time.Millisecond)
			if left := members(p); left > 0 {
				t.Errorf("%d left", left)
			}
			if end := p.Ending(); end.Signal != 9 {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestOthersStay checks that the end of one command is not that of another.
func TestOthersStay(t *testing.T) {
	stays, goes := start(t, "sleep 600"), start(t, "sleep 600")
	goes.End(time.Second)
	select {
	case <-stays.Done():
		t.Error("it is gone too")
	default:
	}
}

func TestGroupPool(t *testing.T) {
	for text, want := range map[string]groupRange{
		"         0          0 4294967295\n":       farGroups,
		"         0     100000      65536\n":       nearGroups,
		"         0       1000          1\n":       {},
		"0 1000 1\n1 100000 65536\n":               nearGroups,
		"":                                         {},
		"nonsense\n":                               {},
		"0 1000 1000\n1700000000 5000 100000000\n": farGroups,
	} {
		if got := groupPool(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMarks(t *testing.T) {
	m := marks{pool: groupRange{first: 900_000_000, count: 3}}
	var got []int
	for range 7 {
		got = append(got, m.take().group)
	}
	if want := []int{900_000_000, 900_000_001, 900_000_002, 900_000_000, 900_000_001, 900_000_002,
		900_000_000}; !slices.Equal(got, want) {
		t.Error(got)
	}
	m.busy = map[int]bool{900_000_001: true}
	if next := m.take().group; next != 900_000_002 {
		t.Error(next)
	}
	none := marks{}
	if a, b := none.take(), none.take(); a.group != 0 || a == b || !strings.HasPrefix(a.variable, "HAKO_COMMAND=") {
		t.Error(a, b)
	}
}

// TestMarkInUse has somebody who still carries a mark when it would be given
// out again.
func TestMarkInUse(t *testing.T) {
	n := open(t)
	if n.marks.pool.count == 0 {
		t.Skip("groups cannot be given")
	}
	before := n.marks
	n.marks = marks{pool: groupRange{first: before.pool.first + before.pool.count - 2, count: 2}}
	defer func() { n.marks = before }()
	stays := start(t, "sleep 600")
	for range 4 {
		if p := start(t, "true"); p.mark == stays.mark {
			t.Fatal("the same mark twice")
		}
	}
}

func TestParseStatus(t *testing.T) {
	text := "Name:\tx\\nPPid: 1\nState:\tZ (zombie)\nPPid:\t42\nNSsid:\t7\t3\nGroups:\t5 1750000001 \n"
	got := parseStatus(9, text)
	if !got.dead || got.parent != 42 || got.session != 7 || !slices.Equal(got.groups, []int{5, 1750000001}) {
		t.Errorf("%+v", got)
	}
}

// TestForeign keeps two nurseries on one machine apart.
func TestForeign(t *testing.T) {
	self := os.Getpid()
	parents := map[int]int{1: 0, self: 1, -5: self, -6: -5, -7: 1, -8: -7, -9: -10}
	for pid, want := range map[int]bool{-5: false, -6: false, -7: true, -8: true, -9: false} {
		if foreign(parents, pid) != want {
			t.Errorf("%d: %v", pid, !want)
		}
	}
}

func TestAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := As(12345, 12345, func() {
		if _, err := os.ReadFile(secret); !errors.Is(err, os.ErrPermission) {
			t.Error(err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.ReadFile(secret); err != nil {
		t.Error("still somebody else: ", err)
	}
}

func TestOpenAsOther(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can")
	}
	if err := (&Group{}).choose(Options{UID: 5}); fault.KindOf(err) != fault.Denied {
		t.Error(err)
	}
}

func TestEndAll(t *testing.T) {
	n := open(t)
	p := start(t, "trap '' TERM; setsid sleep 600 & sleep 600")
	for end := time.Now().Add(testload.Bound(20 * time.Second)); count(n) < 3 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	n.EndAll(50 * time.Millisecond)
	if end := p.Ending(); end.Signal != 9 || count(n) > 0 {
		t.Errorf("%+v, %d left", end, count(n))
	}
}
