package secretary

import (
	"cmp"
	"context"

	"hako/internal/lenientjson"
	"hako/llm"
)

// maxRetries is the maximum number of retries after a failed verification.
const maxRetries = 2

// threeSteps plans, answers and verifies. Each step is one call of the model.
func (t *turn) threeSteps(ctx context.Context) error {
	t.muted = true
	err := t.steps(ctx)
	t.muted = false
	if err == nil {
		t.speak(ctx, t.answer.Reply.Speech) // after it was verified
	}
	return err
}

func (t *turn) steps(ctx context.Context) error {
	problem := ""
	for try := 0; ; try++ {
		if err := t.plan(ctx, problem); err != nil {
			return err
		}
		reply, err := t.ask(ctx, t.instruction("answer", problem)...)
		if err != nil {
			return err
		}
		if n := len(reply.BashActions); n > 0 {
			t.warn(t.countMessage("not_planned", n))
		}
		t.changeTodos(ctx, reply.TodoActions)
		if problem = t.verify(ctx); problem == "" {
			return nil
		}
		if try == maxRetries {
			t.warn(t.message("doubt") + " " + problem)
			return nil
		}
		t.observe(Event{Type: Again})
		t.answer.Reply = Reply{}
	}
}

// instruction returns an instruction for one call only, with the problem of the previous attempt.
func (t *turn) instruction(name, problem string) []llm.Item {
	text := t.message(name)
	if problem != "" {
		text = t.message("retry") + " " + problem + "\n" + text
	}
	return []llm.Item{{Role: llm.System, Text: text}}
}

// plan asks for the actions needed before answering, and carries them out. An unreadable plan is ignored.
func (t *turn) plan(ctx context.Context, problem string) error {
	aside := t.instruction("plan", problem)
	said, err := t.askModel(ctx, planSchema(), aside, false)
	if err != nil {
		return err
	}
	reply, perr := parsePlan(said)
	if len(reply.Misspelt) > 0 {
		again := t.retryItems(aside, said, t.misspellingMessage("misspelt", reply.Misspelt))
		if said, err = t.askModel(ctx, planSchema(), again, false); err != nil {
			return err
		}
		reply, perr = parsePlan(said)
	}
	t.warnDropped(reply)
	if perr != nil {
		t.warn(t.message("no_plan"))
		return nil
	}
	if len(reply.BashActions)+len(reply.TodoActions) == 0 {
		return nil
	}
	shown := t.redacted(reply)
	t.replied = true // the actions stay in memory even if the answer fails
	t.add(llm.Assistant, shown.modelJSON())
	_, err = t.act(ctx, reply)
	return err
}

// parsePlan parses a plan. The error means that the text contains none.
func parsePlan(text string) (Reply, error) {
	v, err := lenientjson.Find(text, "need_actions", "bashActions", "todoActions")
	if err != nil {
		return Reply{Misspelt: misspeltIn(text)}, err
	}
	p := parser{}
	r := Reply{BashActions: p.actions(v), TodoActions: p.todos(v)}
	r.Lost, r.Twice = p.lost, p.twice
	if need, there := v.Get("need_actions"); there && !p.bool("need_actions", need, false) {
		r.BashActions, r.TodoActions = nil, nil
		return r, nil
	}
	p.findMisspelt(v)
	r.Misspelt = p.misspellings
	return r, nil
}

// verify lets the model check its answer and returns the problem it found. If the check fails, the answer
// stands with a warning.
func (t *turn) verify(ctx context.Context) (problem string) {
	said, err := t.askModel(ctx, verdictSchema(), t.instruction("verify", ""), false)
	if err != nil {
		t.warn(t.message("no_check") + ": " + t.redact(err.Error()))
		return ""
	}
	v, err := lenientjson.Find(said, "ok", "problem")
	if err != nil {
		t.warn(t.message("no_check"))
		return ""
	}
	p := parser{}
	ok, there := v.Get("ok")
	text, _ := v.Get("problem")
	problem = t.redact(oneLine(p.text("problem", text)))
	if there && p.bool("ok", ok, false) || !there && problem == "" {
		return ""
	}
	return cmp.Or(problem, "?")
}
