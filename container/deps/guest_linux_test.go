package deps

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/guest/server"
	"hako/container/lang"
	"hako/internal/testload"
)

// TestMain is the guest where a test starts it, and the tests otherwise.
func TestMain(m *testing.M) {
	server.Main(os.Args[0], os.Args[1:])
	os.Exit(m.Run())
}

// realGuest starts a guest in a process of its own that looks after a workspace.
func realGuest(t *testing.T, root string) (*guest.Client, *exec.Cmd) {
	t.Helper()
	den, err := os.MkdirTemp("", "deps") // shorter than t.TempDir: the path of a socket must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(den) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(den, guest.Name)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	o := guest.Options{Socket: filepath.Join(den, "guest.sock"), Dir: root, Within: root, Spool: den,
		Home: filepath.Join(root, ".home")}
	cmd := exec.Command(program, o.Args()...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(testload.Bound(20 * time.Second)); ; {
		c, err := guest.Dial(t.Context(), o.Socket)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c, cmd
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// The same with the guest that is in containers, and a result of some size.
func TestRealGuest(t *testing.T) {
	l := lang.Language{Name: "test",
		Install: []lang.Step{{Name: "lock", When: []string{"lock"}, Needs: []string{"sh"}, Key: []string{"lock"},
			Keep:    []string{".home/libs"},
			Command: "mkdir ../.home/libs && head -c 20000000 /dev/urandom >../.home/libs/large && echo done"}}}
	s := &Store{Dir: t.TempDir()}
	first, second := newDen(t), newDen(t)
	for i, d := range []*den{first, second} {
		d.write("project/lock", "x")
		c, _ := realGuest(t, d.root)
		r, err := s.Install(t.Context(), c, l, d.options())
		if err != nil || only(t, r).Restored != (i == 1) || r.Steps[0].Warning+r.Steps[0].Unkept != "" {
			t.Fatalf("%d: %+v, %v", i, r, err)
		}
	}
	if a, b := first.read(".home/libs/large"), second.read(".home/libs/large"); len(a) != 20000000 || a != b {
		t.Errorf("%d bytes were put back as %d", len(a), len(b))
	}
}

// Limits hold with the real guest too: what is too large ends the packing.
func TestRealGuestTooLarge(t *testing.T) {
	d := newDen(t)
	d.write("project/lock", strings.Repeat("x", 1<<20))
	c, _ := realGuest(t, d.root)
	s := &Store{Dir: t.TempDir(), MaxOne: 1 << 19}
	r, err := s.Install(t.Context(), c, fetching, d.options())
	if err != nil || only(t, r).Kept || !strings.HasPrefix(r.Steps[0].Unkept, "it is larger") {
		t.Errorf("got %+v, %v", r, err)
	}
	d.write("project/lock", strings.Repeat("x", maxKey))
	if err := os.RemoveAll(filepath.Join(d.root, ".home/libs")); err != nil {
		t.Fatal(err)
	}
	r, err = s.Install(t.Context(), c, fetching, d.options())
	if err != nil || !strings.Contains(only(t, r).Unkept, "10 MB") || r.Steps[0].Warning != "" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestRealGuestIsKilled(t *testing.T) {
	d := newDen(t)
	d.write("project/lock", "x")
	c, cmd := realGuest(t, d.root)
	l := lang.Language{Install: []lang.Step{{Name: "slow", When: []string{"lock"}, Command: "echo begun; exec sleep 60"}}}
	o := d.options()
	o.Progress = func(line string) {
		if line == "begun" {
			cmd.Process.Kill()
		}
	}
	if _, err := (&Store{}).Install(t.Context(), c, l, o); err == nil {
		t.Error("nobody noticed")
	}
}
