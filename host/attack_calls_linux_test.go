package host

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hako/host/sandbox"
	"hako/run"
)

// atLevels runs a test in a scene at each level that there is here.
func atLevels(t *testing.T, o Options, test func(t *testing.T, s *scene, r *Runner)) {
	t.Setenv("HAKO_ATTACK", secretText)
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.LandlockOnly} {
		t.Run(level.String(), func(t *testing.T) {
			if !provenLevel(t, level) {
				t.Skip("there is no such level here")
			}
			s, err := newScene(t.TempDir(), furnishRepository)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.close)
			here := o
			here.Root = s.root
			r, err := runnerAt(t, here, level)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			test(t, s, r)
			if o := attempt(t, r, run.Request{Script: "env echo works"}, 5*time.Second); o.text != "works\n" {
				t.Errorf("nothing runs any more: %+v", o)
			}
		})
	}
}

// python runs a script of testdata/attack by the real python in the sandbox.
func python(t *testing.T, s *scene, r *Runner, name string, args ...string) string {
	t.Helper()
	script, err := os.ReadFile("testdata/attack/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("python3"); err != nil || runtime.GOARCH != "amd64" {
		t.Skip("this needs python3 and the numbers of amd64")
	}
	write(t, s.root, "attack.py", string(script))
	o := attempt(t, r, run.Request{Script: `python3 attack.py "$@"`, Args: args}, 20*time.Second)
	if why := s.breach(o); why != "" {
		t.Error(why)
	}
	if !strings.Contains(o.text, "tried everything\n") {
		t.Errorf("it did not come to its end: %+v", o)
	}
	for line := range strings.Lines(o.text) {
		if strings.Contains(line, "ESCAPED") {
			t.Error(strings.TrimSpace(line))
		}
	}
	return o.text
}

// TestCalls makes the system calls that would lead out.
func TestCalls(t *testing.T) {
	atLevels(t, Options{Limits: usual}, func(t *testing.T, s *scene, r *Runner) { python(t, s, r, "calls.py") })
}

// TestNeighbours tries to reach what else is on the machine.
func TestNeighbours(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	name := fmt.Sprintf("hako-attack-%d", os.Getpid())
	local, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	key := 0x68000000 | os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	defer messageQueue(t, name)()
	for _, network := range []string{"none", "network"} {
		atLevels(t, Options{Network: network == "network"}, func(t *testing.T, s *scene, r *Runner) {
			pid := os.Getpid()
			if r.Status().Level == sandbox.Full {
				pid = 0 // its number is somebody else's in there
			}
			port := ln.Addr().(*net.TCPAddr).Port
			text := python(t, s, r, "neighbours.py", fmt.Sprint(pid), fmt.Sprint(port), fmt.Sprint(key), name, network)
			if network == "network" && !strings.Contains(text, "network works\n") {
				t.Errorf("the network that was granted does not work:\n%s", text)
			}
		})
	}
}

// messageQueue makes a queue that everybody of this user can open.
func messageQueue(t *testing.T, name string) (remove func()) {
	t.Helper()
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0,
		0)
	if errno != 0 {
		t.Logf("there are no message queues here: %v", errno)
		return func() {}
	}
	unix.Close(int(fd))
	return func() { unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(text)), 0, 0) }
}

// TestModes tries to leave files that lend rights, and to look at what is outside
// without opening it.
func TestModes(t *testing.T) {
	atLevels(t, Options{Limits: usual}, func(t *testing.T, s *scene, r *Runner) {
		for _, name := range []string{"secret.txt", "d", "."} {
			if err := unix.Setxattr(s.outside+"/"+name, "user.secret", []byte(secretText), 0); err != nil {
				t.Logf("there are no attributes here: %v", err)
			}
		}
		s.before, _ = s.look()
		s.heard()
		python(t, s, r, "modes.py", s.outside, r.Status().Level.String())
		err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if info, err := d.Info(); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				t.Errorf("%s was left with mode %v", path, info.Mode())
			}
			if n, err := unix.Lgetxattr(path, "security.capability", nil); err == nil && n > 0 {
				t.Errorf("%s was left with capabilities", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
