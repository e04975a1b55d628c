package fakes

import (
	"strings"
	"testing"
)

// A sent is a request of a test and the status it gets.
type sent struct {
	what, body string
	status     int
	headers    []string
}

const (
	callF    = `,{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
	outputF  = `,{"type":"function_call_output","call_id":"c1","output":"x"}`
	chatF    = `,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	chatOutF = `,{"role":"tool","tool_call_id":"c1","content":"x"}`
	callStep = `{on: responses, calls: [{id: c1, name: f}]}`
	endStep  = `{on: responses, text: done}`
	auth     = "Authorization: Bearer sk-test-0123456789abcdef"
)

// TestViolations checks that each thing that must not happen is reported.
func TestViolations(t *testing.T) {
	one := func(what, body string, status int, headers ...string) []sent {
		return []sent{{what, body, status, headers}}
	}
	two := func(first, second sent) []sent { return []sent{first, second} }
	tests := []struct {
		name, steps string
		sent        []sent
		want        []string
	}{
		{"nothing wrong", endStep, one(toResponses, responsesStart+end, 200), nil},
		{"unused step", endStep + "," + endStep, one(toResponses, responsesStart+end, 200),
			[]string{"step 2 (responses) was never asked for"}},
		{"extra request", "", one(toResponses, responsesStart+end, 400),
			[]string{"request 1 (responses): unexpected request; all steps are done"}},
		{"wrong service", endStep, one(toChat, chatStart+end, 400), []string{"the next is step 1 (responses)", "step 1"}},
		{"no such address", "", one("GET /v2/x", "", 404), []string{"there is no such address"}},
		{"wrong method", endStep, one("GET /v1/responses", "", 405), []string{"Not allowed to GET"}},
		{"not JSON", endStep, one(toResponses, `{"model"`, 400), []string{"the body is not JSON"}},
		{"content type", endStep, one(toResponses, responsesStart+end, 400, "Content-Type: text/plain"),
			[]string{"the content type"}},
		{"a member twice", endStep, one(toResponses, `{"model":"m","model":"m","input":"x"}`, 400),
			[]string{`"model" is there twice`}},
		{"more after it", endStep, one(toResponses, `{"model":"m","input":"x"}{}`, 400), []string{"after top-level value"}},
		{"unknown field", endStep, one(toResponses, `{"model":"m","input":"x","verbose":true}`, 400),
			[]string{"unknown parameter: 'verbose'"}},
		{"unknown field inside", endStep, one(toResponses, `{"model":"m","input":[{"role":"user","content":"x","name":"y"}]}`,
			400), []string{"unknown parameter: 'input[0].name'"}},
		{"case matters", endStep, one(toResponses, `{"Model":"m","input":"x"}`, 400), []string{"unknown parameter: 'Model'"}},
		{"missing field", endStep, one(toResponses, `{"input":"x"}`, 400), []string{"missing required parameter: 'model'"}},
		{"chat's tools in responses", endStep,
			one(toResponses, `{"model":"m","input":"x","tools":[{"type":"function","function":{"name":"f"}}]}`, 400),
			[]string{"unknown parameter: 'tools[0].function'"}},
		{"too few tokens", endStep, one(toResponses, `{"model":"m","input":"x","max_output_tokens":8}`, 400),
			[]string{"max_output_tokens: must be an integer of at least 16"}},
		{"unknown field of chat", `{on: chat}`, one(toChat, `{"model":"m","messages":[],"prompt":"x"}`, 400),
			[]string{"unknown parameter: 'prompt'"}},
		{"unknown option of ollama", `{on: ollama}`, one(toOllama, ollamaStart+`],"options":{"ctx":1}}`, 400),
			[]string{"unknown parameter: 'options.ctx'"}},
		{"arguments of ollama", `{on: ollama}`,
			one(toOllama, ollamaStart+`,{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}`, 400),
			[]string{"must be an object"}},
		{"strict but open", endStep,
			one(toResponses, `{"model":"m","input":"x","tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{}}}]}`, 400), []string{"'additionalProperties' is required"}},
		{"strict but optional", `{on: chat}`,
			one(toChat, chatStart+`],"response_format":{"type":"json_schema","json_schema":{"name":"f","strict":true,"schema":{"type":"object","properties":{"a":{}},"additionalProperties":false}}}}`, 400), []string{"Missing 'a'"}},
		{"choice without tools", `{on: chat}`, one(toChat, chatStart+`],"tool_choice":"none"}`, 400),
			[]string{"only allowed when 'tools' are specified"}},
		{"choice of no tool", endStep,
			one(toResponses, `{"model":"m","input":"x","tool_choice":{"type":"function","name":"g"},"tools":[{"type":"function","name":"f","parameters":{}}]}`, 400), []string{"'g' not found"}},
		{"tool twice", endStep, one(toResponses,
			`{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":{}},{"type":"function","name":"f","parameters":{}}]}`, 400), []string{"two called f"}},
		{"options without stream", `{on: chat}`,
			one(toChat, `{"model":"m","messages":[],"stream_options":{"include_usage":true}}`, 400), []string{"stream_options"}},

		{"reasoning of a model that does not", endStep,
			one(toResponses, `{"model":"gpt-4.1-mini","input":"x","include":["reasoning.encrypted_content"]}`, 400),
			[]string{"'include' is not supported with this model"}},
		{"temperature of a model that reasons", endStep,
			one(toResponses, `{"model":"gpt-5-mini","input":"x","temperature":0}`, 400),
			[]string{"'temperature' is not supported with this model"}},

		{"output without call", endStep, one(toResponses, responsesStart+outputF+end, 400),
			[]string{"No tool call found for function call output with call_id c1"}},
		{"call without output", endStep, one(toResponses, responsesStart+callF+end, 400),
			[]string{"No tool output found for function call c1"}},
		{"two outputs", endStep, one(toResponses, responsesStart+callF+outputF+outputF+end, 400),
			[]string{"c1 has two outputs"}},
		{"two calls", endStep, one(toResponses, responsesStart+callF+callF+outputF+end, 400), []string{"two calls c1"}},
		{"chat: output without call", `{on: chat}`, one(toChat, chatStart+chatOutF+end, 400),
			[]string{"must be a response to"}},
		{"chat: something between", `{on: chat}`, one(toChat, chatStart+chatF+`,{"role":"user","content":"?"}`+chatOutF+end,
			400), []string{"did not have response messages: c1"}},
		{"ollama: results by name", `{on: ollama}`,
			one(toOllama, ollamaStart+
				`,{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{}}},{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f","content":""},{"role":"tool","tool_name":"f","content":""}`+end, 200), nil},
		{"ollama: output of another", `{on: ollama}`,
			one(toOllama, ollamaStart+
				`,{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"g","content":""}`+end, 400), []string{`"g" is not`}},

		{"key in the body", endStep, one(toResponses, `{"model":"m","input":"sk-test-0123456789abcdef"}`, 200, auth),
			[]string{"a key went where"}},
		{"key to another", `{on: ollama, text: x}`, one(toOllama, ollamaStart+end, 200, auth), []string{"a key went where"}},
		{"no key", endStep, one(toResponses, responsesStart+end, 401, "Authorization: "),
			[]string{"You didn't provide an API key"}},
		{"wrong key", endStep, one(toResponses, responsesStart+end, 401, "Authorization: Bearer sk-wrong-0123456789"),
			[]string{"Incorrect API key provided: sk-w***********6789"}},
		{"unknown model", endStep, one(toResponses, `{"model":"n","input":"x"}`, 404),
			[]string{"The model `n` does not exist"}},
		{"ollama: unknown model", `{on: ollama}`, one(toOllama, strings.Replace(ollamaStart, `"m"`, `"n"`, 1)+end, 404),
			[]string{"model 'n' not found"}},
		{"should have been refused", `{on: responses, refused: 401}`, one(toResponses, responsesStart+end, 400),
			[]string{"should have been refused with 401"}},

		{"call forgotten", callStep + "," + endStep, two(sent{toResponses, responsesStart + end, 200, nil},
			sent{toResponses, responsesStart + `,{"role":"user","content":"?"}` + end, 200, nil}),
			[]string{"does not repeat the call c1 of f with {}"}},
		{"call changed", callStep + "," + endStep, two(sent{toResponses, responsesStart + end, 200, nil},
			sent{toResponses, responsesStart + strings.Replace(callF, "{}", "{ }", 1) + outputF + end, 200, nil}),
			[]string{"does not repeat the call c1"}},
		{"call made up", endStep + "," + endStep, two(sent{toResponses, responsesStart + end, 200, nil},
			sent{toResponses, responsesStart + `,{"role":"assistant","content":"done"}` + callF + outputF + end, 200, nil}),
			[]string{"the model never made the call c1 of f"}},
		{"text forgotten", `{on: chat, text: hello}, {on: chat}`,
			two(sent{toChat, chatStart + end, 200, nil}, sent{toChat, chatStart + `,{"role":"user","content":"?"}` + end, 200,
				nil}),
			[]string{`does not repeat what the model said: "hello"`}},
		{"beginning changed", callStep + "," + endStep, two(sent{toResponses, responsesStart + end, 200, nil},
			sent{toResponses, strings.Replace(responsesStart, `"hi"`, `"ho"`, 1) + callF + outputF + end, 200, nil}),
			[]string{`at byte 77 there was`}},
		{"a new dialog may differ", callStep + `, {on: responses, new_dialog: true}`,
			two(sent{toResponses, responsesStart + end, 200, nil}, sent{toResponses, `{"model":"m","input":"ho"}`, 200, nil}),
			nil},
		{"a compacted one, too", callStep + `, {on: responses, compacted: true}`,
			two(sent{toResponses, responsesStart + end, 200, nil},
				sent{toResponses, `{"model":"m","input":[{"role":"user","content":"short"}]}`, 200, nil}), nil},
		{"two dialogs at once", `{on: responses, dialog: a}, {on: responses, dialog: b}`,
			two(sent{toResponses, responsesStart + end, 200, nil}, sent{toResponses, `{"model":"m","input":"ho"}`, 200, nil}),
			nil},
		{"after a failure the same again", `{on: responses, status: 500}, ` + endStep,
			two(sent{toResponses, responsesStart + end, 500, nil}, sent{toResponses, responsesStart + end, 200, nil}), nil},
		{"cut calls were not made", `{on: responses, fault: cut, calls: [{id: c1, name: f}]}, ` + endStep,
			two(sent{toResponses, responsesStart + end, 200, nil}, sent{toResponses, responsesStart + callF + outputF + end, 200,
				nil}),
			[]string{"never made the call c1"}},
		{"broken arguments may be replaced", `{on: responses, calls: [{id: c1, name: f, arguments_text: '{"broken'}]}, ` +
			endStep, two(sent{toResponses, responsesStart + end, 200, nil},
			sent{toResponses, responsesStart + callF + outputF + end, 200, nil}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, "{key: sk-test-0123456789abcdef, models: [m], steps: ["+tt.steps+"]}")
			for _, r := range tt.sent {
				headers := r.headers
				if strings.Contains(r.what, "/v1/") {
					headers = append([]string{auth}, headers...)
				}
				if g := ask(t, s, r.what, r.body, headers...); g.status != r.status {
					t.Errorf("status %d, want %d: %s", g.status, r.status, g.body)
				}
			}
			finish(t, s, tt.want...)
		})
	}
}

