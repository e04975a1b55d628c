package guest

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/internal/container/guest/nursery"
)

// harmless starts nothing but true, whatever it is told.
type harmless struct{ *nursery.Nursery }

func (h harmless) Start(p nursery.Program) (*nursery.Process, error) {
	return h.Nursery.Start(nursery.Program{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Stdin: p.Stdin})
}

// nurse is the one nursery that a process can have.
var nurse = sync.OnceValues(func() (*nursery.Nursery, error) { return nursery.Open(nursery.Options{}) })

// FuzzServer says anything to a server: it neither breaks nor hangs.
func FuzzServer(f *testing.F) {
	hello := Hello{Version: Version}.frame().appendTo(nil)
	exec := Command{Script: "x", Stdin: io.LimitReader(nil, 0)}.order().frame(opExec, 1).appendTo(hello[:len(hello):len(hello)])
	f.Add([]byte("nonsense"))
	f.Add(hello)
	f.Add(exec)
	f.Add(frame{op: opStdin, id: 1, words: [][]byte{[]byte("in")}}.appendTo(exec[:len(exec):len(exec)]))
	f.Add(frame{op: opSignal, id: 1, n: 15}.appendTo(exec[:len(exec):len(exec)]))
	f.Add(frame{op: opCancel, id: 1}.appendTo(exec[:len(exec):len(exec)]))
	for _, verb := range []string{callPing, callList, callEdit, callStatus, callWait} {
		f.Add(frame{op: opCall, id: 2, words: [][]byte{[]byte(verb), []byte(`{"handle":"x"}`)}}.appendTo(hello[:len(hello):len(hello)]))
	}
	f.Add(Command{Argv: []string{"x"}}.order().frame(opCall, 3, callStart).appendTo(hello[:len(hello):len(hello)]))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := nurse() // not before: it would collect the processes that the go tool starts
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(Options{Spool: dir, Dir: dir}, n, harmless{n})
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() { s.welcome(theirs, nil); close(done) }()
		go io.Copy(io.Discard, ours)
		ours.SetWriteDeadline(time.Now().Add(5 * time.Second))
		ours.Write(b)
		ours.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
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
		newServer(Options{}, nil, nil).welcome(theirs, nil)
		if took := time.Since(began); took != greetTime {
			t.Errorf("after %v", took)
		}
	})
}

// TestQuiet makes itself small when nobody has been there for a while.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(Options{}, nil, nil)
		began, calls := time.Now(), make(chan time.Duration, 10)
		s.quiet = func() { calls <- time.Since(began) }
		visit := func(length time.Duration) {
			ours, theirs := net.Pipe()
			go io.Copy(io.Discard, ours)
			go ours.Write(Hello{Version: Version}.frame().appendTo(nil))
			time.AfterFunc(length, func() { ours.Close() })
			s.welcome(theirs, nil)
		}
		visit(time.Second)
		visit(time.Second)
		time.Sleep(time.Minute)
		visit(time.Minute) // the timer of before must not disturb it
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(calls) != 2 {
			t.Fatalf("%d times", len(calls))
		}
		if first, second := <-calls, <-calls; first != 7*time.Second || second != 127*time.Second {
			t.Errorf("after %v and %v", first, second)
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
	if got := untouched(text, "/bin/x"); !slices.Equal(got, []area{{0x400000, 0x600000}, {0xd00000, 0x100000}}) {
		t.Errorf("%x", got)
	}
	if got := untouched("zz-yy r-xp 0 0 0 /bin/x\n5-3 r-xp 0 0 0 /bin/x\nnonsense", "/bin/x"); len(got) > 0 {
		t.Errorf("%x", got)
	}
}
