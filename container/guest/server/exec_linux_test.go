package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run"
	"hako/run/fault"
	"hako/run/runtest"
)

func dialRaw(socket string) (net.Conn, error) { return net.Dial("unix", socket) }

func TestRunner(t *testing.T) {
	runtest.Test(t, func(t *testing.T) run.Runner { return guest.Runner{Client: newDen(t, guest.Options{}).Client} })
}

func TestRunnerTimeout(t *testing.T) {
	r := guest.Runner{Client: newDen(t, guest.Options{}).Client, Timeout: 50 * time.Millisecond}
	res, err := r.Run(t.Context(), &run.Request{Script: "sleep 600"})
	if fault.KindOf(err) != fault.Timeout || !res.TimedOut || res.Exit != 124 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestExec(t *testing.T) {
	d := newDen(t, guest.Options{})
	for _, c := range []struct {
		name           string
		cmd            guest.Command
		exit, signal   int
		stdout, stderr string
	}{
		{"words are passed as they are", guest.Command{Script: execArgs, Args: []string{"printf", "<%s>", "a b", "*", "", "$HOME"}}, 0, 0,
			"<a b><*><><$HOME>", ""},
		{"words need not be UTF-8", guest.Command{Script: execArgs, Args: []string{"printf", "%s", "\x93\xfa\xff"}}, 0, 0, "\x93\xfa\xff", ""},
		{"binary output", guest.Command{Script: `printf '\000\001\377\n\000'`}, 0, 0, "\x00\x01\xff\n\x00", ""},
		{"streams are apart", guest.Command{Script: "echo a; echo b >&2; echo c"}, 0, 0, "a\nc\n", "b\n"},
		{"status", guest.Command{Script: "exit 42"}, 42, 0, "", ""},
		{"ended by signal", guest.Command{Script: "kill -SEGV $$"}, 139, 11, "", ""},
		{"killed", guest.Command{Script: "kill -KILL $$"}, 137, 9, "", ""},
		{"positional parameters", guest.Command{Script: `echo "$0 $# $2"`, Args: []string{"x", "y z"}}, 0, 0, "bash 2 y z\n",
			""},
		{"environment", guest.Command{Script: `echo "$A"`, Env: []string{"A=1", "A=2"}}, 0, 0, "2\n", ""},
		{"directory", guest.Command{Script: execArgs, Args: []string{"pwd"}, Dir: "/"}, 0, 0, "/\n", ""},
		{"no input", guest.Command{Script: execArgs, Args: []string{"cat"}}, 0, 0, "", ""},
		{"input", guest.Command{Script: execArgs, Args: []string{"cat"}, Stdin: strings.NewReader("in")}, 0, 0, "in", ""},
		{"not found", guest.Command{Script: "no-such-program 2>/dev/null"}, 127, 0, "", ""},
		{"no such path", guest.Command{Script: "/no/such 2>/dev/null"}, 127, 0, "", ""},
		{"not executable", guest.Command{Script: "/etc/passwd 2>/dev/null"}, 126, 0, "", ""},
		{"a directory", guest.Command{Script: "/etc 2>/dev/null"}, 126, 0, "", ""},
		{"stdout closed", guest.Command{Script: "exec >&-; echo x 2>/dev/null; echo late >&2; exit 3"}, 3, 0, "", "late\n"},
		{"both closed", guest.Command{Script: "exec >&- 2>&-; exit 4"}, 4, 0, "", ""},
		{"empty script", guest.Command{}, 0, 0, "", ""},
		{"in a group of its own", guest.Command{Script: `test "$(cut -d' ' -f5,6 /proc/$$/stat)" = "$$ $$" && echo own`}, 0,
			0, "own\n", ""},
		{"no files but three and the one that lists them", guest.Command{Script: "cd /proc/$$/fd && echo *"}, 0, 0,
			"0 1 2 3\n", ""},
		// Those above 31 are the C library's own, and may have come from whoever started the test.
		{"no signal ignored or blocked",
			guest.Command{Script: execArgs, Args: []string{"grep", "-Ec", "Sig(Ign|Blk):.[0-9a-f]{8}[08]0{7}", "/proc/self/status"}}, 0, 0, "2\n",
			""},
		{"forged frames", guest.Command{Script: `printf '\000\000\000\004\014\001\000\000\000\000\000\011\001\000hako guest'`}, 0, 0, "\x00\x00\x00\x04\x0c\x01\x00\x00\x00\x00\x00\t\x01\x00hako guest", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := d.do(t, c.cmd)
			if got.fault != nil || got.Exit != c.exit || got.Signal != c.signal || got.out != c.stdout || got.err != c.stderr {
				t.Errorf("%+v", got)
			}
			if got.Bytes != int64(len(got.out)+len(got.err)) {
				t.Errorf("counted %d bytes", got.Bytes)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	d := newDen(t, guest.Options{})
	file := filepath.Join(d.opts.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cmd  guest.Command
		kind fault.Kind
	}{
		"no such directory": {guest.Command{Script: "true", Dir: "no/such"}, fault.NotFound},
		"not a directory":   {guest.Command{Script: "true", Dir: "file"}, fault.Invalid},
		"through a file":    {guest.Command{Script: "true", Dir: "file/x"}, fault.NotFound},
		"NUL":               {guest.Command{Script: execArgs, Args: []string{"echo", "a\x00b"}}, fault.Invalid},
		"bad variable":      {guest.Command{Script: "true", Env: []string{"novalue"}}, fault.Invalid},
		"too long":          {guest.Command{Script: "true", Args: []string{strings.Repeat("x", 4<<20)}}, fault.Invalid},
	} {
		got := d.do(t, c.cmd)
		if fault.KindOf(got.fault) != c.kind || fault.Hint(got.fault) == "" {
			t.Errorf("%s: %v, exit %d", name, got.fault, got.Exit)
		}
	}
	d.sh(t, "true") // still there
}

func TestTimeoutEndsEverything(t *testing.T) {
	d := newDen(t, guest.Options{})
	for name, script := range map[string]string{
		"children":        "echo before; sleep NAP & sleep NAP",
		"ignores TERM":    "trap '' TERM; echo before; sleep NAP; sleep NAP",
		"own sessions":    "setsid sleep NAP & echo before; setsid sh -c 'setsid sleep NAP & sleep NAP' & sleep NAP",
		"daemon":          "(setsid sh -c 'sleep NAP >/dev/null 2>&1 & exit' &) ; echo before; sleep NAP",
		"two hundred":     "echo before; for i in $(seq 200); do sleep NAP & done; wait",
		"keeps on giving": "(trap '' TERM; while :; do sleep NAP & sleep 0.02; done) & echo before; sleep NAP",
	} {
		t.Run(name, func(t *testing.T) {
			word := token()
			began := time.Now()
			got := d.do(t, guest.Command{Script: strings.ReplaceAll(script, "NAP", word), Timeout: 700 * time.Millisecond})
			if !got.TimedOut || got.Exit != -1 || got.Note != "Command timeout after 0.7 seconds" || got.fault != nil ||
				got.out != "before\n" {
				t.Errorf("%+v", got)
			}
			if n := alive(word); n > 0 {
				t.Errorf("%d processes are left", n)
			}
			t.Log("took ", time.Since(began))
		})
	}
}

// TestTimeoutWithoutRoot has no groups to mark processes with.
func TestTimeoutWithoutRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the other tests are without root already")
	}
	dir, err := os.MkdirTemp("", "den")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chown(dir, 12345, 12345)
	d := newDen(t, guest.Options{Socket: dir + "/s", Dir: "/"}, "setpriv", "--reuid=12345", "--regid=12345",
		"--clear-groups", "env", "TMPDIR=/tmp")
	if who := d.sh(t, "id -u"); who != "12345\n" {
		t.Fatal(who)
	}
	word := token()
	script := "(setsid sh -c 'sleep NAP >/dev/null 2>&1 & exit' &) ; setsid sleep NAP & echo before; sleep NAP"
	got := d.do(t, guest.Command{Script: strings.ReplaceAll(script, "NAP", word), Timeout: 700 * time.Millisecond})
	if !got.TimedOut || alive(word) > 0 {
		t.Errorf("%+v, %d left", got, alive(word))
	}
}

func TestCancelEndsEverything(t *testing.T) {
	d := newDen(t, guest.Options{})
	word := token()
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	go func() {
		io.ReadFull(pr, make([]byte, len("x\n"))) // it runs
		cancel()
	}()
	got := do(ctx, d.Client, guest.Command{Script: "setsid sleep " + word + " & echo x; sleep " + word, Stdout: pw})
	if !errors.Is(got.fault, context.Canceled) || alive(word) > 0 {
		t.Errorf("%+v, %d left", got, alive(word))
	}
	d.sh(t, "true")
}

func TestWriterThatFails(t *testing.T) {
	d := newDen(t, guest.Options{})
	got := d.do(t, guest.Command{Script: "yes", Stdout: full{}})
	if !errors.Is(got.fault, errFull) {
		t.Errorf("%+v", got)
	}
	eventually(t, "the command is gone", func() bool {
		s, err := d.Stats(t.Context(), false)
		return err == nil && s.Running == 0 && s.Processes == 0
	})
}

// TestLeftBehind has servers that a script starts and leaves.
func TestLeftBehind(t *testing.T) {
	d := newDen(t, guest.Options{})
	word := token()
	got := d.do(t, guest.Command{Script: "sh -c 'sleep 0.3; while sleep 0.01; do echo still here || exit; done' " + word +
		" & echo started"})
	if got.out != "started\n" || got.fault != nil || got.Duration > 10*time.Second {
		t.Fatalf("%+v", got)
	}
	d.sh(t, "sleep 0.6")
	if alive(word) == 0 {
		t.Error("what was left behind ended when it printed")
	}
	s, err := d.Stats(t.Context(), false)
	if err != nil || s.Processes == 0 || s.Running != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// slow takes its time over every piece.
type slow struct {
	io.Writer
	wait <-chan struct{}
}

func (s slow) Write(p []byte) (int, error) {
	<-s.wait
	return s.Writer.Write(p)
}

// TestSlowReader checks that a command waits for who reads it, and that what it
// printed before it ended is not lost because that takes long.
func TestSlowReader(t *testing.T) {
	d := newDen(t, guest.Options{})
	mark := filepath.Join(d.opts.Dir, "done")
	gate := make(chan struct{})
	var text strings.Builder
	ended := make(chan outcome)
	go func() {
		ended <- do(t.Context(), d.Client, guest.Command{Script: "seq 200000; touch done", Stdout: slow{&text, gate}})
	}()
	other := do(t.Context(), d.Client, guest.Command{Script: "sleep 0.5; echo free"}) // meanwhile, on the same connection
	if other.out != "free\n" {
		t.Errorf("%+v", other)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command did not wait")
	}
	close(gate)
	if got := <-ended; got.fault != nil || text.Len() != 1288895 || !strings.HasSuffix(text.String(), "\n200000\n") {
		t.Errorf("%d bytes, %+v", text.Len(), got)
	}

	gate = make(chan struct{})
	text.Reset()
	go func() {
		ended <- do(t.Context(), d.Client, guest.Command{Script: "seq 55000; exec sleep 0.01",
			Stdout: slow{&text, gate}}) // fits into window and pipe
	}()
	d.sh(t, "sleep 0.8") // longer than what is left behind gets
	close(gate)
	if got := <-ended; text.Len() != 318894 || got.Exit != 0 {
		t.Errorf("%d bytes, %+v", text.Len(), got)
	}
}

// TestFlood lets a command print much more than anybody should hold.
func TestFlood(t *testing.T) {
	d := newDen(t, guest.Options{})
	var n counter
	got := d.do(t, guest.Command{Script: "head -c 100000000 /dev/zero", Stdout: &n})
	if got.fault != nil || n != 100_000_000 || got.Bytes != 100_000_000 {
		t.Errorf("%d bytes, %+v", n, got)
	}
	s, err := d.Stats(t.Context(), false)
	if err != nil || s.Guest.Memory > 15<<20 && !testing.Short() { // the race detector takes more
		t.Errorf("the guest uses %d bytes, %v", s.Guest.Memory, err)
	}
	t.Logf("%v for 100 MB; guest %d KB", got.Duration, s.Guest.Memory>>10)
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// TestInput has commands that do not read what they are sent, or slowly.
func TestInput(t *testing.T) {
	d := newDen(t, guest.Options{})
	got := d.do(t, guest.Command{Script: "exec <&-; sleep 0.2; echo done", Stdin: endless{}})
	if got.out != "done\n" || got.fault != nil {
		t.Errorf("%+v", got)
	}
	got = d.do(t, guest.Command{Script: "head -c 5; sleep 0.2", Stdin: endless{}})
	if got.out != "zzzzz" || got.fault != nil {
		t.Errorf("%+v", got)
	}
	got = d.do(t, guest.Command{Script: "sleep 0.3; wc -c", Stdin: io.LimitReader(endless{}, 10<<20)})
	if strings.TrimSpace(got.out) != "10485760" || got.fault != nil {
		t.Errorf("%+v", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'z'
	}
	return len(p), nil
}

func TestManyAtOnce(t *testing.T) {
	d := newDen(t, guest.Options{})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			want := fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i))
			if got := do(t.Context(), d.Client, guest.Command{Script: fmt.Sprintf("sleep 0.1; echo \"%d $1\"", i),
				Args: []string{strings.Repeat("x", i)}}); got.out != want || got.fault != nil {
				t.Errorf("%d: %+v", i, got)
			}
		})
	}
	wg.Wait()
}

