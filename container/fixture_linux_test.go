package container

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/container/egress"
	"hako/container/engine"
	"hako/container/guest"
	"hako/internal/testload"
	"hako/run"
)

// A cell is a container made the way hako makes them. The policy is off: what
// tests run in it goes straight to the guest, so that the container alone has to
// hold.
type cell struct {
	*guest.Client
	dock *Manager
	task string
	box  *box
}

// lacking skips a test that needs what this machine lacks, unless it must have it.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

func openEngine(t *testing.T, image string) *engine.Engine {
	t.Helper()
	e, err := engine.Open("")
	if err != nil {
		lacking(t, err.Error())
	}
	t.Cleanup(e.Close)
	if _, err := e.Image(t.Context(), image); err != nil {
		lacking(t, image+": "+err.Error())
	}
	return e
}

// newDock returns a dock without policy whose environment python is an image.
// Nothing may be left of it.
func newDock(t *testing.T, image string, change func(*Options)) *Manager {
	t.Helper()
	o := Options{
		Enabled: true, State: newState(t), Engine: openEngine(t, image), Binary: guestBinary(t),
		Images: map[string]string{"python": image},
		Gate:   func(_ string, r run.Runner) run.Runner { return r },
		Record: func(string, string) (func(error), error) { return func(error) {}, nil },
	}
	if change != nil {
		change(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.CleanupAll(context.Background()); err != nil {
			t.Error("clean up:", err)
		}
		d.Close()
	})
	return d
}

// newCell makes a container. Change may be nil.
func newCell(t *testing.T, image string, change func(*Options)) *cell {
	t.Helper()
	return prepared(t, newDock(t, image, change), Task{ID: unique("cell")})
}

func prepared(t *testing.T, d *Manager, task Task) *cell {
	t.Helper()
	if _, err := d.Prepare(t.Context(), task, "python"); err != nil {
		t.Fatal(err)
	}
	b, err := d.find(task.ID)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.client(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of a guest that died one wants to know why
		if said, _ := d.Engine.Logs(context.Background(), b.ContainerID, 400); t.Failed() && said != "" {
			t.Logf("the guest said: %.600s", said)
		}
	})
	return &cell{Client: c, dock: d, task: task.ID, box: b}
}

// An outcome is all that came of a command.
type outcome struct {
	guest.Result
	stdout, stderr string
	err            error
}

func (o outcome) all() string { return o.stdout + o.stderr }

// sh runs a script with half a minute to live.
func (c *cell) sh(t *testing.T, script string) outcome {
	t.Helper()
	return c.command(t, guest.Command{Script: script, Timeout: 30 * time.Second})
}

func (c *cell) command(t *testing.T, cmd guest.Command) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(c.box.Env, cmd.Env...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := c.Exec(ctx, cmd)
	return outcome{res, stdout.String(), stderr.String(), err}
}

// must runs a script that has to work, and returns what it prints.
func (c *cell) must(t *testing.T, script string) string {
	t.Helper()
	o := c.sh(t, script)
	if o.err != nil || o.Exit != 0 {
		t.Fatalf("%s: exit %d, %v: %s", script, o.Exit, o.err, o.all())
	}
	return o.stdout
}

// put writes a file.
func (c *cell) put(t *testing.T, path string, data []byte) {
	t.Helper()
	if o := c.command(t, guest.Command{Script: `cat > "$1" && chmod 755 "$1"`, Args: []string{path},
		Stdin: bytes.NewReader(data)}); o.err != nil || o.Exit != 0 {
		t.Fatalf("put %s: exit %d, %v: %s", path, o.Exit, o.err, o.all())
	}
}

// buildProbe builds the program that tries things, without any library: it must
// run in every image.
func buildProbe(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", "build", "-o", file, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// execArgs is a script that becomes the program in its arguments.
const execArgs = `exec "$@"`

// probe tries a group of things, and returns what was said about each.
func (c *cell) probe(t *testing.T, program []byte, group string) map[string]string {
	t.Helper()
	c.put(t, "/workspace/tmp/probe", program)
	o := c.command(t, guest.Command{Script: execArgs, Args: []string{"/workspace/tmp/probe", group}, Timeout: 30 * time.Second})
	if o.err != nil || o.Exit != 0 {
		t.Fatalf("exit %d, %v: %s", o.Exit, o.err, o.all())
	}
	said := map[string]string{}
	for line := range strings.Lines(o.stdout) {
		name, word, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		said[name] = word
	}
	return said
}

// answers checks that the guest is well.
func (c *cell) answers(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(10*time.Second))
	defer cancel()
	if err := c.Ping(ctx); err != nil {
		t.Error("the guest does not answer:", err)
	}
	if got := c.must(t, "echo alive"); got != "alive\n" {
		t.Errorf("%q", got)
	}
}

// serveEgress serves the ways out of a dock's containers, in the place of the
// process that does it otherwise.
func serveEgress(t *testing.T, p *egress.Proxy) func(context.Context, Egress) error {
	return func(_ context.Context, w Egress) error {
		l, err := net.FileListener(w.Listener)
		if err != nil {
			return err
		}
		p.Credentials = w.Credentials
		p.Open = w.Open
		served := make(chan error, 1)
		go func() { served <- p.Serve(context.Background(), l) }()
		t.Cleanup(func() {
			p.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		return nil
	}
}
