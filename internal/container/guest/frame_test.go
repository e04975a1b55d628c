package guest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"hako/internal/fault"
)

func TestFrames(t *testing.T) {
	all := []frame{
		{op: opHello, words: [][]byte{[]byte("a"), {}, []byte("\xff\x00")}},
		{op: opStdout, id: 1 << 60, n: 7, words: [][]byte{bytes.Repeat([]byte("x"), 300_000)}},
		{op: opCancel, id: 3},
	}
	var wire []byte
	for _, f := range all {
		wire = f.appendTo(wire)
	}
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(wire), "in pieces": iotest.HalfReader(bytes.NewReader(wire))} {
		in := newScanner(r)
		for _, want := range all {
			got, err := in.next(maxFrame)
			if err != nil || got.op != want.op || got.id != want.id || got.n != want.n || !slices.EqualFunc(got.words, want.words, bytes.Equal) {
				t.Fatalf("%s: %v, %v", name, got.op, err)
			}
		}
		if _, err := in.next(maxFrame); err != io.EOF {
			t.Error(err)
		}
	}
	if _, err := newScanner(bytes.NewReader(wire)).next(5); !errors.Is(err, errTooLong) {
		t.Error(err)
	}
	if _, err := newScanner(bytes.NewReader(wire[:len(wire)-1])).next(5); err == nil {
		t.Error("half a frame was taken")
	}
}

// TestAnnouncement checks that a frame takes memory as it comes, not as it is
// announced.
func TestAnnouncement(t *testing.T) {
	in := newScanner(bytes.NewReader([]byte{1, 0xff, 0xff, 0xff, 1, 2, 3}))
	if _, err := in.next(maxFrame); !errors.Is(err, io.ErrUnexpectedEOF) || cap(in.buf) > 2*maxChunk {
		t.Errorf("%v, %d bytes taken", err, cap(in.buf))
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(Hello{Version: 1}.frame().appendTo(nil))
	f.Add(Command{Argv: []string{"a", "b"}, Env: []string{"c=d"}}.order().frame(opExec, 5).appendTo(nil))
	f.Add([]byte{0, 0, 0, 3, 4, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := newScanner(bytes.NewReader(b))
		for {
			got, err := in.next(1 << 20)
			if err != nil {
				return
			}
			again, err := decode(got.appendTo(nil)[4:])
			if err != nil || again.op != got.op || again.id != got.id || again.n != got.n || !slices.EqualFunc(again.words, got.words, bytes.Equal) {
				t.Errorf("%+v came back as %+v, %v", got, again, err)
			}
			_, _ = readOrder(got.words, got.n)
			_, _ = greeted(got)
			_ = faultFrom(got.word(0))
		}
	})
}

func TestOrders(t *testing.T) {
	for _, c := range []Command{
		{Script: "x", Args: []string{"1", ""}, Env: []string{"A=b=c"}, Dir: "d", Timeout: 5, Limits: Limits{Files: 1}},
		{Argv: []string{"a\xff"}, Stdin: strings.NewReader("")},
		{},
	} {
		want := c.order()
		f := want.frame(opExec, 1)
		got, err := readOrder(f.words, f.n)
		if err != nil || got.details != want.details || got.dir != want.dir || got.script != want.script || !slices.Equal(got.words, want.words) || !slices.Equal(got.env, want.env) {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
	}
}

func TestFaultsTravel(t *testing.T) {
	want := &fault.Error{Kind: fault.NotFound, Op: "find", Subject: "x", Why: "not there", Hint: "look"}
	got := faultFrom(errorFrame(1, want).words[0])
	if got.Error() != want.Error() || fault.KindOf(got) != want.Kind || fault.Hint(got) != want.Hint {
		t.Errorf("%v, want %v", got, want)
	}
	if err := faultFrom(errorFrame(1, io.ErrClosedPipe).words[0]); !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
		t.Error(err)
	}
	if err := faultFrom([]byte("what?")); err == nil {
		t.Error("nonsense was taken for no error")
	}
}

func TestArgs(t *testing.T) {
	want := Options{Socket: "/a b/s", UID: 5, GID: 6, Dir: "/d", Home: "/h", Spool: "/t", Running: 1, Links: 2, Keep: 3, Log: 4, Grace: 5}
	got, err := parseArgs(want.Args())
	want.Edit, got.Edit = nil, nil
	if err != nil || !equalOptions(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if args := (Options{Socket: "/s"}).Args(); !slices.Equal(args, []string{"-socket=/s"}) {
		t.Error(args)
	}
}

func equalOptions(a, b Options) bool {
	return slices.Equal(a.Args(), b.Args())
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(10)
		if w.take(7) != 7 || w.take(7) != 3 {
			t.Error("not what was free")
		}
		got := make(chan int)
		go func() { got <- w.take(5) }()
		synctest.Wait()
		if !w.give(2) || <-got != 2 {
			t.Error("not what was given")
		}
		if w.give(11) || w.give(-1) {
			t.Error("more was given than ever taken")
		}
		go func() { got <- w.take(5) }()
		synctest.Wait()
		w.close()
		if <-got != 0 {
			t.Error("closed, and yet room")
		}
	})
}

func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(10_000)
		piece := func(op byte, text string) frame { return frame{op: op, words: [][]byte{[]byte(text)}} }
		for i := range 5_000 { // by turns, which must not make a frame of each
			if !b.put(piece([]byte{opStdout, opStderr}[i%2], "x")) {
				t.Fatalf("no room for %d", i)
			}
		}
		if len(b.frames) > maxFrames {
			t.Errorf("%d frames", len(b.frames))
		}
		if b.put(piece(opStdout, strings.Repeat("x", 6_000))) {
			t.Error("more than the limit was taken")
		}
		if b.put(frame{op: opStdout}) {
			t.Error("a piece without bytes was taken")
		}
		b = newInbox(10)
		got := make(chan frame)
		go func() {
			for {
				f, err := b.take()
				if err != nil {
					close(got)
					return
				}
				got <- f
			}
		}()
		synctest.Wait()
		b.put(piece(opStdout, "hi"))
		if f := <-got; string(f.word(0)) != "hi" {
			t.Errorf("%q", f.word(0))
		}
		b.put(frame{op: opExited})
		b.close(io.EOF)
		if f := <-got; f.op != opExited {
			t.Error("what came before the end was lost")
		}
		if _, more := <-got; more {
			t.Error("something came after the end")
		}
	})
}

func TestMerged(t *testing.T) {
	got := merged([]string{"A=1", "B=2"}, []string{"C=3", "A=4", "C=5"})
	if !slices.Equal(got, []string{"A=4", "B=2", "C=5"}) {
		t.Error(got)
	}
}