func TestTooManyAtOnce(t *testing.T) {
	d := newDen(t, guest.Options{Running: 1})
	j, err := d.Start(t.Context(), guest.Command{Script: "sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.do(t, guest.Command{Script: "true"}); fault.KindOf(got.fault) != fault.Exhausted {
		t.Errorf("%+v", got)
	}
	if _, err := d.Start(t.Context(), guest.Command{Script: "true"}); fault.KindOf(err) != fault.Exhausted {
		t.Error(err)
	}
	if _, err := d.Kill(t.Context(), j.Handle); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is room", func() bool { return d.do(t, guest.Command{Script: "true"}).fault == nil })
}

// TestOneAfterAnother checks that nothing grows.
func TestOneAfterAnother(t *testing.T) {
	d := newDen(t, guest.Options{})
	rounds := 1000
	if testing.Short() {
		rounds = 200
	}
	var before guest.Stats
	for i := range rounds {
		if got := d.do(t, guest.Command{Script: execArgs, Args: []string{"true"}, Stdin: strings.NewReader("x")}); got.fault != nil ||
			got.Exit != 0 {
			t.Fatalf("%d: %+v", i, got)
		}
		if i == rounds/10 {
			before, _ = d.Stats(t.Context(), false)
		}
	}
	eventually(t, "nothing is left", func() bool {
		after, err := d.Stats(t.Context(), false)
		ok := err == nil && after.Processes == 0 && after.Running == 0 && after.Guest.Files <= before.Guest.Files &&
			after.Guest.Goroutines <= before.Guest.Goroutines
		if ok {
			t.Logf("before %+v, after %+v", before.Guest, after.Guest)
		}
		return ok
	})
}
