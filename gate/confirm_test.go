package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		ask         func(context.Context, Question) (Answer, error)
		script      string
		story       string
		text, hint  string // of the refusal, if there is one
		permissions int    // questions put
	}{
		"yes": {yes, "echo a", "asked judged approved started allowed ended", "", "", 1},
		"no": {no, "echo a", "asked judged refused ended", "denied echo a: a person said no (confirm)",
			"do it another way", 1},
		"nobody": {nil, "echo a", "asked judged refused ended",
			"denied echo a: a person must approve it, and nobody is there to ask (confirm)",
			"run it where a person can answer: at a terminal", 0},
		"denied":   {yes, "echo a; rm b", "asked denied ended", "denied rm b: because (test.policy:1)", "do not", 0},
		"only one": {yes, "push b; echo a; push b", "asked judged approved started allowed allowed ended", "", "", 1},
	} {
		var questions []Question
		next := &fake{}
		g, log := newGate(judge{"echo": policy.Allow, "push": policy.Ask}, next)
		if c.ask != nil {
			g.opts.Ask = func(ctx context.Context, q Question) (Answer, error) {
				questions = append(questions, q)
				return c.ask(ctx, q)
			}
		}
		_, err := g.Run(t.Context(), &run.Request{Script: c.script, Confirm: true})
		if next.ran != (c.text == "") || err != nil && (err.Error() != c.text || fault.Hint(err) != c.hint ||
			fault.KindOf(err) != fault.Denied) {
			t.Errorf("%s: ran %v, %v, hint %q", name, next.ran, err, fault.Hint(err))
		}
		if log.story() != c.story || len(questions) != c.permissions {
			t.Errorf("%s: %s, %d questions", name, log.story(), len(questions))
		}
	}
}

func yes(context.Context, Question) (Answer, error) { return Once, nil }
func no(context.Context, Question) (Answer, error)  { return No, nil }

func TestConfirmShowsTheWholeScript(t *testing.T) {
	g, _ := newGate(judge{"push": policy.Ask}, &fake{})
	var got Question
	g.opts.Ask = func(_ context.Context, q Question) (Answer, error) { got = q; return No, nil }
	long := "push " + strings.Repeat("x", 500)
	script := "push --token=ghp_0123456789abcdef; TOKEN=1;push\npush '\x1b[2J'\n" + long + "\n"
	_, err := g.Run(t.Context(), &run.Request{ID: "r", Actor: "secretary", Reason: "asked for", Script: script,
		Args: []string{"a b"}, Confirm: true})
	want := "push --token=[redacted]; TOKEN=1;push\n    push '\\x1b[2J'\n    " + long + "\n    with the arguments 'a b'"
	if got.Command != want || got.Actor != "secretary" || got.Reason != "asked for" || got.Rule != "confirm" {
		t.Errorf("got %+v", got)
	}
	if !strings.HasPrefix(got.Why,
		"the request itself asks for confirmation; push '--token=[redacted]': because (test.policy:1)") {
		t.Errorf("why: %q", got.Why)
	}
	if text := fmt.Sprint(err); text != "denied push --token=[redacted]; TOKEN=[redacted];push…: a person said no (confirm)" {
		t.Error(text)
	}
}

func TestConfirmForTheSession(t *testing.T) {
	g, log := newGate(judge{"echo": policy.Allow}, &fake{})
	asked := 0
	g.opts.Ask = func(context.Context, Question) (Answer, error) { asked++; return Session, nil }
	for i, req := range []run.Request{{Script: "echo a"}, {Script: "echo a"}, {Script: "echo b"},
		{Script: "echo a", Dir: "d"}, {Script: "echo a", Args: []string{"x"}}} {
		req.Confirm = true
		if _, err := g.Run(t.Context(), &req); err != nil || asked != []int{1, 1, 2, 3, 4}[i] {
			t.Errorf("%d: asked %d times, %v", i, asked, err)
		}
	}
	if n := strings.Count(log.story(), "approved"); n != 5 {
		t.Errorf("%d approvals on record", n)
	}
}

func TestRedirectIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		op, file string
		story    string
		ask      func(context.Context, Question) (Answer, error)
	}{
		"allowed":  {">", "free", "asked started allowed ended", nil},
		"denied":   {">", "secret", "asked started allowed denied ended", nil},
		"other op": {"<", "secret", "asked started allowed ended", nil},
		"asked":    {">", "log", "asked started allowed judged approved ended", yes},
		"nobody":   {">", "log", "asked started allowed judged refused ended", nil},
	} {
		next := &fake{do: func(ctx context.Context, req *run.Request) error {
			req.Redirect(ctx, "/w", c.op, c.file) // and the runner overlooks the error
			return ctx.Err()
		}}
		g, log := newGate(judge{"echo": policy.Allow, ">/w/secret": policy.Deny, ">/w/log": policy.Ask}, next)
		g.opts.Ask = c.ask
		_, err := g.Run(t.Context(), &run.Request{Script: "echo"})
		if log.story() != c.story || (err != nil) != strings.Contains(c.story, "denied") &&
			(err != nil) != strings.Contains(c.story, "refused") {
			t.Errorf("%s: %s, %v", name, log.story(), err)
		}
		if name == "denied" && err.Error() != "denied '>' secret: it is not yours (redirection >)" {
			t.Error(err)
		}
	}
}

// TestDirectoryReachesTheJudge has a rule that holds in one directory only.
func TestDirectoryReachesTheJudge(t *testing.T) {
	next := &fake{do: func(ctx context.Context, req *run.Request) error {
		if err := req.Check(ctx, "/w", []string{"echo"}); err != nil {
			t.Error(err)
		}
		return req.Check(ctx, "/w/.git", []string{"echo"})
	}}
	g, _ := newGate(judge{"echo": policy.Allow, "/w/.git:echo": policy.Deny}, next)
	var seen []string
	_, err := g.Run(t.Context(), &run.Request{Script: "echo",
		Check:    func(_ context.Context, dir string, _ []string) error { seen = append(seen, dir); return nil },
		Redirect: func(context.Context, string, string, string) error { return nil }})
	if fault.KindOf(err) != fault.Denied || !slices.Equal(seen, []string{"", "/w", "/w/.git"}) {
		t.Errorf("%v, %q", err, seen)
	}
}

// TestCallersOwnRedirect checks that whoever makes the request may refuse too.
func TestCallersOwnRedirect(t *testing.T) {
	own := &fault.Error{Kind: fault.Denied, Op: "denied", Why: "the caller says no"}
	next := &fake{do: func(ctx context.Context, req *run.Request) error { return req.Redirect(ctx, "/w", "<", "x") }}
	g, _ := newGate(judge{"echo": policy.Allow}, next)
	_, err := g.Run(t.Context(),
		&run.Request{Script: "echo", Redirect: func(context.Context, string, string, string) error { return own }})
	if err != error(own) {
		t.Error(err)
	}
}
