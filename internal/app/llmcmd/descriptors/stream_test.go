package descriptors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hako/internal/redact"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell/vfs"
)

// runner is a script written in Go.
type runner func(ctx context.Context, req *run.Request) (run.Result, error)

func (r runner) Run(ctx context.Context, req *run.Request) (run.Result, error) { return r(ctx, req) }

func worker(r runner) func(context.Context) (Worker, error) {
	return func(context.Context) (Worker, error) { return Worker{Runner: r}, nil }
}

// body takes the line off that says how much was read.
func body(t testing.TB, answer string) string {
	t.Helper()
	head, text, _ := strings.Cut(answer, "]\n")
	if !strings.HasPrefix(head, "[fd ") {
		t.Fatalf("no head: %q", answer)
	}
	return text
}

// readAll reads a descriptor to its end with the given argument.
func (b *box) readAll(fd int, how string) string {
	b.t.Helper()
	var all strings.Builder
	for {
		answer := b.call("read", `{"fd":%d%s}`, fd, how)
		if strings.Contains(answer, "end of file, nothing") {
			return all.String()
		}
		all.WriteString(body(b.t, answer))
	}
}

// TestReadByPieces reads text of all kinds in pieces of all sizes: nothing is
// lost and no character is split.
func TestReadByPieces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "é", "日", "😀", "\n", "\xff", "\xe6\x97", "\xf0\x9f", "words and words ", "\r\n"}
	rounds := 60
	if testing.Short() {
		rounds = 6 // one goroutine reads, the same way each time
	}
	for range rounds {
		var text strings.Builder
		for range rnd.IntN(3000) {
			text.WriteString(alphabet[rnd.IntN(len(alphabet))])
		}
		want := string([]rune(text.String()))
		for _, how := range []string{"", `,"count":1`, `,"count":7`, `,"count":4096`, `,"lines":1`, `,"lines":1000`} {
			if len(want) > 2000 && strings.Contains(how, ":1") && how != `,"lines":1000` {
				continue
			}
			b := newBox(t, Options{Inputs: []Input{input("x", text.String())}})
			if got := b.readAll(3, how); got != want {
				t.Fatalf("%s: %q, want %q", how, got, want)
			}
		}
	}
}

// TestReadBounds checks how much a read returns at most.
func TestReadBounds(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	b := newBox(t, Options{Inputs: []Input{input("a", long), input("b", strings.Repeat("y\n", 5000)), input("c", long)}})
	if got := body(t, b.call("read", `{"fd":3}`)); len(got) != 4096 {
		t.Error(len(got))
	}
	if got := body(t, b.call("read", `{"fd":4,"lines":1000}`)); strings.Count(got, "\n") != 1000 {
		t.Error(strings.Count(got, "\n"))
	}
	if got := body(t, b.call("read", `{"fd":5,"lines":1}`)); len(got) != maxPage {
		t.Error(len(got))
	}
	if got := b.readAll(5, `,"lines":3`); len(got) != len(long)-maxPage {
		t.Error(len(got))
	}
}

// TestSecrets checks that no way of reading shows a secret, and that a script
// gets the data as they are.
func TestSecrets(t *testing.T) {
	var set redact.Set
	set.Add("hunter2-is-my-value")
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n", 60) +
		"-----END PRIVATE KEY-----\n"
	token := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	text := strings.Repeat("plain line\n", 500) + "the value hunter2-is-my-value here\n" + key + strings.Repeat("more\n",
		900) + "x " + token + " y\n" + strings.Repeat("z", 5000) + " " + token
	ways := []string{"", `,"count":100`, `,"lines":7`}
	if !testing.Short() { // one goroutine reads, only more often
		ways = append(ways, `,"count":1`, `,"count":13`, `,"lines":1`)
	}
	for _, how := range ways {
		b := newBox(t, Options{Inputs: []Input{input("a", text)}, Secrets: &set})
		got := b.readAll(3, how)
		for _, secret := range []string{"hunter2-is", "MIIEvQ", "aB3dE6gH9aB"} {
			if strings.Contains(got, secret) {
				t.Errorf("%q shows %s", how, secret)
			}
		}
		if !strings.HasPrefix(got, "plain line\n") || !strings.Contains(got, "more\nx "+redact.Mark+" y\nzz") ||
			strings.Count(got, redact.Mark) != 4 {
			t.Errorf("%q: too little is left: %d bytes, %d marks", how, len(got), strings.Count(got, redact.Mark))
		}
	}
	b := newBox(t, Options{Inputs: []Input{input("a", text)}, Secrets: &set})
	first := body(t, b.call("read", `{"fd":3,"count":10}`))
	b.call("spawn", `{"script":"cat","stdin_fd":3,"stdout_fd":1}`)
	b.call("exit", `{"code":0}`)
	if first+b.out.String() != text {
		t.Error("the script got something else")
	}
}

