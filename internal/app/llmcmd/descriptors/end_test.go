package descriptors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

// TestTurns has several scripts write to the output at the same time.
func TestTurns(t *testing.T) {
	b := newBox(t, Options{})
	var want strings.Builder
	for i := range 6 {
		b.call("spawn", `{"script":"for i in 1 2 3; do sleep 0.01; seq %d; done","stdout_fd":1}`, 2000-i)
		for range 3 {
			for n := range 2000 - i {
				fmt.Fprintln(&want, n+1)
			}
		}
	}
	b.call("write", `{"fd":1,"data":"end\n"}`)
	if got := b.out.String(); got != want.String()+"end\n" {
		t.Errorf("%d bytes, want %d", len(got), want.Len()+4)
	}
	b.call("spawn", `{"script":"cat","stdout_fd":1}`)
	b.call("spawn", `{"script":"echo second","stdout_fd":1}`)
	fd := b.Map()[strings.LastIndex(b.Map()[:strings.Index(b.Map(), ": stdin of script 7")], "=")+1:]
	in, _, _ := strings.Cut(fd, ":")
	b.fails("nothing was written: a script still writes there, and script 7 waits for input on fd "+in, "write",
		`{"fd":1,"data":"x"}`)
	b.call("write", `{"fd":%s,"data":"first\n","eof":true}`, in)
	b.call("write", `{"fd":1,"data":"third\n"}`)
	if got := b.out.String(); !strings.HasSuffix(got, "end\nfirst\nsecond\nthird\n") {
		t.Errorf("%q", got[len(got)-40:])
	}
}

// TestExit checks that exit waits for what the output depends on.
func TestExit(t *testing.T) {
	b := newBox(t, Options{Inputs: []Input{input("a", "3\n1\n2\n")}, Limits: Limits{Finish: 100 * time.Millisecond}})
	b.call("spawn", `{"script":"sleep 0.5; sort","stdin_fd":3}`)
	b.call("spawn", `{"script":"tac","stdin_fd":10,"stdout_fd":1}`)
	b.call("spawn", `{"script":"cat > kept.txt; yes warning | head -n 99999 >&2; echo end >> kept.txt"}`)
	b.call("write", `{"fd":13,"data":"kept\n"}`)
	b.call("spawn", `{"script":"sleep 60"}`)
	b.call("spawn", `{"script":"yes"}`)
	start := time.Now()
	if got := b.call("exit", `{"code":4,"message":"well"}`); got != "exited with status 4" {
		t.Error(got)
	}
	if took := time.Since(start); took < 400*time.Millisecond || took > testload.Bound(3*time.Second) {
		t.Error(took)
	}
	if got := b.out.String(); got != "3\n2\n1\n" {
		t.Errorf("%q", got)
	}
	if got, err := b.opts.Files.ReadFile("/box/kept.txt"); string(got) != "kept\nend\n" {
		t.Errorf("%q %v", got, err)
	}
	if code, message, ok := b.Exited(); code != 4 || message != "well" || !ok || b.Err() != nil {
		t.Error(code, message, ok, b.Err())
	}
	b.fails("the session has ended", "help", `{}`)
}

// TestExitWaitsForCalls makes exit and other calls at the same time.
func TestExitWaitsForCalls(t *testing.T) {
	b := newBox(t, Options{})
	b.call("spawn", `{"script":"sleep 0.3; echo text"}`)
	var wg sync.WaitGroup
	wg.Go(func() {
		if got, err := b.try("read", `{"fd":11}`); body(t, got) != "text\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	time.Sleep(50 * time.Millisecond)
	wg.Go(func() { b.call("exit", `{"code":0}`) })
	time.Sleep(50 * time.Millisecond)
	b.fails("the session has ended", "write", `{"fd":1,"data":"x"}`)
	wg.Wait()
}

// full is an output that has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputFails checks that a lost output is never passed over.
func TestOutputFails(t *testing.T) {
	b := newBox(t, Options{Stdout: Output{Writer: full{}}})
	b.fails("no space left", "write", `{"fd":1,"data":"x"}`)
	if b.Err() == nil {
		t.Error("forgotten")
	}
	b = newBox(t, Options{Stdout: Output{Writer: full{}}})
	b.call("spawn", `{"script":"echo x","stdout_fd":1}`)
	b.fails("no space left", "exit", `{"code":0}`)
	if err := b.Close(); err == nil {
		t.Error("forgotten")
	}
	cut := &fault.Error{Kind: fault.Exhausted, Op: "stop script", Why: "too much", Hint: "less"}
	b = newBox(t, Options{Spawn: worker(func(_ context.Context, req *run.Request) (run.Result, error) {
		_, _ = io.WriteString(req.Stdout, "half")
		return run.Result{}, cut
	})})
	b.call("spawn", `{"script":"x","stdout_fd":1}`)
	b.fails("stopped before its output was whole: stop script: too much", "exit", `{"code":0}`)
}
