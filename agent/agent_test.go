package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hako/agent/tool"
	"hako/audit"
	"hako/internal/redact"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// player answers with the given turns and keeps what it was asked.
type player struct {
	turns []any // *llm.Turn or error
	asked []llm.Dialog
}

func (p *player) Next(_ context.Context, d *llm.Dialog) (*llm.Turn, error) {
	kept := *d
	kept.Items = slices.Clone(d.Items)
	p.asked = append(p.asked, kept)
	if len(p.turns) == 0 {
		return &llm.Turn{Text: "done"}, nil
	}
	next := p.turns[0]
	p.turns = p.turns[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	turn := *next.(*llm.Turn)
	if d.OnText != nil && turn.Text != "" {
		d.OnText(turn.Text)
	}
	return &turn, nil
}

// calls is a turn with calls, written as "id tool arguments".
func calls(text string, list ...string) *llm.Turn {
	t := &llm.Turn{Text: text}
	for _, c := range list {
		word := strings.SplitN(c, " ", 3)
		t.Calls = append(t.Calls, llm.Call{ID: word[0], Name: word[1], Arguments: word[2]})
	}
	return t
}

// notebook is a log in memory.
type notebook struct {
	mu     sync.Mutex
	events []audit.Event
	broken bool
}

func (n *notebook) Append(e audit.Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken {
		return &fault.Error{Op: "write record", Why: "the disk is full"}
	}
	n.events = append(n.events, e)
	return nil
}

type said struct {
	Say string `json:"say"`
}

// tools has one of each kind: that works, is refused, breaks, and runs out.
func tools(ran *atomic.Int64) []tool.Tool {
	make := func(name string, f func(said) (string, error)) tool.Tool {
		return tool.New(name, "x", func(_ context.Context, in said) (string, error) {
			ran.Add(1)
			return f(in)
		})
	}
	return []tool.Tool{
		make("echo", func(in said) (string, error) { return in.Say, nil }),
		make("refuse", func(said) (string, error) {
			return "", &fault.Error{Kind: fault.Denied, Op: "do", Why: "not here", Hint: "elsewhere"}
		}),
		make("flaky", func(said) (string, error) {
			return "", &fault.Error{Kind: fault.Unavailable, Op: "do",
				Why: "asleep"}
		}),
		make("spend", func(said) (string, error) {
			return "", &fault.Error{Kind: fault.Exhausted, Op: "charge", Why: "used 2 of 1 scripts"}
		}),
	}
}

// newAgent returns an agent with the tools above, and what it is made of.
func newAgent(turns ...any) (*Agent, *player, *notebook, *atomic.Int64) {
	p, n, ran := &player{turns: turns}, new(notebook), new(atomic.Int64)
	a := &Agent{Model: p, Log: n, Actor: "test", Budget: quota.New(quota.DefaultLimits()), Tools: tools(ran)}
	return a, p, n, ran
}

// whole checks that every call of a dialog has exactly one result, in order,
// before the next turn.
func whole(t *testing.T, items []llm.Item) {
	t.Helper()
	var open []string
	for i, it := range items {
		switch it.Role {
		case llm.Result:
			if len(open) == 0 || open[0] != it.CallID {
				t.Fatalf("item %d answers %s while %v are open", i, it.CallID, open)
			}
			open = open[1:]
		default:
			if len(open) > 0 {
				t.Fatalf("item %d comes while %v are open", i, open)
			}
			for _, c := range it.Calls {
				open = append(open, c.ID)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("nothing answers %v", open)
	}
}

func results(d *llm.Dialog) map[string]string {
	m := map[string]string{}
	for _, it := range d.Items {
		if it.Role == llm.Result {
			m[it.CallID] = it.Text
		}
	}
	return m
}

func TestEveryCallGetsOneResult(t *testing.T) {
	a, p, log, _ := newAgent(
		calls("Let me see.", `1 echo {"say":"日本語"}`, `2 nope {}`, `3 echo {"sya":"x"}`, `4 echo {"say":`,
			`5 refuse {"say":"a"}`, `6 flaky {"say":"a"}`, `7 echo {}`),
		&llm.Turn{Text: "That is all.", Usage: quota.Usage{Input: 10, Output: 5}},
	)
	d := new(llm.Dialog)
	got, err := a.Run(t.Context(), d, Request{Text: "go"})
	if err != nil || got.Text != "That is all." || got.Turns != 2 || got.Partial {
		t.Fatalf("%+v, %v", got, err)
	}
	whole(t, d.Items)
	for id, want := range map[string]string{
		"1": "日本語", "2": "there is no such tool", "3": "say is missing", "4": "not a JSON object",
		"5": `"retryable":false`, "6": `"retryable":true`, "7": "say is missing",
	} {
		if text := results(d)[id]; !strings.Contains(text, want) {
			t.Errorf("call %s: %q lacks %q", id, text, want)
		}
	}
	if text := p.asked[1].Items[1].Text; text != "Let me see." {
		t.Errorf("the text beside the calls became %q", text)
	}
	if n := len(log.events); n != 14 {
		t.Errorf("%d events on record, want 2 for each call", n)
	}
}

func TestCallsOfATurnAreLimited(t *testing.T) {
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`c%d echo {"say":"%d"}`, i, i))
	}
	a, _, _, ran := newAgent(calls("", list...))
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	whole(t, d.Items)
	if ran.Load() != 8 || !strings.Contains(results(d)["c8"], "only the first 8 calls") {
		t.Errorf("%d calls ran, the ninth got %q", ran.Load(), results(d)["c8"])
	}
}