// TestReadWaits checks that a read waits for a script that works, and for a
// reader that is slow, but not beyond its context, and loses nothing then.
func TestReadWaits(t *testing.T) {
	r, w := io.Pipe()
	b := newBox(t, Options{Stdin: Input{Reader: r, Size: -1}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.calls["read"](ctx, `{"fd":0}`); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
	go func() { _, _ = w.Write([]byte("late")); w.Close() }()
	if got := b.readAll(0, ""); got != "late" {
		t.Errorf("%q", got)
	}
	b.call("spawn", `{"script":"sleep 0.4; echo awake"}`)
	if got := b.call("read", `{"fd":11}`); got != "[fd 11: 6 bytes, end of file; script 1 exited with status 0]\nawake\n" {
		t.Errorf("%q", got)
	}
	b.call("spawn", `{"script":"echo one; sleep 1.5; echo two"}`)
	if got := b.call("read", `{"fd":14}`); got != "[fd 14: 4 bytes so far, more may follow]\none\n" {
		t.Errorf("%q", got)
	}
	if got := b.readAll(14, ""); got != "two\n" {
		t.Errorf("%q", got)
	}
}

// TestCloseDuringRead closes what another call waits for.
func TestCloseDuringRead(t *testing.T) {
	b := newBox(t, Options{})
	b.call("spawn", `{"script":"sleep 2; echo x"}`)
	time.AfterFunc(50*time.Millisecond, func() { b.call("close", `{"fd":11}`) })
	b.fails("closed", "read", `{"fd":11}`)
	b.fails("already closed", "read", `{"fd":11}`)
}

// TestPipesAreBounded checks that a script that writes without end is held up,
// and let go when its reader does.
func TestPipesAreBounded(t *testing.T) {
	var wrote atomic.Int64
	ended := make(chan error, 1)
	b := newBox(t, Options{Spawn: worker(func(ctx context.Context, req *run.Request) (run.Result, error) {
		for {
			n, err := req.Stdout.Write(bytes.Repeat([]byte("x"), 10000))
			if wrote.Add(int64(n)); err != nil {
				ended <- err
				return run.Result{}, err
			}
		}
	})})
	b.call("spawn", `{"script":"x"}`)
	time.Sleep(50 * time.Millisecond)
	if n := wrote.Load(); n > pipeCapacity || n < pipeCapacity-10000 {
		t.Errorf("%d bytes were written", n)
	}
	if got := b.call("help", `{"keys":["status"]}`); !strings.Contains(got,
		"script 1 is running: script 1 waits for somebody to read fd 11") {
		t.Error(got)
	}
	b.call("read", `{"fd":11}`)
	if got := b.call("close", `{"fd":11}`); !strings.HasSuffix(got, "script 1 exited with status 141") {
		t.Error(got)
	}
	if err := <-ended; err == nil || err.Error() != "broken pipe" {
		t.Error(err)
	}
}

// TestStanding checks that a call which can only wait for the model says so.
func TestStanding(t *testing.T) {
	b := newBox(t, Options{})
	b.call("spawn", `{"script":"cat"}`)
	big := strings.Repeat("0123456789abcde\n", 4096)
	b.call("write", `{"fd":10,"data":%q}`, big)
	var err error
	written := 1
	for ; err == nil && written < 20; written++ {
		_, err = b.try("write", `{"fd":10,"data":%q}`, big)
	}
	if fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "nothing was written: script 1 waits for somebody to read fd 11") {
		t.Fatal(written, err)
	}
	written--
	var got strings.Builder
	for got.Len() < written*len(big) {
		got.WriteString(body(t, b.call("read", `{"fd":11,"lines":1000}`)))
	}
	if got.String() != strings.Repeat(big, written) {
		t.Error("what was refused was written in part")
	}
	if _, err := b.try("read", `{"fd":11}`); fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Error(err)
	}

	b.call("spawn", `{"script":"yes | head -n 100000 >&2; echo done"}`)
	b.fails("script 2 waits for somebody to read fd 15", "read", `{"fd":14}`)
	b.call("close", `{"fd":15}`)
	if got := b.readAll(14, ""); got != "done\n" {
		t.Errorf("%q", got)
	}
}

