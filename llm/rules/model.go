// Package rules is a model without a network: rules that turn plain questions about files, in English or Japanese, into
// calls of execute, and word what came of them.
//
// Inside are two language packs (tables of phrases), the intents that answer them, the ways to find out how a file is
// laid out, and what the values of a table say about the words of a request. It does not learn, does not talk, and
// knows nothing but what it read. The one rule to keep: a request that is understood only in part is not answered,
// since a wrong number is worse than none.
package rules

import (
	"context"
	"encoding/json"
	"strings"

	"hako/llm"
	"hako/run/fault"
)

// New returns the model. It keeps nothing between turns and costs nothing.
func New() llm.Model { return model{} }

type model struct{}

const modelName = "builtin"

// Next implements [llm.Model].
func (model) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	t := readDialog(d)
	if d.Format != nil {
		return decide(t)
	}
	turn := &llm.Turn{Model: modelName}
	if turn.Text = t.answer(); len(t.wanted) > 0 {
		turn.Text, turn.Calls = "", t.wanted
	}
	speak(d, turn.Text)
	return turn, nil
}

// speak passes a text on, line by line.
func speak(d *llm.Dialog, text string) {
	if d.OnText == nil {
		return
	}
	for piece := range strings.Lines(text) {
		d.OnText(piece)
	}
}

// decide answers the one question that has a form: whether to search the web.
func decide(t *conversation) (*llm.Turn, error) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	json.Unmarshal(t.d.Format.Schema, &schema)
	if _, ok := schema.Properties["need_search"]; !ok {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: modelName,
			Why:  "its rules cannot fill in the form " + t.d.Format.Name,
			Hint: "use a real model: export OPENAI_API_KEY=…, or start Ollama; hako doctor says how"}
	}
	query := ""
	if len(t.request) <= longestRequest {
		query = parse(t.request, t.files).web
	}
	text := jsonText(struct {
		Need  bool   `json:"need_search"`
		Query string `json:"query"`
	}{query != "", query})
	speak(t.d, text)
	return &llm.Turn{Model: modelName, Text: text}, nil
}
