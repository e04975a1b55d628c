package stream

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// picky takes so many bytes and then none.
type picky struct {
	room int
	got  strings.Builder
}

var errFull = errors.New("full")

func (p *picky) Write(b []byte) (int, error) {
	n := min(len(b), p.room)
	p.room -= n
	p.got.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

// TestFeedTakesNoMoreThanWasTaken is what `while read l; do PROG; done` relies on.
func TestFeedTakesNoMoreThanWasTaken(t *testing.T) {
	r := NewReader(strings.NewReader("one\ntwo\nthree\n"))
	if n, err := r.Feed(&picky{room: 100}); n != 0 || err != nil {
		t.Errorf("nothing is buffered, and %d bytes were fed, %v", n, err)
	}
	if err := r.Await(); err != nil {
		t.Fatal(err)
	}
	w := &picky{room: 5}
	if n, err := r.Feed(w); n != 5 || !errors.Is(err, errFull) || w.got.String() != "one\nt" {
		t.Errorf("fed %d bytes %q, %v", n, w.got.String(), err)
	}
	r.Push([]byte("e\nt"))
	for _, want := range []string{"e\n", "two\n", "three\n"} {
		if got, err := r.Line(); string(got) != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if err := r.Await(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	r.Push([]byte("back"))
	if err := r.Await(); err != nil {
		t.Errorf("bytes came back, and there are none: %v", err)
	}
	if got, err := io.ReadAll(r); string(got) != "back" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPushDoesNotKeep checks that a buffer can be reused after Push.
func TestPushDoesNotKeep(t *testing.T) {
	r := NewBytes(nil)
	b := []byte("abc")
	r.Push(b)
	copy(b, "xyz")
	if got, _ := io.ReadAll(r); string(got) != "abc" {
		t.Errorf("%q", got)
	}
}

// TestPendingAwait leaves an Await behind, as a process does that ended before
// its input came, and goes on reading.
func TestPendingAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, typed := io.Pipe()
		r := NewReader(WithContext(t.Context(), src))
		waited := make(chan error, 1)
		go func() { waited <- r.Await() }()
		synctest.Wait()

		r.Push([]byte("b\nc\n")) // the process did not want these
		if got, err := r.Line(); string(got) != "b\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		w := &picky{room: 100}
		if _, err := r.Feed(w); err != nil || w.got.String() != "c\n" {
			t.Errorf("the next process got %q, %v", w.got.String(), err)
		}
		if r.Empty() {
			t.Error("somebody is waiting for more, and there is none?")
		}

		lines := make(chan string, 1)
		go func() { b, _ := r.Line(); lines <- string(b) }()
		synctest.Wait()
		if len(lines) != 0 || len(waited) != 0 {
			t.Error("something came from nowhere")
		}
		_, _ = typed.Write([]byte("d\n"))
		if got := <-lines; got != "d\n" {
			t.Errorf("%q", got)
		}
		typed.Close()
		<-waited // it may have seen the bytes or the end
		if _, err := r.Line(); err != io.EOF {
			t.Error(err)
		}
	})
}

// TestReleaseWaitsForNobody closes a descriptor while somebody waits for it.
func TestReleaseWaitsForNobody(t *testing.T) {
	for name, ended := range map[string]bool{"before the context": false, "after it": true} {
		synctest.Test(t, func(t *testing.T) {
			src, typed := io.Pipe()
			defer typed.Close()
			ctx, cancel := context.WithCancel(t.Context())
			r := NewReader(WithContext(ctx, src))
			waited := make(chan error, 1)
			go func() { waited <- r.Await() }()
			synctest.Wait()
			if ended {
				cancel()
			}
			r.Release()
			cancel()
			if err := <-waited; err == nil {
				t.Errorf("%s: it was released and has bytes", name)
			}
			if _, err := r.Line(); err != io.EOF {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestPipeClosedUnderAwait checks that nobody waits for a pipe that is closed.
func TestPipeClosedUnderAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end, w := Pipe(t.Context())
		r := NewReader(end)
		waited := make(chan error, 1)
		go func() { waited <- r.Await() }()
		synctest.Wait()
		r.Release()
		_ = end.Close()
		if err := <-waited; err != io.EOF {
			t.Error(err)
		}
		if _, err := w.Write(make([]byte, bufferSize+1)); !errors.Is(err, ErrPipe) {
			t.Error(err)
		}
	})
}

// TestFeedIsNotOvertaken reads while a slow writer still has what comes first.
func TestFeedIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReader(strings.NewReader("first second"))
		_ = r.Await()
		slow := &slowly{took: make(chan int)}
		go func() { _, _ = r.Feed(slow) }()
		synctest.Wait()
		pushed := make(chan bool)
		go func() { r.Push([]byte("zeroth ")); close(pushed) }()
		synctest.Wait()
		read := make(chan string)
		go func() { <-pushed; b, _ := io.ReadAll(r); read <- string(b) }()
		synctest.Wait()
		slow.took <- len("first ")
		if got := <-read; got != "zeroth second" {
			t.Errorf("%q", got)
		}
	})
}

