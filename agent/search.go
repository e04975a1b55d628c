package agent

import (
	"context"
	"encoding/json"
	"strings"

	_ "embed"

	"hako/llm"
)

//go:embed search.md
var searchText string

// A Decision says whether a request needs the web.
type Decision struct {
	Need  bool   `json:"need_search"`
	Query string `json:"query"`
}

var decisionSchema = json.RawMessage(
	`{"type":"object","properties":{"need_search":{"type":"boolean"},"query":{"type":"string"}},"required":["need_search","query"],"additionalProperties":false}`)

// Decide asks the model whether a request needs a search, and for what. clear is false for an answer that cannot be
// read, which counts as no.
func (a *Agent) Decide(ctx context.Context, r Request) (d Decision, clear bool, err error) {
	turn, err := a.Model.Next(ctx, &llm.Dialog{
		System: strings.TrimSpace(searchText),
		Items:  []llm.Item{{Role: llm.User, Text: llm.Annotate(a.Secrets.Text(r.Text), r.Files)}},
		Format: &llm.Format{Name: "search_decision", Schema: decisionSchema},
	})
	if err != nil {
		return d, false, err
	}
	d, clear = readDecision(turn.Text)
	return d, clear, nil
}

// readDecision finds the object in an answer: bare, fenced, or after words.
func readDecision(text string) (d Decision, ok bool) {
	tries := 0
	for at := strings.IndexByte(text, '{'); at >= 0 && tries < 20; tries++ {
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		if dec.Decode(&d) == nil && (!d.Need || strings.TrimSpace(d.Query) != "") {
			return d, true
		}
		next := strings.IndexByte(text[at+1:], '{')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return Decision{}, false
}
