// Package rules is the built-in model, which needs no network: rules turn plain questions about files, in English or
// Japanese, into calls of the tool execute, and its results into answers.
//
// Phrases, words and translations are data: english.rules, japanese.rules, words.txt and answers.po. A request is
// parsed into a query (grammar.go, actions.go, interpret.go), and the first intent that fits the query (answer.go)
// works out the answer. A request that is understood only in part is not answered, since a wrong number is worse than
// none.
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

// speak streams a text line by line.
func speak(d *llm.Dialog, text string) {
	if d.OnText == nil {
		return
	}
	for piece := range strings.Lines(text) {
		d.OnText(piece)
	}
}

// decide answers the one question with a form: whether to search the web.
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