// TestScriptsWaitForEachOther connects two scripts in a circle.
func TestScriptsWaitForEachOther(t *testing.T) {
	b := newBox(t, Options{Limits: Limits{Finish: 50 * time.Millisecond}})
	b.call("spawn", `{"script":"cat"}`)
	b.call("spawn", `{"script":"cat","stdin_fd":11,"stdout_fd":10}`)
	b.fails("wait for each other", "read", `{"fd":12}`)
	if got := b.call("exit", `{"code":1}`); got != "exited with status 1" {
		t.Error(got)
	}
}

// TestBrokenPipe writes to a script that has ended.
func TestBrokenPipe(t *testing.T) {
	b := newBox(t, Options{})
	b.call("spawn", `{"script":"head -n 1; exit 3"}`)
	b.call("write", `{"fd":10,"data":"one\ntwo\n"}`)
	if got := b.readAll(11, ""); got != "one\n" {
		t.Errorf("%q", got)
	}
	b.fails("broken pipe, nothing was written: script 1 exited with status 3", "write", `{"fd":10,"data":"three\n"}`)
	if got := b.call("close", `{"fd":10}`); got != "closed fd 10; script 1 exited with status 3" {
		t.Error(got)
	}
	b.fails("already closed", "write", `{"fd":10,"eof":true}`)
}

// TestDeafScript writes to a script that runs but does not read.
func TestDeafScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, Options{Spawn: worker(func(ctx context.Context, req *run.Request) (run.Result, error) {
			<-ctx.Done()
			return run.Result{}, ctx.Err()
		})})
		b.call("spawn", `{"script":"x"}`)
		b.call("write", `{"fd":10,"data":%q}`, strings.Repeat("x", pipeCapacity))
		b.fails("nothing was written: script 1 has not read", "write", `{"fd":10,"data":"x"}`)
		if got := b.call("close", `{"fd":10}`); got != "closed fd 10; script 1 is running" {
			t.Error(got)
		}
	})
}

// TestRefusal checks what the model hears of a script that did not run.
func TestRefusal(t *testing.T) {
	refused := &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "curl x", Why: "no rule allows it",
		Hint: "do without"}
	b := newBox(t, Options{Spawn: worker(func(context.Context, *run.Request) (run.Result, error) {
		return run.Result{},
			refused
	})})
	b.call("spawn", `{"script":"curl x"}`)
	if got := b.readAll(12, ""); got != "error: denied curl x: no rule allows it\nhint: do without\n" {
		t.Errorf("%q", got)
	}
	if got := b.call("close",
		`{"fd":10}`); got != "closed fd 10; script 1 ended with status 126: denied curl x: no rule allows it; do without" {
		t.Error(got)
	}
}

// TestBudgetSpent checks that a budget which a script found spent ends the work.
func TestBudgetSpent(t *testing.T) {
	spent := &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: "used 11 of 10 scripts", Hint: "raise quota.scripts"}
	b := newBox(t, Options{Spawn: worker(func(context.Context, *run.Request) (run.Result, error) {
		return run.Result{}, fmt.Errorf("wrapped: %w", spent)
	})})
	b.call("spawn", `{"script":"x"}`)
	b.try("close", `{"fd":10}`) // which may hear of it already
	if _, err := b.try("read", `{"fd":11}`); err != error(spent) {
		t.Error(err)
	}
	b.call("exit", `{"code":1}`)
}

