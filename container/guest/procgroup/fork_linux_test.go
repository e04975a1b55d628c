package procgroup

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/run/fault"
)

// TestHeldBirth has a child stopped before it says that it is the program, which
// must not be waited for, nor stay.
func TestHeldBirth(t *testing.T) {
	p := start(t, "kill -STOP $$")
	eventually(t, "it is stopped", p.isStopped)
	var never [2]int // nothing is ever said here
	if err := unix.Pipe2(never[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer closePipes([][2]int{never})
	began := time.Now()
	err := p.awaitExec(never[0])
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "stops new processes") ||
		time.Since(began) > maxStart {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if end := p.Ending(); end.Signal != 9 {
		t.Errorf("%+v", end)
	}
}

// TestLateBirth waits for a child that is slow, but not stopped.
func TestLateBirth(t *testing.T) {
	p := start(t, "sleep 600")
	var report [2]int
	if err := unix.Pipe2(report[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(report[0])
	time.AfterFunc(2*pollInterval, func() { unix.Close(report[1]) })
	if err := p.awaitExec(report[0]); err != nil || p.over() {
		t.Error(err)
	}
}

// TestBirth checks what programs begin with that are started beside others, and
// why they do not.
func TestBirth(t *testing.T) {
	runtime.LockOSThread() // another thread may just be starting one, with its signals blocked
	defer runtime.UnlockOSThread()
	n := open(t)
	start(t, "sleep 600")
	if alone(n) {
		t.Fatal("nobody is there")
	}
	p := start(t, "cat /proc/self/status; pwd; echo $PATH")
	out, _ := io.ReadAll(p.Stdout)
	ignored := field(t, "/proc/self/status", "SigIgn")
	for _, want := range []string{"SigBlk:\t0000000000000000\n", "SigCgt:\t0000000000000000\n",
		"SigIgn:\t" + ignored + "\n", "\n/\n/usr/bin:/bin\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if text := field(t, "/proc/thread-self/status", "SigBlk"); strings.Trim(text, "0") != "" {
		t.Error("signals stay blocked here: ", text)
	}
	for _, c := range []struct {
		path, dir string
		want      error
	}{
		{"/bin/true", "/no/such", syscall.ENOENT}, {"/no/such", "/", syscall.ENOENT}, {"/etc/passwd", "/", syscall.EACCES},
		{"/bin/tr\x00ue", "/", syscall.EINVAL},
	} {
		if _, err := n.Start(Program{Path: c.path, Argv: []string{"x"}, Dir: c.dir}); !errors.Is(err, c.want) {
			t.Errorf("%q in %s: %v", c.path, c.dir, err)
		}
	}
}

func field(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
