//go:build linux || darwin

package asksocket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/app/questions"
	"hako/internal/testload"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A house is a server before a list of questions, with its record.
type house struct {
	*Server
	*testing.T
	desk *questions.List

	mu      sync.Mutex
	told    []string
	broken  error // of the record of questions
	crumbly error // of that of answers
	shut    func()
}

func open(t *testing.T, change ...func(*house)) *house {
	t.Helper()
	h := &house{T: t, desk: &questions.List{}, Server: &Server{Dir: filepath.Join(short(t), "hatch"),
		PeerTimeout: time.Second, LockInterval: 5 * time.Millisecond}}
	h.Ask, h.Record = h.desk.Ask, h.record
	for _, c := range change {
		c(h)
	}
	shut, err := h.Open()
	if err != nil {
		t.Fatal(err)
	}
	h.shut = sync.OnceFunc(shut)
	t.Cleanup(h.shut)
	return h
}

// short is a directory with a short name: sockets want one.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (h *house) record(actor, what string) (func(string, error) error, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, actor+": "+what)
	return func(words string, err error) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil {
			words = err.Error()
		}
		h.told = append(h.told, words)
		return h.crumbly
	}, h.broken
}

// onRecord waits until something is on record, and forgets it.
func (h *house) onRecord(last string) string {
	h.Helper()
	var all string
	h.until(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		all = strings.Join(h.told, "; ")
		return strings.HasSuffix(all, last)
	}, func() string { return all })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = nil
	return all
}

func (h *house) until(holds func() bool, state func() string) {
	h.Helper()
	for end := time.Now().Add(testload.Bound(5 * time.Second)); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.Fatalf("never came to be: %s", state())
		}
	}
}

func (h *house) pending(n int) []questions.Question {
	h.Helper()
	var all []questions.Question
	h.until(func() bool { all, _ = h.desk.Pending(h.Context()); return len(all) == n },
		func() string { return fmt.Sprintf("%d questions", len(all)) })
	return all
}

func (h *house) answer(id string, a gate.Answer) {
	h.Helper()
	if err := h.desk.Answer(h.Context(), access.Actor{Name: "ann", Role: access.Operator}, id, a); err != nil {
		h.Error(err)
	}
}

func (h *house) caller() Client { return Client{Dir: h.Dir} }

type said struct {
	answer gate.Answer
	err    error
}

// asks puts a question as another process does.
func (h *house) asks(ctx context.Context, q gate.Question) <-chan said {
	c := make(chan said, 1)
	go func() {
		a, err := h.caller().Ask(ctx, q)
		c <- said{a, err}
	}()
	return c
}

var push = gate.Question{ID: "r/1", Actor: "mcp:test", Command: "git push > x", Script: "git push > x", Dir: "/p",
	Reason: "to share", Why: "others see it", Rule: "p:1"}

func TestAnswersGoBack(t *testing.T) {
	h := open(t)
	me := fmt.Sprintf("mcp:test (process %d)", os.Getpid())
	for a, want := range map[gate.Answer]struct {
		answer gate.Answer
		words  string
	}{
		gate.Once:    {gate.Once, "a person approved it once"},
		gate.Session: {gate.Session, "a person approved it for the session"}, gate.No: {gate.No, "a person said no"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		reply := h.asks(ctx, push)
		q := h.pending(1)[0]
		if left := q.Ends.Sub(q.Asked); left > time.Minute || left < 50*time.Second {
			t.Errorf("it is shown for %v", left)
		}
		h.answer(q.ID, a)
		if got := <-reply; got.answer != want.answer || got.err != nil {
			t.Errorf("%s: %+v", a, got)
		}
		q.ID, q.Asked, q.Ends = "", time.Time{}, time.Time{}
		shown := gate.Question{Actor: me, Command: push.Command, Script: push.Script, Dir: "/p", Reason: "to share",
			Why: "others see it", Rule: "p:1"}
		if !reflect.DeepEqual(q, questions.Question{Question: shown}) {
			t.Errorf("shown: %+v", q)
		}
		if got := h.onRecord(want.words); got != me+": ask a person: git push > x; "+want.words {
			t.Errorf("on record: %s", got)
		}
		cancel()
	}
}

func TestSilenceIsNo(t *testing.T) {
	h := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a, err := h.caller().Ask(ctx, push); a != gate.No || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", a, err)
	}
	h.pending(0)
	if all := h.onRecord(""); strings.Contains(all, "approved") {
		t.Errorf("on record: %s", all)
	}
	h.desk.Wait = 20 * time.Millisecond // less than the asker has
	a, err := h.caller().Ask(t.Context(), push)
	if a != gate.No || err == nil || errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "nobody answered within 20ms") {
		t.Errorf("%v, %v", a, err)
	}
	h.onRecord("nobody answered within 20ms")
}

