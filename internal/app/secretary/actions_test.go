package secretary

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/internal/app/secretary/speech"
	"hako/run"
	"hako/run/fault"
)

// wants spells an answer with commands.
func wants(commands ...string) string {
	r := Reply{Speech: speech.Speech{Text: "はい。"}}
	for _, c := range commands {
		r.BashActions = append(r.BashActions, Action{Command: c, Reason: "r"})
	}
	return r.modelJSON()
}

func TestOneFailingDoesNotStopTheNext(t *testing.T) {
	s, _, h := newSecretary(t, wants("bad", "slow", "odd", "", "out", "gone", "ok", "seventh"))
	s.Actions = 7
	h.does["bad"] = outcome{err: denied("sudo 'a b'", false)}
	h.does["slow"] = outcome{out: "途中\n", errs: "遅い\n", timedOut: true}
	h.does["odd"] = outcome{err: errors.New("the runner\nbroke")}
	h.does["out"] = outcome{err: &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "cd ..",
		Why: "it leads out of the root directory"}}
	h.does["gone"] = outcome{exit: 1, errs: "no such file\n"}
	h.does["ok"] = outcome{out: "a\n\n", errs: "warning\n"}
	a := chat(t, s, "x")
	const want = `❌ コマンド: bad
   理由: r
   エラー: SecurityError: コマンドがホワイトリストに登録されていません: sudo
   対処: to permit it, add a rule

❌ コマンド: slow
   理由: r
   エラー: TimeoutError: コマンドがタイムアウトしました: 30秒
   標準出力:
途中
   標準エラー出力:
遅い

❌ コマンド: odd
   理由: r
   エラー: ExecutionError: the runner broke

❌ コマンド: 
   理由: r
   エラー: ExecutionError: コマンドが空です

❌ コマンド: out
   理由: r
   エラー: SecurityError: it leads out of the root directory

✅ コマンド: gone
   理由: r
   終了コード: 1
   標準出力:

   標準エラー出力:
no such file

✅ コマンド: ok
   理由: r
   終了コード: 0
   標準出力:
a

   標準エラー出力:
warning

❌ コマンド: seventh
   理由: r
   エラー: ExecutionError: 1回の応答で実行できるコマンドは7件までです。8件目は実行しませんでした`
	if got := formatResults(a.Results); got != want {
		t.Errorf("got %s", got)
	}
	if got := h.scripts(); !slices.Equal(got, []string{"bad", "slow", "odd", "out", "gone", "ok"}) {
		t.Errorf("ran %q", got)
	}
}

func TestSixActions(t *testing.T) {
	s, _, h := newSecretary(t, wants("1", "2", "3", "4", "5", "6"))
	a := chat(t, s, "x")
	if len(h.reqs) != 5 || len(a.Results) != 6 ||
		!strings.Contains(s.items[2].Text,
			"❌ コマンド: 6\n   理由: r\n   エラー: ExecutionError: 1回の応答で実行できるコマンドは5件までです。6件目は実行しませんでした") {
		t.Errorf("%d runs, %s", len(h.reqs), s.items[2].Text)
	}
}

func TestRequests(t *testing.T) {
	s, _, h := newSecretary(t,
		`{"text":"a","bashActions":[{"command":"one","reason":"why","timeout":90,"confirm":true},{"command":"two","timeout":100000}]}`)
	s.ID, s.Actor = "s1", "secretary:hana"
	chat(t, s, "x")
	one, two := h.reqs[0], h.reqs[1]
	if one.ID != "s1/1" || one.Actor != "secretary:hana" || one.Reason != "why" || one.Timeout != 90*time.Second ||
		!one.Confirm || one.Stdin != nil || one.Dir != "" {
		t.Errorf("%+v", one)
	}
	if two.ID != "s1/2" || two.Timeout != 600*time.Second || two.Confirm {
		t.Errorf("%+v", two)
	}
}

// The gate denies what nobody is there to confirm; the refusal teaches.
func TestConfirmWithNobodyThere(t *testing.T) {
	s, _, h := newSecretary(t, `{"text":"a","bashActions":[{"command":"make","reason":"r","confirm":true}]}`)
	h.does["make"] = outcome{err: &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "make",
		Why: "a person must approve it, and nobody is there to ask", Hint: "run it where a person can answer"}}
	chat(t, s, "x")
	if got := s.items[2].Text; !strings.HasSuffix(got,
		"   エラー: SecurityError: a person must approve it, and nobody is there to ask\n   対処: run it where a person can answer") {
		t.Errorf("got %s", got)
	}
}