// TestReasoning checks that reasoning has to be asked for and repeated.
func TestReasoning(t *testing.T) {
	const steps = `{steps: [{on: responses, reasoning: hm, calls: [{id: c1, name: f}]}, {on: responses, text: done}]}`
	const start = `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"hi"}`
	item := func(t *testing.T, s *Server, body string) string {
		t.Helper()
		out := must(t, ask(t, s, toResponses, body))
		at := strings.Index(out, `{"id":"rs_`)
		return "," + out[at:at+strings.Index(out[at:], `}`)+1]
	}
	t.Run("repeated", func(t *testing.T) {
		s := play(t, steps)
		rs := item(t, s, start+end)
		must(t, ask(t, s, toResponses, start+rs+callF+outputF+end))
		finish(t, s)
	})
	t.Run("forgotten", func(t *testing.T) {
		s := play(t, steps)
		item(t, s, start+end)
		must(t, ask(t, s, toResponses, start+callF+outputF+end))
		finish(t, s, "does not repeat the reasoning rs_")
	})
	t.Run("after its call", func(t *testing.T) {
		s := play(t, steps)
		rs := item(t, s, start+end)
		must(t, ask(t, s, toResponses, start+callF+outputF+rs+end))
		finish(t, s, "does not repeat the call c1")
	})
	t.Run("changed", func(t *testing.T) {
		s := play(t, steps)
		rs := strings.Replace(item(t, s, start+end), "gAAAAA", "gBBBBB", 1)
		must(t, ask(t, s, toResponses, start+rs+callF+outputF+end))
		finish(t, s, "does not repeat the reasoning rs_")
	})
	t.Run("lost", func(t *testing.T) {
		s := play(t, `{steps: [{on: responses, reasoning: hm}]}`)
		must(t, ask(t, s, toResponses, responsesStart+end))
		finish(t, s, "the reasoning is lost")
	})
}

