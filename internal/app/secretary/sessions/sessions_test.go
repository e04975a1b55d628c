package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/app/access"
	"hako/internal/app/secretary"
	"hako/internal/app/secretary/store"
	"hako/run/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann = access.Actor{Name: "ann", Role: access.Operator}
	bob = access.Actor{Name: "bob", Role: access.Reader}
)

// A house is where secretaries are opened. What becomes of them is written down.
type house struct {
	*Manager
	mu     sync.Mutex
	opened []string
	closed []string
	talks  map[string]*talk
	fail   error                                                 // of opening
	slow   func(ctx context.Context)                             // before one is open
	say    func(ctx context.Context, t *talk, text string) error // nil means that she says it back
}

// A talk is one of them.
type talk struct {
	*house
	OpenOptions
	ctx        context.Context
	shut       bool
	busy, over bool
}

func (h *house) open(ctx context.Context, o OpenOptions) (Conversation, error) {
	if h.slow != nil {
		h.slow(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		return nil, h.fail
	}
	t := &talk{house: h, OpenOptions: o, ctx: ctx}
	h.opened = append(h.opened, o.Session)
	h.talks[o.Session] = t
	return t, nil
}

func (t *talk) Say(ctx context.Context, text string) error {
	t.mu.Lock()
	shut, say := t.shut, t.say
	t.mu.Unlock()
	if shut || t.ctx.Err() != nil {
		panic("she was sent away")
	}
	if say != nil {
		return say(ctx, t, text)
	}
	t.answer(text)
	return nil
}

// answer says something and has it kept.
func (t *talk) answer(text string) {
	s, _ := t.Store.Session(t.Session)
	t.Store.Append(s.ID, store.Message{Role: store.User, Text: text})
	t.Observe(secretary.Event{Type: "text", Text: text})
	t.Observe(secretary.Event{Type: "reply", Text: text})
}

func (t *talk) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		panic("twice")
	}
	if t.ctx.Err() != nil {
		panic("too late to put anything away")
	}
	t.shut = true
	t.closed = append(t.closed, t.Session)
}

func (t *talk) Busy() bool { t.mu.Lock(); defer t.mu.Unlock(); return t.busy }
func (t *talk) Over() bool { t.mu.Lock(); defer t.mu.Unlock(); return t.over }

// was tells which were opened and closed since it was last asked.
func (h *house) was() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := fmt.Sprint("opened ", h.opened, " closed ", h.closed)
	h.opened, h.closed = nil, nil
	return text
}

func (h *house) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

func newStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "secretary.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func build(t testing.TB) *house {
	t.Helper()
	h := &house{Manager: &Manager{Store: newStore(t)}, talks: map[string]*talk{}}
	h.Open = h.open
	t.Cleanup(func() {
		if err := h.Manager.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if len(h.Manager.open) != 0 {
			t.Errorf("%d rooms are left", len(h.Manager.open))
		}
		for _, one := range h.talks {
			if !one.shut || one.ctx.Err() == nil {
				t.Errorf("conversation %s is left open", one.Session)
			}
		}
	})
	return h
}

// chat has a turn that works and returns what was told.
func (h *house) chat(t testing.TB, session, text string) string {
	t.Helper()
	told, err := h.try(session, text)
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func (h *house) try(session, text string) (string, error) {
	var told []string
	err := h.Chat(context.Background(), ann, session, text, func(t Turn) { told = append(told, t.Type+":"+t.Text) })
	return strings.Join(told, " "), err
}

// want checks an error's kind, its words and that there is a hint.
func want(t testing.TB, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Errorf("%v: %v, want %v", err, fault.KindOf(err), kind)
	}
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err), w) {
			t.Errorf("%v: want %q", err, w)
		}
	}
	if fault.Hint(err) == "" {
		t.Errorf("%v: no hint", err)
	}
}

// TestChat has a conversation that stays open between turns, by its name and by
// its number.
func TestChat(t *testing.T) {
	h := build(t)
	for _, session := range []string{"work", "work", "1"} {
		if told := h.chat(t, session, "hello"); told != "text:hello done:hello" {
			t.Errorf("%s: %s", session, told)
		}
	}
	h.chat(t, "home", "hi")
	if got := h.was(); got != "opened [1 2] closed []" {
		t.Error(got)
	}
}

