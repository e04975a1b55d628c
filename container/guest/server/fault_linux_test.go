package server

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hako/container/guest"
	"hako/container/guest/wire"
	"hako/run/fault"
)

// TestGarbage says things that make no sense. Each ends its connection, with a
// reason, and nothing else.
func TestGarbage(t *testing.T) {
	d := newDen(t, guest.Options{})
	hello := wire.Handshake{Version: wire.Version}.Frame().AppendTo(nil)
	raw := func(body ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	after := func(f wire.Frame) []byte { return f.AppendTo(bytes.Clone(hello)) }
	twice := guest.Command{Script: execArgs, Args: []string{"sleep", "600"}}.Request().Frame(wire.OpExec, 1).AppendTo(nil)
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, c := range map[string]struct {
		bytes []byte
		kind  fault.Kind
	}{
		"text":  {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), fault.Invalid},
		"noise": {append([]byte{0xff}, noise...), fault.Invalid},
		"no hello": {wire.Frame{Op: wire.OpCall, ID: 1, Words: [][]byte{[]byte("ping"), {}}}.AppendTo(nil),
			fault.Invalid},
		"other magic": {wire.Frame{Op: wire.OpHello, Words: [][]byte{[]byte("other"), []byte("{}")}}.AppendTo(nil),
			fault.Invalid},
		"other version":      {wire.Handshake{Version: 99}.Frame().AppendTo(nil), fault.Invalid},
		"huge greeting":      {raw(make([]byte, 5000)...), fault.Invalid},
		"empty frame":        {append(bytes.Clone(hello), raw()...), fault.Invalid},
		"huge frame":         {append(bytes.Clone(hello), 0x7f, 0xff, 0xff, 0xff), fault.Invalid},
		"unknown frame":      {append(bytes.Clone(hello), raw(200, 1, 0)...), fault.Invalid},
		"frame for clients":  {after(wire.Frame{Op: wire.OpExited, ID: 1}), fault.Invalid},
		"second hello":       {append(bytes.Clone(hello), hello...), fault.Invalid},
		"half a word":        {append(bytes.Clone(hello), raw(wire.OpCall, 1, 0, 9, 'x')...), fault.Invalid},
		"exec without words": {after(wire.Frame{Op: wire.OpExec, ID: 1}), fault.Invalid},
		"exec counts wrong": {after(wire.Frame{Op: wire.OpExec, ID: 1, N: 1 << 63,
			Words: [][]byte{[]byte("{}"), nil, nil}}), fault.Invalid},
		"exec with id 0":    {after(guest.Command{Script: "true"}.Request().Frame(wire.OpExec, 0)), fault.Invalid},
		"the same id twice": {append(append(bytes.Clone(hello), twice...), twice...), fault.Invalid},
		"too much input": {append(append(bytes.Clone(hello), inputFor("sleep 600")...),
			wire.Frame{Op: wire.OpStdin, ID: 1, Words: [][]byte{make([]byte, wire.StdinWindow+1)}}.AppendTo(nil)...),
			fault.Invalid},
		"took what never was": {append(append(bytes.Clone(hello), inputFor("sleep 600")...),
			wire.Frame{Op: wire.OpStdoutTaken, ID: 1, N: 5}.AppendTo(nil)...), fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			conn := d.rawDial(t)
			go conn.Write(c.bytes)
			if err := lastError(conn); fault.KindOf(err) != c.kind || fault.Hint(err) == "" {
				t.Error(err)
			}
		})
	}
	d.sh(t, "true")
	eventually(t, "all is over", func() bool {
		s, err := d.Stats(t.Context(), false)
		return err == nil && s.Guest.Links == 1 && s.Running == 0 && s.Processes == 0
	})
}

func inputFor(script string) []byte {
	o := guest.Command{Script: script, Stdin: strings.NewReader("")}.Request()
	return o.Frame(wire.OpExec, 1).AppendTo(nil)
}

// lastError reads to the end and returns what the guest complained about.
func lastError(conn io.Reader) error {
	in := wire.NewScanner(conn, wire.MaxChunk)
	var err error
	for {
		f, end := in.Next(wire.MaxFrame)
		if end != nil {
			return err
		}
		if f.Op == wire.OpError {
			err = wire.FaultFrom(f.Word(0))
		}
	}
}