// TestCallsTooManyAreForLater keeps hint and retryable from contradicting each
// other, and both from promising a turn that will not come.
func TestCallsTooManyAreForLater(t *testing.T) {
	for _, tt := range []struct {
		turns int
		leave string
		want  string
	}{
		{3, "", `"hint":"make the rest in the next turn","retryable":true}}`},
		{2, "", `"hint":"no more can be made: answer with what you have","retryable":false}}`},
		{2, "refuse", `"hint":"no more can be made: end with refuse","retryable":false}}`},
	} {
		a, _, _, _ := newAgent(calls("", `1 echo {"say":"1"}`, `2 echo {"say":"\"retryable\":false}}"}`))
		a.Turns, a.Calls, a.Leave = tt.turns, 1, tt.leave
		d := new(llm.Dialog)
		if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		if got := results(d)["2"]; !strings.Contains(got, tt.want) {
			t.Errorf("%d turns: %s lacks %s", tt.turns, got, tt.want)
		}
	}
}

// TestMoreTurns has the hint name what stopped the work.
func TestMoreTurns(t *testing.T) {
	for _, tt := range []struct {
		turns     int
		calls     int64
		why, hint string
	}{
		{1, 50, "after 1 turn the model", "allow more with --turns, or"},
		{2, 50, "after 2 turns the model", "allow more with --turns, or"},
		{4, 2, "after 2 turns the model", "raise quota.calls, or"},
		{2, 2, "after 2 turns the model", "raise quota.calls, or"},
	} {
		again := calls("", `1 echo {"say":"a"}`)
		a, p, log, _ := newAgent(again, again, again, again)
		a.Turns, a.Budget = tt.turns, quota.New(quota.Limits{Calls: tt.calls})
		a.Model = &ChargedModel{Model: p, Budget: a.Budget, Log: log}
		_, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"})
		if err == nil || !strings.Contains(err.Error(), tt.why) || !strings.HasPrefix(fault.FlagHint(err), tt.hint) ||
			strings.Contains(fault.Hint(err), "--") {
			t.Errorf("%d turns, %d calls: %v, %s", tt.turns, tt.calls, err, fault.Hint(err))
		}
	}
}

func TestTheSameIDTwice(t *testing.T) {
	a, p, _, ran := newAgent(calls("", `x echo {"say":"1"}`, `x echo {"say":"2"}`))
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	whole(t, d.Items)
	if ran.Load() != 1 || len(p.asked[1].Items[1].Calls) != 1 {
		t.Errorf("%d calls ran, %v are in the dialog", ran.Load(), p.asked[1].Items[1].Calls)
	}
}

