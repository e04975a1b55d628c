package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/guest/wire"
	"hako/run"
	"hako/run/fault"
)

func TestJob(t *testing.T) {
	d := newDen(t, guest.Options{})
	j, err := d.Start(t.Context(),
		guest.Command{Script: `echo one; echo two >&2; while ! test -e go; do sleep 0.01; done; echo "three $1"; exit 3`,
			Args: []string{"箱"}})
	if err != nil || j.State != run.JobRunning || j.Handle == "" || j.Pid == 0 {
		t.Fatalf("%+v, %v", j, err)
	}
	var p run.JobPage
	eventually(t, "it printed", func() bool {
		p, err = d.Output(t.Context(), j.Handle, 0, 0)
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
	if err != nil || j.State != run.JobFailed || j.Exit != 3 || j.Ended.Before(j.Began) || j.Bytes != 8+10 {
		t.Errorf("%+v, %v", j, err)
	}
	p, err = c.Output(t.Context(), j.Handle, 8, 9)
	if string(p.Data) != "three 箱" || !p.More || !p.Ended || p.Next != 17 || err != nil {
		t.Errorf("%q, %+v, %v", p.Data, p, err)
	}
	p, err = c.Output(t.Context(), j.Handle, 8, 8)
	if string(p.Data) != "three " || !p.More || err != nil {
		t.Errorf("%q, %+v, %v", p.Data, p, err)
	}
	if list, err := c.Jobs(t.Context()); err != nil || len(list) != 1 || list[0] != j {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestJobEnds(t *testing.T) {
	d := newDen(t, guest.Options{})
	word := token()
	nap := strings.ReplaceAll("setsid sleep NAP & sleep NAP", "NAP", word)
	late, err := d.Start(t.Context(), guest.Command{Script: nap, Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if j, err := d.Wait(t.Context(), late.Handle); err != nil || j.State != run.JobTimedOut || j.Exit != -1 {
		t.Errorf("%+v, %v", j, err)
	}
	killed, err := d.Start(t.Context(), guest.Command{Script: "trap '' TERM; " + nap})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool { return alive(word) == 3 })
	if j, err := d.Kill(t.Context(), killed.Handle); err != nil || j.State != run.JobKilled || j.Exit != 137 ||
		j.Signal != 9 {
		t.Errorf("%+v, %v", j, err)
	}
	if n := alive(word); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	again, err := d.Start(t.Context(), guest.Command{Script: "sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(ctx, again.Handle); fault.KindOf(err) != fault.Timeout ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if j, err := d.Job(t.Context(), again.Handle); err != nil || j.State != run.JobRunning || j.Command != "sleep 600" {
		t.Errorf("%+v, %v", j, err)
	}
}

// TestJobTail checks what is kept of a job that prints too much.
func TestJobTail(t *testing.T) {
	d := newDen(t, guest.Options{Log: 2 << 20, Keep: 2})
	j, err := d.Start(t.Context(), guest.Command{Script: "seq 1000000; echo end >&2"})
	if err != nil {
		t.Fatal(err)
	}
	j, err = d.Wait(t.Context(), j.Handle)
	const all = 6888896
	if err != nil || j.Bytes != all+4 || j.Dropped != all+4-2<<20 || j.DropWhy == "" {
		t.Errorf("%+v, %v", j, err)
	}
	p, err := d.Output(t.Context(), j.Handle, 0, largePage)
	if err != nil || p.Offset != p.Start || p.Start != j.Dropped || !p.More {
		t.Errorf("%v, %+v", err, run.JobPage{Offset: p.Offset, Next: p.Next, Start: p.Start, More: p.More})
	}
	text := p.Data
	for p.More {
		if p, err = d.Output(t.Context(), j.Handle, p.Next, 300_000); err != nil {
			t.Fatal(err)
		}
		text = append(text, p.Data...)
	}
	if len(text) != 2<<20 || !p.Ended || !bytes.Contains(text[len(text)-20:], []byte("\n1000000\n")) {
		t.Errorf("%d bytes, %q", len(text), text[max(len(text)-20, 0):])
	}
	for range 2 {
		if j, err := d.Start(t.Context(), guest.Command{Script: "true"}); err != nil {
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
	d := newDen(t, guest.Options{})
	j, err := d.Start(t.Context(), guest.Command{Script: "true"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  func() error
		kind fault.Kind
	}{
		"unknown": {func() error { _, err := d.Job(t.Context(), "nobody"); return err }, fault.NotFound},
		"offset": {func() error { _, err := d.Output(t.Context(), j.Handle, -1, 0); return err },
			fault.Invalid},
		"limit": {func() error { _, err := d.Output(t.Context(), j.Handle, 0, 1<<30); return err },
			fault.Invalid},
		"directory": {func() error { _, err := d.Start(t.Context(), guest.Command{Dir: "/no/such"}); return err },
			fault.NotFound},
		"with stream": {func() error { _, err := d.Start(t.Context(), guest.Command{Stdout: full{}}); return err },
			fault.Invalid},
		"verb": {func() error {
			conn := d.rawDial(t)
			hello := wire.Handshake{Version: wire.Version}.Frame().AppendTo(nil)
			conn.Write(wire.Frame{Op: wire.OpCall, ID: 1,
				Words: [][]byte{[]byte("job.eat"), wire.JSON(wire.Parameters{Handle: string(j.Handle)})}}.AppendTo(hello))
			return firstError(conn)
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
	d := newDen(t, guest.Options{})
	d.sh(t, "mkdir sub; head -c 1000000 /dev/urandom >sub/file")
	s, err := d.Stats(t.Context(), true)
	if err != nil || s.Disk < 1000000 || s.Disk > 1100000 || s.Processes != 0 || s.Guest.Links != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := d.Start(t.Context(), guest.Command{Script: execArgs, Args: []string{"sleep", "600"}}); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Stats(t.Context(), false); err != nil || s.Processes != 1 || s.Running != 1 || s.Disk != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Guest.Memory > 15<<20 && !testing.Short() { // the race detector takes more
		t.Errorf("the guest uses %d bytes", s.Guest.Memory)
	}
}