// firstError reads until the guest complains.
func firstError(conn io.Reader) error {
	in := wire.NewScanner(conn, wire.MaxChunk)
	for {
		f, end := in.Next(wire.MaxFrame)
		if end != nil || f.Op == wire.OpError {
			return wire.FaultFrom(f.Word(0))
		}
	}
}

func TestHalfFrames(t *testing.T) {
	d := newDen(t, guest.Options{})
	whole := guest.Command{Script: "echo hi"}.Request().Frame(wire.OpExec, 1).AppendTo(
		wire.Handshake{Version: wire.Version}.Frame().AppendTo(nil))
	for cut := range whole {
		conn := d.rawDial(t)
		conn.Write(whole[:cut])
		conn.Close()
	}
	conn := d.rawDial(t)
	for i := range whole { // byte by byte is as good as at once
		conn.Write(whole[i : i+1])
	}
	in := wire.NewScanner(conn, wire.MaxChunk)
	for {
		f, err := in.Next(wire.MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		if f.Op == wire.OpStdout {
			if string(f.Word(0)) != "hi\n" {
				t.Errorf("%q", f.Word(0))
			}
			break
		}
	}
	eventually(t, "all is over", func() bool {
		s, err := d.Stats(t.Context(), false)
		return err == nil && s.Guest.Links == 2 && s.Running == 0
	})
}

func TestManyConnections(t *testing.T) {
	d := newDen(t, guest.Options{Links: 101})
	clients := make([]*guest.Client, 100)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { clients[i] = d.dial(t) })
	}
	wg.Wait()
	if _, err := guest.Dial(t.Context(), d.opts.Socket); fault.KindOf(err) != fault.Exhausted {
		t.Error(err)
	}
	for _, c := range clients {
		wg.Go(func() {
			if got := do(t.Context(), c, guest.Command{Script: "echo hi"}); got.out != "hi\n" {
				t.Errorf("%+v", got)
			}
			c.Close()
		})
	}
	wg.Wait()
	eventually(t, "there is room", func() bool {
		c, err := guest.Dial(t.Context(), d.opts.Socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// TestClientGone loses a client in the middle of a command.
func TestClientGone(t *testing.T) {
	d := newDen(t, guest.Options{})
	word := token()
	c := d.dial(t)
	gone, gate := make(chan outcome), make(chan struct{})
	go func() {
		gone <- do(t.Context(), c, guest.Command{Script: "setsid sleep " + word + " & yes " + word,
			Stdout: slow{io.Discard, gate}})
	}()
	eventually(t, "it runs", func() bool { return alive(word) >= 2 })
	c.Close() // which the guest cannot tell from a death
	eventually(t, "all is gone", func() bool { return alive(word) == 0 })
	close(gate)
	if got := <-gone; fault.KindOf(got.fault) != fault.Unavailable {
		t.Errorf("%+v", got)
	}
	d.sh(t, "true")
}

// TestGuestGone is the other way round.
func TestGuestGone(t *testing.T) {
	d := newDen(t, guest.Options{})
	r, err := d.Begin(t.Context(), guest.Command{Script: "sleep 600", Stdin: strings.NewReader("x")})
	if err != nil {
		t.Fatal(err)
	}
	d.cmd.Process.Kill()
	<-d.Gone()
	if res, err := r.Wait(); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Errorf("%+v, %v", res, err)
	}
	if err := d.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if _, err := guest.Dial(t.Context(), d.opts.Socket); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Error(err)
	}
	<-d.over
	d.start(t, nil) // the socket that lies there is no hindrance
	d.Client = d.dial(t)
	d.sh(t, "true")
}

// TestClosedClient says so.
func TestClosedClient(t *testing.T) {
	d := newDen(t, guest.Options{})
	d.Close()
	if got := d.do(t, guest.Command{Script: "true"}); got.fault == nil || !strings.Contains(got.fault.Error(), "closed") {
		t.Errorf("%+v", got)
	}
}

func TestShutdown(t *testing.T) {
	d := newDen(t, guest.Options{Grace: 300 * time.Millisecond})
	word := token()
	if _, err := d.Start(t.Context(), guest.Command{Script: "trap '' TERM; setsid sleep " + word + " & sleep " +
		word}); err != nil {
		t.Fatal(err)
	}
	r, err := d.Begin(t.Context(),
		guest.Command{Script: "trap 'exit 9' TERM; sleep " + word + " & while :; do wait; done"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all run", func() bool { return alive(word) == 5 })
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if res, err := r.Wait(); err != nil || res.Exit != 9 {
		t.Errorf("%+v, %v", res, err)
	}
	<-d.over
	if !d.cmd.ProcessState.Success() || alive(word) > 0 {
		t.Errorf("%v, %d left", d.cmd.ProcessState, alive(word))
	}
	left, _ := filepath.Glob(d.root + "/[ls]*/*")
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestOtherUser checks that commands run as somebody who cannot touch the guest.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the user")
	}
	d := newDen(t, guest.Options{UID: 12345})
	os.Chown(filepath.Dir(d.opts.Socket), 0, 0)
	os.Chmod(filepath.Dir(d.opts.Socket), 0o755) // so that the socket itself has to hold
	for script, want := range map[string]string{
		"id -u; id -g": "12345\n12345\n",
		"echo $HOME":   d.opts.Dir + "\n",
		"kill -9 $PPID 2>/dev/null || echo cannot":             "cannot\n",
		"cat /proc/$PPID/environ 2>/dev/null || echo cannot":   "cannot\n",
		"ls /proc/$PPID/fd 2>/dev/null || echo cannot":         "cannot\n",
		"ls " + d.opts.Spool + "/* 2>/dev/null || echo cannot": "cannot\n",
		d.program(t, "call-guest") + " " +
			d.opts.Socket: "answer: connect to guest: dial unix " + d.opts.Socket + ": connect: permission denied\n",
		"grep -c 'NoNewPrivs:.*1' /proc/self/status":                                          "1\n",
		"grep CapEff /proc/self/status":                                                       "CapEff:\t0000000000000000\n",
		"mkdir -m 700 bin; printf '#!/bin/sh\necho own' >bin/own; chmod 700 bin/own; echo ok": "ok\n",
	} {
		if testing.Short() && strings.Contains(script, "NoNewPrivs") {
			continue // the race detector comes with a runtime that cannot set it
		}
		if got := d.do(t, guest.Command{Script: script}); got.out != want || got.fault != nil {
			t.Errorf("%s: %+v", script, got)
		}
	}
	got := d.do(t, guest.Command{Script: execArgs, Args: []string{"own"}, Env: []string{"PATH=" + d.opts.Dir + "/bin:/usr/bin:/bin"}})
	if got.out != "own\n" {
		t.Errorf("%+v", got)
	}
	if uid := d.edit(t, "made"); uid != 12345 {
		t.Errorf("made by %d", uid)
	}
	if st, err := os.Stat(d.opts.Socket); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestSocketOfOther has a directory that belongs to somebody else than root.
func TestSocketOfOther(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	dir, err := os.MkdirTemp("", "den")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chown(dir, 23456, 23456)
	d := newDen(t, guest.Options{Socket: dir + "/s"})
	info, err := os.Stat(dir + "/s")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 23456 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	d.sh(t, "true")
}

// TestSocketOfCommands has a directory in which commands could put a socket of
// their own.
func TestSocketOfCommands(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	dir := t.TempDir()
	os.Chown(dir, 23456, 23456)
	if _, err := ownerOf(guest.Options{Socket: dir + "/s", UID: 23456}); fault.KindOf(err) != fault.Denied ||
		fault.Hint(err) == "" {
		t.Error(err)
	}
	if who, err := ownerOf(guest.Options{Socket: dir + "/s", UID: 12345}); err != nil || who.uid != 23456 {
		t.Error(who, err)
	}
	if who, err := ownerOf(guest.Options{Socket: dir + "/s", UID: 12345, Owner: 5}); err != nil || who != (owner{5, 5}) {
		t.Error(who, err)
	}
}

// TestFewCapabilities has no more than the guest says it needs: it cannot even
// look into what belongs to the user of the commands.
func TestFewCapabilities(t *testing.T) {
	prefix := []string{"setpriv", "--bounding-set=-all,+setuid,+setgid,+kill", "--inh-caps=-all"}
	if err := exec.Command(prefix[0], append(prefix[1:], "true")...).Run(); err != nil {
		t.Skip("only root can give up capabilities: ", err)
	}
	dir, err := os.MkdirTemp("", "den")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chown(dir, 23456, 23456)
	work, err := os.MkdirTemp("", "den")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	os.Chown(work, 12345, 12345)
	d := newDen(t, guest.Options{UID: 12345, Socket: dir + "/s", Dir: work}, prefix...)
	if got := d.sh(t, "id -u; pwd; printf '#!/bin/sh\necho own' >own; chmod 700 own; head -c 100000 /dev/zero >file"); got != "12345\n"+work+"\n" {
		t.Errorf("%q", got)
	}
	if got := d.do(t, guest.Command{Script: execArgs, Args: []string{"own"}, Env: []string{"PATH=" + work}}); got.out != "own\n" {
		t.Errorf("%+v", got)
	}
	if s, err := d.Stats(t.Context(), true); err != nil || s.Disk < 100_000 {
		t.Errorf("%+v, %v", s, err)
	}
	if uid := d.edit(t, "made"); uid != 12345 {
		t.Errorf("made by %d", uid)
	}
	word := token()
	got := d.do(t, guest.Command{Script: "trap '' TERM; setsid sleep " + word + " & sleep " + word,
		Timeout: 200 * time.Millisecond})
	if !got.TimedOut || alive(word) > 0 {
		t.Errorf("%+v, %d left", got, alive(word))
	}
}

// TestFirstProcess is a guest as it is in a container.
func TestFirstProcess(t *testing.T) {
	prefix := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	o := guest.Options{Grace: 200 * time.Millisecond, UID: 12345}
	if os.Geteuid() != 0 {
		prefix = append(prefix, "--user", "--map-root-user")
		o.UID = 0
	}
	if out, err := exec.Command(prefix[0], append(prefix[1:], "true")...).CombinedOutput(); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") != "" && os.Geteuid() == 0 {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("no process namespace: %v: %s", err, out)
	}
	d := newDen(t, o, prefix...)
	if got := d.sh(t, "echo $PPID"); got != "1\n" {
		t.Fatalf("the guest is process %s", got)
	}
	os.Chmod(d.opts.Socket, 0o666) // so that who calls has to count
	if got := d.sh(t, d.program(t, "call-guest")+" "+d.opts.Socket); !strings.Contains(got, "inside the container") {
		t.Errorf("from inside: %s", got)
	}
	d.sh(t, "for i in $(seq 50); do (setsid sh -c 'sleep 0.01 &' &); done")
	d.sh(t, "(kill -KILL 1; test $(id -u) = 0 || kill -TERM 1) 2>/dev/null; true")
	eventually(t, "no process is left, dead or alive", func() bool {
		return strings.TrimSpace(d.sh(t, "ls -d /proc/[0-9]* | wc -l")) == "4" // guest, shell, ls, wc
	})
	word := token()
	got := d.do(t, guest.Command{Script: "setsid sleep " + word + " & sleep " + word, Timeout: 200 * time.Millisecond})
	if !got.TimedOut || alive(word) > 0 {
		t.Errorf("%+v, %d left", got, alive(word))
	}
	if _, err := d.Start(t.Context(), guest.Command{Script: "trap '' TERM; sleep " + word}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool { return alive(word) > 0 })
	if err := d.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-d.over
	if alive(word) > 0 || !d.cmd.ProcessState.Success() {
		t.Error(d.cmd.ProcessState)
	}
}

func TestBadArgs(t *testing.T) {
	d := newDen(t, guest.Options{})
	for _, args := range [][]string{{}, {"-socket=/no/such/dir/s"}, {"-what"}, {"-socket=/tmp/x", "extra"},
		{"-socket=/tmp/x", "-uid=-5"},
		{"-socket=/tmp/x", "-uid=5", "-owner=5"}, {"-socket=/tmp/x", "-dir=here"}, {"-socket=/tmp/x", "-make=/a:b"},
		{"-socket=/tmp/x", "-bridge=x"}} {
		out, err := exec.Command(filepath.Join(d.root, guest.Name), args...).CombinedOutput()
		var exit *exec.ExitError
		if exit, _ = err.(*exec.ExitError); exit == nil || exit.ExitCode() != 2 ||
			!strings.HasPrefix(string(out), guest.Name+": ") || strings.Count(string(out), "\n") != 2 {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}
