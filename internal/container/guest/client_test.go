package guest

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/internal/container/guest/wire"
	"hako/internal/fault"
)

func refusal(why string) error {
	return &fault.Error{Kind: fault.Denied, Op: "connect to guest", Why: why, Hint: "go away"}
}

// TestBadGuest has a guest that makes no sense to a client.
func TestBadGuest(t *testing.T) {
	hello := wire.Hello{Version: wire.Version}.Frame()
	for name, c := range map[string]struct {
		says []wire.Frame
		want string
	}{
		"other version":    {[]wire.Frame{wire.Hello{Version: 7}.Frame()}, "speaks version 7"},
		"no greeting":      {[]wire.Frame{{Op: wire.OpExited}}, "does not speak as hako does"},
		"refuses":          {[]wire.Frame{wire.ErrorFrame(0, refusal("you are inside"))}, "you are inside"},
		"nonsense":         {[]wire.Frame{hello, {Op: wire.OpHello, ID: 1}}, "makes no sense"},
		"about nothing":    {[]wire.Frame{hello, {Op: wire.OpStdout}}, "makes no sense"},
		"says why":         {[]wire.Frame{hello, wire.ErrorFrame(0, refusal("enough"))}, "enough"},
		"too much output":  {[]wire.Frame{hello, {Op: wire.OpStdout, ID: 1, Words: [][]byte{make([]byte, 3*wire.OutputWindow)}}}, "makes no sense"},
		"took no input":    {[]wire.Frame{hello, {Op: wire.OpStdinTaken, ID: 1, N: 5}}, "makes no sense"},
		"a strange ending": {[]wire.Frame{hello, {Op: wire.OpExited, ID: 1, Words: [][]byte{[]byte("?")}}}, "makes no sense"},
		"hangs up":         {[]wire.Frame{hello}, "connection is lost"},
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
