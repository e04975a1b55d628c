package fakes

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParse checks that what cannot be meant is refused.
func TestParse(t *testing.T) {
	tests := []struct{ text, why string }{
		{"", ""},
		{"key: x\nsteps:\n- {on: responses, text: hi}", ""},
		{`{"key":"x","steps":[{"on":"chat","pieces":["a","b"]}]}`, ""},
		{"stepz: []", "field stepz not found"},
		{"steps: [{on: responses, txt: hi}]", "field txt not found"},
		{"key: x\nkey: y", "already defined"},
		{"steps: []\n---\nsteps: []", "there is something after it"},
		{"steps: [{on: response}]", `step 1: there is no service "response"; did you mean responses?`},
		{"steps: [{}]", `there is no service ""`},
		{"steps: [{on: chat}, {on: chat, fault: cutt}]", `step 2: there is no fault "cutt"; did you mean cut?`},
		{"steps: [{on: chat, fault: failed}]", "chat cannot have the fault failed"},
		{"steps: [{on: responses, variant: no_index}]", "responses cannot have the variant no_index"},
		{"steps: [{on: brave, text: x}]", "text means nothing to brave"},
		{"steps: [{on: ollama, want: {tool_choice: none}}]", "want.tool_choice means nothing to ollama"},
		{"steps: [{on: responses, hits: []}]", "hits means nothing to responses"},
		{"steps: [{on: chat, text: x, pieces: [x]}]", "text and pieces are the same thing"},
		{"steps: [{on: chat, text: x, refusal: y}]", "a refusal comes instead of a text"},
		{"steps: [{on: chat, incomplete: full}]", `incomplete is length or content_filter, not "full"`},
		{"steps: [{on: page, path: /x}]", "begins with /pages/"},
		{"steps: [{on: chat, new_dialog: true, compacted: true}]", "nothing to compact"},
		{"steps: [{on: chat, fault: cut_in_arguments}]", "needs a call"},
		{"steps: [{on: chat, fault: cut, status: 500}]", "already is a fault"},
		{"steps: [{on: chat, calls: [{id: x}]}]", "a call without a name"},
		{"steps: [{on: chat, calls: [{name: f, arguments: {}, arguments_text: '{'}]}]", "the same thing"},
		{"steps: [{on: chat, calls: [{name: f, arguments: [1]}]}]", "cannot unmarshal"},
		{"steps: [{on: chat, calls: [{name: f, arguments: {a: .nan}}]}]", "unsupported value"},
		{"steps: [{on: ollama, calls: [{name: f, arguments_text: '{'}]}]", "ollama sends arguments as an object"},
		{"steps: [{on: chat, calls: [{name: f, id: a}]}, {on: chat, calls: [{name: f, id: a}]}]",
			"step 2: there are two calls a"},
		{"steps: [{on: chat, status: 42}]", "42 is not a status"},
		{"steps: [{on: chat, refused: 500}]", "refuses nothing with 500"},
		{"steps: [{on: chat, delay_ms: -1}]", "delay_ms is not between 0 and 600000"},
		{"steps: [{on: chat, usage: {input: 1, cached: 2}}]", "does not add up"},
		{"context: -1", "context: it is negative"},
	}
	for _, tt := range tests {
		_, err := Parse(tt.text)
		switch {
		case tt.why == "" && err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)):
			t.Errorf("%s: %v, want %s", tt.text, err, tt.why)
		}
	}
}

// seeds adds the examples to a fuzz test.
func seeds(f *testing.F) []string {
	names, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatal("no examples: ", err)
	}
	var all []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// FuzzParse checks that no text makes the parser, or the answers to what it
// lets through, fall over.
func FuzzParse(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Add(`{steps: [{on: chat, calls: [{name: f, arguments: {a: [1, {b: null}]}}], variant: repeat_names, fault: cut_in_arguments}]}`)
	f.Add(`{steps: [{on: responses, reasoning: x, refusal: y, incomplete: length, usage: {input: 1}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		sc, err := Parse(text)
		if err != nil {
			return
		}
		for i := range sc.Steps {
			one := *sc
			one.Models, one.Key = nil, ""
			one.Steps = []Step{sc.Steps[i]}
			answer(&one, sc.Steps[i].On)
		}
	})
}

// FuzzRequest checks that no request makes the server fall over.
func FuzzRequest(f *testing.F) {
	f.Add(0, responsesStart+callF+outputF+end)
	f.Add(1, chatStart+chatF+chatOutF+end)
	f.Add(2, ollamaStart+`,{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f"}`+end)
	f.Add(0, `{"model":"m","input":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"x"}]}],"tools":[{"type":"function","name":"f","parameters":{"properties":{"a":{"items":{}}}},"strict":true}]}`)
	f.Fuzz(func(t *testing.T, which int, body string) {
		on := strings.Fields(modelServices)[uint(which)%3]
		request(&Scenario{Steps: []Step{{On: on, Text: "x", Reasoning: "y", Calls: []Call{{Name: "f"}}}, {On: on}}}, on, body)
	})
}

// answer plays the only step of a scenario without a network.
func answer(sc *Scenario, on string) {
	request(sc, on, map[string]string{onResponses: responsesStart, onChat: chatStart, onOllama: ollamaStart}[on]+end)
}

// request sends a body to a service, twice.
func request(sc *Scenario, on, body string) {
	s := &Server{sc: sc, used: make([]bool, len(sc.Steps)), dialogs: map[string]*dialog{}, responses: map[string][]entry{}}
	for _, v := range services() {
		if v.on != on {
			continue
		}
		for range 2 {
			r := httptest.NewRequest(v.method, v.path+"?q=x&format=json", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			s.receive(r, []byte(body))
		}
	}
	s.Finish()
}
