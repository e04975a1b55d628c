package secretary

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/app/secretary/speech"
	"hako/llm"
	"hako/run"
	"hako/run/fault"
)

// says is a model that gives these answers, streamed letter by letter. One that
// begins with ! is an error after the rest of it.
type says struct {
	t       *testing.T
	answers []string
	dialogs []llm.Dialog
	during  func(n int) // called with the number of the question
}

func (m *says) Next(_ context.Context, d *llm.Dialog) (*llm.Turn, error) {
	n := len(m.dialogs)
	m.dialogs = append(m.dialogs, *d)
	if m.during != nil {
		m.during(n)
	}
	if n >= len(m.answers) {
		m.t.Errorf("asked %d times", n+1)
		return nil, errors.New("no more answers")
	}
	text, down := strings.CutPrefix(m.answers[n], "!")
	if d.OnText != nil {
		for _, piece := range strings.Split(text, "") {
			d.OnText(piece)
		}
	}
	if down {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: "m", Why: "nobody there"}
	}
	return &llm.Turn{Text: text}, nil
}

// last returns the last items of the last dialog as "role: text" lines.
func (m *says) last(n int) string {
	items := m.dialogs[len(m.dialogs)-1].Items
	var lines []string
	for _, it := range items[max(0, len(items)-n):] {
		lines = append(lines, string(it.Role)+": "+it.Text)
	}
	return strings.Join(lines, "\n")
}

// outcome is what a command does.
type outcome struct {
	took      time.Duration
	out, errs string
	exit      int
	dir       string
	err       error
	timedOut  bool
	do        func(ctx context.Context)
}

// hands are a runner that does what it is told to.
type hands struct {
	mu   sync.Mutex
	does map[string]outcome
	reqs []run.Request
}

func (h *hands) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	h.mu.Lock()
	h.reqs = append(h.reqs, *req)
	o, ok := h.does[req.Script]
	h.mu.Unlock()
	if !ok {
		o = outcome{exit: 127, errs: "command not found\n"}
	}
	if o.do != nil {
		o.do(ctx)
	}
	req.Stdout.Write([]byte(o.out))
	req.Stderr.Write([]byte(o.errs))
	return run.Result{Exit: o.exit, Dir: cmp.Or(o.dir, "/w"), TimedOut: o.timedOut, Duration: o.took}, o.err
}

func (h *hands) scripts() (all []string) {
	for _, r := range h.reqs {
		all = append(all, r.Script)
	}
	return all
}

var errUnlisted = errors.New("unlisted")

func denied(subject string, listed bool) error {
	e := &fault.Error{Kind: fault.Denied, Op: "denied", Subject: subject, Why: "no rule allows it",
		Hint: "to permit it, add a rule"}
	if !listed {
		e.Err = errUnlisted
	}
	return e
}

// memo is a history, which may be full.
type memo struct {
	all  []Message
	full bool
}

func (m *memo) Append(_ context.Context, msg Message) error {
	if m.full {
		return &fault.Error{Op: "append", Subject: "secretary.db", Why: "the disk is full"}
	}
	m.all = append(m.all, msg)
	return nil
}

// errands is a to-do list.
type errands struct{ did []TodoAction }

func (e *errands) Do(_ context.Context, a TodoAction) (string, error) {
	e.did = append(e.did, a)
	if a.Action == "delete" {
		return "", &fault.Error{Kind: fault.NotFound, Op: "delete to-do", Subject: "9", Why: "there is none"}
	}
	return a.Action + ": " + a.Title, nil
}

func (e *errands) Open(context.Context) (string, error) {
	return strings.Repeat("1 牛乳\n", len(e.did)), nil
}

type voice struct {
	said []speech.Speech
	err  error
}

func (v *voice) Say(_ context.Context, s speech.Speech) error {
	v.said = append(v.said, s)
	return v.err
}

// newSecretary returns one whose model gives the answers.
func newSecretary(t *testing.T, answers ...string) (*Secretary, *says, *hands) {
	m, h := &says{t: t, answers: answers}, &hands{does: map[string]outcome{}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &Secretary{Model: m, Runner: h, Now: func() time.Time { return now },
		Unlisted: func(err error) (string, bool) { return "", errors.Is(err, errUnlisted) },
		Commands: "- Git: git status, git log"}
	return s, m, h
}

func chat(t *testing.T, s *Secretary, text string) Answer {
	t.Helper()
	a, err := s.Chat(t.Context(), text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