// The question of who has gone vanishes.
func TestAskerGoes(t *testing.T) {
	h := open(t)
	ctx, leave := context.WithCancel(t.Context())
	reply := h.asks(ctx, push)
	h.pending(1)
	leave()
	if got := <-reply; got.answer != gate.No || !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
	h.pending(0)
	h.onRecord("ask: who asked has gone")
}

// Who waits for a server that ends is told so at once.
func TestServerGoes(t *testing.T) {
	h := open(t)
	reply := h.asks(t.Context(), push)
	h.pending(1)
	began := time.Now()
	h.shut()
	if got := <-reply; got.answer != gate.No || got.err == nil ||
		!strings.Contains(got.err.Error(), "hako serve is ending") || fault.KindOf(got.err) != fault.Unavailable {
		t.Errorf("%+v", got)
	}
	if took := time.Since(began); took > testload.Bound(time.Second) {
		t.Errorf("told after %v", took)
	}
	if h.caller().Reachable() {
		t.Error("it is still there")
	}
	if a, err := h.caller().Ask(t.Context(), push); a != gate.No || err == nil ||
		!strings.Contains(err.Error(), "does not run any more") {
		t.Errorf("%v, %v", a, err)
	}
	if left, err := os.ReadDir(h.Dir); err != nil || len(left) != 1 || left[0].Name() != lockName {
		t.Errorf("left: %v, %v", left, err)
	}
}

// plays is a server that says certain lines and ends.
func plays(t *testing.T, lines string) Client {
	t.Helper()
	dir := short(t)
	door, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	go func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = c.Write([]byte(lines))
			c.Close()
		}
	}()
	return Client{Dir: dir}
}

// Whatever is not a clear yes is a no.
func TestOnlyAClearYesCounts(t *testing.T) {
	const taken = `{"taken":true}` + "\n"
	for lines, why := range map[string]string{
		"":                                 "it ended before anybody had answered",
		taken:                              "it ended before anybody had answered",
		taken + `{"answer":"once"`:         "it ended before anybody had answered",
		taken + "{}\n":                     "its answer is not understood",
		taken + `{"answer":"yes"}` + "\n":  "its answer is not understood",
		taken + `{"answer":"ONCE"}` + "\n": "its answer is not understood",
		taken + `{"answer":"once","more":1}` + "\n":      "its answer is not understood",
		taken + `{"answer":"once"} {}` + "\n":            "its answer is not understood",
		taken + `{"answer":"once","error":"no"}` + "\n":  "no",
		taken + `{"answer":"once","silent":true}` + "\n": "nobody answered in time",
		`{"answer":"once"}` + "\n":                       "it did not take the question",
		taken + strings.Repeat(" ", maxReply) + "{}\n":   "its answer is not understood",
		`{"error":"no room"}` + "\n":                     "no room",
	} {
		a, err := plays(t, lines).Ask(t.Context(), push)
		if a != gate.No || err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v", lines, a, err)
		}
	}
	if a, err := plays(t, taken+`{"answer":"once"}`+"\n").Ask(t.Context(), push); a != gate.Once || err != nil {
		t.Errorf("%v, %v", a, err)
	}
}

