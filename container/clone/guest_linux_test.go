package clone

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/guest/server"
	"hako/internal/testload"
)

// TestMain is the guest where a test starts it, and the tests otherwise.
func TestMain(m *testing.M) {
	server.Main(os.Args[0], os.Args[1:])
	os.Exit(m.Run())
}

// startGuest starts a guest whose commands run as another user if possible, and
// returns a client of it and a directory that its commands may write to.
func startGuest(t *testing.T) (*guest.Client, string) {
	t.Helper()
	root, err := os.MkdirTemp("", "den") // shorter than t.TempDir: the path of a socket must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	work := filepath.Join(root, "work")
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, root, guest.Name, text)
	writeFile(t, root, "work/home/x", nil)
	o := guest.Options{Socket: filepath.Join(root, "guest.sock"), Dir: work, Home: filepath.Join(work, "home"),
		Spool: filepath.Join(root, "home")}
	for _, name := range []string{root, filepath.Join(root, guest.Name)} {
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		o.UID = 1000
		if err := os.Chown(work, o.UID, o.UID); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(root, guest.Name), o.Args()...)
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return dial(t, o.Socket), work
}

func dial(t *testing.T, socket string) *guest.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(20*time.Second))
	defer cancel()
	for {
		c, err := guest.Dial(ctx, socket)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // it is just starting, and says so to nobody
	}
}

// TestRealGuest clones by the supervisor that containers have.
func TestRealGuest(t *testing.T) {
	w := newWorld(t)
	w.commit("run.sh", "echo hello\n")
	w.push("main")
	c, work := startGuest(t)
	dir := filepath.Join(work, "project")
	if _, err := w.store.Clone(t.Context(), Source{URL: w.address()}, c, dir, nil); err != nil {
		t.Fatal(err)
	}
	res, err := c.Exec(t.Context(),
		guest.Command{Script: `test "$(sh run.sh)" = hello && test -O .git/config && test -z "$(git status --porcelain)"`,
			Dir: dir, Stderr: os.Stderr})
	if err != nil || res.Exit != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if found := contains(t, work, w.store.Keys.Secrets()...); found != nil {
		t.Errorf("the token is in %q", found)
	}
	if _, err := w.store.Clone(t.Context(), Source{URL: w.address()}, c, "/nowhere/project", nil); os.Getuid() == 0 &&
		err == nil {
		t.Error("it was written to where the user may not write")
	}
}
