// Package plan is for work in two stages: a large model writes a plan, and a small one carries it out over file
// descriptors. It parses and validates plans and makes the prompts of both models.
package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	_ "embed"

	"hako/llm"
	"hako/run/fault"
)

// Version is the version of plans.
const Version = 1

const (
	mostSteps  = 32
	mostBytes  = 256 << 10
	mostInputs = 32 // of one step
)

// A Plan is a list of steps that carry out a request.
type Plan struct {
	Version  int      `json:"version"`
	Metadata Metadata `json:"metadata"`
	Workflow []Step   `json:"workflow"`
}

// Metadata describes the origin of a plan. The planner does not write it.
type Metadata struct {
	Created string `json:"created"` // when, as 2006-01-02T15:04:05Z
	Planner string `json:"planner"` // which model
	Request string `json:"request"` // what the user wants
}

// A Step is one part of the work.
type Step struct {
	ID           string   `json:"id"`
	Goal         string   `json:"goal"`
	Instructions string   `json:"instructions"`
	Inputs       []string `json:"inputs"`  // "fd 3", "step s1"
	Expects      string   `json:"expects"` // how to recognize success; may be empty
}

//go:embed schema.json
var schema []byte

// planSchema returns the JSON schema of a plan. Nothing is optional, as structured output requires.
func planSchema() json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, schema); err != nil {
		panic("plan: " + err.Error())
	}
	return b.Bytes()
}

// Format returns the schema for a dialog.
func Format() *llm.Format { return &llm.Format{Name: "plan", Schema: planSchema()} }

//go:embed planner.md
var planner string

// Instructions returns the system prompt of the planner.
func Instructions() string {
	return strings.TrimSpace(strings.ReplaceAll(planner, "{steps}", strconv.Itoa(mostSteps)))
}

// JSON encodes the plan for [Parse] and for people.
func (p *Plan) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	q := *p
	q.Workflow = slices.Clone(p.Workflow)
	for i, s := range q.Workflow {
		if s.Inputs == nil {
			q.Workflow[i].Inputs = []string{}
		}
	}
	if err := e.Encode(q); err != nil {
		panic("plan: " + err.Error()) // cannot happen
	}
	return b.Bytes()
}

//go:embed prompt.md
var prompt string

// Prompt returns the request for the model that carries out the plan, without the metadata about its origin.
func (p *Plan) Prompt() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(prompt) + "\n")
	if p.Metadata.Request != "" {
		fmt.Fprintf(&b, "\nThe request:\n%s\n", indent(p.Metadata.Request))
	}
	needed := p.needed()
	order, _ := p.order() // without a cycle, or it would not be a plan
	for _, at := range order {
		p.Workflow[at].tell(&b, needed)
	}
	for _, n := range p.shared() {
		fmt.Fprintf(&b, "\nfd %d is an input of several steps, but can be read only once: name its file in the scripts, or keep a copy in /tmp first.\n", n)
	}
	return b.String()
}

// tell writes one step. The result of a step that others use goes to a file.
func (s *Step) tell(b *strings.Builder, needed map[string]bool) {
	fmt.Fprintf(b, "\nStep %s: %s\n", s.ID, line(s.Goal))
	for _, in := range s.Inputs {
		if id, ok := strings.CutPrefix(in, "step "); ok {
			in = kept(id)
		}
		fmt.Fprintf(b, "Input: %s\n", in)
	}
	fmt.Fprintf(b, "Do:\n%s\n", indent(s.Instructions))
	if expects := line(s.Expects); expects != "" {
		fmt.Fprintf(b, "Expect: %s\n", expects)
	}
	result := "fd 1"
	if needed[s.ID] {
		result = kept(s.ID)
	}
	fmt.Fprintf(b, "Result to: %s\n", result)
}

// kept returns the file with the result of a step.
func kept(id string) string { return "/tmp/" + id + ".out" }

// line joins a text to one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// indent indents a text, so that it is not taken for a step.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			line = "  " + line
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Check rejects a plan that reads descriptors which are not open.
func (p *Plan) Check(open []int) error {
	for i := range p.Workflow {
		for _, n := range p.Workflow[i].descriptors() {
			if !slices.Contains(open, n) {
				return &fault.Error{Kind: fault.Invalid, Op: "check plan", Subject: "step " + p.Workflow[i].ID,
					Why: fmt.Sprintf("fd %d is not an input of this session", n), Hint: "the inputs are " + list(open)}
			}
		}
	}
	return nil
}

func list(open []int) string {
	if len(open) == 0 {
		return "none"
	}
	words := make([]string, len(open))
	for i, n := range open {
		words[i] = fmt.Sprintf("fd %d", n)
	}
	return strings.Join(words, ", ")
}