// raw sends bytes and returns the reply.
func (h *house) raw(text string) string {
	h.Helper()
	c, err := h.caller().dial()
	if err != nil {
		h.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte(text))
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	line, _ := bufio.NewReader(c).ReadString('\n')
	return line
}

const good = `"version":1,"actor":"a","command":"c"`

func TestBadQuestions(t *testing.T) {
	h := open(t, func(h *house) {
		h.Ask = func(context.Context, gate.Question) (gate.Answer, error) { t.Error("asked"); return gate.Once, nil }
	})
	for text, why := range map[string]string{
		"hello\n": "not what was expected",
		"{}\n":    "of version 0",
		`{"version":2,"actor":"a","command":"c"}` + "\n":   "another release",
		`{` + good + `,"answer":"once"}` + "\n":            "not what was expected",
		`{` + good + `} {}` + "\n":                         "not what was expected",
		`{` + good + `,"wait_ms":-1}` + "\n":               "so long",
		`{` + good + `,"wait_ms":9000000000000000}` + "\n": "so long",
		`{` + good:                          "breaks off",
		"{" + good + ",\"dir\":\"\xff\"}\n": "not text",
		`{"version":1,"actor":"a","command":" "}` + "\n":                        "about nothing",
		`{"version":1,"actor":"","command":"c"}` + "\n":                         "who asks",
		`{"version":1,"actor":"a\u202eb","command":"c"}` + "\n":                 "who asks",
		strings.Repeat("x", maxQuestion+1) + "\n":                               "more than 131072 bytes",
		`{` + good + `,"script":"` + strings.Repeat("x", maxQuestion) + "\"}\n": "more than 131072 bytes",
	} {
		if got := h.raw(text); !strings.Contains(got, why) || !strings.Contains(got, `"error"`) {
			t.Errorf("%.60q: %s, want %s", text, got, why)
		}
	}
	if h.raw("") != "" {
		t.Error("who only looks gets a reply")
	}
	if all := h.onRecord(""); all != "" {
		t.Errorf("on record: %s", all)
	}
}

// Who is slow to ask is sent away, and keeps nobody up.
func TestSlowPeers(t *testing.T) {
	h := open(t, func(h *house) { h.PeerTimeout, h.MaxOpen = 100*time.Millisecond, 1 })
	c, err := h.caller().dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte(`{"version":1`))
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "did not come in time") {
		t.Errorf("told %q", line)
	}
	h.until(func() bool { return h.waiting() == 0 }, func() string { return "it is still counted" })
	reply := h.asks(t.Context(), push)
	h.answer(h.pending(1)[0].ID, gate.Once)
	if got := <-reply; got.answer != gate.Once {
		t.Errorf("%+v", got)
	}
}

func (h *house) waiting() int {
	h.Server.mu.Lock()
	defer h.Server.mu.Unlock()
	return h.count
}

func TestTooManyQuestions(t *testing.T) {
	for why, change := range map[string]func(*house){
		"2 questions of other processes wait already": func(h *house) { h.MaxOpen = 2 },
		"2 questions of this process wait already":    func(h *house) { h.MaxPerProcess = 2 },
	} {
		h := open(t, change)
		ctx, leave := context.WithCancel(t.Context())
		replies := []<-chan said{h.asks(ctx, push), h.asks(ctx, push)}
		h.pending(2)
		if a, err := h.caller().Ask(t.Context(), push); a != gate.No || err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, %v", a, err)
		}
		leave()
		for _, r := range replies {
			<-r
		}
		h.until(func() bool { return h.waiting() == 0 }, func() string { return "they are still counted" })
		if h.perProcess[os.Getpid()] != 0 || len(h.perProcess) != 0 {
			t.Errorf("counted: %v", h.perProcess)
		}
	}
}