// TestWants checks each thing that a step can want.
func TestWants(t *testing.T) {
	const body = `{"model":"m","stream":true,"input":[{"role":"user","content":"caf\u00e9"}],"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":"none"}`
	tests := []struct{ want, violation string }{
		{`contains: [café], lacks: [tea], tools: [f], tool_choice: none, model: m, stream: true, fields: {input.0.role: user, tool_choice: none}, absent: [temperature], headers: {x-a: b}`, ""},
		{`contains: [tea]`, `it does not say "tea"`},
		{`lacks: [café]`, `it must not say "café"`},
		{`tools: [f, g]`, `its tools are ["f"], not ["f" "g"]`},
		{`tools: []`, `its tools are ["f"], not []`},
		{`tool_choice: auto`, `its tool_choice is "none", not "auto"`},
		{`model: n`, `it asks the model "m", not "n"`},
		{`stream: false`, "it asks for a stream: true, not false"},
		{`fields: {input.0.role: system}`, `input.0.role is "user", not "system"`},
		{`absent: [input.0.role]`, "input.0.role should not be there"},
		{`headers: {x-a: c}`, `the header x-a is "b", not "c"`},
		{`query: {q: x}`, `q is "" in the query, not "x"`},
	}
	for _, tt := range tests {
		s := play(t, "{steps: [{on: responses, want: {"+tt.want+"}}]}")
		must(t, ask(t, s, toResponses, body, "X-A: b"))
		if tt.violation == "" {
			finish(t, s)
		} else {
			finish(t, s, tt.violation)
		}
	}
}

