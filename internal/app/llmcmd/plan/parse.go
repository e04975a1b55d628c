package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// Parse parses a plan, which may be surrounded by other text. Of several plans the last one counts, because models
// think aloud before they answer.
func Parse(text string) (*Plan, error) {
	if len(text) > mostBytes {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "read plan",
			Why:  fmt.Sprintf("it has %d bytes, at most %d are read", len(text), mostBytes),
			Hint: "ask for fewer steps"}
	}
	raw, err := find(text)
	if err != nil {
		return nil, err
	}
	p, err := decode(raw)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func bad(subject, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read plan", Subject: subject, Why: why, Hint: hint}
}

// decode parses the object strictly.
func decode(raw json.RawMessage) (*Plan, error) {
	m, err := members("", raw, "version", "metadata", "workflow")
	if err != nil {
		return nil, err
	}
	p := &Plan{Version: Version}
	if version := string(m["version"]); version != "1" {
		if version == "" {
			version = "missing"
		}
		return nil, bad("", fmt.Sprintf("the version is %s, not %d", cut(version), Version), "")
	}
	if p.Metadata, err = decodeMetadata(m["metadata"]); err != nil {
		return nil, err
	}
	var steps []json.RawMessage
	if json.Unmarshal(m["workflow"], &steps) != nil || len(steps) == 0 {
		return nil, bad("", "the workflow is not a list of steps, at least one", "")
	}
	if len(steps) > mostSteps {
		return nil, bad("", fmt.Sprintf("it has %d steps, at most %d are taken", len(steps), mostSteps),
			"put together what one script can do")
	}
	for i, raw := range steps {
		s, err := decodeStep(fmt.Sprintf("step %d", i+1), raw)
		if err != nil {
			return nil, err
		}
		p.Workflow = append(p.Workflow, s)
	}
	return p, nil
}

func decodeMetadata(raw json.RawMessage) (m Metadata, err error) {
	if raw == nil || string(raw) == "null" {
		return m, nil
	}
	f, err := members("metadata", raw, "created", "planner", "request")
	if err != nil {
		return m, err
	}
	return m, fill("metadata", f, map[string]*string{"created": &m.Created, "planner": &m.Planner, "request": &m.Request})
}

func decodeStep(where string, raw json.RawMessage) (s Step, err error) {
	f, err := members(where, raw, "id", "goal", "instructions", "inputs", "expects")
	if err != nil {
		return s, err
	}
	if inputs := f["inputs"]; inputs != nil && string(inputs) != "null" {
		var words []*string // null is not an empty string
		if json.Unmarshal(inputs, &words) != nil || slices.Contains(words, nil) {
			return s, bad(where, "inputs is not a list of texts", `write "inputs": ["fd 3", "step s1"]`)
		}
		for _, w := range words {
			s.Inputs = append(s.Inputs, *w)
		}
	}
	return s, fill(where, f, map[string]*string{"id": &s.ID, "goal": &s.Goal, "instructions": &s.Instructions,
		"expects": &s.Expects})
}

// fill sets strings. A missing or null one stays empty.
func fill(where string, f map[string]json.RawMessage, into map[string]*string) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if to, ok := into[name]; ok && json.Unmarshal(f[name], to) != nil {
			return bad(where, name+" is not a text", "")
		}
	}
	return nil
}

// check validates the steps as a whole.
func (p *Plan) check() error {
	ids := make(map[string]bool)
	for i := range p.Workflow {
		if err := p.Workflow[i].check(fmt.Sprintf("step %d", i+1)); err != nil {
			return err
		}
		id := p.Workflow[i].ID
		if ids[id] {
			return bad("step "+id, "two steps have this id", "")
		}
		ids[id] = true
	}
	for i := range p.Workflow {
		if err := p.Workflow[i].checkInputs(ids); err != nil {
			return err
		}
	}
	if _, cycle := p.order(); cycle != nil {
		return bad("step "+cycle[0], "it needs its own result: "+strings.Join(cycle, " needs "), "")
	}
	return nil
}

// check validates one step.
func (s *Step) check(where string) error {
	switch {
	case !proper(s.ID):
		return bad(where, fmt.Sprintf("%q is not an id", cut(s.ID)), "an id has up to 32 letters, digits, - and _, as s1")
	case line(s.Goal) == "":
		return bad("step "+s.ID, "it has no goal", "")
	case line(s.Instructions) == "":
		return bad("step "+s.ID, "it has no instructions", "")
	case len(s.Inputs) > mostInputs:
		return bad("step "+s.ID, fmt.Sprintf("it has %d inputs, at most %d are taken", len(s.Inputs), mostInputs), "")
	}
	return nil
}

// checkInputs validates the inputs of a step.
func (s *Step) checkInputs(ids map[string]bool) error {
	for i, in := range s.Inputs {
		id, isStep := strings.CutPrefix(in, "step ")
		_, isFD := descriptor(in)
		switch {
		case slices.Contains(s.Inputs[:i], in):
			return bad("step "+s.ID, in+" is an input of it twice", "")
		case isStep && !ids[id]:
			return bad("step "+s.ID, fmt.Sprintf("there is no step %q", cut(id)), nearest(id, ids))
		case !isStep && !isFD:
			return bad("step "+s.ID, fmt.Sprintf("%q is not an input", cut(in)),
				`inputs are written "fd 0", "fd 3" and so on, or "step s1"`)
		}
	}
	return nil
}

func nearest(id string, ids map[string]bool) string {
	if near, ok := fault.Nearest(id, slices.Sorted(maps.Keys(ids))); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return ""
}

// proper reports whether an ID can be part of a file name.
func proper(id string) bool {
	return id != "" && len(id) <= 32 && id[0] != '-' && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// cut shortens a quotation.
func cut(s string) string { return text.Shorten(s, 40) }