func TestOutputs(t *testing.T) {
	s, _, h := newSecretary(t, wants("huge", "binary", "broken", "control"))
	s.Output = 60
	h.does["huge"] = outcome{out: strings.Repeat("あ", 100) + strings.Repeat("ん", 100)}
	h.does["binary"] = outcome{out: "\x7fELF\x00\x01" + strings.Repeat("\x00", 117)}
	h.does["broken"] = outcome{out: "日本\xff語 text text\rtext\r\n"}
	h.does["control"] = outcome{errs: "\x1b]0;owned\x07 and \u202e more plain text\n"}
	a := chat(t, s, "x")
	if got := a.Results[0].Output.Stdout; got != strings.Repeat("あ", 10)+"\n…（540バイト省略）…\n"+strings.Repeat("ん", 10) {
		t.Errorf("got %q", got)
	}
	if got := a.Results[1].Output.Stdout; got != "(バイナリ 123 バイト)" {
		t.Errorf("got %q", got)
	}
	if got := a.Results[2].Output.Stdout; got != "日本\ufffd語 text text\ntext\n" {
		t.Errorf("got %q", got)
	}
	if got := a.Results[3].Output.Stderr; got != "\ufffd]0;owned\ufffd and \ufffd more plain text\n" {
		t.Errorf("got %q", got)
	}
}

func TestNoHands(t *testing.T) {
	s, _, _ := newSecretary(t, wants("ls", "@todo list", "pwd"))
	s.Runner, s.Todos = nil, &errands{}
	a := chat(t, s, "x")
	if len(a.Results) != 1 || a.Results[0].Error != "" ||
		!slices.Equal(a.Warnings, []string{"コマンドを実行する手段がないため、2件のbashActionsを無視しました"}) {
		t.Errorf("%+v", a)
	}
}

func TestTodoActions(t *testing.T) {
	s, m, _ := newSecretary(t, `{"text":"a","todoActions":[{"action":"delete","id":9},{"action":"add","title":"牛乳"}]}`,
		`{"text":"b"}`, `{"text":"c","todoActions":[{"action":"add"}]}`)
	list := &errands{}
	s.Todos = list
	a := chat(t, s, "x")
	if len(list.did) != 2 || a.Todos[0].Error != "delete to-do 9: there is none" || a.Todos[1].Said != "add: 牛乳" {
		t.Errorf("%+v", a.Todos)
	}
	chat(t, s, "y")
	if got, want := m.last(3),
		"system: TODO操作結果:\n❌ delete: delete to-do 9: there is none\n✅ add: 牛乳\nsystem: 現在のTODO:\n1 牛乳\n1 牛乳\nuser: y"; got != want {
		t.Errorf("got %s", got)
	}
	s.Todos = nil
	if a := chat(t, s, "z"); len(a.Warnings) != 1 || len(a.Todos) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestRateLimit(t *testing.T) {
	s, _, h := newSecretary(t, wants("1", "2", "3"), wants("4", "5"))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Now, s.RateLimit = func() time.Time { return now }, 2
	a := chat(t, s, "x")
	if got := a.Results[2].Error; got != "ExecutionError: 実行回数の上限（1分あたり2件）に達しました。30秒後に再実行できます" || len(h.reqs) != 2 {
		t.Errorf("got %s", got)
	}
	now = now.Add(31 * time.Second)
	a = chat(t, s, "y")
	if a.Results[0].Error != "" || !strings.Contains(a.Results[1].Error, "29秒後") {
		t.Errorf("%+v", a.Results)
	}
}

func TestNoRateLimit(t *testing.T) {
	s, _, _ := newSecretary(t)
	s.RateLimit, s.Actions = -1, 100
	for _, r := range s.runActions(t.Context(), make([]Action, 40)) {
		if !strings.Contains(r.Error, "空") {
			t.Error(r.Error)
		}
	}
	var b rateLimiter
	now := time.Now()
	b.take(now, 1)
	if wait, ok := b.take(now.Add(-time.Hour), 1); ok || wait > time.Minute {
		t.Errorf("when the clock goes back: %v, %v", wait, ok)
	}
}

func TestCache(t *testing.T) {
	s, _, h := newSecretary(t, wants("ls", "ls"), wants("ls"), wants("touch a", "ls", "ls"), wants("fail", "fail"),
		wants("cd x", "ls"), wants("ls"))
	now := time.Now()
	s.Now = func() time.Time { return now }
	s.Declares = func(string) bool { return false }
	s.ReadOnly = func(script string) bool { return script == "ls" || script == "fail" }
	h.does["ls"] = outcome{out: "a\n"}
	h.does["fail"] = outcome{exit: 1}
	h.does["cd x"] = outcome{dir: "/w/x"}
	h.does["touch a"] = outcome{}
	a := chat(t, s, "1")
	if len(h.reqs) != 1 || a.CacheHits != 1 || a.Results[0].block() != a.Results[1].block() {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
	now = now.Add(10 * time.Second)
	if a := chat(t, s, "too old"); len(h.reqs) != 2 || a.CacheHits != 0 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
	if a := chat(t, s, "changed"); len(h.reqs) != 4 || a.CacheHits != 1 {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
	if chat(t, s, "failed"); len(h.reqs) != 6 {
		t.Errorf("%d runs", len(h.reqs))
	}
	if a := chat(t, s, "elsewhere"); len(h.reqs) != 8 || a.Dir != "/w" {
		t.Errorf("%d runs, %+v", len(h.reqs), a)
	}
	s.CacheTTL = -1
	if chat(t, s, "off"); len(h.reqs) != 9 {
		t.Errorf("%d runs", len(h.reqs))
	}
}

func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commands []string
		for i := range 6 {
			commands = append(commands, fmt.Sprint("look ", i))
		}
		s, _, h := newSecretary(t, wants(slices.Concat(commands, []string{"touch a", "look 0"})...))
		var mu sync.Mutex
		var lent, running, most int
		s.Actions, s.Dir, s.Parallel = 9, "/w", 3
		s.ReadOnly = func(script string) bool { return strings.HasPrefix(script, "look") }
		s.SpareRunner = func() (run.Runner, func(), error) {
			mu.Lock()
			defer mu.Unlock()
			lent++
			return h, func() { mu.Lock(); lent--; mu.Unlock() }, nil
		}
		busy := func(context.Context) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
		}
		for i, c := range commands {
			h.does[c] = outcome{out: fmt.Sprint(i), do: busy}
		}
		h.does["touch a"] = outcome{do: busy}
		began := time.Now()
		a := chat(t, s, "x")
		if took := time.Since(began); took != 4*time.Second || most != 3 || lent != 0 {
			t.Errorf("took %v, %d at once, %d not given back", took, most, lent)
		}
		for i := range commands {
			if a.Results[i].Output == nil || a.Results[i].Output.Stdout != fmt.Sprint(i) {
				t.Errorf("result %d: %+v", i, a.Results[i])
			}
		}
		spare := 0
		for _, r := range h.reqs {
			if r.Dir == "/w" {
				spare++
			}
		}
		if spare != 4 || a.Results[7].Output.Stdout != "0" || a.CacheHits != 0 {
			t.Errorf("%d with spare hands", spare)
		}
	})
}

