package container

import (
	"io"
	"log"
	"runtime"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// floods are attempts to use up what there is.
var floods = map[string]verdict{
	"T3-308": memoryBomb,
	"T3-309": and(diskFill, then(`rm -f /workspace/tmp/x`), alive),
	"T3-311": and(fails(`No space left on device`),
		then(`test $(stat -c %s /dev/shm/x) -le 67108864; s=$?; rm -f /dev/shm/x; exit $s`), alive),
	"T3-312": outputFlood,
	"T3-314": daemon,
	"T3-315": and(descriptors, alive),
	"T3-317": forged,
}

func memoryBomb(t *testing.T, j *jail, a attack) {
	o := j.sh(t, a.Command)
	if o.err != nil || o.Exit == 0 || !o.OutOfMemory || !strings.Contains(o.Note, "memory") {
		t.Errorf("exit %d, %v, %q: %s", o.Exit, o.err, o.Note, o.all())
	}
	j.answers(t)
}

func diskFill(t *testing.T, j *jail, a attack) {
	before := hostFree(t)
	o := j.command(t, guest.Command{Script: a.Command, Timeout: time.Minute})
	if o.err != nil || o.Exit == 0 || o.TimedOut || !strings.Contains(o.stderr, "No space left") && !o.DiskFull {
		t.Errorf("exit %d, %v, %q: %s", o.Exit, o.err, o.Note, o.all())
	}
	if taken := before - hostFree(t); taken > 2<<30 {
		t.Errorf("the host lost %d MB, where 256 are allowed", taken>>20)
	}
}

// outputFlood checks that what is printed is cut while it comes, not afterwards.
func outputFlood(t *testing.T, j *jail, a attack) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res, err := j.dock.ExecuteIn(t.Context(), j.task, &run.Request{Actor: "agent", Script: a.Command,
		Timeout: 5 * time.Second})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(res.Stdout) > j.dock.Output+1000 || len(res.Stdout) < 1000 {
		t.Errorf("%d bytes, exit %d, %v", len(res.Stdout), res.ExitCode, err)
	}
	if grown := int64(after.Sys) - int64(before.Sys); grown > 100<<20 {
		t.Errorf("it took %d MB here", grown>>20)
	}
	if !strings.Contains(res.Stdout[:min(200, len(res.Stdout))], "not shown") {
		t.Errorf("nobody says that it was cut: %.100q", res.Stdout)
	}
	j.answers(t)
}

// daemon checks that what leaves its command behind ends when the time of that
// command is up.
func daemon(t *testing.T, j *jail, a attack) {
	j.empty(t, 10*time.Second) // of what attacks before it left
	o := j.command(t, guest.Command{Script: a.Command, Timeout: 2 * time.Second})
	if o.err != nil {
		t.Error(o.err)
	}
	j.empty(t, 10*time.Second)
	j.answers(t)
}

func descriptors(t *testing.T, j *jail, a attack) {
	o := j.command(t, guest.Command{Script: a.Command + `; ls /proc/self/fd | wc -l`, Timeout: time.Minute})
	if o.err != nil || o.TimedOut || !strings.Contains(o.stderr, "Too many open files") &&
		!strings.Contains(o.stderr, "Bad file descriptor") && o.Exit == 0 {
		t.Errorf("exit %d, %v: %.300s", o.Exit, o.err, o.all())
	}
}

// forged checks that output is output, whatever it looks like.
func forged(t *testing.T, j *jail, a attack) {
	o := j.sh(t, a.Command+"; exit 7")
	if o.err != nil || o.Exit != 7 || o.stdout != "\x01\x00\x00\x00\xff\xff\xff\xff__S1__0" || o.stderr != "" {
		t.Errorf("exit %d, %v: %q %q", o.Exit, o.err, o.stdout, o.stderr)
	}
}
