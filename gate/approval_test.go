package gate

import (
	"context"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

// walker is a runner with a directory: cd leads to where it says.
type walker struct{ dir string }

func (w *walker) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if req.Dir != "" {
		w.dir = req.Dir
	}
	for _, stmt := range req.Program.Stmts {
		var argv []string
		for _, word := range stmt.Cmd.(*syntax.CallExpr).Args {
			argv = append(argv, word.Lit())
		}
		if err := req.Check(ctx, w.dir, argv); err != nil {
			return run.Result{Dir: w.dir}, err
		}
		if argv[0] == "cd" {
			w.dir = argv[1]
		}
	}
	return run.Result{Dir: w.dir}, nil
}

// asked returns a gate before a runner in /w, and the directories of the
// questions that were put, each answered alike.
func asked(next run.Runner, answer Answer) (*Gate, *[]string) {
	g, _ := newGate(judge{"push": policy.Ask, "cd": policy.Allow, "echo": policy.Allow}, next)
	dirs := &[]string{}
	g.opts.Ask = func(_ context.Context, q Question) (Answer, error) {
		*dirs = append(*dirs, q.Dir)
		return answer, nil
	}
	return g, dirs
}

// What was approved for the session in one directory is another matter elsewhere.
func TestApprovalStaysInItsDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		scripts []run.Request
		want    string // where somebody was asked about
	}{
		"same": {[]run.Request{{Script: "push"}, {Script: "push"}}, "/w"},
		"elsewhere": {[]run.Request{{Script: "push"}, {Script: "cd /w/evil"}, {Script: "push"}, {Script: "push"}},
			"/w /w/evil"},
		"and back": {[]run.Request{{Script: "push"}, {Script: "cd /w/a"}, {Script: "push"}, {Script: "cd /w"},
			{Script: "push"}}, "/w /w/a"},
		"in between": {[]run.Request{{Script: "push; cd /w/evil; push"}, {Script: "push"}}, "/w /w/evil"},
		"given": {[]run.Request{{Script: "push", Dir: "/w/a"}, {Script: "push", Dir: "/w/b"},
			{Script: "push", Dir: "/w/a"}}, "/w/a /w/b"},
		"script": {[]run.Request{{Script: "echo", Confirm: true}, {Script: "echo", Confirm: true},
			{Script: "echo", Confirm: true, Dir: "/w/a"}}, "/w /w/a"},
		"moved": {[]run.Request{{Script: "echo", Confirm: true}, {Script: "cd /w/evil"},
			{Script: "echo", Confirm: true}}, "/w /w/evil"},
	} {
		g, dirs := asked(&walker{dir: "/w"}, Session)
		g.dir = "/w"
		for _, req := range c.scripts {
			if _, err := g.Run(t.Context(), &req); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := strings.Join(*dirs, " "); got != c.want {
			t.Errorf("%s: asked about %s", name, got)
		}
	}
}

// A gate that is not told where its runner stands learns it from the first command.
func TestApprovalBeforeTheDirectoryIsKnown(t *testing.T) {
	for _, confirm := range []bool{false, true} {
		g, dirs := asked(&walker{dir: "/w"}, Session)
		for range 3 {
			if _, err := g.Run(t.Context(), &run.Request{Script: "push", Confirm: confirm}); err != nil {
				t.Error(err)
			}
		}
		if _, err := g.Run(t.Context(), &run.Request{Script: "push", Confirm: confirm, Dir: "/w/b"}); err != nil ||
			len(*dirs) != 2 || (*dirs)[0] != "" || (*dirs)[1] != "/w/b" {
			t.Errorf("%v: asked about %q", err, *dirs)
		}
	}
}

// Once is for the request, but there too for the place that was shown.
func TestOnceIsForThePlaceShown(t *testing.T) {
	w := &walker{dir: "/w/evil"}
	g, dirs := asked(w, Once)
	g.dir = "/w" // which is not true
	if _, err := g.Run(t.Context(), &run.Request{Script: "push; push"}); err != nil ||
		strings.Join(*dirs, " ") != "/w /w/evil" {
		t.Errorf("%v: asked about %q", err, *dirs)
	}
}

