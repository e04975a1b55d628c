package descriptors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run"
	"hako/run/fault"
)

// numbers reads the answer of spawn.
func numbers(t testing.TB, answer string) (s spawned) {
	t.Helper()
	if err := json.Unmarshal([]byte(answer), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyInARow spawns two hundred scripts one after the other, most of which
// are left as they are: half read, never fed, never closed.
func TestManyInARow(t *testing.T) {
	b := newBox(t, Options{Limits: Limits{MaxRunning: 300}})
	before, goroutines := uint64(0), runtime.NumGoroutine()
	for i := range 200 {
		if i == 20 {
			before = heap()
		}
		s := numbers(t, b.call("spawn", `{"script":"head -n 2 | tr a b"}`))
		b.call("write", `{"fd":%d,"data":"a%d\na\na\n"}`, s.StdinFD, i)
		if got, want := b.readAll(s.StdoutFD, ""), fmt.Sprintf("b%d\nb\n", i); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if i%3 == 0 {
			b.call("close", `{"fd":%d}`, s.StdinFD)
		}
	}
	if grown := int64(heap() - before); grown > 2<<20 {
		t.Errorf("%d KB more are held", grown>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

// TestManyAtOnce drives twenty scripts from as many goroutines.
func TestManyAtOnce(t *testing.T) {
	b := newBox(t, Options{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := numbers(t, b.call("spawn", `{"script":"sort -n | tail -n 3"}`))
			for j := range 50 {
				b.call("write", `{"fd":%d,"data":%q}`, s.StdinFD, fmt.Sprintln(1000*i+j))
			}
			b.call("write", `{"fd":%d,"eof":true}`, s.StdinFD)
			want := fmt.Sprintf("%d\n%d\n%d\n", 1000*i+47, 1000*i+48, 1000*i+49)
			if got := b.readAll(s.StdoutFD, ""); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			b.call("close", `{"fd":%d}`, s.StdoutFD)
			b.call("close", `{"fd":%d}`, s.StderrFD)
		})
	}
	wg.Wait()
	if got := b.Map(); got != "fd=0: stdin (empty)\nfd=1: stdout\nfd=2: stderr\n" {
		t.Error(got)
	}
	if s := b.Stats(); s.Calls["spawn"] != 20 || s.Calls["write"] != 1020 || s.Errors != 0 || s.Written == 0 ||
		s.Read == 0 {
		t.Errorf("%+v", s)
	}
}

// TestSharedUse has many calls at the same descriptors at once.
func TestSharedUse(t *testing.T) {
	text := strings.Repeat("0123456789\n", 3000)
	b := newBox(t, Options{Inputs: []Input{input("a", text)}})
	b.call("spawn", `{"script":"wc -c"}`)
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for range 8 {
		wg.Go(func() {
			for {
				answer := b.call("read", `{"fd":3,"count":100}`)
				if strings.Contains(answer, "nothing more") {
					return
				}
				piece := body(t, answer)
				b.call("write", `{"fd":10,"data":%q}`, piece)
				mu.Lock()
				total += len(piece)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.call("write", `{"fd":10,"eof":true}`)
	if got := b.readAll(11, ""); got != fmt.Sprintln(len(text)) || total != len(text) {
		t.Errorf("%q, %d of %d", got, total, len(text))
	}
}

// TestCloseEndsEverything closes desks whose scripts are in all kinds of states.
func TestCloseEndsEverything(t *testing.T) {
	scripts := []string{"cat", "yes", "sleep 100", "yes >&2", "while :; do :; done", "cat | cat | cat", "yes | cat",
		"read x; echo $x", "exit 3", "nope", "(", "sleep 100 | sleep 100"}
	for i := range 60 {
		b := newBox(t, Options{Stdin: input("stdin", strings.Repeat("x\n", 1e5))})
		for j := range 8 {
			s := numbers(t, b.call("spawn", `{"script":%q}`, scripts[(i+j)%len(scripts)]))
			if j == 3 {
				b.call("spawn", `{"script":"cat","stdin_fd":%d}`, s.StdoutFD)
			}
		}
		b.call("spawn", `{"script":"cat","stdin_fd":0,"stdout_fd":1}`)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.try("read", `{"fd":11}`) })
		wg.Go(func() { _, _ = b.try("write", `{"fd":10,"data":"x\n","eof":true}`) })
		start := time.Now()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		_ = b.Close()
		wg.Wait()
		if took := time.Since(start); took > testload.Bound(2*time.Second) {
			t.Error(took)
		}
		b.fails("the session has ended", "read", `{"fd":0}`)
	}
}

// TestCloseUnblocksReaders checks that an input which can be closed is.
func TestCloseUnblocksReaders(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	b := newBox(t, Options{Stdin: Input{Reader: r, Size: -1}})
	b.call("spawn", `{"script":"cat","stdin_fd":0}`)
	time.Sleep(20 * time.Millisecond)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// TestSame runs a session twice: the answers must not depend on the weather.
func TestSame(t *testing.T) {
	session := func() string {
		b := newBox(t, Options{Inputs: []Input{input("a", strings.Repeat("ERROR x\nok\n", 20000))}})
		var all strings.Builder
		all.WriteString(b.Map())
		for _, call := range [][2]string{
			{"read", `{"fd":3,"lines":2}`},
			{"spawn", `{"script":"awk '/ERROR/ {print ++n, $0}'","stdin_fd":3}`},
			{"spawn", `{"script":"cat; echo warned >&2","stdin_fd":10}`},
			{"read", `{"fd":12}`}, {"read", `{"fd":12,"lines":1000}`}, {"read", `{"fd":12,"count":7}`},
			{"spawn", `{"script":"tail -n 1","stdin_fd":12,"stdout_fd":1}`},
			{"read", `{"fd":14}`}, {"read", `{"fd":13}`}, {"read", `{"fd":11}`}, {"help", `{"keys":["status"]}`},
			{"exit", `{"code":0}`},
		} {
			all.WriteString(b.call(call[0], "%s", call[1]) + "\n")
		}
		return all.String() + b.out.String()
	}
	first := session()
	if !strings.HasSuffix(first, "\n19999 ERROR x\n") {
		t.Error(first[len(first)-200:])
	}
	for range 20 {
		if again := session(); again != first {
			t.Fatalf("one\n%s\nother\n%s", first, again)
		}
	}
}

// FuzzArguments makes calls with anything: each ends, and each failure says
// what to do.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"fd":3}`, `{"fd":10,"data":"x","newline":true,"eof":true}`, `{"fd":1e99}`,
		`{"fd":-1,"lines":1000}`,
		`{"script":"cat","stdin_fd":3,"stdout_fd":1}`, `{"script":"cat","in_fd":3}`,
		`{"script":"echo hi >&2","stdin_fd":null}`, `{"path":"a","mode":"w"}`,
		`{"path":"../../a"}`, `{"code":0,"message":"x"}`, `{"keys":["status","fds"]}`, `{"fd":3,"count":4096}`,
		`{"fd":11,"lines":1}`, `{"FD":3}`, `{"fd":3,"fd":4}`, "{\"fd\":3,\"count\":1}x",
	} {
		for which := range 7 {
			f.Add(uint8(which), seed)
		}
	}
	echo := worker(func(_ context.Context, req *run.Request) (run.Result, error) {
		_, err := io.WriteString(req.Stdout, req.Script)
		return run.Result{}, err
	})
	f.Fuzz(func(t *testing.T, which uint8, arguments string) {
		b := newBox(t, Options{Inputs: []Input{input("a", "text\xff\n日本")}, Spawn: echo})
		b.call("spawn", `{"script":"x"}`)
		tools := b.Tools()
		for range 2 {
			text, err := tools[int(which)%len(tools)].Call(t.Context(), arguments)
			var fe *fault.Error
			if err != nil && (!errors.As(err, &fe) || fault.Hint(err) == "") {
				t.Errorf("%s: %v without a hint", arguments, err)
			}
			if err == nil && text == "" {
				t.Error("no answer to", arguments)
			}
		}
	})
}

// FuzzRead reads arbitrary bytes in arbitrary pieces.
func FuzzRead(f *testing.F) {
	f.Add([]byte("text"), uint16(1), uint8(0))
	f.Add([]byte("日本語\n\xff\xe6\x97"), uint16(2), uint8(1))
	f.Add([]byte("password=hunter2hunter2\nplain\n"), uint16(3), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, count uint16, lines uint8) {
		b := newBox(t, Options{Inputs: []Input{input("a", string(data))}})
		how := fmt.Sprintf(`,"count":%d`, count%maxCount+1)
		if lines > 0 {
			how = fmt.Sprintf(`,"lines":%d`, lines)
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return // refused as no text, see TestNotText
		}
		got := b.readAll(3, how)
		clean := b.opts.Secrets.Text(string(data))
		if clean == string(data) && got != string([]rune(clean)) {
			t.Errorf("%q, want %q", got, clean)
		}
	})
}
