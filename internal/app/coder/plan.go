package coder

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"hako/internal/lenientjson"
	"hako/internal/text"
	"hako/run/fault"
)

// A Plan is what a model intends to do.
type Plan struct {
	Goal          Goal          `json:"goal_understanding"`
	Decomposition Decomposition `json:"task_decomposition"`
	Action        ActionPlan    `json:"action_plan"`
	Environment   Selection     `json:"selected_environment"`
	Verification  []Check       `json:"verification,omitempty"`
	Comment       string        `json:"comment,omitempty"`
	Notes         []string      `json:"notes,omitempty"` // what could not be used of the model's answer
}

// A Goal is how the model understands a task.
type Goal struct {
	Objective   string   `json:"main_objective"`
	Criteria    []string `json:"success_criteria,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
	Context     string   `json:"context_analysis,omitempty"`
}

// A Decomposition is a task in parts.
type Decomposition struct {
	Reasoning string `json:"reasoning,omitempty"`
	Subtasks  []Part `json:"subtasks,omitempty"`
}

// An ActionPlan is what is to be done in which order.
type ActionPlan struct {
	Order   []string `json:"execution_order,omitempty"`
	Actions []Part   `json:"actions,omitempty"`
}

// A Part is one subtask or action.
type Part struct {
	ID   string `json:"id,omitempty"`
	Text string `json:"description"`
}

// A Selection is the environment that a model wants.
type Selection struct {
	Name         string   `json:"name"`
	Reasoning    string   `json:"reasoning,omitempty"`
	Setup        []string `json:"setup_commands,omitempty"`
	Verification []Check  `json:"verification,omitempty"`
}

// A Check is a command that must succeed when the work is done.
type Check struct {
	Command string `json:"command"`
	Expect  string `json:"expected_output,omitempty"` // text that its output must contain; empty means any
}

// Limits of a plan.
const (
	maxParts    = 50
	maxCommands = 20
	maxText     = 4000
)

var planMembers = []string{"goal_understanding", "task_decomposition", "action_plan", "selected_environment"}

var planNames = append([]string{"phase", "main_objective", "success_criteria", "constraints", "context_analysis",
	"reasoning", "subtasks",
	"execution_order", "actions", "name", "setup_commands", "verification", "comment"}, planMembers...)

// readPlan finds the plan in an answer: bare, fenced, after thoughts, or between text.
// A value of the wrong type is converted, or omitted with a note. A plan that breaks
// off, or is empty, is an error.
func readPlan(text string) (*Plan, error) {
	v, err := lenientjson.FindAmong(text, planNames, planMembers...)
	if err != nil {
		return nil, noPlan(err)
	}
	if v.Cut {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read plan", Why: "it breaks off", Hint: "make the plan shorter"}
	}
	r := planReader{}
	p := r.plan(v)
	p.Notes = r.notes
	if p.Goal.Objective == "" && len(p.Decomposition.Subtasks) == 0 && len(p.Action.Actions) == 0 {
		return nil, emptyPlan(r.notes)
	}
	return p, nil
}

// noPlan returns the error for an answer without a plan.
func noPlan(err error) error {
	why := err.Error()
	var f *fault.Error
	if errors.As(err, &f) && f.Why != "" {
		why = f.Why
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read plan", Subject: "from the answer", Why: why,
		Hint: cmp.Or(fault.Hint(err), planShape)}
}

// planShape is the hint for a plan without content.
const planShape = "goal_understanding is an object with the text main_objective, task_decomposition one with the list subtasks, action_plan one with the list actions"

// emptyPlan returns the error for a plan without content.
func emptyPlan(notes []string) error {
	why := "it is empty"
	if len(notes) > 0 {
		why = "it says nothing that can be used: " + strings.Join(notes, "; ")
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read plan", Why: why, Hint: planShape}
}

// A planReader converts lenient values.
type planReader struct{ notes []string }

func (r *planReader) note(format string, args ...any) {
	if len(r.notes) < 10 {
		r.notes = append(r.notes, fmt.Sprintf(format, args...))
	}
}

func (r *planReader) plan(v lenientjson.Value) *Plan {
	goal, parts, actions := r.object(v, "goal_understanding"), r.object(v, "task_decomposition"),
		r.object(v, "action_plan")
	return &Plan{
		Goal: Goal{Objective: r.text(goal, "main_objective"), Criteria: r.texts(goal, "success_criteria"),
			Constraints: r.texts(goal, "constraints"), Context: r.text(goal, "context_analysis")},
		Decomposition: Decomposition{r.text(parts, "reasoning"), r.parts(parts, "subtasks")},
		Action:        ActionPlan{r.texts(actions, "execution_order"), r.parts(actions, "actions")},
		Environment:   r.selection(v),
		Verification:  r.checks(v, "verification"),
		Comment:       r.text(v, "comment"),
	}
}

// object returns a member that is an object; a list or text in its place becomes its
// main member.
func (r *planReader) object(v lenientjson.Value, name string) lenientjson.Value {
	m, there := v.Get(name)
	switch {
	case !there:
		r.note("%s is missing", name)
	case m.Kind == lenientjson.Object:
		return m
	case m.Kind == lenientjson.Text:
		r.note("%s is a text, not an object", name)
		return lenientjson.Value{Kind: lenientjson.Object,
			Members: []lenientjson.Member{{Name: map[string]string{"goal_understanding": "main_objective",
				"task_decomposition": "subtasks", "action_plan": "actions"}[name], Value: m}}}
	case m.Kind == lenientjson.List:
		r.note("%s is a list, not an object", name)
		return lenientjson.Value{Kind: lenientjson.Object, Members: []lenientjson.Member{{Name: "subtasks", Value: m},
			{Name: "actions", Value: m}, {Name: "success_criteria", Value: m}}}
	default:
		r.note("%s is not an object", name)
	}
	return lenientjson.Value{Kind: lenientjson.Object}
}

// selection reads the environment: an object, or only its name.
func (r *planReader) selection(v lenientjson.Value) Selection {
	m, there := v.Get("selected_environment")
	switch {
	case !there || m.Kind == lenientjson.Null:
		return Selection{}
	case m.Kind == lenientjson.Text:
		return Selection{Name: text.Line(m.Text, 100)}
	case m.Kind != lenientjson.Object:
		r.note("selected_environment is not an object")
		return Selection{}
	}
	return Selection{text.Line(r.text(m, "name"), 100), r.text(m, "reasoning"), r.commands(m, "setup_commands"),
		r.checks(m, "verification")}
}

func (r *planReader) text(v lenientjson.Value, name string) string {
	m, _ := v.Get(name)
	return r.written(name, m)
}

func (r *planReader) written(name string, m lenientjson.Value) string {
	switch m.Kind {
	case lenientjson.Text, lenientjson.Number, lenientjson.Bool:
		return text.Shorten(strings.TrimSpace(m.Text), maxText)
	case lenientjson.List:
		return text.Shorten(strings.Join(r.list(name, m), "\n"), maxText)
	case lenientjson.Object:
		r.note("%s is not a text", name)
	}
	return ""
}

// texts reads a list of texts; a single one is a list of one.
func (r *planReader) texts(v lenientjson.Value, name string) []string {
	m, _ := v.Get(name)
	return r.list(name, m)
}

func (r *planReader) list(name string, m lenientjson.Value) (out []string) {
	for _, e := range elements(m) {
		if e.Kind == lenientjson.List { // a list in a list cannot be meant
			r.note("%s has a list in it", name)
			continue
		}
		if text := r.described(name, e); text != "" && len(out) < maxParts {
			out = append(out, text)
		}
	}
	return out
}

// elements returns the elements of a list; a single value is a list of one.
func elements(v lenientjson.Value) []lenientjson.Value {
	if v.Kind == lenientjson.List {
		return v.List
	}
	return []lenientjson.Value{v}
}

// described returns the text of a value that may be an object with one.
func (r *planReader) described(name string, v lenientjson.Value) string {
	if v.Kind != lenientjson.Object {
		return r.written(name, v)
	}
	for _, key := range []string{"description", "purpose", "title", "name", "command", "text", "criterion", "id",
		"task_id"} {
		if m, ok := v.Get(key); ok && m.Kind != lenientjson.Object && m.Kind != lenientjson.List {
			return r.written(key, m)
		}
	}
	r.note("%s has an entry without a description", name)
	return ""
}

func (r *planReader) parts(v lenientjson.Value, name string) (out []Part) {
	m, _ := v.Get(name)
	for _, e := range elements(m) {
		p := Part{Text: r.described(name, e)}
		for _, key := range []string{"task_id", "id"} {
			if id, ok := e.Get(key); ok {
				p.ID = text.Line(id.Text, 40)
			}
		}
		if p.Text != "" && len(out) < maxParts {
			out = append(out, p)
		}
	}
	return out
}

// commands reads commands. One that breaks off is another command than was meant, so it
// is omitted.
func (r *planReader) commands(v lenientjson.Value, name string) (out []string) {
	for _, c := range r.checks(v, name) {
		out = append(out, c.Command)
	}
	return out
}

func (r *planReader) checks(v lenientjson.Value, name string) (out []Check) {
	m, _ := v.Get(name)
	if inner, ok := m.Get("commands"); ok {
		m = inner
	}
	for _, e := range elements(m) {
		c, ok := r.check(name, e)
		switch {
		case !ok:
		case len(out) == maxCommands:
			r.note("%s has more than %d commands; the rest is left out", name, maxCommands)
			return out
		default:
			out = append(out, c)
		}
	}
	return out
}

func (r *planReader) check(name string, v lenientjson.Value) (c Check, ok bool) {
	command := v
	if v.Kind == lenientjson.Object {
		command, _ = v.Get("command")
		c.Expect = r.text(v, "expected_output")
	}
	switch {
	case v.Kind == lenientjson.Null:
		return c, false
	case command.Kind != lenientjson.Text, command.Cut, len(command.Text) > maxText,
		strings.TrimSpace(command.Text) == "":
		r.note("%s has an entry that is no command", name)
		return c, false
	}
	c.Command = strings.TrimSpace(command.Text)
	return c, true
}

// Steps returns the subtasks, or without any the actions.
func (p *Plan) Steps() (list []string) {
	parts := p.Decomposition.Subtasks
	if len(parts) == 0 {
		parts = p.Action.Actions
	}
	for _, part := range parts {
		list = append(list, part.Text)
	}
	return list
}

// fallback is the plan if the model's answers could not be read.
func fallback(t Task) *Plan {
	return &Plan{Goal: Goal{Objective: text.Line(t.Title, 200)},
		Comment: "No plan could be read from the model's answer; the work continues without one."}
}

// change replaces each text of the plan.
func (p *Plan) change(to func(string) string) {
	each := func(list []string) {
		for i := range list {
			list[i] = to(list[i])
		}
	}
	for _, text := range []*string{&p.Goal.Objective, &p.Goal.Context, &p.Decomposition.Reasoning, &p.Environment.Name,
		&p.Environment.Reasoning, &p.Comment} {
		*text = to(*text)
	}
	for _, list := range [][]string{p.Goal.Criteria, p.Goal.Constraints, p.Action.Order, p.Environment.Setup, p.Notes} {
		each(list)
	}
	for _, parts := range [][]Part{p.Decomposition.Subtasks, p.Action.Actions} {
		for i := range parts {
			parts[i] = Part{to(parts[i].ID), to(parts[i].Text)}
		}
	}
	for _, checks := range [][]Check{p.Environment.Verification, p.Verification} {
		for i := range checks {
			checks[i] = Check{to(checks[i].Command), to(checks[i].Expect)}
		}
	}
}