func TestNoSpareHands(t *testing.T) {
	s, _, h := newSecretary(t, wants("look 1", "look 2", "look 3"))
	s.ReadOnly = func(string) bool { return true }
	s.SpareRunner = func() (run.Runner, func(), error) { return nil, nil, errors.New("none") }
	a := chat(t, s, "x")
	if len(h.reqs) != 3 || slices.ContainsFunc(a.Results, func(r Result) bool { return r.Output == nil }) {
		t.Errorf("%+v", a.Results)
	}
}

func TestEvents(t *testing.T) {
	s, _, _ := newSecretary(t, wants("ls"), `{"text":"b"}`)
	s.Requery = true
	end := heard(s)
	chat(t, s, "x")
	if _, types := end(); !reflect.DeepEqual(types, []string{"text", "reply", "action", "result", "text", "reply"}) {
		t.Errorf("told %v", types)
	}
}

func TestRefusals(t *testing.T) {
	s := Secretary{Unlisted: func(err error) (string, bool) { return "rm", errors.Is(err, errUnlisted) }}
	for want, err := range map[string]error{
		"SecurityError: コマンドがホワイトリストに登録されていません: rm": denied("env rm x", false), // what env runs
		"SecurityError: no rule allows it": denied("env rm x", true),
		"SecurityError: because": &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "x",
			Err: errors.New("because")},
		"SecurityError: nobody could be asked: eof": &fault.Error{Kind: fault.Denied, Op: "denied",
			Why: "nobody could be asked", Err: errors.New("eof")},
		"SecurityError: denied x": &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "x"},
		"TimeoutError: コマンドがタイムアウトしました: 5秒": &fault.Error{Kind: fault.Timeout, Op: "run"},
		"ExecutionError: charge: used 2 of 1 calls": &fault.Error{Kind: fault.Exhausted, Op: "charge",
			Why: "used 2 of 1 calls"},
	} {
		if got, _ := s.errorText(err, false, 5*time.Second); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The policy's own reason comes with a refusal, where it says more than that.
func TestDetailOfARefusal(t *testing.T) {
	s, _, h := newSecretary(t, wants("dd", "nc"))
	h.does["dd"] = outcome{err: &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "dd if=x", Hint: "use cp",
		Err: fmt.Errorf("writes to\ndisks directly%w", quiet{errUnlisted})}}
	h.does["nc"] = outcome{err: &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "nc",
		Err: fmt.Errorf("no rule allows it%w", quiet{errUnlisted})}}
	const want = "❌ コマンド: dd\n   理由: r\n   エラー: SecurityError: コマンドがホワイトリストに登録されていません: dd\n   詳細: writes to disks directly\n   対処: use cp\n\n" +
		"❌ コマンド: nc\n   理由: r\n   エラー: SecurityError: コマンドがホワイトリストに登録されていません: nc"
	if got := formatResults(chat(t, s, "x").Results); got != want {
		t.Errorf("got %s", got)
	}
}