func TestChatRefuses(t *testing.T) {
	h := build(t)
	tell := func(Turn) { t.Error("something was told") }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Chat(gone, ann, "work", "x", tell); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want(t, h.Chat(t.Context(), bob, "work", "x", tell), fault.Denied, "a reader may look")
	for session, says := range map[string]string{
		"":                         "no name",
		"77":                       "a number cannot be a name",
		" a":                       "begins or ends with a space",
		"a\x1b[2J":                 "cannot be shown",
		"a\nb":                     "cannot be shown",
		"\xff":                     "cannot be shown",
		strings.Repeat("長", 65):    "more than 64 characters",
		strings.Repeat("x", 1<<20): "more than 64 characters",
	} {
		err := h.Chat(t.Context(), ann, session, "x", tell)
		want(t, err, fault.Invalid, says)
		if len(err.Error()) > 1000 {
			t.Errorf("%d bytes", len(err.Error()))
		}
	}
	want(t, h.Chat(t.Context(), ann, "work", " \n", tell), fault.Invalid, "nothing was said")
	if got := h.was(); got != "opened [] closed []" {
		t.Error(got)
	}
	if all, err := h.Store.Sessions(0); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestOpenFails leaves nothing behind, and the next turn tries again.
func TestOpenFails(t *testing.T) {
	h := build(t)
	h.fail = &fault.Error{Kind: fault.Unavailable, Op: "ask model", Hint: "start Ollama"}
	_, err := h.try("work", "hello")
	want(t, err, fault.Unavailable, "ask model")
	h.fail = nil
	h.chat(t, "work", "hello")
}

// turns collects what is told.
func turns(t *testing.T, events ...secretary.Event) (all []Turn) {
	t.Helper()
	h := build(t)
	h.say = func(_ context.Context, t *talk, _ string) error {
		for _, e := range events {
			t.Observe(e)
		}
		return nil
	}
	if err := h.Chat(t.Context(), ann, "work", "x", func(t Turn) { all = append(all, t) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTurns(t *testing.T) {
	ls := &secretary.Action{Command: "ls <a>", Reason: "to look"}
	told := turns(t,
		secretary.Event{Type: "text", Text: "half"}, secretary.Event{Type: "again"},
		secretary.Event{Type: "text", Text: "let me see"},
		secretary.Event{Type: "reply", Text: "let me see"}, secretary.Event{Type: "action", Action: ls},
		secretary.Event{Type: "result", Result: &secretary.Result{Command: "ls <a>", Reason: "to look", Took: time.Second,
			Output: &secretary.Output{Stdout: "a\n", Stderr: "e\n", ExitCode: "2"}}},
		secretary.Event{Type: "todo", Text: "added to-do 1: x"}, secretary.Event{Type: "warning", Text: "careful"},
		secretary.Event{Type: "text", Text: "one"}, secretary.Event{Type: "reply", Text: "one"},
		secretary.Event{Type: "action"}, secretary.Event{Type: "result"}, secretary.Event{Type: "news"},
	)
	var action secretary.Action
	for i := range told {
		if told[i].Type == "action" {
			if err := json.Unmarshal(told[i].Action, &action); err != nil || action != *ls {
				t.Errorf("%s, %v", told[i].Action, err)
			}
		}
	}
	got, _ := json.Marshal(slices.DeleteFunc(told, func(t Turn) bool { return t.Type == "action" }))
	const whole = `[{"type":"text","text":"half"},{"type":"again"},{"type":"text","text":"let me see"},` +
		`{"type":"result","result":{"command":"ls \u003ca\u003e","reason":"to look","exit_code":2,"stdout":"a\n","stderr":"e\n","redacted":0,"seconds":1}},` +
		`{"type":"todo","text":"added to-do 1: x"},{"type":"warning","text":"careful"},{"type":"text","text":"one"},{"type":"done","text":"one"}]`
	if string(got) != whole {
		t.Errorf("got  %s\nwant %s", got, whole)
	}
}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		r    secretary.Result
		want Outcome
	}{
		{secretary.Result{Command: "rm x", Error: "SecurityError: コマンドがホワイトリストに登録されていません: rm", Detail: "it deletes",
			Hint: "move it away"},
			Outcome{Command: "rm x", Denied: "コマンドがホワイトリストに登録されていません: rm: it deletes (move it away)"}},
		{secretary.Result{Command: "sleep 9", Error: "TimeoutError: 3秒", Output: &secretary.Output{Stdout: "a", Stderr: "b\n",
			ExitCode: "124"}},
			Outcome{Command: "sleep 9", Exit: 124, Stdout: "a", Stderr: "b\nTimeoutError: 3秒\n"}},
		{secretary.Result{Command: "ls", Error: "ExecutionError: too many"},
			Outcome{Command: "ls", Exit: 1, Stderr: "ExecutionError: too many\n"}},
		{secretary.Result{Command: "ls", Output: &secretary.Output{ExitCode: "0", Dir: "/w"}},
			Outcome{Command: "ls", Dir: "/w"}},
	} {
		if got := outcomeOf(&tt.r); got != tt.want {
			t.Errorf("got  %+v\nwant %+v", got, tt.want)
		}
	}
}

// TestResultsAreKept: a conversation that is opened again tells what came of
// commands as it did before, as far as that was kept.
func TestResultsAreKept(t *testing.T) {
	h := build(t)
	s, _ := h.Store.Resume("work")
	meta, err := json.Marshal([]secretary.Result{
		{Command: "ls", Reason: "to look", Output: &secretary.Output{Stdout: "a\n", ExitCode: "2"}},
		{Command: "rm x", Error: "SecurityError: no", Hint: "move it"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Store.Append(s.ID, store.Message{Role: store.System, Text: "raw", Meta: meta})
	h.Store.Append(s.ID, store.Message{Role: store.System, Text: "a note"})
	h.Store.Append(s.ID, store.Message{Role: store.Assistant, Text: "yes", Meta: json.RawMessage(`{"text":"yes"}`)})
	all, err := h.Messages(t.Context(), "work", 0)
	want := []Outcome{{Command: "ls", Reason: "to look", Exit: 2, Stdout: "a\n"},
		{Command: "rm x", Denied: "no (move it)"}}
	if err != nil || len(all) != 3 || !slices.Equal(all[0].Results, want) || all[1].Results != nil ||
		all[2].Results != nil {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestLateEvents has nobody told of what happens after a turn.
func TestLateEvents(t *testing.T) {
	h := build(t)
	told := 0
	h.Chat(t.Context(), ann, "work", "x", func(Turn) { told++ })
	before := told
	h.talks["1"].Observe(secretary.Event{Type: "warning", Text: "no sound"})
	if told != before {
		t.Error("somebody was told who does not listen any more")
	}
}

func TestSessions(t *testing.T) {
	h := build(t)
	if all, err := h.Sessions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	for _, s := range []string{"仕事", "web-abc", "", "empty"} {
		session, err := h.Store.Resume(s)
		if err != nil {
			t.Fatal(err)
		}
		if s != "empty" {
			h.Store.Append(session.ID, store.Message{Role: store.User, Text: "first\n words of " + s})
			h.Store.Append(session.ID, store.Message{Role: store.Assistant, Text: "yes"})
		}
	}
	h.chat(t, "仕事", "once more")
	all, err := h.Sessions(t.Context())
	var got []string
	for _, s := range all {
		got = append(got, s.ID+"="+s.Title)
		if time.Since(s.Updated) > time.Minute {
			t.Errorf("%+v", s)
		}
	}
	if want := "仕事=仕事, 3=first words of, web-abc=first words of web-abc"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v, %v", got, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Sessions(gone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMessages(t *testing.T) {
	h := build(t)
	for i := range 120 {
		h.chat(t, "work", fmt.Sprint(i))
	}
	for newest, want := range map[int]string{2: "118 119", 0: "20", -1: "20", 1000: "0"} {
		all, err := h.Messages(t.Context(), "work", newest)
		var got []string
		for _, m := range all {
			got = append(got, m.Text)
		}
		if text := strings.Join(got, " "); err != nil || !strings.HasPrefix(text+" ", want+" ") ||
			!strings.HasSuffix(text, "119") || all[0].Role != "user" || all[0].Time.IsZero() {
			t.Errorf("%d: %s, %v", newest, text, err)
		}
	}
	_, err := h.Messages(t.Context(), "none", 1)
	want(t, err, fault.NotFound, "find session none")
}

func TestVoice(t *testing.T) {
	h := build(t)
	heard := func(wanted bool) {
		t.Helper()
		h.chat(t, "work", "x")
		if on, err := h.Speaks(t.Context()); err != nil || on != wanted || h.talks["1"].Speaks() != wanted {
			t.Errorf("%v, %v", on, err)
		}
	}
	heard(false)
	h.VoiceOn = true
	heard(true)
	for _, on := range []bool{false, true} {
		if got, err := h.Voice(t.Context(), on); err != nil || got != on {
			t.Errorf("%v, %v", got, err)
		}
		heard(on)
	}
}

// TestNoVoice can always be silent.
func TestNoVoice(t *testing.T) {
	h := build(t)
	h.VoiceOn, h.NoVoice = true, &fault.Error{Kind: fault.Unavailable, Op: "speak", Why: "there is no player",
		Hint: "install one"}
	if on, err := h.Speaks(t.Context()); err != nil || on {
		t.Errorf("%v, %v", on, err)
	}
	on, err := h.Voice(t.Context(), true)
	want(t, err, fault.Unavailable, "there is no player")
	if again, err := h.Voice(t.Context(), false); err != nil || on || again {
		t.Errorf("%v, %v, %v", on, again, err)
	}
}

// A conversation is opened under the name by which it is listed, so that what is
// asked in it can be shown there.
func TestConversationsAreNamedAlike(t *testing.T) {
	h := build(t)
	unnamed, err := h.Store.NewSession("")
	if err != nil {
		t.Fatal(err)
	}
	h.chat(t, "work", "hello")
	h.chat(t, fmt.Sprint(unnamed.ID), "hello")
	listed, err := h.Sessions(t.Context())
	if err != nil || len(listed) != 2 {
		t.Fatal(listed, err)
	}
	for _, s := range listed {
		found := false
		for _, one := range h.talks {
			found = found || one.Name == s.ID
		}
		if !found {
			t.Errorf("nothing was opened as %s", s.ID)
		}
	}
}