// An approver of a whole script has seen where it goes.
func TestConfirmedScriptsMayMove(t *testing.T) {
	g, dirs := asked(&walker{dir: "/w"}, Once)
	if _, err := g.Run(t.Context(), &run.Request{Script: "push; cd /w/a; push", Confirm: true}); err != nil ||
		len(*dirs) != 1 {
		t.Errorf("%v: asked about %q", err, *dirs)
	}
}

func TestOpaqueRunnersAreRememberedByRequest(t *testing.T) {
	g, dirs := asked(&opaqueFake{}, Session)
	for _, dir := range []string{"", "", "/a", "/b", "/a"} {
		g.Run(t.Context(), &run.Request{Script: "push", Dir: dir})
	}
	if strings.Join(*dirs, " ") != " /a /b" {
		t.Errorf("asked about %q", *dirs)
	}
}

func TestQuestionShowsTheWholeCommand(t *testing.T) {
	for name, c := range map[string]struct{ argv, want string }{
		"long":      {strings.Repeat("x", 3000) + " -o /etc/passwd", strings.Repeat("x", 3000) + " -o /etc/passwd"},
		"escapes":   {`$'\x1b[2Jhako'`, `\x1b[2Jhako`},
		"direction": {"a\u202eb\u2066c\u200bd\ufeffe", `a\u202eb\u2066c\u200bd\ufeffe`},
		"unseen":    {"a\u3164b\u2800c\ufe0fd\u034fe\u3000f", `a\u3164b\u2800c\ufe0fd\u034fe\u3000f`},
		"lines":     {"'a\nhako: allow? y'", `a\nhako: allow? y`},
	} {
		for _, confirm := range []bool{false, true} {
			var got Question
			g, _ := newGate(unquoting{judge{"push": policy.Ask}}, &fake{})
			g.opts.Ask = func(_ context.Context, q Question) (Answer, error) { got = q; return No, nil }
			g.Run(t.Context(), &run.Request{Script: "push " + c.argv, Confirm: confirm})
			text := strings.ReplaceAll(got.Command, "\n    ", `\n`)
			if !strings.Contains(text, c.want) && !(confirm && strings.Contains(text, strings.Trim(c.argv, "'"))) ||
				strings.ContainsAny(text, "\n\x1b\u202e\u2066\u200b\ufeff\u3164\u2800\ufe0f\u034f") {
				t.Errorf("%s, confirm %v: %.200q", name, confirm, got.Command)
			}
		}
	}
}

// unquoting judges words as a shell would read them.
type unquoting struct{ judge }

func (u unquoting) ScriptAt(_ context.Context, _, script string, program *syntax.File, reprinted bool) (policy.Judged,
	error) {
	return judged(script, program, reprinted, u.program)
}

func (u unquoting) program(f *syntax.File) []policy.Verdict {
	var argv []string
	for _, w := range f.Stmts[0].Cmd.(*syntax.CallExpr).Args {
		text := ""
		for _, part := range w.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				text += part.Value
			case *syntax.SglQuoted:
				text += strings.ReplaceAll(part.Value, `\x1b`, "\x1b")
			}
		}
		argv = append(argv, text)
	}
	return []policy.Verdict{u.CallAt("", argv)}
}

func TestTooLongToBeApproved(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		confirm bool
		fits    bool
	}{
		"just":   {"push " + strings.Repeat("x", 3990), false, true},
		"words":  {"push " + strings.Repeat("x ", 2500), false, false},
		"script": {"push " + strings.Repeat("x", 4000), true, false},
		"lines":  {"push" + strings.Repeat("\n", 200) + "push", true, false},
	} {
		next := &fake{}
		g, log := newGate(judge{"push": policy.Ask}, next)
		questions := 0
		g.opts.Ask = func(context.Context, Question) (Answer, error) { questions++; return Once, nil }
		_, err := g.Run(t.Context(), &run.Request{Script: c.script, Confirm: c.confirm})
		if next.ran != c.fits || (questions > 0) != c.fits {
			t.Errorf("%s: ran %v, %d questions, %v", name, next.ran, questions, err)
		}
		if !c.fits && (fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "too long") ||
			!strings.Contains(fault.Hint(err), "4000") || log.story() != "asked judged refused ended") {
			t.Errorf("%s: %v, hint %q, %s", name, err, fault.Hint(err), log.story())
		}
	}
}
