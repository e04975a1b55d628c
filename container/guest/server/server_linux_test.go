package server

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/container/guest"
	"hako/container/guest/procgroup"
	"hako/container/guest/wire"
	"hako/internal/testload"
)

// harmless starts nothing but true, whatever it is told.
type harmless struct{ *procgroup.Group }

func (h harmless) Start(p procgroup.Program) (*procgroup.Process, error) {
	return h.Group.Start(procgroup.Program{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Stdin: p.Stdin})
}

// nurse is the one nursery that a process can have.
var nurse = sync.OnceValues(func() (*procgroup.Group, error) { return procgroup.Open(procgroup.Options{}) })

// FuzzServer says anything to a server: it neither breaks nor hangs.
func FuzzServer(f *testing.F) {
	hello := wire.Handshake{Version: wire.Version}.Frame().AppendTo(nil)
	exec := guest.Command{Script: "x", Stdin: io.LimitReader(nil, 0)}.Request().Frame(wire.OpExec, 1).AppendTo(
		hello[:len(hello):len(hello)])
	f.Add([]byte("nonsense"))
	f.Add(hello)
	f.Add(exec)
	f.Add(wire.Frame{Op: wire.OpStdin, ID: 1, Words: [][]byte{[]byte("in")}}.AppendTo(exec[:len(exec):len(exec)]))
	f.Add(wire.Frame{Op: wire.OpCancel, ID: 1}.AppendTo(exec[:len(exec):len(exec)]))
	for _, verb := range []string{wire.CallPing, wire.CallList, wire.CallEdit, wire.CallStatus, wire.CallWait} {
		f.Add(wire.Frame{Op: wire.OpCall, ID: 2, Words: [][]byte{[]byte(verb), []byte(`{"handle":"x"}`)}}.AppendTo(
			hello[:len(hello):len(hello)]))
	}
	f.Add(guest.Command{Script: execArgs, Args: []string{"x"}}.Request().Frame(wire.OpCall, 3, wire.CallStart).AppendTo(
		hello[:len(hello):len(hello)]))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := nurse() // not before: it would collect the processes that the go tool starts
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(guest.Options{Spool: dir, Dir: dir}, n, harmless{n})
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() { s.serveConn(theirs, nil); close(done) }()
		go io.Copy(io.Discard, ours)
		ours.SetWriteDeadline(time.Now().Add(5 * time.Second))
		ours.Write(b)
		ours.Close()
		select {
		case <-done:
		case <-time.After(testload.Bound(10 * time.Second)):
			t.Fatal("the server hangs")
		}
	})
}

// TestSilentStranger gives up on somebody who does not say who he is.
func TestSilentStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go io.Copy(io.Discard, ours)
		began := time.Now()
		newServer(guest.Options{}, nil, nil).serveConn(theirs, nil)
		if took := time.Since(began); took != greetTime {
			t.Errorf("after %v", took)
		}
	})
}

// TestQuiet makes itself small when nothing has run for a while.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(guest.Options{}, nil, nil)
		began, calls := time.Now(), make(chan time.Duration, 10)
		s.quiet = func() { calls <- time.Since(began) }
		visit := func(length time.Duration) {
			ours, theirs := net.Pipe()
			go io.Copy(io.Discard, ours)
			go ours.Write(wire.Handshake{Version: wire.Version}.Frame().AppendTo(nil))
			time.AfterFunc(length, func() { ours.Close() })
			s.serveConn(theirs, nil)
		}
		visit(time.Second)
		visit(quietTime / 2) // too short for it to be quiet in between
		time.Sleep(time.Minute)
		visit(time.Minute) // somebody is there, but nothing runs
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(calls) != 2 {
			t.Fatalf("%d times", len(calls))
		}
		if first, second := <-calls, <-calls; first != 1750*time.Millisecond || second != 121750*time.Millisecond {
			t.Errorf("after %v and %v", first, second)
		}
		_, _ = s.admit(), s.admit()
		s.release()
		visit(time.Second)
		time.Sleep(time.Minute)
		if len(calls) > 0 {
			t.Error("while something ran")
		}
		s.release()
		time.Sleep(time.Minute)
		if len(calls) != 1 {
			t.Errorf("%d times", len(calls))
		}
	})
}

// TestUntouched finds what can be given back, and leaves alone what a linker has
// written to.
func TestUntouched(t *testing.T) {
	text := `00400000-00a00000 r-xp 00000000 fd:00 123    /bin/x
Size:  6144 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me dw
00a00000-00b00000 r--p 00600000 fd:00 123    /bin/x
Anonymous:             4 kB
Swap:                  0 kB
00b00000-00c00000 r--p 00700000 fd:00 123    /bin/x
Anonymous:             0 kB
Swap:                  8 kB
00c00000-00d00000 rw-p 00800000 fd:00 123    /bin/x
Anonymous:             0 kB
00d00000-00e00000 r--p 00900000 fd:00 123    /bin/x
Anonymous:             0 kB
7f000000-7f100000 r-xp 00000000 fd:00 124    /lib/y
Anonymous:             0 kB
7fe00000-7fe10000 r--p 00000000 00:00 0
Anonymous:             0 kB
7ff00000-7ff10000 r-xp 00000000 00:00 0      [vdso]
Anonymous:             0 kB
`
	if got := unmodifiedAreas(text, "/bin/x"); !slices.Equal(got, []memoryArea{{0x400000, 0x600000}, {0xd00000, 0x100000}}) {
		t.Errorf("%x", got)
	}
	if got := unmodifiedAreas("zz-yy r-xp 0 0 0 /bin/x\n5-3 r-xp 0 0 0 /bin/x\nnonsense", "/bin/x"); len(got) > 0 {
		t.Errorf("%x", got)
	}
}
