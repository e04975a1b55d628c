package guest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hako/container/guest/wire"
	"hako/run/fault"
)

func refusal(why string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect to guest", Why: why, Hint: "go away"}
}

func ending(text string) wire.Frame {
	return wire.Frame{Op: wire.OpExited, ID: 1, Words: [][]byte{[]byte(text)}}
}

// TestBadGuest has a guest that makes no sense to a client.
func TestBadGuest(t *testing.T) {
	hello := wire.Handshake{Version: wire.Version}.Frame()
	for name, c := range map[string]struct {
		says []wire.Frame
		want string
	}{
		"other version": {[]wire.Frame{wire.Handshake{Version: 7}.Frame()}, "speaks version 7"},
		"no greeting":   {[]wire.Frame{{Op: wire.OpExited}}, "does not speak the protocol"},
		"refuses":       {[]wire.Frame{wire.ErrorFrame(0, refusal("you are inside"))}, "you are inside"},
		"nonsense":      {[]wire.Frame{hello, {Op: wire.OpHello, ID: 1}}, "is invalid"},
		"about nothing": {[]wire.Frame{hello, {Op: wire.OpStdout}}, "is invalid"},
		"says why":      {[]wire.Frame{hello, wire.ErrorFrame(0, refusal("enough"))}, "enough"},
		"too much output": {[]wire.Frame{hello,
			{Op: wire.OpStdout, ID: 1, Words: [][]byte{make([]byte, 3*wire.OutputWindow)}}}, "is invalid"},
		"took no input":    {[]wire.Frame{hello, {Op: wire.OpStdinTaken, ID: 1, N: 5}}, "is invalid"},
		"a strange ending": {[]wire.Frame{hello, {Op: wire.OpExited, ID: 1, Words: [][]byte{[]byte("?")}}}, "is invalid"},
		"answers it": {[]wire.Frame{hello, {Op: wire.OpAnswer, ID: 1, Words: [][]byte{[]byte("{}")}}},
			"is invalid"},
		"says too much": {[]wire.Frame{hello,
			{Op: wire.OpExited, ID: 1, Words: [][]byte{make([]byte, 2*wire.OutputWindow+2*lastWords)}}}, "is invalid"},
		"exit 256":        {[]wire.Frame{hello, ending(`{"exit":256}`)}, "is invalid"},
		"exit 2^32":       {[]wire.Frame{hello, ending(`{"exit":4294967296}`)}, "is invalid"},
		"exit -7":         {[]wire.Frame{hello, ending(`{"exit":-7}`)}, "is invalid"},
		"before it began": {[]wire.Frame{hello, ending(`{"exit":0,"duration":-5}`)}, "is invalid"},
		"hangs up":        {[]wire.Frame{hello}, "connection is lost"},
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
			in := wire.NewScanner(conn, wire.MaxChunk)
			in.Next(wire.MaxFrame)
			conn.Write(c.says[0].AppendTo(nil))
			for _, f := range c.says[1:] {
				in.Next(wire.MaxFrame)
				conn.Write(f.AppendTo(nil))
			}
			if name == "hangs up" {
				in.Next(wire.MaxFrame)
			}
			conn.Close()
		}()
		client, err := Dial(t.Context(), socket)
		if err == nil {
			_, err = client.Exec(t.Context(), Command{Script: "true"})
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		l.Close()
	}
}

// TestBadAnswers has a guest that answers questions in ways that make no sense.
func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		list bool
		says wire.Frame
	}{
		"an exit":       {false, ending("{}")},
		"output":        {false, piece(5)},
		"exit 256":      {false, answer(`{"state":"done","exit_code":256}`)},
		"no such state": {false, answer(`{"state":"\u001b[31mdone","exit_code":0}`)},
		"a bad list":    {true, answer(`[{"state":"done","exit_code":-7}]`)},
		"no list":       {true, answer(`{}`)},
		"many jobs":     {true, answer("[" + strings.Repeat(`{"state":"done"},`, mostJobs) + `{"state":"done"}]`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := beside(t, func(in *wire.Scanner, say func(wire.Frame)) {
				in.Next(wire.MaxFrame)
				go silent(in, say)
				say(c.says)
			})
			defer client.Close()
			var err error
			if c.list {
				_, err = client.Jobs(t.Context())
			} else {
				_, err = client.Job(t.Context(), "x")
			}
			if err == nil || !strings.Contains(err.Error(), "is invalid") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func answer(text string) wire.Frame {
	return wire.Frame{Op: wire.OpAnswer, ID: 1, Words: [][]byte{[]byte(text)}}
}

// TestAnswersTwice has a guest that answers more often than it was asked, which
// would be held in memory.
func TestAnswersTwice(t *testing.T) {
	a := &pendingCall{in: wire.NewInbox(wire.MaxFrame)}
	c := &Client{open: map[uint64]*pendingCall{1: a}}
	if err := c.handle(answer("{}")); err != nil {
		t.Fatal(err)
	}
	if err := c.handle(answer("{}")); err == nil {
		t.Error("a second answer was taken")
	}
	c.open[1] = &pendingCall{in: wire.NewInbox(wire.MaxFrame), run: true}
	if err := c.handle(ending("{}")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []wire.Frame{ending("{}"), piece(1), wire.ErrorFrame(1, refusal("no"))} {
		if err := c.handle(f); err == nil {
			t.Errorf("%d was taken after the end", f.Op)
		}
	}
}

// TestDialLink puts other things where the socket should be.
func TestDialLink(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.Write(wire.Handshake{Version: wire.Version}.Frame().AppendTo(nil))
		silent(wire.NewScanner(conn, wire.MaxChunk), nil)
	}()
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.Symlink("other", link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, file, dir} {
		if _, err := Dial(t.Context(), path); fault.KindOf(err) != fault.Denied || fault.Hint(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, "none")); fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "no process listens there") {
		t.Error(err)
	}
	c, err := Dial(t.Context(), filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
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
