package progress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A screen is a terminal of one line and what scrolled away.
type screen struct {
	mu     sync.Mutex
	gone   []string
	line   []rune
	col    int
	writes int
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	text := strings.NewReplacer("\x1b[K", "\x00", "\x1b[36m", "", "\x1b[2m", "", "\x1b[0m", "").Replace(string(p))
	for _, r := range text {
		switch r {
		case '\r':
			s.col = 0
		case '\x00':
			s.line = s.line[:min(s.col, len(s.line))]
		case '\n':
			s.gone, s.line, s.col = append(s.gone, string(s.line)), nil, 0
		default:
			s.line = append(s.line[:min(s.col, len(s.line))], append([]rune{r}, s.line[min(s.col+1, len(s.line)):]...)...)
			s.col++
		}
	}
	return len(p), nil
}

// see returns the current line without the mark, after everything has settled.
func (s *screen) see() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimLeft(string(s.line), frames+" ")
}

// count returns how often something was written.
func (s *screen) count() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// mark returns the turning mark.
func (s *screen) mark() rune {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line[0]
}

func expect(t *testing.T, s *screen, want string) {
	t.Helper()
	if got := s.see(); got != want {
		t.Errorf("after %v: got %q, want %q", time.Now().Format("05.0"), got, want)
	}
}

func TestAppearsAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Start("thinking")
		time.Sleep(999 * time.Millisecond)
		if expect(t, out, ""); out.count() != 0 {
			t.Error("something was written within the second")
		}
		time.Sleep(time.Millisecond)
		expect(t, out, "thinking 1s")
		time.Sleep(2 * time.Second)
		expect(t, out, "thinking 3s")
		s.Label("running ls")
		expect(t, out, "running ls 3s")
		time.Sleep(time.Minute)
		expect(t, out, "running ls 1m03s")
		s.Stop()
		expect(t, out, "")
		s.Stop()
		if out.gone != nil {
			t.Errorf("left behind: %q", out.gone)
		}
	})
}

func TestShortIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Start("quick")
		time.Sleep(900 * time.Millisecond)
		s.Stop()
		time.Sleep(5 * time.Second)
		if n := out.count(); n != 0 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := New(&out, false)
		s.Start("a")
		time.Sleep(5 * time.Second)
		s.Label("b")
		s.Pause()
		s.Resume()
		io.WriteString(s.Writer(), "text")
		s.Start("c")
		s.Stop()
		if out.String() != "text" {
			t.Errorf("got %q", out.String())
		}
	})
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Delay = 300 * time.Millisecond
		s.Start("a")
		time.Sleep(300 * time.Millisecond)
		expect(t, out, "a 0s")
		s.Stop()
	})
}

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Start("a")
		seen := map[rune]bool{}
		time.Sleep(time.Second)
		for range 10 {
			time.Sleep(tick)
			seen[out.mark()] = true
		}
		if s.Stop(); len(seen) != 10 {
			t.Errorf("%d marks seen", len(seen))
		}
	})
}

func TestOthersPrint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Start("work")
		time.Sleep(2 * time.Second)
		fmt.Fprintln(s.Writer(), "a message")
		expect(t, out, "work 2s")
		fmt.Fprint(s.Wrap(out), "half a")
		expect(t, out, "half a")
		time.Sleep(time.Second)
		expect(t, out, "half a")
		s.Label("other")
		expect(t, out, "half a")
		fmt.Fprint(s.Writer(), " line\n")
		expect(t, out, "other 3s")
		s.Stop()
		if got := fmt.Sprint(out.gone); got != "[a message half a line]" {
			t.Errorf("printed %v", got)
		}
		fmt.Fprintln(s.Writer(), "after")
		expect(t, out, "")
	})
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Start("work")
		time.Sleep(2 * time.Second)
		s.Pause()
		s.Pause()
		expect(t, out, "")
		time.Sleep(time.Second)
		s.Resume()
		expect(t, out, "")
		s.Resume()
		expect(t, out, "work 3s")
		s.Resume()
		s.Pause()
		expect(t, out, "")
		s.Stop()
		s.Start("again")
		time.Sleep(2 * time.Second)
		expect(t, out, "")
		s.Resume()
		expect(t, out, "again 2s")
		s.Stop()
	})
}

func TestStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{}
		s := New(out, true)
		s.Start("one")
		time.Sleep(3 * time.Second)
		s.Start("two")
		expect(t, out, "two 0s")
		s.Stop()
		s.Start("three")
		time.Sleep(500 * time.Millisecond)
		expect(t, out, "")
		time.Sleep(time.Second)
		expect(t, out, "three 1s")
		s.Stop()
		expect(t, out, "")
	})
}

func TestManyAtOnce(t *testing.T) {
	s := New(io.Discard, true)
	s.Delay = time.Microsecond
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				s.Start("x")
				s.Label(fmt.Sprint(i))
				fmt.Fprintln(s.Writer(), "text")
				s.Pause()
				s.Resume()
				s.Stop()
			}
		})
	}
	all.Wait()
	s.Stop()
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestWriteErrors(t *testing.T) {
	if _, err := New(io.Discard, true).Wrap(broken{}).Write([]byte("a")); err == nil {
		t.Error("the error is hidden")
	}
}

func TestColor(t *testing.T) {
	var out bytes.Buffer
	s := New(&out, true)
	s.delayOver, s.began = true, time.Now()
	s.Label("a")
	if got := out.String(); got != "\r⠋ a 0s\x1b[K" {
		t.Errorf("got %q", got)
	}
	s.Color = true
	out.Reset()
	s.Label("a")
	if got := out.String(); got != "\r\x1b[36m⠋\x1b[0m a \x1b[2m0s\x1b[0m\x1b[K" {
		t.Errorf("got %q", got)
	}
}

func TestLine(t *testing.T) {
	tests := []struct {
		label string
		width int
		want  string
	}{
		{"", 80, "⠋ 0s"},
		{"short", 80, "⠋ short 0s"},
		{"twelve chars", 18, "⠋ twelve chars 0s"},
		{"twelve chars", 17, "⠋ twelve cha… 0s"},
		{"日本語の文", 16, "⠋ 日本語の文 0s"},
		{"日本語の文", 15, "⠋ 日本語の… 0s"},
		{"日本語の文", 14, "⠋ 日本語… 0s"},
		{"e\u0301e\u0301e\u0301", 9, "⠋ e\u0301e\u0301e\u0301 0s"},
		{"anything", 6, "⠋ 0s"},
		{"anything", 0, "⠋ 0s"},
		{"two\nlines\t\r x", 80, "⠋ two lines x 0s"},
		{"\x1b[31mred\u009b\u202e\x7f", 80, "⠋ ␛[31mred�␡ 0s"},
		{"\xff", 80, "⠋ � 0s"},
	}
	for _, tt := range tests {
		s := New(io.Discard, true)
		s.label, s.began, s.Width = tt.label, time.Now(), func() int { return tt.width }
		if got := s.line(); got != tt.want {
			t.Errorf("%q in %d: got %q, want %q", tt.label, tt.width, got, tt.want)
		}
	}
}
