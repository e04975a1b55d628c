package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/internal/fault"
)

func TestJob(t *testing.T) {
	d := newDen(t, Options{})
	j, err := d.Start(t.Context(), Command{Script: `echo one; echo two >&2; while ! test -e go; do sleep 0.01; done; echo "three $1"; exit 3`, Args: []string{"箱"}})
	if err != nil || j.State != Running || j.Handle == "" || j.Pid == 0 {
		t.Fatalf("%+v, %v", j, err)
	}
	var p Page
	eventually(t, "it printed", func() bool {
		p, err = d.Output(t.Context(), j.Handle, Both, 0, 0)
		return err == nil && p.Total == 8
	})
	if string(p.Data) != "one\ntwo\n" && string(p.Data) != "two\none\n" || p.Ended || p.More || p.Next != 8 {
		t.Errorf("%+v", p)
	}
	d.Close() // the job goes on
	c := d.dial(t)
	if err := os.WriteFile(filepath.Join(d.opts.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	j, err = c.Wait(t.Context(), j.Handle)
	if err != nil || j.State != Failed || j.Exit != 3 || j.Ended.Before(j.Began) || j.Bytes != 8+10 {
		t.Errorf("%+v, %v", j, err)
	}
	p, err = c.Output(t.Context(), j.Handle, Both, 8, 9)
	if string(p.Data) != "three 箱" || !p.More || !p.Ended || p.Next != 17 || err != nil {
		t.Errorf("%q, %+v, %v", p.Data, p, err)
	}
	p, err = c.Output(t.Context(), j.Handle, Both, 8, 8)
	if string(p.Data) != "three " || !p.More || err != nil {
		t.Errorf("%q, %+v, %v", p.Data, p, err)
	}
	p, err = c.Output(t.Context(), j.Handle, Stderr, 0, 0)
	if string(p.Data) != "two\n" || p.More || err != nil {
		t.Errorf("%q, %+v, %v", p.Data, p, err)
	}
	out, errs, err := c.Tails(t.Context(), j.Handle)
	if string(out.Data) != "one\nthree 箱\n" || string(errs.Data) != "two\n" || out.Cut+errs.Cut != 0 || err != nil {
		t.Errorf("%+v, %+v, %v", out, errs, err)
	}
	if list, err := c.Jobs(t.Context()); err != nil || len(list) != 1 || list[0] != j {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestJobEnds(t *testing.T) {
	d := newDen(t, Options{})
	word := token()
	nap := strings.ReplaceAll("setsid sleep NAP & sleep NAP", "NAP", word)
	late, err := d.Start(t.Context(), Command{Script: nap, Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if j, err := d.Wait(t.Context(), late.Handle); err != nil || j.State != TimedOut || j.Exit != -1 {
		t.Errorf("%+v, %v", j, err)
	}
	killed, err := d.Start(t.Context(), Command{Script: "trap '' TERM; " + nap})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool { return alive(word) == 3 })
	if j, err := d.Kill(t.Context(), killed.Handle); err != nil || j.State != Killed || j.Exit != 137 || j.Signal != 9 {
		t.Errorf("%+v, %v", j, err)
	}
	if n := alive(word); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	told, err := d.Start(t.Context(), Command{Script: "trap 'exit 0' TERM; echo on; sleep 600 & wait"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it listens", func() bool {
		j, err := d.Job(t.Context(), told.Handle)
		return err == nil && j.Bytes > 0
	})
	if err := d.Signal(t.Context(), told.Handle, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if j, err := d.Wait(t.Context(), told.Handle); err != nil || j.State != Done {
		t.Errorf("%+v, %v", j, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	again, err := d.Start(t.Context(), Command{Argv: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(ctx, again.Handle); fault.KindOf(err) != fault.Timeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if j, err := d.Job(t.Context(), again.Handle); err != nil || j.State != Running || j.Command != "sleep 600" {
		t.Errorf("%+v, %v", j, err)
	}
}

// TestJobTail checks what is kept of a job that prints too much.
func TestJobTail(t *testing.T) {
	d := newDen(t, Options{Log: 2 << 20, Keep: 2})
	j, err := d.Start(t.Context(), Command{Script: "seq 1000000; echo end >&2"})
	if err != nil {
		t.Fatal(err)
	}
	j, err = d.Wait(t.Context(), j.Handle)
	const all = 6888896
	if err != nil || j.Bytes != all+4 || j.Dropped != all+4-2<<20 || j.DropWhy == "" {
		t.Errorf("%+v, %v", j, err)
	}
	out, errs, err := d.Tails(t.Context(), j.Handle)
	if err != nil || len(out.Data) != 1<<20 || out.Cut != all-1<<20 || !bytes.HasSuffix(out.Data, []byte("\n1000000\n")) || string(errs.Data) != "end\n" {
		t.Errorf("%d bytes after %d, %q, %v", len(out.Data), out.Cut, errs.Data, err)
	}
	p, err := d.Output(t.Context(), j.Handle, Both, 0, largePage)
	if err != nil || p.Offset != p.Start || p.Start != j.Dropped || !p.More {
		t.Errorf("%v, %+v", err, Page{Offset: p.Offset, Next: p.Next, Start: p.Start, More: p.More})
	}
	text := p.Data
	for p.More {
		if p, err = d.Output(t.Context(), j.Handle, Both, p.Next, 300_000); err != nil {
			t.Fatal(err)
		}
		text = append(text, p.Data...)
	}
	if len(text) != 2<<20 || !p.Ended || !bytes.Contains(text[len(text)-20:], []byte("\n1000000\n")) {
		t.Errorf("%d bytes, %q", len(text), text[max(len(text)-20, 0):])
	}
	for range 2 {
		if j, err := d.Start(t.Context(), Command{Script: "true"}); err != nil {
			t.Fatal(err)
		} else if _, err := d.Wait(t.Context(), j.Handle); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the oldest job is forgotten", func() bool {
		_, err := d.Job(t.Context(), j.Handle)
		return fault.KindOf(err) == fault.NotFound
	})
	if files, _ := filepath.Glob(d.opts.Spool + "/*/*"); len(files) > 0 {
		t.Errorf("files that others could open: %q", files)
	}
}

func TestBadJobCalls(t *testing.T) {
	d := newDen(t, Options{})
	j, err := d.Start(t.Context(), Command{Script: "true"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  func() error
		kind fault.Kind
	}{
		"unknown":     {func() error { _, err := d.Job(t.Context(), "nobody"); return err }, fault.NotFound},
		"offset":      {func() error { _, err := d.Output(t.Context(), j.Handle, Both, -1, 0); return err }, fault.Invalid},
		"limit":       {func() error { _, err := d.Output(t.Context(), j.Handle, Both, 0, 1<<30); return err }, fault.Invalid},
		"stream":      {func() error { _, err := d.Output(t.Context(), j.Handle, "stdlog", 0, 0); return err }, fault.Invalid},
		"signal":      {func() error { return d.Signal(t.Context(), j.Handle, syscall.SIGSTOP) }, fault.Invalid},
		"not found":   {func() error { _, err := d.Start(t.Context(), Command{Argv: []string{"no-such"}}); return err }, fault.NotFound},
		"directory":   {func() error { _, err := d.Start(t.Context(), Command{Dir: "/no/such"}); return err }, fault.NotFound},
		"with stream": {func() error { _, err := d.Start(t.Context(), Command{Stdout: full{}}); return err }, fault.Invalid},
		"verb": {func() error {
			_, err := d.question(t.Context(), "job.eat", parameters{Handle: j.Handle}, nil)
			return err
		}, fault.Invalid},
	} {
		if err := c.err(); fault.KindOf(err) != c.kind || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Error("the connection is lost: ", err)
	}
}

func TestStats(t *testing.T) {
	d := newDen(t, Options{})
	d.sh(t, "mkdir sub; head -c 1000000 /dev/urandom >sub/file")
	s, err := d.Stats(t.Context(), true)
	if err != nil || s.Disk < 1000000 || s.Disk > 1100000 || s.Processes != 0 || s.Guest.Links != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := d.Start(t.Context(), Command{Argv: []string{"sleep", "600"}}); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Stats(t.Context(), false); err != nil || s.Processes != 1 || s.Running != 1 || s.Disk != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Guest.Memory > 15<<20 && !testing.Short() { // the race detector takes more
		t.Errorf("the guest uses %d bytes", s.Guest.Memory)
	}
}

func TestGroupStats(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Stats
	}{
		"version 2": {map[string]string{"memory.current": "1000\n", "memory.max": "5000\n", "cpu.stat": "usage_usec 70\nuser_usec 9\n"},
			Stats{Memory: 1000, MemoryLimit: 5000, CPU: 70 * time.Microsecond}},
		"no limit": {map[string]string{"memory.current": "1000\n", "memory.max": "max\n"}, Stats{Memory: 1000}},
		"version 1": {map[string]string{"memory/memory.usage_in_bytes": "7\n", "memory/memory.limit_in_bytes": "9223372036854771712\n", "cpuacct/cpuacct.usage": "123\n"},
			Stats{Memory: 7, CPU: 123}},
		"nothing": {nil, Stats{}},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			os.MkdirAll(filepath.Dir(file), 0o755)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := groupStats(root); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSpool compares the ring with a slice.
func TestSpool(t *testing.T) {
	s := &spool{dir: t.TempDir(), limit: 100}
	defer s.drop()
	var all []byte
	for i := range 300 {
		piece := []byte(strings.Repeat(fmt.Sprint(i%10), i*7%130))
		s.Write(piece)
		all = append(all, piece...)
		p, err := s.page(0, 1000, false)
		if want := all[max(len(all)-100, 0):]; err != nil || !bytes.Equal(p.Data, want) || p.Next != int64(len(all)) || p.More {
			t.Fatalf("%d: %q, want %q, %+v, %v", i, p.Data, want, p, err)
		}
	}
	if p, err := s.page(int64(len(all)+5), 10, false); err != nil || len(p.Data) > 0 || p.Next != int64(len(all)+5) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestSpoolCharacters(t *testing.T) {
	s := &spool{dir: t.TempDir(), limit: 10}
	defer s.drop()
	s.Write([]byte("箱の中\xe8")) // 10 bytes, the last one begins a character
	if p, _ := s.page(0, 100, false); string(p.Data) != "箱の中" || p.More {
		t.Errorf("%q, %+v", p.Data, p)
	}
	if p, _ := s.page(0, 5, false); string(p.Data) != "箱" || !p.More {
		t.Errorf("%q, %+v", p.Data, p)
	}
	if p, _ := s.page(0, 100, true); string(p.Data) != "箱の中\xe8" {
		t.Errorf("%q", p.Data)
	}
	s.Write([]byte("\xba\xab")) // completes it, and pushes out part of the first
	if p, _ := s.page(0, 100, true); string(p.Data) != "の中身" || p.Offset != 3 || p.Start != 2 {
		t.Errorf("%q, %+v", p.Data, p)
	}
}

func TestSpoolWithoutDisk(t *testing.T) {
	s := &spool{dir: filepath.Join(t.TempDir(), "not there"), limit: 10}
	if n, err := s.Write([]byte("x")); n != 1 || err != nil {
		t.Error(n, err)
	}
	if total, kept, why := s.count(); total != 1 || kept != 0 || why == "" || strings.Contains(why, "/") {
		t.Error(total, kept, why)
	}
	if p, err := s.page(0, 10, true); err != nil || len(p.Data) > 0 || p.Total != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
