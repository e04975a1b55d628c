package asksocket

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hako/gate"
)

// asNobody does something as another user: a thread of this process can be one.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		_, _, e := syscall.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534)
		if e == 0 {
			do()
			done <- nil
			return
		}
		done <- e
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// everybody may enter a directory.
func everybody(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody else does not get near, and would not be heard if they did.
func TestOthersAreNotHeard(t *testing.T) {
	h := open(t, func(h *house) {
		h.Ask = func(context.Context, gate.Question) (gate.Answer, error) { t.Error("asked"); return gate.Once, nil }
	})
	name := filepath.Join(h.Dir, socketName)
	everybody(t, filepath.Dir(h.Dir))
	asNobody(t, func() {
		if _, err := net.Dial("unix", name); !errors.Is(err, os.ErrPermission) {
			t.Errorf("the directory lets them in: %v", err)
		}
	})
	everybody(t, h.Dir)
	asNobody(t, func() {
		if _, err := net.Dial("unix", name); !errors.Is(err, os.ErrPermission) {
			t.Errorf("the socket lets them in: %v", err)
		}
	})
	everybody(t, name)
	asNobody(t, func() {
		c, err := net.Dial("unix", name)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = c.Write([]byte("{" + good + "}\n"))
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if line, err := bufio.NewReader(c).ReadString('\n'); line != "" || err == nil ||
			errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("they are told %q, %v", line, err)
		}
	})
	if all := h.onRecord(""); all != "" {
		t.Errorf("on record: %s", all)
	}
}

// Somebody else who listens in our place is not asked.
func TestOthersAreNotAsked(t *testing.T) {
	dir := short(t)
	everybody(t, dir)
	var door *net.UnixListener
	asNobody(t, func() {
		var err error
		if door, err = listen(dir); err != nil {
			t.Error(err)
		}
	})
	if door == nil {
		return
	}
	defer door.Close()
	if (Client{Dir: dir}).Reachable() {
		t.Error("they pass for hako serve")
	}
	if a, err := (Client{Dir: dir}).Ask(t.Context(), push); a != gate.No || err == nil {
		t.Errorf("%v, %v", a, err)
	}
}

// A long name of the directory is no reason not to listen.
func TestLongNames(t *testing.T) {
	h := open(t, func(h *house) { h.Dir = filepath.Join(h.Dir, strings.Repeat("d", 120)) })
	if !h.caller().Reachable() {
		t.Error("nobody is there")
	}
	h.shut()
	if left, err := os.ReadDir(h.Dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