func TestTheLastTurn(t *testing.T) {
	again := calls("", `1 echo {"say":"a"}`)
	a, p, _, ran := newAgent(again, calls("", `2 echo {"say":"b"}`), calls("half", `3 echo {"say":"c"}`))
	a.Turns = 3
	d := new(llm.Dialog)
	got, err := a.Run(t.Context(), d, Request{Text: "go"})
	if fault.KindOf(err) != fault.Exhausted || !got.Partial || got.Text != "half" || fault.Hint(err) == "" {
		t.Errorf("%+v, %v", got, err)
	}
	whole(t, d.Items)
	if ran.Load() != 2 || len(p.asked) != 3 {
		t.Errorf("%d calls in %d turns", ran.Load(), len(p.asked))
	}
	for i, asked := range p.asked {
		told := strings.Contains(asked.Items[len(asked.Items)-1].Text, "last turn")
		if last := i == 2; asked.Choice.None != last || told != last || len(asked.Tools) != 4 {
			t.Errorf("turn %d: choice %+v, told %v, %d tools", i+1, asked.Choice, told, len(asked.Tools))
		}
	}
}

func TestLeavingByATool(t *testing.T) {
	left := false
	leave := tool.New("exit", "x", func(context.Context, said) (string, error) {
		left = true
		return "bye", nil
	})
	a, p, _, ran := newAgent(calls("", `1 echo {"say":"a"}`), calls("", `2 echo {"say":"b"}`, `3 exit {"say":""}`))
	a.Tools, a.Turns, a.Leave, a.Left = append(a.Tools, leave), 2, "exit", func() bool { return left }
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil || !left {
		t.Fatalf("left %v, %v", left, err)
	}
	whole(t, d.Items)
	if ran.Load() != 1 || !strings.Contains(results(d)["2"], "only exit can be called now") {
		t.Errorf("%d ran: %v", ran.Load(), results(d))
	}
	last := p.asked[1]
	if last.Choice.Name != "exit" || last.Choice.None || !strings.Contains(last.Items[2].Text, "FINAL CALL") {
		t.Errorf("%+v, %s", last.Choice, last.Items[2].Text)
	}
	left = false
	a.Model = &player{turns: []any{calls("", `1 exit {"say":""}`), calls("", `2 echo {"say":"never"}`)}}
	if got, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err != nil || got.Turns != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	left = false
	a.Model = &player{turns: []any{calls("", `1 echo {"say":"x"}`), calls("", `2 echo {"say":"y"}`)}}
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("never left: %v", err)
	}
}

func TestTheLastCallOfTheBudget(t *testing.T) {
	a, p, _, _ := newAgent(calls("", `1 echo {"say":"a"}`))
	a.Budget = quota.New(quota.Limits{Calls: 2})
	a.Model = &ChargedModel{Model: p, Name: "m", Budget: a.Budget, Log: a.Log}
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if len(p.asked) != 2 || p.asked[0].Choice.None || !p.asked[1].Choice.None {
		t.Errorf("asked %d times", len(p.asked))
	}
}

func TestForcedTool(t *testing.T) {
	a, p, _, _ := newAgent(calls("", `1 echo {"say":"a"}`))
	a.Force = "echo"
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if p.asked[0].Choice.Name != "echo" || p.asked[1].Choice.Name != "" {
		t.Errorf("choices %+v and %+v", p.asked[0].Choice, p.asked[1].Choice)
	}
}

func TestWhatIsLeftIsTold(t *testing.T) {
	a, p, _, _ := newAgent(calls("", `1 echo {"say":"a"}`))
	a.Model = &ChargedModel{Model: p, Name: "m", Budget: a.Budget, Log: a.Log}
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[turn 1 of 4; 50 calls left; 1000000 tokens left]",
		"[turn 2 of 4; 49 calls left; 1000000 tokens left]"} {
		items := p.asked[i].Items
		if last := items[len(items)-1].Text; !strings.Contains(last, want) {
			t.Errorf("turn %d: %q lacks %q", i+1, last, want)
		}
	}
}

func TestRepeatedFailuresAreNoticed(t *testing.T) {
	a, _, _, ran := newAgent(calls("", `1 refuse {"say":"a"}`), calls("", `2 refuse { "say": "a" }`),
		calls("", `3 refuse {"say":"b"}`))
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != 2 {
		t.Errorf("ran %d times, want 2: the repetition not", ran.Load())
	}
	if got := results(d)["2"]; !strings.Contains(got, "failed before and was not tried again") ||
		!strings.Contains(got, "elsewhere") || !strings.Contains(got, "2 times") {
		t.Errorf("the model is told %q", got)
	}
	if got := results(d)["3"]; strings.Contains(got, "before") {
		t.Errorf("another call is told %q", got)
	}
}

