package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"hako/run/fault"
)

func TestFrames(t *testing.T) {
	all := []Frame{
		{Op: OpHello, Words: [][]byte{[]byte("a"), {}, []byte("\xff\x00")}},
		{Op: OpStdout, ID: 1 << 60, N: 7, Words: [][]byte{bytes.Repeat([]byte("x"), 300_000)}},
		{Op: OpCancel, ID: 3},
	}
	var wire []byte
	for _, f := range all {
		wire = f.AppendTo(wire)
	}
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(wire),
		"in pieces": iotest.HalfReader(bytes.NewReader(wire))} {
		in := NewScanner(r, MaxChunk)
		for _, want := range all {
			got, err := in.Next(MaxFrame)
			if err != nil || got.Op != want.Op || got.ID != want.ID || got.N != want.N ||
				!slices.EqualFunc(got.Words, want.Words, bytes.Equal) {
				t.Fatalf("%s: %v, %v", name, got.Op, err)
			}
		}
		if _, err := in.Next(MaxFrame); err != io.EOF {
			t.Error(err)
		}
	}
	if _, err := NewScanner(bytes.NewReader(wire), MaxChunk).Next(5); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	if _, err := NewScanner(bytes.NewReader(wire[:len(wire)-1]), MaxChunk).Next(5); err == nil {
		t.Error("half a frame was taken")
	}
}

// TestAnnouncement checks that a frame takes memory as it comes, not as it is
// announced.
func TestAnnouncement(t *testing.T) {
	in := NewScanner(bytes.NewReader([]byte{1, 0xff, 0xff, 0xff, 1, 2, 3}), MaxChunk)
	if _, err := in.Next(MaxFrame); !errors.Is(err, io.ErrUnexpectedEOF) || cap(in.buf) > 2*MaxChunk {
		t.Errorf("%v, %d bytes taken", err, cap(in.buf))
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(Handshake{Version: 1}.Frame().AppendTo(nil))
	f.Add(CommandRequest{Args: []string{"a", "b"}, Env: []string{"c=d"}}.Frame(OpExec, 5).AppendTo(nil))
	f.Add([]byte{0, 0, 0, 3, 4, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := NewScanner(bytes.NewReader(b), MaxChunk)
		for {
			got, err := in.Next(1 << 20)
			if err != nil {
				return
			}
			again, err := decode(got.AppendTo(nil)[4:])
			if err != nil || again.Op != got.Op || again.ID != got.ID || again.N != got.N ||
				!slices.EqualFunc(again.Words, got.Words, bytes.Equal) {
				t.Errorf("%+v came back as %+v, %v", got, again, err)
			}
			_, _ = ReadCommand(got.Words, got.N)
			_, _ = ReadHandshake(got)
			_ = FaultFrom(got.Word(0))
		}
	})
}

func TestFaultsTravel(t *testing.T) {
	want := &fault.Error{Kind: fault.NotFound, Op: "find", Subject: "x", Why: "not there", Hint: "look"}
	got := FaultFrom(ErrorFrame(1, want).Words[0])
	if got.Error() != want.Error() || fault.KindOf(got) != want.Kind || fault.Hint(got) != want.Hint {
		t.Errorf("%v, want %v", got, want)
	}
	if err := FaultFrom(ErrorFrame(1, io.ErrClosedPipe).Words[0]); !strings.Contains(err.Error(),
		io.ErrClosedPipe.Error()) {
		t.Error(err)
	}
	if err := FaultFrom([]byte("what?")); err == nil {
		t.Error("nonsense was taken for no error")
	}
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(10)
		if w.Take(7) != 7 || w.Take(7) != 3 {
			t.Error("not what was free")
		}
		got := make(chan int)
		go func() { got <- w.Take(5) }()
		synctest.Wait()
		if !w.Give(2) || <-got != 2 {
			t.Error("not what was given")
		}
		if w.Give(11) || w.Give(-1) {
			t.Error("more was given than ever taken")
		}
		go func() { got <- w.Take(5) }()
		synctest.Wait()
		w.Close()
		if <-got != 0 {
			t.Error("closed, and yet room")
		}
	})
}

func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewInbox(10_000)
		piece := func(op byte, text string) Frame { return Frame{Op: op, Words: [][]byte{[]byte(text)}} }
		for i := range 5_000 { // by turns, which must not make a frame of each
			if !b.Put(piece([]byte{OpStdout, OpStderr}[i%2], "x")) {
				t.Fatalf("no room for %d", i)
			}
		}
		if len(b.frames) > maxFrames {
			t.Errorf("%d frames", len(b.frames))
		}
		if b.Put(piece(OpStdout, strings.Repeat("x", 6_000))) {
			t.Error("more than the limit was taken")
		}
		if b.Put(Frame{Op: OpStdout}) {
			t.Error("a piece without bytes was taken")
		}
		b = NewInbox(10)
		if b.Put(Frame{Op: OpAnswer, Words: [][]byte{make([]byte, 6), make([]byte, 5)}}) {
			t.Error("more than the limit was taken of what is no stream")
		}
		b = NewInbox(10)
		got := make(chan Frame)
		go func() {
			for {
				f, err := b.Take()
				if err != nil {
					close(got)
					return
				}
				got <- f
			}
		}()
		synctest.Wait()
		b.Put(piece(OpStdout, "hi"))
		if f := <-got; string(f.Word(0)) != "hi" {
			t.Errorf("%q", f.Word(0))
		}
		b.Put(Frame{Op: OpExited})
		b.Close(io.EOF)
		if f := <-got; f.Op != OpExited {
			t.Error("what came before the end was lost")
		}
		if _, more := <-got; more {
			t.Error("something came after the end")
		}
	})
}
