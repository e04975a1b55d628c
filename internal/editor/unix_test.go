//go:build linux || darwin

package editor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hako/run/fault"
)

func TestSpecialFiles(t *testing.T) {
	b := newBench(t)
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o666))
	l, err := net.Listen("unix", filepath.Join(b.dir, "sock"))
	must(t, err)
	defer l.Close()
	for name, what := range map[string]string{"fifo": "a named pipe", "sock": "a socket"} {
		why := " " + at + "/" + name + ": it is " + what +
			", not a regular file\ncopy what it gives into a regular file first"
		b.no(fault.Invalid, "view"+why, "view", name)
		b.no(fault.Invalid, "insert"+why, "insert", name, "insert_line", 0, "insert_text", "x")
		b.no(fault.Invalid, "File already exists at: "+at+"/"+name+". Cannot overwrite files using command `create`.",
			"create", name, "file_text", "x")
	}
	b.ok("view", at) // lists them without opening
	devices := &bench{open(t, "/dev"), t, b.dir}
	devices.no(fault.Invalid,
		"view "+at+"/zero: it is a device, not a regular file\ncopy what it gives into a regular file first", "view", "zero")
}

func TestModeIsKept(t *testing.T) {
	b := newBench(t)
	for _, mode := range []os.FileMode{0o755, 0o600, 0o444 | 0o200, 0o4755} {
		b.write("f", "x\n")
		file := filepath.Join(b.dir, "f")
		if mode == 0o4755 {
			mode = 0o755 | os.ModeSetuid
		}
		must(t, os.Chmod(file, mode))
		b.ok("view", "f")
		b.ok("insert", "f", "insert_line", 0, "insert_text", "y")
		info, err := os.Stat(file)
		must(t, err)
		if info.Mode() != mode.Perm() { // rights to lend are gone, as after any write
			t.Errorf("mode %v became %v", mode, info.Mode())
		}
		must(t, os.Remove(file))
		b.Editor = open(t, b.dir)
	}
}

// Readers see the old file or the new one, and nothing is left behind.
func TestNoHalfFiles(t *testing.T) {
	b := newBench(t)
	old, new := strings.Repeat("a", 200_000)+"\n", strings.Repeat("b", 200_000)+"\n"
	b.write("f", old)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			raw, err := os.ReadFile(filepath.Join(b.dir, "f"))
			if s := string(raw); err != nil || s != old && s != new {
				t.Errorf("saw %d bytes: %v", len(raw), err)
				return
			}
		}
	}()
	for range 10 {
		b.ok("str_replace", "f", "old_str", old, "new_str", new)
		b.ok("undo_edit", "f")
	}
	stop.Store(true)
	<-done
	if names, _ := os.ReadDir(b.dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// Somebody keeps exchanging a directory for a link out, a named pipe and back.
func TestExchangedDirectories(t *testing.T) {
	b := newBench(t)
	outer := filepath.Join(filepath.Dir(b.dir), "outer")
	must(t, os.Mkdir(outer, 0o755))
	must(t, os.WriteFile(filepath.Join(outer, "f"), []byte("secret\n"), 0o644))
	b.write("d/f", "inside\n")
	b.link("../outer", "link")
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o666))
	in := func(name string) string { return filepath.Join(b.dir, name) }
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			for _, other := range []string{"link", "pipe"} {
				_ = os.Rename(in("d"), in("aside"))
				_ = os.Rename(in(other), in("d"))
				_ = os.Rename(in("d"), in(other))
				_ = os.Rename(in("aside"), in("d"))
			}
		}
	}()
	hung := time.AfterFunc(30*time.Second, func() { panic("an edit hangs") })
	defer hung.Stop()
	for range 300 {
		if r := b.call("view", "d/f"); strings.Contains(r.Content, "secret") {
			t.Fatal("read outside")
		}
		b.call("insert", "d/f", "insert_line", 0, "insert_text", "x")
		b.call("create", "d/g", "file_text", "x")
		b.call("undo_edit", "d/g")
		b.call("view", "d")
	}
	stop.Store(true)
	<-done
	if got := tree(t, outer); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"secret\n"`) {
		t.Errorf("outside is now\n%s", got)
	}
}

// A named pipe that takes the place of a file that was looked at is not waited for.
func TestExchangedFile(t *testing.T) {
	b := newBench(t)
	b.write("f", "x\n")
	info, err := os.Stat(filepath.Join(b.dir, "f"))
	must(t, err)
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o666))
	must(t, os.Rename(filepath.Join(b.dir, "pipe"), filepath.Join(b.dir, "f")))
	s, err := b.enter(&Call{Command: view, Path: at + "/f"}, filePath{rel: "f"})
	must(t, err)
	defer s.close()
	hung := time.AfterFunc(30*time.Second, func() { panic("opening hangs") })
	defer hung.Stop()
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		if f, err := s.open(info, flag); err == nil || !strings.Contains(err.Error(), "it is a named pipe") {
			t.Errorf("opened %v: %v", f, err)
		}
	}
	must(t, os.Remove(filepath.Join(b.dir, "f")))
	b.write("f", "y\n")
	b.write("g", "y\n")
	other, err := os.Stat(filepath.Join(b.dir, "g"))
	must(t, err)
	if f, err := s.open(other, os.O_RDONLY); err == nil {
		t.Errorf("opened %s for another file", f.Name())
	}
}

// Time on the clock would measure who else uses the machine.
func TestEndOfTenMegabytesIsQuick(t *testing.T) {
	b := newBench(t)
	const n = 10 << 20 / 100
	b.write("f", strings.Repeat(strings.Repeat("x", 99)+"\n", n))
	best := time.Hour
	for range 5 {
		start := processorTime(t)
		b.ok("view", "f", "view_range", []int{n, -1})
		best = min(best, processorTime(t)-start)
	}
	if best > 100*time.Millisecond {
		t.Errorf("the end of 10 MB took %v", best)
	}
}

func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestSomebodyHoldsTheLock(t *testing.T) {
	b := newBench(t)
	b.write("f", "x\n")
	d, err := os.Open(b.dir)
	must(t, err)
	must(t, syscall.Flock(int(d.Fd()), syscall.LOCK_EX))
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	line, text := 0, "y"
	c := Call{Command: "insert", Path: at + "/f", InsertLine: &line, InsertText: &text}
	r := b.Do(ctx, c)
	if fault.KindOf(r.Fault) != fault.Unavailable ||
		!strings.Contains(r.Error, "another editor has been at work in this directory") {
		t.Errorf("got %+v", r)
	}
	b.ok("view", "f") // looking needs no lock
	must(t, d.Close())
	if r := b.Do(context.Background(), c); !r.Success {
		t.Error(r.Error)
	}
}