func TestTheSameAnswerAgainIsNoticed(t *testing.T) {
	a, _, _, ran := newAgent(calls("", `1 flaky {"say":"a"}`), calls("", `2 flaky {"say":"a"}`),
		calls("", `3 echo {"say":"a"}`))
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != 3 || !strings.Contains(results(d)["2"], "had the same result 2 times") ||
		strings.Contains(results(d)["1"], "same") {
		t.Errorf("ran %d times: %v", ran.Load(), results(d))
	}
}

func TestNoBudgetEndsTheWork(t *testing.T) {
	a, p, _, _ := newAgent(calls("", `1 spend {"say":"a"}`, `2 echo {"say":"b"}`))
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("ended with %v", err)
	}
	whole(t, d.Items)
	if len(p.asked) != 1 {
		t.Errorf("asked %d times", len(p.asked))
	}
}

func TestUnrecordedIsUndone(t *testing.T) {
	a, p, log, ran := newAgent(calls("", `1 echo {"say":"a"}`))
	log.broken = true
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err == nil || ran.Load() != 0 {
		t.Errorf("%d calls ran, %v", ran.Load(), err)
	}
	a.Model = &ChargedModel{Model: p, Name: "m", Budget: a.Budget, Log: log}
	asked := len(p.asked)
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err == nil || len(p.asked) != asked {
		t.Errorf("the model was asked off the record: %v", err)
	}
}

func TestSecretsDoNotReachTheModel(t *testing.T) {
	const key = "sk-proj-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	a, p, _, _ := newAgent(calls("", `1 echo {"say":"the key is `+key+` and hunter2hunter2"}`))
	a.Secrets = new(redact.Set)
	a.Secrets.Add("hunter2hunter2")
	var events []Event
	a.Observe = func(e Event) { events = append(events, e) }
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "use " + key}); err != nil {
		t.Fatal(err)
	}
	shown, _ := json.Marshal([]any{p.asked[0].Items[0], p.asked[1].Items[0], p.asked[1].Items[2], events})
	for _, secret := range []string{key, "hunter2hunter2"} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("%s is in %s", secret, shown)
		}
	}
	if result := p.asked[1].Items[2].Text; !strings.Contains(result, "[2 secrets were redacted from the output: ") {
		t.Errorf("the model is not told: %s", result)
	}
}

func TestSecretsInJSON(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	in := `{"ok":true,"stdout_text":"TOKEN=` + token + `\nnext \"line\"\n","n":1}`
	want := `{"ok":true,"stdout_text":"TOKEN=[redacted]\nnext \"line\"\n","n":1}`
	if got := cleanJSON(nil, in); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := cleanJSON(nil, "TOKEN="+token+"\nnext"); got != "TOKEN=[redacted]\nnext" {
		t.Errorf("got %s", got)
	}
	if in := `{"a":"\ud83c\udf89 x"}`; cleanJSON(nil, in) != in {
		t.Error("what holds no secret is changed")
	}
}

func TestNotesOutliveASecret(t *testing.T) {
	a, p, _, _ := newAgent()
	if _, err := a.Run(t.Context(), new(llm.Dialog),
		Request{Text: "find password='", Files: []llm.File{{Name: "a.txt", Bytes: 1}}}); err != nil {
		t.Fatal(err)
	}
	if _, files := llm.Plain(p.asked[0].Items[0].Text); len(files) != 1 {
		t.Errorf("the note became %q", p.asked[0].Items[0].Text)
	}
}

func TestABrokenToolIsAFailedCall(t *testing.T) {
	a, _, log, _ := newAgent(calls("", `1 broken {"say":""}`, `2 echo {"say":"x"}`))
	a.Tools = append(a.Tools, tool.New("broken", "x", func(context.Context, said) (string, error) { panic("oh") }))
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	whole(t, d.Items)
	if !strings.Contains(results(d)["1"], "the tool broke") || len(log.events) != 4 {
		t.Errorf("%v, %d events", results(d), len(log.events))
	}
}

func TestWhatIsTurnedDownIsOnRecord(t *testing.T) {
	a, _, log, _ := newAgent(calls("", `1 echo {"say":"a"}`, `2 echo {"say":"b"}`), calls("", `3 refuse {"say":"a"}`),
		calls("", `4 refuse {"say":"a"}`))
	a.Calls = 1
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	called := 0
	for _, e := range log.events {
		if e.What == audit.Called {
			called++
		}
	}
	if called != 4 {
		t.Errorf("%d of 4 calls are on record", called)
	}
}

func TestCallsRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _, _ := newAgent(calls("", `1 wait {"say":"3s"}`, `2 wait {"say":"1s"}`, `3 wait {"say":"2s"}`))
		a.Tools = []tool.Tool{tool.New("wait", "x", func(_ context.Context, in said) (string, error) {
			d, err := time.ParseDuration(in.Say)
			time.Sleep(d)
			return in.Say, err
		})}
		d := new(llm.Dialog)
		began := time.Now()
		if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		whole(t, d.Items)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, _, _, _ := newAgent(calls("", `1 stop {"say":""}`, `2 echo {"say":"x"}`))
	a.Threads = 1
	a.Tools = append(a.Tools, tool.New("stop", "x", func(ctx context.Context, _ said) (string, error) {
		cancel()
		return "", ctx.Err()
	}))
	d := new(llm.Dialog)
	got, err := a.Run(ctx, d, Request{Text: "go"})
	if !errors.Is(err, context.Canceled) || !got.Partial {
		t.Errorf("%+v, %v", got, err)
	}
	whole(t, d.Items)
}

// mumbler says half a sentence and then fails.
type mumbler struct{ err error }

func (m mumbler) Next(_ context.Context, d *llm.Dialog) (*llm.Turn, error) {
	d.OnText("Half a ")
	d.OnText("sentence")
	return nil, m.err
}

func TestAPartialAnswerIsKept(t *testing.T) {
	a, _, _, _ := newAgent()
	a.Model = mumbler{context.Canceled}
	d := new(llm.Dialog)
	got, err := a.Run(t.Context(), d, Request{Text: "go"})
	if !errors.Is(err, context.Canceled) || got.Text != "Half a sentence" || !got.Partial {
		t.Errorf("%+v, %v", got, err)
	}
	if last := d.Items[len(d.Items)-1]; last.Role != llm.Assistant || !strings.HasPrefix(last.Text, "Half a sentence") {
		t.Errorf("the dialog ends with %+v", last)
	}
}

func TestACutTurnRunsNothing(t *testing.T) {
	cut := calls("so far", `1 echo {"say":"a"}`)
	cut.Cut = "length"
	a, _, _, ran := newAgent(cut)
	d := new(llm.Dialog)
	got, err := a.Run(t.Context(), d, Request{Text: "go"})
	if err == nil || ran.Load() != 0 || !got.Partial || got.Text != "so far" {
		t.Errorf("%+v, %v, %d ran", got, err, ran.Load())
	}
	whole(t, d.Items)
}

// TestTheDialogOnlyGrows is what lets providers find the beginning of a request
// in their caches.
func TestTheDialogOnlyGrows(t *testing.T) {
	a, p, _, _ := newAgent(calls("a", `1 echo {"say":"a"}`), calls("", `2 refuse {"say":"a"}`, `3 nope {}`),
		calls("", `4 echo {"say":"a"}`))
	d := &llm.Dialog{System: "be brief"}
	for range 2 {
		if _, err := a.Run(t.Context(), d, Request{Text: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < len(p.asked); i++ {
		before, now := p.asked[i-1], p.asked[i]
		if len(now.Items) <= len(before.Items) || !reflect.DeepEqual(now.Items[:len(before.Items)], before.Items) {
			t.Errorf("request %d does not begin with request %d", i+1, i)
		}
		if now.System != before.System || !reflect.DeepEqual(now.Tools, before.Tools) {
			t.Errorf("request %d changes what is fixed", i+1)
		}
	}
}

func TestCompaction(t *testing.T) {
	long := strings.Repeat("word ", 2000) // some 2500 tokens
	var turns []any
	for i := range 6 {
		turns = append(turns, calls("", fmt.Sprintf(`%d echo {"say":"%s%d"}`, i, long, i)))
	}
	a, p, _, _ := newAgent(turns...)
	a.Turns, a.Context = 20, 20000
	var shortened int
	a.Observe = func(e Event) {
		if e.Type == "compacted" {
			shortened++
		}
	}
	d := new(llm.Dialog)
	for range 2 {
		if _, err := a.Run(t.Context(), d, Request{Text: "the request"}); err != nil {
			t.Fatal(err)
		}
	}
	if shortened == 0 {
		t.Error("nothing was shortened")
	}
	for i, asked := range p.asked {
		var weight int64
		for j := range asked.Items {
			weight += asked.Items[j].Weight()
		}
		if weight > 15000 {
			t.Errorf("request %d has about %d tokens", i+1, weight)
		}
		whole(t, asked.Items)
		if !slices.ContainsFunc(asked.Items, func(it llm.Item) bool { return strings.HasPrefix(it.Text, "the request") }) {
			t.Errorf("request %d lost what was asked for", i+1)
		}
	}
}

func TestOverflowIsTriedOnceMore(t *testing.T) {
	overflow := llm.Refuse("m", "too long", "", &llm.Refusal{Status: 400, Code: llm.ContextOverflow})
	long := strings.Repeat("word ", 2000)
	a, p, _, _ := newAgent(calls("", `1 echo {"say":"`+long+`"}`), calls("", `2 echo {"say":"b"}`), overflow,
		&llm.Turn{Text: "fits"})
	got, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "go"})
	if err != nil || got.Text != "fits" || len(p.asked) != 4 {
		t.Errorf("%+v, %v after %d requests", got, err, len(p.asked))
	}
}

func TestARequestTooLong(t *testing.T) {
	a, p, _, _ := newAgent()
	a.Context = 1000
	_, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: strings.Repeat("日本", 1000)})
	if fault.KindOf(err) != fault.TooLarge || len(p.asked) != 0 {
		t.Errorf("%v after %d requests", err, len(p.asked))
	}
}

