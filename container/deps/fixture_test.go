package deps

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/lang"
)

// A den is a workspace on this machine, and a guest that runs commands in it.
type den struct {
	t    *testing.T
	root string

	mu      sync.Mutex
	scripts []string
	before  func(guest.Command) error // called before each command; nil means nothing
	change  func(*guest.Command)      // changes each command; nil means nothing
}

func newDen(t *testing.T) *den {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &den{t: t, root: root}
	for _, dir := range []string{"project", "tmp", ".home"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Exec implements [Guest] as the real one does: output that cannot be passed on
// ends the command, and time that runs out is told.
func (d *den) Exec(ctx context.Context, c guest.Command) (guest.Result, error) {
	d.mu.Lock()
	d.scripts = append(d.scripts, c.Script)
	before := d.before
	d.mu.Unlock()
	if before != nil {
		if err := before(c); err != nil {
			return guest.Result{}, err
		}
	}
	if d.change != nil {
		d.change(&c)
	}
	within := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	cmd := exec.CommandContext(within, "/bin/sh", append([]string{"-c", c.Script, "sh"}, c.Args...)...)
	cmd.Dir, cmd.Stdin = c.Dir, c.Stdin
	cmd.Env = append(append(os.Environ(), "HOME="+filepath.Join(d.root, ".home")), c.Env...)
	cmd.WaitDelay = time.Second
	out, errs := &failing{to: c.Stdout}, &failing{to: c.Stderr}
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	for _, f := range []*failing{out, errs} {
		if f.err != nil {
			return guest.Result{}, f.err
		}
	}
	switch {
	case ctx.Err() != nil:
		return guest.Result{}, ctx.Err()
	case within.Err() != nil:
		return guest.Result{Exit: -1, TimedOut: true}, nil
	case cmd.ProcessState == nil:
		return guest.Result{}, err
	}
	return guest.Result{Exit: cmd.ProcessState.ExitCode()}, nil
}

// failing remembers what a writer said, and goes on.
type failing struct {
	to  io.Writer
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.to == nil || f.err != nil {
		return len(p), nil
	}
	_, f.err = f.to.Write(p)
	return len(p), nil
}

func (d *den) write(name, text string) {
	d.t.Helper()
	file := filepath.Join(d.root, name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *den) read(name string) string {
	text, err := os.ReadFile(filepath.Join(d.root, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (d *den) has(name string) bool {
	_, err := os.Lstat(filepath.Join(d.root, name))
	return err == nil
}

// ran tells how often a command was run.
func (d *den) ran(command string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.scripts {
		if s == command {
			n++
		}
	}
	return n
}

// fetch is a package manager: it "installs" what lock says.
const fetch = `mkdir -p ../.home/libs/sub && cp lock ../.home/libs/sub/installed && ln -s sub/installed ../.home/libs/link && chmod 750 ../.home/libs/sub && echo "fetched libs"`

var fetching = lang.Language{Name: "test", Install: []lang.Step{
	{Name: "lock", When: []string{"lock"}, Key: []string{"lock", "*.cfg", "sub/*.cfg"}, Keep: []string{".home/libs"},
		Command: fetch},
}}

func (d *den) options() Options { return Options{Workspace: d.root, Salt: "image\nrepository"} }

func (d *den) install(s *Store, l lang.Language, o Options) Report {
	d.t.Helper()
	r, err := s.Install(d.t.Context(), d, l, o)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// only returns the report of the one step.
func only(t *testing.T, r Report) StepReport {
	t.Helper()
	if len(r.Steps) != 1 {
		t.Fatalf("there are %d steps: %+v", len(r.Steps), r)
	}
	return r.Steps[0]
}

func archives(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, filepath.Join(s.Dir, e.Name()))
		if info, err := e.Info(); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
	}
	return names
}

// A recorder keeps what is told, and notices two at a time.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorder) say(line string) {
	if !r.mu.TryLock() {
		panic("two lines at a time")
	}
	defer r.mu.Unlock()
	r.text.WriteString(line + "\n")
}

func (r *recorder) has(line string) bool {
	return strings.Contains("\n"+r.text.String(), "\n"+line+"\n")
}