// Programs get a refusal as it was meant, without secrets; what was not refused
// has none.
func TestRefusalForPrograms(t *testing.T) {
	s, _, h := newSecretary(t, wants("dd", "ls", "sleep"))
	h.does["dd"] = outcome{err: &fault.Error{Kind: fault.Denied, Op: "denied", Subject: "dd password=hunter2hunter2",
		Rule: "host.policy:7", Hint: "use cp", Err: fmt.Errorf("writes to\ndisks directly%w", quiet{errUnlisted})}}
	h.does["ls"] = outcome{out: "a\n"}
	h.does["sleep"] = outcome{err: &fault.Error{Kind: fault.Timeout, Op: "run"}, timedOut: true}
	results := chat(t, s, "x").Results
	const want = `"hint":"use cp","denied":{"kind":"denied","command":"dd password=[redacted]","reason":"writes to disks directly","rule":"host.policy:7","hint":"use cp","retryable":false}}`
	if got := jsonText(results[0]); !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
	for _, r := range results[1:] {
		if got := jsonText(r); r.Denied != nil || strings.Contains(got, "denied") {
			t.Errorf("got %s", got)
		}
	}
}

// quiet is an error that is there to be found, not to be read.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }

// What ran out of time did run, even if it wrote nothing.
func TestTimeoutHasAResult(t *testing.T) {
	s, _, h := newSecretary(t, wants("sleep 99", "waits", "refused"))
	late := &fault.Error{Kind: fault.Timeout, Op: "run", Why: "the time ran out"}
	h.does["sleep 99"] = outcome{timedOut: true, err: late}
	h.does["waits"] = outcome{err: late} // before it began
	h.does["refused"] = outcome{timedOut: true, err: denied("x", false)}
	results := chat(t, s, "x").Results
	if got, want := jsonText(results[0]),
		`{"command":"sleep 99","reason":"r","result":{"stdout":"","stderr":"","exit_code":"124","cwd":"/w"},"error":"TimeoutError: コマンドがタイムアウトしました: 30秒"}`; got != want {
		t.Errorf("got %s", got)
	}
	if results[1].Output != nil || !strings.HasPrefix(results[1].Error, timeoutError) || results[2].Output != nil {
		t.Errorf("%+v", results[1:])
	}
}

// SpareRunner hands stand where they are told to; where they end up does not matter.
func TestSpareHandsDoNotMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, h := newSecretary(t, wants("look 1", "look 2"))
		spare := &hands{does: map[string]outcome{}}
		for _, c := range []string{"look 1", "look 2"} {
			h.does[c] = outcome{do: func(context.Context) { time.Sleep(time.Second) }}
			spare.does[c] = outcome{do: func(context.Context) { time.Sleep(2 * time.Second) }, dir: "/elsewhere"}
		}
		s.ReadOnly, s.Dir = func(string) bool { return true }, "/w"
		s.SpareRunner = func() (run.Runner, func(), error) { return spare, func() {}, nil }
		if a := chat(t, s, "x"); a.Dir != "/w" || len(spare.reqs) != 1 || spare.reqs[0].Dir != "/w" || h.reqs[0].Dir != "" {
			t.Errorf("stands in %s, %+v", a.Dir, spare.reqs)
		}
	})
}

// What a person is to confirm is run alone, and each time.
func TestConfirmedIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, h := newSecretary(t,
			`{"text":"a","bashActions":[{"command":"ls"},{"command":"ls","confirm":true},{"command":"ls","confirm":true}]}`)
		s.ReadOnly = func(string) bool { return true }
		s.SpareRunner = func() (run.Runner, func(), error) {
			t.Error("spare hands were asked for")
			return nil, nil, errors.New("none")
		}
		h.does["ls"] = outcome{do: func(context.Context) { time.Sleep(time.Second) }}
		if a := chat(t, s, "x"); len(h.reqs) != 3 || a.CacheHits != 0 || !h.reqs[2].Confirm {
			t.Errorf("%d runs, %+v", len(h.reqs), a)
		}
	})
}

// TestTook: a result says how long the hands worked, and nothing for what they
// did not do.
func TestTook(t *testing.T) {
	s, _, h := newSecretary(t)
	h.does["ls"] = outcome{took: 3 * time.Second}
	got := s.runActions(t.Context(), []Action{{Command: "ls"}, {}})
	if got[0].Took != 3*time.Second || got[1].Took != 0 {
		t.Errorf("they took %v and %v", got[0].Took, got[1].Took)
	}
}