func TestNotOnRecordNotAsked(t *testing.T) {
	h := open(t, func(h *house) { h.broken = errors.New("disk full") })
	if a, err := h.caller().Ask(t.Context(), push); a != gate.No || err == nil ||
		!strings.Contains(err.Error(), "cannot be put on record") {
		t.Errorf("%v, %v", a, err)
	}
	h = open(t, func(h *house) { h.crumbly = errors.New("disk full") })
	reply := h.asks(t.Context(), push)
	h.answer(h.pending(1)[0].ID, gate.Once)
	if got := <-reply; got.answer != gate.No || got.err == nil || !strings.Contains(got.err.Error(), "does not count") {
		t.Errorf("%+v", got)
	}
}

// What is shown beside a command may be cut; the command never is.
func TestLongQuestions(t *testing.T) {
	h := open(t)
	long := push
	long.Script, long.Reason, long.Why = strings.Repeat("界", maxQuestion), strings.Repeat("r", 1<<20),
		strings.Repeat("w", 1<<20)
	reply := h.asks(t.Context(), long)
	q := h.pending(1)[0]
	if q.Script != "" || q.Command != push.Command || len(q.Reason) > 3*maxReason || !strings.HasSuffix(q.Why, "…") {
		t.Errorf("shown: %.200v", q)
	}
	h.answer(q.ID, gate.No)
	<-reply
	long.Command = strings.Repeat("c", maxQuestion)
	if a, err := h.caller().Ask(t.Context(), long); a != gate.No || fault.KindOf(err) != fault.TooLarge {
		t.Errorf("%v, %v", a, err)
	}
}

func TestOnlyTheOwnerGetsNear(t *testing.T) {
	h := open(t)
	for name, want := range map[string]os.FileMode{h.Dir: 0o700 | os.ModeDir,
		filepath.Join(h.Dir, socketName): 0o600 | os.ModeSocket} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("%s is %v, %v", name, info.Mode(), err)
		}
	}
	open := filepath.Join(short(t), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Server{Dir: open}).Open(); err == nil || !strings.Contains(fault.Hint(err), "chmod 700") {
		t.Errorf("others may enter: %v", err)
	}
}

// What a killed server left is in nobody's way.
func TestLeftovers(t *testing.T) {
	dir := filepath.Join(short(t), "hatch")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dead, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	if _, err := os.Lstat(filepath.Join(dir, socketName)); err != nil {
		t.Fatal(err)
	}
	if (Client{Dir: dir}).Reachable() || (Client{Dir: filepath.Join(dir, "none")}).Reachable() {
		t.Error("somebody is there")
	}
	h := open(t, func(h *house) { h.Dir = dir })
	if !h.caller().Reachable() {
		t.Error("nobody is there")
	}
}

// A second hako serve leaves the place to the first, and takes it when that ends.
func TestTheNextTakesOver(t *testing.T) {
	first := open(t)
	second := open(t, func(h *house) { h.Dir = first.Dir })
	idle := open(t, func(h *house) { h.Dir = first.Dir })
	idle.shut() // it never had its turn
	reply := first.asks(t.Context(), push)
	first.pending(1)
	first.shut()
	<-reply
	second.until(second.caller().Reachable, func() string { return "nobody takes over" })
	reply = second.asks(t.Context(), push)
	second.answer(second.pending(1)[0].ID, gate.Once)
	if got := <-reply; got.answer != gate.Once {
		t.Errorf("%+v", got)
	}
}

// Many at once get their own answers.
func TestManyAtOnce(t *testing.T) {
	h := open(t, func(h *house) {
		h.MaxPerProcess = 100
		h.Ask = func(_ context.Context, q gate.Question) (gate.Answer, error) {
			if strings.HasPrefix(q.Command, "yes") {
				return gate.Once, nil
			}
			return gate.No, nil
		}
	})
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			q, want := push, gate.No
			if i%2 == 0 {
				q.Command, want = "yes "+fmt.Sprint(i), gate.Once
			}
			if a, err := h.caller().Ask(t.Context(), q); a != want || err != nil {
				t.Errorf("%d: %v, %v", i, a, err)
			}
		})
	}
	all.Wait()
}