// TestInUse spawns with a descriptor that a call is reading.
func TestInUse(t *testing.T) {
	r, w := io.Pipe()
	b := newBox(t, Options{Stdin: Input{Reader: r, Size: -1}})
	var wg sync.WaitGroup
	wg.Go(func() { b.call("read", `{"fd":0}`) })
	time.Sleep(20 * time.Millisecond)
	b.fails("spawn stdin_fd 0: another call is using it", "spawn", `{"script":"cat","stdin_fd":0}`)
	w.Close()
	wg.Wait()
	b.fails("spawn stdout_fd 0: it is open for reading only", "spawn", `{"script":"cat","stdin_fd":0,"stdout_fd":0}`)
	b.call("spawn", `{"script":"cat","stdin_fd":0}`)
}

// TestSpawnFails checks that a script that could not be started takes nothing.
func TestSpawnFails(t *testing.T) {
	b := newBox(t, Options{Inputs: []Input{input("a", "text")},
		Spawn: func(context.Context) (Worker, error) { return Worker{}, errors.New("no room") }})
	b.fails("spawn: no room", "spawn", `{"script":"cat","stdin_fd":3,"stdout_fd":1}`)
	if got := b.readAll(3, ""); got != "text" {
		t.Errorf("%q", got)
	}
	closed := 0
	b = newBox(t, Options{Spawn: func(context.Context) (Worker, error) { return Worker{Close: func() { closed++ }}, nil }})
	b.fails("invalid file descriptor", "spawn", `{"script":"cat","stdin_fd":77}`)
	if closed != 1 {
		t.Error("the worker was kept")
	}
}

// TestLimits goes over each of them.
func TestLimits(t *testing.T) {
	b := newBox(t, Options{Limits: Limits{MaxRunning: 2, MaxOpen: 12}})
	b.fails("the script has 8193 bytes, the limit is 8192", "spawn", `{"script":%q}`, strings.Repeat("x", 8193))
	b.call("spawn", `{"script":%q}`, "cat #"+strings.Repeat("x", 8187))
	b.call("spawn", `{"script":"cat"}`)
	if _, err := b.try("spawn", `{"script":"cat"}`); fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "2 scripts are running") {
		t.Error(err)
	}
	b.call("close", `{"fd":10}`)
	b.call("spawn", `{"script":"cat"}`)
	if _, err := b.try("spawn", `{"script":"cat"}`); fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "too many descriptors") {
		t.Error(err)
	}
	b.fails("at most 1 MB", "write", `{"fd":1,"data":%q}`, strings.Repeat("x", maxWrite+1))
}

// TestNested checks the limit of nested calls: it holds for what the model reads
// and writes itself, and not for what passes between scripts.
func TestNested(t *testing.T) {
	o := func() Options {
		return Options{Stdin: input("stdin", strings.Repeat("x\n", 600)), Limits: Limits{NestedBytes: 1000}}
	}
	b := newBox(t, o())
	b.call("read", `{"fd":0,"count":900}`)
	b.fails("more than 1000 bytes in all, the limit in nested calls", "read", `{"fd":0,"count":200}`)
	b.call("spawn", `{"script":"cat | wc -c","stdin_fd":0,"stdout_fd":1}`)
	b.call("exit", `{"code":0}`)
	if b.Err() != nil || b.out.String() != "300\n" {
		t.Errorf("what was refused is lost: %q, %v", b.out.String(), b.Err())
	}
	b = newBox(t, o())
	b.call("spawn", `{"script":"cat; cat nothing","stdin_fd":0,"stdout_fd":1}`)
	b.call("exit", `{"code":0}`)
	if n := len(b.out.String()); n != 1200 {
		t.Errorf("%d bytes passed", n)
	}
	b = newBox(t, o())
	b.call("write", `{"fd":1,"data":%q}`, strings.Repeat("x", 1000))
	b.fails("more than 1000 bytes", "write", `{"fd":1,"data":"x"}`)
	if b.Err() == nil || b.out.String() != strings.Repeat("x", 1000) {
		t.Error(b.Err())
	}
}

