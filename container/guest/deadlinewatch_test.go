package guest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hako/container/guest/wire"
	"hako/run"
	"hako/run/fault"
)

// beside makes a client whose guest is a function. It is called after the
// greeting, and the time is not real.
func beside(t *testing.T, guest func(in *wire.Scanner, say func(wire.Frame))) *Client {
	t.Helper()
	c, err := connect(t.Context(), "", func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			in := wire.NewScanner(theirs, wire.MaxChunk)
			in.Next(wire.MaxGreeting)
			say := func(f wire.Frame) { theirs.Write(f.AppendTo(nil)) }
			say(wire.Handshake{Version: wire.Version}.Frame())
			guest(in, say)
		}()
		return ours, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// silent hears everything and says nothing.
func silent(in *wire.Scanner, _ func(wire.Frame)) {
	for {
		if _, err := in.Next(wire.MaxFrame); err != nil {
			return
		}
	}
}

// isMute checks what is said about a guest that says nothing.
func isMute(t *testing.T, what string, err error) {
	t.Helper()
	if fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "the guest of the container does not answer") ||
		!strings.Contains(fault.FlagHint(err), "hako env down --task") {
		t.Errorf("%s: %v", what, err)
	}
}

// TestDialMute connects to somebody who never says a word.
func TestDialMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := connect(t.Context(), "s", func(context.Context, string) (net.Conn, error) {
			ours, _ := net.Pipe()
			return ours, nil
		})
		isMute(t, "dial", err)
		if time.Since(began) != answerTime {
			t.Error(time.Since(began))
		}
	})
}

// TestQuestionsMute asks everything of a guest that greets and then says nothing.
func TestQuestionsMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := beside(t, silent)
		defer c.Close()
		for name, ask := range map[string]func(ctx context.Context) error{
			"ping":     c.Ping,
			"shutdown": c.Shutdown,
			"stats":    func(ctx context.Context) error { _, err := c.Stats(ctx, true); return err },
			"jobs":     func(ctx context.Context) error { _, err := c.Jobs(ctx); return err },
			"job":      func(ctx context.Context) error { _, err := c.Job(ctx, "x"); return err },
			"kill":     func(ctx context.Context) error { _, err := c.Kill(ctx, "x"); return err },
			"output":   func(ctx context.Context) error { _, err := c.Output(ctx, "x", 0, 0); return err },
			"start":    func(ctx context.Context) error { _, err := c.Start(ctx, Command{Script: "true"}); return err },
			"edit":     func(ctx context.Context) error { _, err := c.Edit(ctx, json.RawMessage("{}")); return err },
		} {
			began := time.Now()
			isMute(t, name, ask(t.Context()))
			if time.Since(began) != answerTime {
				t.Errorf("%s: after %v", name, time.Since(began))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // a job may take as long
		defer cancel()
		began := time.Now()
		if _, err := c.Wait(ctx, "x"); fault.KindOf(err) != fault.Timeout || time.Since(began) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestExecMute runs commands by guests that do not say how they end.
func TestExecMute(t *testing.T) {
	for name, guest := range map[string]func(*wire.Scanner, func(wire.Frame)){
		"silent": silent,
		"deaf":   func(*wire.Scanner, func(wire.Frame)) { time.Sleep(time.Hour) },
		"trickling": func(in *wire.Scanner, say func(wire.Frame)) {
			go silent(in, say)
			for range 1000 {
				time.Sleep(9 * time.Second)
				say(piece(1))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := beside(t, guest)
				defer time.Sleep(5 * time.Hour) // until the guest is gone too
				defer c.Close()
				began := time.Now()
				_, err := Runner{Client: c}.Run(t.Context(), &run.Request{Script: "true", Timeout: 2 * time.Second})
				isMute(t, name, err)
				if took := time.Since(began); took > 2*time.Second+grace {
					t.Errorf("after %v", took)
				}
			})
		})
	}
}

// piece is some output of the first command.
func piece(size int) wire.Frame {
	return wire.Frame{Op: wire.OpStdout, ID: 1, Words: [][]byte{make([]byte, size)}}
}

// windowed says as much as it may, so often, and then how the command ended.
func windowed(pieces int) func(*wire.Scanner, func(wire.Frame)) {
	return func(in *wire.Scanner, say func(wire.Frame)) {
		room, gone := wire.NewWindow(wire.OutputWindow), make(chan struct{})
		go func() {
			defer close(gone)
			defer room.Close()
			for {
				f, err := in.Next(wire.MaxFrame)
				if err != nil {
					return
				}
				if f.Op == wire.OpStdoutTaken {
					room.Give(int(f.N))
				}
			}
		}()
		for range pieces {
			n := room.Take(wire.MaxChunk)
			if n == 0 {
				return
			}
			say(piece(n))
		}
		say(wire.Frame{Op: wire.OpExited, ID: 1, Words: [][]byte{[]byte(`{"exit":3}`)}})
		<-gone
	}
}

// ordered waits for a command first.
func ordered(then func(*wire.Scanner, func(wire.Frame))) func(*wire.Scanner, func(wire.Frame)) {
	return func(in *wire.Scanner, say func(wire.Frame)) {
		in.Next(wire.MaxFrame)
		then(in, say)
	}
}

// slow is a writer that takes its time.
type slow time.Duration

func (s slow) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(s))
	return len(p), nil
}

// TestExecSlowReader has somebody take long over the output, which is not the
// fault of the guest.
func TestExecSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := beside(t, ordered(windowed(30)))
		defer c.Close()
		res, err := c.Exec(t.Context(), Command{Script: "x", Timeout: 2 * time.Second, Stdout: slow(time.Minute)})
		if err != nil || res.Exit != 3 || res.Bytes < 10*wire.MaxChunk {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// TestExecFlood has a guest that goes on with the output of a command when it
// must be over.
func TestExecFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := beside(t, ordered(windowed(1<<30)))
		defer c.Close()
		_, err := c.Exec(t.Context(), Command{Script: "x", Timeout: 2 * time.Second, Stdout: slow(time.Second)})
		isMute(t, "flood", err)
	})
}

// TestExecLong waits for commands that take long and may.
func TestExecLong(t *testing.T) {
	late := ordered(func(in *wire.Scanner, say func(wire.Frame)) {
		time.Sleep(29 * time.Minute)
		windowed(1)(in, say)
	})
	for name, limit := range map[string]time.Duration{"limit": 30 * time.Minute, "none": 0, "for ever": 1<<63 - 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := beside(t, late)
				defer c.Close()
				if res, err := c.Exec(t.Context(), Command{Script: "x", Timeout: limit}); err != nil || res.Exit != 3 {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
}

// TestExecLargeInput sends much to a command that takes its time over it.
func TestExecLargeInput(t *testing.T) {
	const size = 100 << 20
	synctest.Test(t, func(t *testing.T) {
		got := 0
		c := beside(t, func(in *wire.Scanner, say func(wire.Frame)) {
			for got < size {
				f, err := in.Next(wire.MaxFrame)
				if err != nil {
					return
				}
				if f.Op == wire.OpStdin {
					time.Sleep(100 * time.Millisecond)
					got += len(f.Word(0))
					say(wire.Frame{Op: wire.OpStdinTaken, ID: 1, N: uint64(len(f.Word(0)))})
				}
			}
			windowed(0)(in, say)
		})
		defer c.Close()
		res, err := c.Exec(t.Context(), Command{Script: "x", Timeout: time.Hour, Stdin: io.LimitReader(zeros{}, size)})
		if err != nil || res.Exit != 3 || got != size {
			t.Errorf("%+v, %v, %d bytes", res, err, got)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
