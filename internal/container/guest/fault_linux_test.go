package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hako/internal/fault"
)

// TestGarbage says things that make no sense. Each ends its connection, with a
// reason, and nothing else.
func TestGarbage(t *testing.T) {
	d := newDen(t, Options{})
	hello := Hello{Version: Version}.frame().appendTo(nil)
	raw := func(body ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	after := func(f frame) []byte { return f.appendTo(bytes.Clone(hello)) }
	twice := Command{Argv: []string{"sleep", "600"}}.order().frame(opExec, 1).appendTo(nil)
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, c := range map[string]struct {
		bytes []byte
		kind  fault.Kind
	}{
		"text":                {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), fault.Invalid},
		"noise":               {append([]byte{0xff}, noise...), fault.Invalid},
		"no hello":            {frame{op: opCall, id: 1, words: [][]byte{[]byte("ping"), {}}}.appendTo(nil), fault.Invalid},
		"other magic":         {frame{op: opHello, words: [][]byte{[]byte("other"), []byte("{}")}}.appendTo(nil), fault.Invalid},
		"other version":       {Hello{Version: 99}.frame().appendTo(nil), fault.Invalid},
		"huge greeting":       {raw(make([]byte, 5000)...), fault.Invalid},
		"empty frame":         {append(bytes.Clone(hello), raw()...), fault.Invalid},
		"huge frame":          {append(bytes.Clone(hello), 0x7f, 0xff, 0xff, 0xff), fault.Invalid},
		"unknown frame":       {append(bytes.Clone(hello), raw(200, 1, 0)...), fault.Invalid},
		"frame for clients":   {after(frame{op: opExited, id: 1}), fault.Invalid},
		"second hello":        {append(bytes.Clone(hello), hello...), fault.Invalid},
		"half a word":         {append(bytes.Clone(hello), raw(opCall, 1, 0, 9, 'x')...), fault.Invalid},
		"exec without words":  {after(frame{op: opExec, id: 1}), fault.Invalid},
		"exec counts wrong":   {after(frame{op: opExec, id: 1, n: 1 << 63, words: [][]byte{[]byte("{}"), nil, nil}}), fault.Invalid},
		"exec with id 0":      {after(Command{Script: "true"}.order().frame(opExec, 0)), fault.Invalid},
		"the same id twice":   {append(append(bytes.Clone(hello), twice...), twice...), fault.Invalid},
		"too much input":      {append(append(bytes.Clone(hello), inputFor("sleep 600")...), frame{op: opStdin, id: 1, words: [][]byte{make([]byte, stdinWindow+1)}}.appendTo(nil)...), fault.Invalid},
		"took what never was": {append(append(bytes.Clone(hello), inputFor("sleep 600")...), frame{op: opStdoutTaken, id: 1, n: 5}.appendTo(nil)...), fault.Invalid},
		"strange signal":      {append(append(bytes.Clone(hello), inputFor("sleep 600")...), frame{op: opSignal, id: 1, n: 19}.appendTo(nil)...), fault.Invalid},
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
	o := Command{Script: script, Stdin: strings.NewReader("")}.order()
	return o.frame(opExec, 1).appendTo(nil)
}

// lastError reads to the end and returns what the guest complained about.
func lastError(conn io.Reader) error {
	in := newScanner(conn)
	var err error
	for {
		f, end := in.next(maxFrame)
		if end != nil {
			return err
		}
		if f.op == opError {
			err = faultFrom(f.word(0))
		}
	}
}

func TestHalfFrames(t *testing.T) {
	d := newDen(t, Options{})
	whole := Command{Script: "echo hi"}.order().frame(opExec, 1).appendTo(Hello{Version: Version}.frame().appendTo(nil))
	for cut := range whole {
		conn := d.rawDial(t)
		conn.Write(whole[:cut])
		conn.Close()
	}
	conn := d.rawDial(t)
	for i := range whole { // byte by byte is as good as at once
		conn.Write(whole[i : i+1])
	}
	in := newScanner(conn)
	for {
		f, err := in.next(maxFrame)
		if err != nil {
			t.Fatal(err)
		}
		if f.op == opStdout {
			if string(f.word(0)) != "hi\n" {
				t.Errorf("%q", f.word(0))
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
	d := newDen(t, Options{Links: 101})
	clients := make([]*Client, 100)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { clients[i] = d.dial(t) })
	}
	wg.Wait()
	if _, err := Dial(t.Context(), d.opts.Socket); fault.KindOf(err) != fault.Exhausted {
		t.Error(err)
	}
	for _, c := range clients {
		wg.Go(func() {
			if got := do(t.Context(), c, Command{Script: "echo hi"}); got.out != "hi\n" {
				t.Errorf("%+v", got)
			}
			c.Close()
		})
	}
	wg.Wait()
	eventually(t, "there is room", func() bool {
		c, err := Dial(t.Context(), d.opts.Socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// TestClientGone loses a client in the middle of a command.
func TestClientGone(t *testing.T) {
	d := newDen(t, Options{})
	word := token()
	c := d.dial(t)
	gone, gate := make(chan outcome), make(chan struct{})
	go func() {
		gone <- do(t.Context(), c, Command{Script: "setsid sleep " + word + " & yes " + word, Stdout: slow{io.Discard, gate}})
	}()
	eventually(t, "it runs", func() bool { return alive(word) >= 2 })
	c.conn.Close() // as if it had been killed
	eventually(t, "all is gone", func() bool { return alive(word) == 0 })
	close(gate)
	if got := <-gone; fault.KindOf(got.fault) != fault.Unavailable {
		t.Errorf("%+v", got)
	}
	d.sh(t, "true")
}

// TestGuestGone is the other way round.
func TestGuestGone(t *testing.T) {
	d := newDen(t, Options{})
	r, err := d.Begin(t.Context(), Command{Script: "sleep 600", Stdin: strings.NewReader("x")})
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
	if _, err := Dial(t.Context(), d.opts.Socket); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Error(err)
	}
	<-d.over
	d.start(t, nil) // the socket that lies there is no hindrance
	d.Client = d.dial(t)
	d.sh(t, "true")
}

// TestClosedClient says so.
func TestClosedClient(t *testing.T) {
	d := newDen(t, Options{})
	d.Close()
	if got := d.do(t, Command{Script: "true"}); got.fault == nil || !strings.Contains(got.fault.Error(), "closed") {
		t.Errorf("%+v", got)
	}
}

func TestShutdown(t *testing.T) {
	d := newDen(t, Options{Grace: 300 * time.Millisecond})
	word := token()
	if _, err := d.Start(t.Context(), Command{Script: "trap '' TERM; setsid sleep " + word + " & sleep " + word}); err != nil {
		t.Fatal(err)
	}
	r, err := d.Begin(t.Context(), Command{Script: "trap 'exit 9' TERM; sleep " + word + " & while :; do wait; done"})
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
	d := newDen(t, Options{UID: 12345})
	os.Chown(filepath.Dir(d.opts.Socket), 0, 0)
	os.Chmod(filepath.Dir(d.opts.Socket), 0o755) // so that the socket itself has to hold
	for script, want := range map[string]string{
		"id -u; id -g": "12345\n12345\n",
		"echo $HOME":   d.opts.Dir + "\n",
		"kill -9 $PPID 2>/dev/null || echo cannot":                                            "cannot\n",
		"cat /proc/$PPID/environ 2>/dev/null || echo cannot":                                  "cannot\n",
		"ls /proc/$PPID/fd 2>/dev/null || echo cannot":                                        "cannot\n",
		"ls " + d.opts.Spool + "/* 2>/dev/null || echo cannot":                                "cannot\n",
		d.program(t, "call-guest") + " " + d.opts.Socket:                                      "answer: connect to guest: dial unix " + d.opts.Socket + ": connect: permission denied\n",
		"grep -c 'NoNewPrivs:.*1' /proc/self/status":                                          "1\n",
		"grep CapEff /proc/self/status":                                                       "CapEff:\t0000000000000000\n",
		"mkdir -m 700 bin; printf '#!/bin/sh\necho own' >bin/own; chmod 700 bin/own; echo ok": "ok\n",
	} {
		if testing.Short() && strings.Contains(script, "NoNewPrivs") {
			continue // the race detector comes with a runtime that cannot set it
		}
		if got := d.do(t, Command{Script: script}); got.out != want || got.fault != nil {
			t.Errorf("%s: %+v", script, got)
		}
	}
	got := d.do(t, Command{Argv: []string{"own"}, Env: []string{"PATH=" + d.opts.Dir + "/bin:/usr/bin:/bin"}})
	if got.out != "own\n" {
		t.Errorf("%+v", got)
	}
	answer, err := d.Edit(t.Context(), json.RawMessage(`{"path":"x"}`))
	if err != nil || string(answer) != `{"call":{"path":"x"},"uid":12345}` {
		t.Errorf("%s, %v", answer, err)
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
	d := newDen(t, Options{Socket: dir + "/s"})
	info, err := os.Stat(dir + "/s")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 23456 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	d.sh(t, "true")
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
	d := newDen(t, Options{UID: 12345, Socket: dir + "/s", Dir: work}, prefix...)
	if got := d.sh(t, "id -u; pwd; printf '#!/bin/sh\necho own' >own; chmod 700 own; head -c 100000 /dev/zero >file"); got != "12345\n"+work+"\n" {
		t.Errorf("%q", got)
	}
	if got := d.do(t, Command{Argv: []string{"own"}, Env: []string{"PATH=" + work}}); got.out != "own\n" {
		t.Errorf("%+v", got)
	}
	if s, err := d.Stats(t.Context(), true); err != nil || s.Disk < 100_000 {
		t.Errorf("%+v, %v", s, err)
	}
	if answer, err := d.Edit(t.Context(), json.RawMessage(`1`)); err != nil || string(answer) != `{"call":1,"uid":12345}` {
		t.Errorf("%s, %v", answer, err)
	}
	word := token()
	got := d.do(t, Command{Script: "trap '' TERM; setsid sleep " + word + " & sleep " + word, Timeout: 200 * time.Millisecond})
	if !got.TimedOut || alive(word) > 0 {
		t.Errorf("%+v, %d left", got, alive(word))
	}
}

// TestBadGuest has a guest that makes no sense to a client.
func TestBadGuest(t *testing.T) {
	hello := Hello{Version: Version}.frame()
	for name, c := range map[string]struct {
		says []frame
		want string
	}{
		"other version":    {[]frame{Hello{Version: 7}.frame()}, "speaks version 7"},
		"no greeting":      {[]frame{{op: opStarted}}, "does not speak as hako does"},
		"refuses":          {[]frame{errorFrame(0, stranger("you are inside"))}, "you are inside"},
		"nonsense":         {[]frame{hello, {op: opHello, id: 1}}, "makes no sense"},
		"about nothing":    {[]frame{hello, {op: opStdout}}, "makes no sense"},
		"says why":         {[]frame{hello, errorFrame(0, stranger("enough"))}, "enough"},
		"too much output":  {[]frame{hello, {op: opStdout, id: 1, words: [][]byte{make([]byte, 3*outputWindow)}}}, "makes no sense"},
		"took no input":    {[]frame{hello, {op: opStdinTaken, id: 1, n: 5}}, "makes no sense"},
		"a strange ending": {[]frame{hello, {op: opExited, id: 1, words: [][]byte{[]byte("?")}}}, "makes no sense"},
		"hangs up":         {[]frame{hello}, "connection is lost"},
	} {
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := newScanner(conn)
			in.next(maxFrame)
			conn.Write(c.says[0].appendTo(nil))
			for _, f := range c.says[1:] {
				in.next(maxFrame)
				conn.Write(f.appendTo(nil))
			}
			if name == "hangs up" {
				in.next(maxFrame)
			}
			conn.Close()
		}()
		client, err := Dial(t.Context(), socket)
		if err == nil {
			err = do(t.Context(), client, Command{Script: "true"}).fault
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		l.Close()
	}
}

// TestFirstProcess is a guest as it is in a container.
func TestFirstProcess(t *testing.T) {
	prefix := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	o := Options{Grace: 200 * time.Millisecond, UID: 12345}
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
	got := d.do(t, Command{Script: "setsid sleep " + word + " & sleep " + word, Timeout: 200 * time.Millisecond})
	if !got.TimedOut || alive(word) > 0 {
		t.Errorf("%+v, %d left", got, alive(word))
	}
	if _, err := d.Start(t.Context(), Command{Script: "trap '' TERM; sleep " + word}); err != nil {
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

// TestDialSilent connects to something that never says a word.
func TestDialSilent(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, socket); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
}

func TestBadArgs(t *testing.T) {
	d := newDen(t, Options{})
	for _, args := range [][]string{{}, {"-socket=/no/such/dir/s"}, {"-what"}, {"-socket=/tmp/x", "extra"}, {"-socket=/tmp/x", "-uid=-5"}} {
		out, err := exec.Command(filepath.Join(d.root, Name), args...).CombinedOutput()
		var exit *exec.ExitError
		if exit, _ = err.(*exec.ExitError); exit == nil || exit.ExitCode() != 2 || !strings.HasPrefix(string(out), Name+": ") || strings.Count(string(out), "\n") != 2 {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}
