package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/container/guest"
	"hako/internal/testload"
	"hako/run"
)

// TestMain is the guest where a test starts it, a caller from inside where a
// command of a test starts it, and the tests otherwise.
func TestMain(m *testing.M) {
	Main(os.Args[0], os.Args[1:])
	if filepath.Base(os.Args[0]) == "call-guest" {
		callFromInside(os.Args[1])
	}
	os.Exit(m.Run())
}

func callFromInside(socket string) {
	c, err := guest.Dial(context.Background(), socket)
	if err == nil {
		err = c.Ping(context.Background())
	}
	fmt.Println("answer:", err)
	os.Exit(0)
}

// A den is a guest in a process of its own, and a client of it.
type den struct {
	*guest.Client
	opts guest.Options
	cmd  *exec.Cmd
	root string        // of all its files
	over chan struct{} // closed when the process has ended
}

// newDen starts a guest. Prefix is a program to start it by.
func newDen(t testing.TB, o guest.Options, prefix ...string) *den {
	t.Helper()
	root, err := os.MkdirTemp("", "den") // shorter than t.TempDir: the path of a socket must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	d := &den{opts: o, root: root}
	for _, sub := range []string{"work", "line", "spool"} {
		if err := os.Mkdir(filepath.Join(root, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(root, 0o755)
	if o.UID != 0 {
		os.Chown(filepath.Join(root, "work"), o.UID, o.UID)
	}
	if len(prefix) > 0 {
		os.Chmod(filepath.Join(root, "spool"), 0o777) // it may be anybody
	}
	d.opts.Socket = cmp.Or(o.Socket, filepath.Join(root, "line", "guest.sock"))
	d.opts.Dir, d.opts.Spool = cmp.Or(o.Dir, filepath.Join(root, "work")), filepath.Join(root, "spool")
	d.start(t, prefix)
	d.Client = d.dial(t)
	return d
}

func (d *den) start(t testing.TB, prefix []string) {
	t.Helper()
	link := d.program(t, guest.Name)
	words := append(append(prefix, link), d.opts.Args()...)
	d.cmd = exec.Command(words[0], words[1:]...)
	d.cmd.Stderr = os.Stderr
	d.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // or each guest takes a second to end
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, over := d.cmd, make(chan struct{})
	d.over = over
	go func() { cmd.Wait(); close(over) }()
	t.Cleanup(func() { d.stop(t) })
}

// program gives the test binary another name, in a place that every user can
// reach.
func (d *den) program(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(d.root, name)
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(file, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// stop ends the guest. The client of the den may be closed by now.
func (d *den) stop(t testing.TB) {
	if c, err := guest.Dial(context.Background(), d.opts.Socket); err == nil {
		_ = c.Shutdown(context.Background())
		c.Close()
	}
	select {
	case <-d.over:
	case <-time.After(testload.Bound(20 * time.Second)):
		t.Error("the guest had to be killed")
		d.cmd.Process.Kill()
		<-d.over
	}
}

// dial connects to the guest, which may just be starting.
func (d *den) dial(t testing.TB) *guest.Client {
	t.Helper()
	for end := time.Now().Add(testload.Bound(20 * time.Second)); ; {
		c, err := guest.Dial(t.Context(), d.opts.Socket)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c
		}
		select {
		case <-d.over:
			t.Fatal("the guest has ended: ", err)
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// An outcome is all that a command left behind.
type outcome struct {
	guest.Result
	out, err string
	fault    error
}

func (d *den) do(t testing.TB, cmd guest.Command) outcome {
	t.Helper()
	return do(t.Context(), d.Client, cmd)
}

func do(ctx context.Context, c *guest.Client, cmd guest.Command) outcome {
	var out, errs bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	res, err := c.Exec(ctx, cmd)
	return outcome{res, out.String(), errs.String(), err}
}

// execArgs is a script that becomes the program in its arguments.
const execArgs = `exec "$@"`

// sh runs a script that must end well and returns what it printed.
func (d *den) sh(t testing.TB, script string) string {
	t.Helper()
	got := d.do(t, guest.Command{Script: script})
	if got.fault != nil || got.Exit != 0 {
		t.Fatalf("%s: %+v", script, got)
	}
	return got.out
}

// edit makes a file by the text editor and tells whom it belongs to.
func (d *den) edit(t testing.TB, name string) int {
	t.Helper()
	answer, err := d.Edit(t.Context(), json.RawMessage(`{"command":"create","path":"`+name+`","file_text":"箱\n"}`))
	if err != nil || !strings.Contains(string(answer), `"success":true`) {
		t.Fatalf("%s, %v", answer, err)
	}
	info, err := os.Stat(filepath.Join(d.opts.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// A token is a word that marks the processes of a test: they are given it as an
// argument, so that they can be found.
func token() string { return strconv.FormatFloat(7_000_000+rand.Float64(), 'f', 8, 64) }

// alive counts the processes that have a token among their words.
func alive(token string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), token) {
			n++
		}
	}
	return n
}

// eventually waits for something to become true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(testload.Bound(20 * time.Second)); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: ", what)
		}
	}
}

// rawDial connects without greeting.
func (d *den) rawDial(t testing.TB) io.ReadWriteCloser {
	t.Helper()
	c, err := dialRaw(d.opts.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var errFull = errors.New("no space left")

// full is a writer that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func ownerOfFile(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func scriptRequest(script string) *run.Request { return &run.Request{Script: script} }
