package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// TestPipe sends more than a pipe can hold, in pieces of all sizes.
func TestPipe(t *testing.T) {
	r, w := Pipe(t.Context())
	var sent bytes.Buffer
	go func() {
		out := NewWriter(w)
		for i := range 3000 {
			piece := bytes.Repeat([]byte{byte('a' + i%26)}, i)
			_, _ = out.Write(piece)
			_ = out.WriteByte('\n')
		}
		_ = out.Flush()
		_ = w.Close()
	}()
	for i := range 3000 {
		sent.WriteString(strings.Repeat(string(rune('a'+i%26)), i) + "\n")
	}
	got, err := io.ReadAll(NewReader(r))
	if err != nil || !bytes.Equal(got, sent.Bytes()) {
		t.Errorf("%d of %d bytes arrived, %v", len(got), sent.Len(), err)
	}
}

// TestPipeEnds checks what either end sees when the other is gone.
func TestPipeEnds(t *testing.T) {
	r, w := Pipe(t.Context())
	_ = r.Close()
	if _, err := w.Write(make([]byte, bufferSize)); err != nil {
		t.Errorf("nobody reads, but a pipe of the kernel has room: %v", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrPipe) {
		t.Errorf("nobody reads: %v", err)
	}
	r, w = Pipe(t.Context())
	_, _ = w.Write([]byte("last"))
	_ = w.Close()
	_ = w.Close()
	if got, err := io.ReadAll(r); string(got) != "last" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrPipe) {
		t.Errorf("written after the end: %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w = Pipe(ctx)
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := r.Next(); !errors.Is(err, why) {
		t.Errorf("the reader waited for %v", err)
	}
	for range depth + 2 {
		if _, err := w.Write([]byte("x")); err != nil {
			if !errors.Is(err, why) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("the writer never noticed")
}

// TestReader reads lines of all lengths from sources that deliver in their own way.
func TestReader(t *testing.T) {
	var lines []string
	for _, n := range []int{0, 1, 5, Size - 1, Size, Size + 1, 3 * Size, 7} {
		lines = append(lines, strings.Repeat("x", n)+"\n")
	}
	lines = append(lines, "no newline")
	text := strings.Join(lines, "")
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "data and end": iotest.DataErrReader,
		"contextReader": func(r io.Reader) io.Reader { return WithContext(context.Background(), io.MultiReader(r)) },
		"shared":        func(r io.Reader) io.Reader { return WithContext(context.Background(), NewShared(r)) },
	} {
		r := NewReader(wrap(strings.NewReader(text)))
		for i, want := range lines {
			if got, err := r.Line(); string(got) != want || err != nil {
				t.Errorf("%s: line %d has %d bytes, want %d; %v", name, i, len(got), len(want), err)
			}
		}
		if _, err := r.Line(); err != io.EOF {
			t.Errorf("%s: after the end: %v", name, err)
		}
		r = NewReader(wrap(strings.NewReader(text)))
		var all []byte
		for {
			b, err := r.Lines()
			if err != nil {
				break
			}
			if !bytes.HasSuffix(b, []byte("\n")) && !bytes.HasSuffix(b, []byte("no newline")) {
				t.Errorf("%s: half a line", name)
			}
			all = append(all, b...)
		}
		if string(all) != text {
			t.Errorf("%s: %d of %d bytes", name, len(all), len(text))
		}
	}
}

// TestReaderGrow checks that a line without end asks before it grows.
func TestReaderGrow(t *testing.T) {
	full := errors.New("full")
	r := NewReader(strings.NewReader(strings.Repeat("x", 10*Size)))
	r.Grow = func(n int64) error {
		if n > 4*Size {
			return full
		}
		return nil
	}
	if _, err := r.Line(); !errors.Is(err, full) {
		t.Error(err)
	}
}

// TestUnread gives back what was taken too much, between commands that share a reader.
func TestUnread(t *testing.T) {
	r := NewBytes([]byte("one\ntwo\nthree\n"))
	b, _ := r.Chunk()
	r.Unread(b, len("two\nthree\n"))
	if line, _ := r.Line(); string(line) != "two\n" {
		t.Errorf("%q", line)
	}
	if b, _ := r.ReadByte(); b != 't' {
		t.Errorf("%q", b)
	}
}

// TestWriterKeepsItsError checks that a writer fails once and for all.
func TestWriterKeepsItsError(t *testing.T) {
	w := NewWriter(failing{})
	for range 3 * Size / 100 {
		_, _ = w.Write(make([]byte, 100))
	}
	if w.Err() == nil || w.Flush() == nil {
		t.Error("nothing was noticed")
	}
	_, err := w.WriteString("more")
	if err == nil {
		t.Error("the error is gone")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no") }

// TestPatient checks that a reader of a silent source can be called off.
func TestPatient(t *testing.T) {
	silent, _ := io.Pipe()
	defer silent.Close()
	for name, src := range map[string]io.Reader{"plain": silent, "shared": NewShared(silent)} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := NewReader(WithContext(ctx, src)).Chunk(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// TestShared checks that what a reader gave up waiting for goes to the next.
func TestShared(t *testing.T) {
	r, w := io.Pipe()
	s := NewShared(r)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	b := make([]byte, 2)
	if _, err := WithContext(ctx, s).Read(b); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go func() { _, _ = w.Write([]byte("typed")); w.Close() }()
	var got []byte
	for {
		n, err := WithContext(t.Context(), s).Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			break
		}
	}
	if string(got) != "typed" {
		t.Errorf("%q", got)
	}
}

// TestPipeLingers checks that a slow writer is not kept going by the room of a pipe.
func TestPipeLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := Pipe(t.Context())
		_ = r.Close()
		time.Sleep(lingerTime + time.Millisecond)
		if _, err := w.Write([]byte("x")); !errors.Is(err, ErrPipe) {
			t.Errorf("long after the reader left: %v", err)
		}
	})
}