// TestUnordered checks that such steps find their requests, and others do not.
func TestUnordered(t *testing.T) {
	s := play(t, `{steps: [{on: page, path: /pages/a, body: A, unordered: true}, {on: searxng, want: {query: {q: x}}, unordered: true}, {on: searxng, want: {query: {q: y}}, hits: [{title: Y}], unordered: true}, {on: page, path: /pages/b, body: B}]}`)
	if out := must(t, ask(t, s, "GET /search?q=y&format=json", "")); !strings.Contains(out, `"title":"Y"`) {
		t.Error(out)
	}
	must(t, ask(t, s, "GET /search?q=x&format=json", ""))
	if out := must(t, ask(t, s, "GET /pages/a", "")); out != "A" {
		t.Error(out)
	}
	must(t, ask(t, s, "GET /pages/b", ""))
	finish(t, s)

	s = play(t, `{steps: [{on: page, path: /pages/a}, {on: page, path: /pages/b}]}`)
	must(t, ask(t, s, "GET /pages/b", ""))
	must(t, ask(t, s, "GET /pages/a", ""))
	finish(t, s, "it asks for /pages/b, not /pages/a", "it asks for /pages/a, not /pages/b")
}

// TestLists checks that lists are free unless a step is about them.
func TestLists(t *testing.T) {
	s := play(t, `{models: [m], context: 4096, steps: []}`)
	for what, want := range map[string]string{
		"GET /": "Ollama is running", "GET /v1/models": `"id":"m"`, "GET /api/tags": `"name":"m"`,
		"GET /api/ps": `"context_length":4096`, "GET /api/version": `"version"`,
	} {
		if out := must(t, ask(t, s, what, "")); !strings.Contains(out, want) {
			t.Errorf("%s: %s", what, out)
		}
	}
	if out := must(t, ask(t, s, "POST /api/show", `{"model":"m"}`)); !strings.Contains(out,
		`"qwen3.context_length":4096`) || !strings.Contains(out, `["completion","tools"]`) {
		t.Error(out)
	}
	finish(t, s)

	s = play(t, `{steps: [{on: tags, status: 500}]}`)
	if g := ask(t, s, "GET /api/tags", ""); g.status != 500 {
		t.Errorf("%+v", g)
	}
	ask(t, s, "GET /api/tags", "")
	finish(t, s, "request 2 (tags): unexpected")
}

// TestRequests checks what is kept of a request.
func TestRequests(t *testing.T) {
	s := play(t, "{steps: ["+endStep+"]}")
	must(t, ask(t, s, toResponses, responsesStart+end))
	ask(t, s, "GET /x?y=z", "")
	all := s.Requests()
	if len(all) != 2 || all[0].On != "responses" || all[0].Step != 1 || string(all[0].Body) != responsesStart+end ||
		all[1].URL != "/x?y=z" || all[1].Step != 0 {
		t.Errorf("%+v", all)
	}
}
