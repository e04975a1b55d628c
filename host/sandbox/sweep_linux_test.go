package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/internal/testload"
)

// frozenGroup is a control group whose processes do not even die.
func frozenGroup(t *testing.T) (add func(pid int), thaw func()) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup/freezer", "hako-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("this needs a control group that freezes: ", err)
	}
	set := func(name, value string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	thaw = func() { set("freezer.state", "THAWED") }
	t.Cleanup(func() {
		thaw()
		for range 1000 {
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func(pid int) { set("cgroup.procs", strconv.Itoa(pid)); set("freezer.state", "FROZEN") }, thaw
}

// TestSweepDoesNotGiveUp has a process that does not end for longer than anybody
// would wait for one that does.
func TestSweepDoesNotGiveUp(t *testing.T) {
	if testing.Short() {
		t.Skip("long: takes a while")
	}
	levels(t, Plan{}, func(t *testing.T, p pen) {
		add, thaw := frozenGroup(t)
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		if _, err := p.Start(Program{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}, Dir: p.root, Stdin: null,
			Stdout: null, Stderr: null}); err != nil {
			t.Fatal(err)
		}
		below := descendants(p.helper.Pid)
		if len(below) != 1 {
			t.Fatal(below)
		}
		add(below[0])
		swept := make(chan error, 1)
		go func() { swept <- p.Sweep() }()
		select {
		case <-swept:
			t.Error("it gave up")
		case <-time.After(6500 * time.Millisecond):
		}
		thaw()
		select {
		case err := <-swept:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(testload.Bound(30 * time.Second)):
			t.Error("it does not come back")
		}
		if unix.Kill(below[0], 0) == nil {
			t.Error("it lives")
		}
	})
}

// TestSignalsAreScoped checks what sweep relies on: nobody outside is reached, and
// a thread that is not locked in is not taken for one that is.
func TestSignalsAreScoped(t *testing.T) {
	if signalsAreScoped(nil, os.Getppid()) || signalsAreScoped(unix.EPERM, os.Getppid()) || signalsAreScoped(nil, 1<<30) {
		t.Error("this process is not locked in")
	}
}