// TestClock checks that a script is not charged for waiting, and that it does
// not wait for ever.
func TestClock(t *testing.T) {
	tree := vfs.New(vfs.Options{})
	limits := quota.Lenient()
	limits.Time = 150 * time.Millisecond
	spawn := func(context.Context) (Worker, error) {
		gauge := quota.NewLimiter(limits)
		w, err := shells(tree)(context.Background())
		w.Runner, w.Pause = sessionWith(tree, gauge), gauge.Pause
		return w, err
	}
	b := newBox(t, Options{Files: tree, Spawn: spawn})
	b.call("spawn", `{"script":"cat | tr a b; yes | head -n 50000; echo; echo end"}`)
	time.Sleep(400 * time.Millisecond)
	b.call("write", `{"fd":10,"data":"a","eof":true}`)
	time.Sleep(400 * time.Millisecond)
	if got := b.readAll(11, `,"lines":1000`); !strings.HasPrefix(got, "by\n") || !strings.HasSuffix(got, "end\n") {
		t.Errorf("%d bytes", len(got))
	}
	b = newBox(t, Options{Files: tree, Spawn: spawn})
	b.call("spawn", `{"script":"sleep 2"}`)
	if got := b.call("close", `{"fd":10}`); !strings.Contains(got, "status 124") {
		t.Error(got)
	}
	b = newBox(t, Options{Limits: Limits{Wait: 50 * time.Millisecond}})
	b.call("spawn", `{"script":"cat"}`)
	if got := b.readAll(11, ""); got != "" {
		t.Error(got)
	}
	if got := b.call("close", `{"fd":10}`); !strings.Contains(got, "script 1 ended with status 124") ||
		!strings.Contains(got, "nobody fed it or read from it for 50ms") {
		t.Error(got)
	}
}

// TestStream sends much through a script and looks at the memory.
func TestStream(t *testing.T) {
	const text = "x in a line of text\n"
	const length = len(text)
	size := 64 << 20
	if testing.Short() {
		size = 8 << 20 // as many goroutines, for a shorter time
	}
	line := []byte(strings.Repeat(text, 1000))
	peak := &peak{}
	src := io.LimitReader(&endless{line: line, peak: peak}, int64(size))
	b := newBox(t, Options{Stdin: Input{Reader: src, Size: -1}})
	head := body(t, b.call("read", `{"fd":0,"lines":2}`))
	b.call("spawn", `{"script":"cat","stdin_fd":0}`)
	b.call("spawn", `{"script":"tr x X","stdin_fd":10}`)
	b.call("spawn", `{"script":"grep -c X","stdin_fd":12,"stdout_fd":1}`)
	b.call("exit", `{"code":0}`)
	want := fmt.Sprintln((size+length-1)/length - strings.Count(head, "\n")) // the last line is cut
	if got := b.out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if peak.most > 32<<20 {
		t.Errorf("%d MB were held", peak.most>>20)
	}
}

// peak notes how large the heap was.
type peak struct {
	base, most uint64
	n          int
}

func (p *peak) note() {
	if p.n++; p.n%200 != 0 {
		return
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if p.base == 0 {
		p.base = m.HeapAlloc
	}
	p.most = max(p.most, m.HeapAlloc-min(m.HeapAlloc, p.base))
}

// endless repeats a text.
type endless struct {
	line []byte
	at   int
	peak *peak
}

func (e *endless) Read(b []byte) (n int, _ error) {
	for n < len(b) {
		m := copy(b[n:], e.line[e.at:])
		e.at = (e.at + m) % len(e.line)
		n += m
	}
	if e.peak != nil {
		e.peak.note()
	}
	return n, nil
}

// TestNotText checks that a model is not shown bytes that are no text; a script is.
func TestNotText(t *testing.T) {
	b := newBox(t, Options{Inputs: []Input{input("a", "x\x00y")}})
	b.fails("what comes from it is not text", "read", `{"fd":3}`)
	b.call("spawn", `{"script":"wc -c","stdin_fd":3,"stdout_fd":1}`)
	b.call("exit", `{"code":0}`)
	if got := b.out.String(); got != "3\n" {
		t.Errorf("%q", got)
	}
}