type slowly struct{ took chan int }

func (s *slowly) Write([]byte) (int, error) { return <-s.took, nil }

func TestEmpty(t *testing.T) {
	read := NewReader(strings.NewReader("x"))
	_, _ = io.ReadAll(read)
	unread := NewBytes(nil)
	unread.Push([]byte("x"))
	silent, _ := Pipe(t.Context())
	for name, c := range map[string]struct {
		r    *Reader
		want bool
	}{
		"nil": {NewReader(nil), true}, "no bytes": {NewBytes(nil), true}, "bytes": {NewBytes([]byte("x")), false},
		"read to the end": {read, true},
		"empty text":      {NewReader(strings.NewReader("")), true}, "text": {NewReader(strings.NewReader("x")), false},
		"pushed": {unread, false}, "silent": {NewReader(silent), false},
	} {
		if got := c.r.Empty(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestShare checks that slices of a shared reader stay as they were.
func TestShare(t *testing.T) {
	r, w := Pipe(t.Context())
	go func() {
		for i := range 500 {
			_, _ = w.Write([]byte(strings.Repeat(string(rune('a'+i%26)), 300) + "\n"))
		}
		_ = w.Close()
	}()
	for name, src := range map[string]io.Reader{"pipe": r,
		"plain": io.MultiReader(strings.NewReader(strings.Repeat(strings.Repeat("x", 300)+"\n", 500)))} {
		reader := NewReader(src)
		reader.OnWait(func() { t.Error("it was called") })
		reader.Share()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var lines [][]byte
		for range 4 {
			wg.Go(func() {
				for {
					b, err := reader.Line()
					if err != nil {
						return
					}
					mu.Lock()
					lines = append(lines, b)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		total := 0
		for _, line := range lines {
			total += len(line)
			if strings.Count(string(line), string(line[0])) < len(line)-1 && name == "pipe" && len(line) == 301 {
				t.Errorf("%s: a line was overwritten: %q", name, line)
			}
		}
		if total != 500*301 {
			t.Errorf("%s: %d bytes", name, total)
		}
	}
}

func TestOnWait(t *testing.T) {
	r := NewReader(strings.NewReader("a\nb\n"))
	calls := 0
	undo := r.OnWait(func() { calls++ })
	quiet := r.OnWait(nil)
	if _, _ = r.Line(); calls != 0 {
		t.Errorf("called %d times by nobody", calls)
	}
	quiet()
	if _, _ = r.Line(); calls != 0 {
		t.Errorf("called %d times, with a line at hand", calls)
	}
	if _, _ = r.Line(); calls != 1 {
		t.Errorf("called %d times before the end was seen", calls)
	}
	undo()
	r.Push([]byte("c"))
	if _, _ = io.ReadAll(r); calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	end, _ := Pipe(ctx)
	r := NewReader(end)
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Await() }()
	time.AfterFunc(time.Millisecond, cancel)
	<-done
	r.Release()
	goleak.VerifyNone(t)
}