func TestLedger(t *testing.T) {
	refused := llm.Refuse("m", "busy", "", &llm.Refusal{Status: 500, Retry: true})
	p := &player{turns: []any{refused, &llm.Turn{Text: "x", Usage: quota.Usage{Input: 60, Cached: 40, Output: 10}}}}
	log, meter := new(notebook), quota.New(quota.Limits{Tokens: 200})
	l := &ChargedModel{Model: p, Name: "m", Budget: meter, Log: log,
		Price: func(string, quota.Usage) (float64, bool) { return 0.5, true }}
	m := &llm.Retry{Model: l, Sleep: func(context.Context, time.Duration) error { return nil }}
	if _, err := m.Next(t.Context(), new(llm.Dialog)); err != nil {
		t.Fatal(err)
	}
	got := l.Total()
	if got.Tries != 2 || got.Cost != 0.5 || got.Unpriced || got.Input != 60 || got.Cached != 40 || got.Output != 10 {
		t.Errorf("%+v", got)
	}
	if len(log.events) != 4 || log.events[1].Kind != "unavailable" || log.events[3].Tokens != 110 ||
		log.events[3].Cost != 0.5 {
		t.Errorf("on record: %+v", log.events)
	}
	p.turns = []any{&llm.Turn{Text: "x", Usage: quota.Usage{Input: 100}}}
	l.Price = nil
	if _, err := l.Next(t.Context(), new(llm.Dialog)); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("over the budget: %v", err)
	}
	if !l.Total().Unpriced {
		t.Error("usage without a price is not marked")
	}
}

func TestABrokenAnswerIsPaidFor(t *testing.T) {
	meter := quota.New(quota.Limits{Tokens: 1000})
	l := &ChargedModel{Model: mumbler{errors.New("cut")}, Name: "m", Budget: meter, Log: new(notebook)}
	if _, err := l.Next(t.Context(), &llm.Dialog{System: strings.Repeat("word ", 40)}); err == nil {
		t.Fatal("no error")
	}
	if got := l.Total(); got.Output < 4 || got.Input < 40 || got.Failed != 1 || meter.Left().Tokens() > 950 {
		t.Errorf("%+v, %d left", got, meter.Left().Tokens())
	}
}

func TestDecision(t *testing.T) {
	for text, want := range map[string]Decision{
		`{"need_search":true,"query":"go 1.26"}`:                 {true, "go 1.26"},
		"```json\n{\"need_search\":false,\"query\":\"\"}\n```":   {false, ""},
		`I think {this} is it: {"need_search":true,"query":"x"}`: {true, "x"},
	} {
		if got, ok := readDecision(text); !ok || got != want {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "yes", `{"need_search":true,"query":" "}`, `{"need_search":`} {
		if got, ok := readDecision(text); ok || got.Need {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
