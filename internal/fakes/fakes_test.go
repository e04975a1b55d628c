package fakes

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// play starts a scenario for a test.
func play(t *testing.T, text string) *Server {
	t.Helper()
	sc, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s := Start(sc)
	t.Cleanup(s.Close)
	return s
}

// A got is what came back; err is what went wrong while it was read.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

// ask sends a request: "POST /v1/responses", a body, and headers as "Name: value".
func ask(t *testing.T, s *Server, what, body string, headers ...string) got {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		r.Header.Set(name, v)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(b), err}
}

// must wants a 200.
func must(t *testing.T, g got) string {
	t.Helper()
	if g.status != 200 || g.err != nil {
		t.Fatalf("status %d, %v: %s", g.status, g.err, g.body)
	}
	return g.body
}

// finish checks the violations: as many as given, each with its words in it.
func finish(t *testing.T, s *Server, want ...string) {
	t.Helper()
	all := s.Finish()
	if len(all) != len(want) {
		t.Fatalf("%d violations, want %d:\n%s", len(all), len(want), strings.Join(all, "\n"))
	}
	for i, w := range want {
		if !strings.Contains(all[i], w) {
			t.Errorf("violation %q does not say %q", all[i], w)
		}
	}
}

// objects reads the data of all events, or all lines.
func objects(t *testing.T, stream string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(stream) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, v)
	}
	return all
}

// Beginnings of requests that are in order.
const (
	responsesStart = `{"model":"m","store":false,"stream":true,"input":[{"role":"user","content":"hi"}`
	chatStart      = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}`
	ollamaStart    = `{"model":"m","messages":[{"role":"user","content":"hi"}`
	end            = `]}`
)

const (
	toResponses = "POST /v1/responses"
	toChat      = "POST /v1/chat/completions"
	toOllama    = "POST /api/chat"
)

// TestExamples plays each example with the conversation that it is for.
func TestExamples(t *testing.T) {
	read := func(name string) *Server {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return play(t, string(text))
	}
	key := "Authorization: Bearer sk-test-0123456789abcdef"

	s := read("count-responses.yaml")
	body := `{"model":"gpt-4.1-mini","store":false,"stream":true,"input":[{"role":"user","content":"count the lines"}`
	id := responsesCall(t, must(t, ask(t, s, toResponses, body+end, key)))
	body += `,{"type":"function_call","call_id":"` + id +
		`","name":"execute","arguments":"{\"command\":\"wc -l a.txt\"}"}` +
		`,{"type":"function_call_output","call_id":"` + id + `","output":"3 a.txt"}`
	if out := must(t, ask(t, s, toResponses, body+end, key)); !strings.Contains(out, `"text":"a.txt has three lines."`) {
		t.Error(out)
	}
	finish(t, s)

	s = read("count-chat.yaml")
	body = `{"model":"gpt-4.1-mini","stream":true,"messages":[{"role":"user","content":"count the lines"}`
	out := must(t, ask(t, s, toChat, body+end, key))
	id = digText(any(objects(t, out)[1]), "choices.0.delta.tool_calls.0.id")
	body += `,{"role":"assistant","content":null,"tool_calls":[{"id":"` + id +
		`","type":"function","function":{"name":"execute","arguments":"{\"command\":\"wc -l a.txt\"}"}}]}` +
		`,{"role":"tool","tool_call_id":"` + id + `","content":"3 a.txt"}`
	must(t, ask(t, s, toChat, body+end, key))
	finish(t, s)

	s = read("count-ollama.yaml")
	must(t, ask(t, s, "GET /api/tags", ""))
	body = `{"model":"qwen3:8b","messages":[{"role":"user","content":"count the lines"}`
	must(t, ask(t, s, toOllama, body+end))
	body += `,{"role":"assistant","content":"","tool_calls":[{"function":{"name":"execute","arguments":{"command":"wc -l a.txt"}}}]}` +
		`,{"role":"tool","tool_name":"execute","content":"3 a.txt"}`
	must(t, ask(t, s, toOllama, body+end))
	finish(t, s)

	s = read("search-brave.yaml")
	token := "X-Subscription-Token: brave-key-0123456789abcdef"
	if g := ask(t, s, "GET /res/v1/web/search?q=landlock+kernel&search_lang=jp", "", token); g.status != 429 ||
		g.header.Get("X-RateLimit-Reset") != "1, 1419704" {
		t.Errorf("%+v", g)
	}
	if out := must(t, ask(t, s, "GET /res/v1/web/search?q=landlock+kernel", "", token)); !strings.Contains(out,
		s.URL()+"/pages/landlock.html") {
		t.Error(out)
	}
	must(t, ask(t, s, "GET /pages/landlock.html", ""))
	finish(t, s)
}

// responsesCall finds the id of the only call of an answer.
func responsesCall(t *testing.T, stream string) string {
	t.Helper()
	for _, e := range objects(t, stream) {
		if id := digText(any(e), "item.call_id"); id != "" {
			return id
		}
	}
	t.Fatal("no call in " + stream)
	return ""
}

// TestResponsesStream checks the order and the fields of the events.
func TestResponsesStream(t *testing.T) {
	s := play(t, `{steps: [{on: responses, reasoning: "think hard", text: "two words", calls: [{name: f, arguments: {a: 日本}}], usage: {input: 9, cached: 4, output: 5, reasoning: 2}}]}`)
	g := ask(t, s, toResponses,
		`{"model":"m","store":false,"stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},`+
			`"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}],"input":[{"role":"user","content":"hi"}]}`)
	events := objects(t, must(t, g))
	var kinds []string
	for i, e := range events {
		if e["sequence_number"] != float64(i) {
			t.Errorf("event %d has number %v", i, e["sequence_number"])
		}
		kind := e["type"].(string)
		if !strings.Contains(g.body, "event: "+kind+"\ndata: ") {
			t.Errorf("%s has no event line", kind)
		}
		if strings.HasSuffix(kind, ".delta") && e["obfuscation"] == nil {
			t.Errorf("%s has no padding", kind)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, strings.TrimPrefix(kind, "response."))
		}
	}
	kinds = slices.Compact(kinds)
	want := "created in_progress output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done " +
		"reasoning_summary_part.done output_item.done output_item.added content_part.added output_text.delta output_text.done content_part.done " +
		"output_item.done output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events:\n%s\nwant:\n%s", got, want)
	}
	first, last := events[0]["response"], events[len(events)-1]["response"]
	checks := map[string]string{
		"status": `"completed"`, "usage.input_tokens_details.cached_tokens": "4", "usage.total_tokens": "14",
		"usage.output_tokens_details.reasoning_tokens": "2",
		"tools.0.strict": "true", "tools.0.parameters.additionalProperties": "false", "output.0.type": `"reasoning"`,
		"output.1.phase":     `"commentary"`,
		"output.2.arguments": `"{\"a\":\"日本\"}"`, "store": "false", "model": `"m-2025-04-14"`, "error": "null",
		"service_tier": `"default"`,
	}
	for path, want := range checks {
		if got, _ := dig(last, path); canonical(got) != want {
			t.Errorf("%s is %s, want %s", path, canonical(got), want)
		}
	}
	if usage, there := dig(first, "usage"); !there || usage != nil {
		t.Errorf("usage is %v at first", usage)
	}
	for name, want := range map[string]string{"Content-Type": eventStream, "Openai-Version": "2020-10-01",
		"X-Ratelimit-Reset-Requests": "6ms"} {
		if got := g.header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if !strings.HasPrefix(g.header.Get("X-Request-Id"), "req_") {
		t.Error("no request id")
	}
	finish(t, s)
}

// TestPieces checks that streams put together are what the step says.
func TestPieces(t *testing.T) {
	s := play(t, `{steps: [{on: chat, new_dialog: true, pieces: [a, "日", "本 b"], torn: true}, {on: chat, new_dialog: true, text: "x y", variant: crlf}, {on: ollama, text: "x y", reasoning: hm}]}`)
	join := func(stream, path string) (whole string) {
		for _, o := range objects(t, stream) {
			whole += digText(any(o), path)
		}
		return whole
	}
	if got := join(must(t, ask(t, s, toChat, chatStart+end)), "choices.0.delta.content"); got != "a日本 b" {
		t.Error(got)
	}
	out := must(t, ask(t, s, toChat, chatStart+end))
	if got := join(out, "choices.0.delta.content"); got != "x y" || strings.Count(out, "\n") != strings.Count(out,
		"\r\n") {
		t.Error(out)
	}
	out = must(t, ask(t, s, toOllama, ollamaStart+end))
	if join(out, "message.content") != "x y" || join(out, "message.thinking") != "hm" {
		t.Error(out)
	}
	finish(t, s)
}

// TestWhole checks the answers to those who want no stream.
func TestWhole(t *testing.T) {
	s := play(t, `{steps: [{on: responses, text: hello, incomplete: length}, {on: chat, text: hello, calls: [{id: c1, name: f}]}, {on: ollama, text: hello, calls: [{name: f}]}]}`)
	tests := []struct{ what, body, path, want string }{
		{toResponses, `{"model":"m","input":"hi"}`, "incomplete_details.reason", "max_output_tokens"},
		{toChat, strings.Replace(chatStart, `"stream":true,"stream_options":{"include_usage":true},`, "", 1) + end,
			"choices.0.finish_reason", "tool_calls"},
		{toOllama, strings.Replace(ollamaStart, `{`, `{"stream":false,`, 1) + end, "message.tool_calls.0.function.name", "f"},
	}
	for _, tt := range tests {
		out := must(t, ask(t, s, tt.what, tt.body))
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil || digText(v, tt.path) != tt.want ||
			!strings.Contains(out, "hello") {
			t.Errorf("%s: %v: %s", tt.what, err, out)
		}
	}
	finish(t, s)
}

// TestGzip checks that bodies are compressed for those who can read that, and
// streams are not.
func TestGzip(t *testing.T) {
	s := play(t, `{steps: [{on: responses, text: hello}, {on: responses, new_dialog: true, text: hello}]}`)
	if g := ask(t, s, toResponses, `{"model":"m","input":"hi"}`, "Accept-Encoding: gzip"); g.header.Get(
		"Content-Encoding") != "gzip" || !bytes.HasPrefix([]byte(g.body), []byte{0x1f, 0x8b}) {
		t.Errorf("%+v", g)
	}
	if g := ask(t, s, toResponses, responsesStart+end, "Accept-Encoding: gzip"); g.header.Get("Content-Encoding") != "" ||
		!strings.Contains(g.body, "hello") {
		t.Errorf("%+v", g)
	}
	finish(t, s)
}

// TestEnv checks that only what occurs in the scenario is to be found.
func TestEnv(t *testing.T) {
	tests := []struct{ steps, names string }{
		{`[]`, "FAKE_URL OLLAMA_HOST"},
		{`[{on: responses}]`, "FAKE_URL OPENAI_BASE_URL OPENAI_API_KEY HAKO_OPENAI_API OLLAMA_HOST"},
		{`[{on: tags}]`, "FAKE_URL OLLAMA_HOST"},
		{`[{on: google}]`, "FAKE_URL OLLAMA_HOST HAKO_GOOGLE_URL GOOGLE_API_KEY GOOGLE_CSE_CX"},
		{`[{on: brave}, {on: searxng}]`, "FAKE_URL OLLAMA_HOST HAKO_BRAVE_URL BRAVE_API_KEY SEARXNG_URL"},
	}
	for _, tt := range tests {
		s := play(t, "steps: "+tt.steps)
		var names []string
		for _, kv := range s.Env() {
			name, v, _ := strings.Cut(kv, "=")
			names = append(names, name)
			if !slices.Contains(Names(), name) {
				t.Errorf("%s is not among the names", name)
			}
			if real := strings.Contains(tt.steps, "tags"); name == "OLLAMA_HOST" && real != strings.HasPrefix(v, s.URL()) {
				t.Errorf("%s: ollama is at %s", tt.steps, v)
			}
		}
		if got := strings.Join(names, " "); got != tt.names+" HAKO_SPEECH_URL" {
			t.Errorf("%s: %s", tt.steps, got)
		}
	}
}

// TestWaiting checks that delays are kept, and that closing ends them.
func TestWaiting(t *testing.T) {
	s := play(t, `{steps: [{on: page, path: /pages/a, delay_ms: 50}, {on: page, path: /pages/b, delay_ms: 600000}]}`)
	start := time.Now()
	must(t, ask(t, s, "GET /pages/a", ""))
	if time.Since(start) < 50*time.Millisecond {
		t.Error("too soon")
	}
	go func() {
		for len(s.Requests()) < 2 {
			time.Sleep(time.Millisecond)
		}
		s.Close()
	}()
	if g := ask(t, s, "GET /pages/b", ""); g.err == nil {
		t.Errorf("%+v", g)
	}
	finish(t, s)
}

// TestPreviousResponse checks the mode in which the server keeps the conversation.
func TestPreviousResponse(t *testing.T) {
	s := play(t, `{steps: [{on: responses, calls: [{id: c1, name: f}]}, {on: responses, refused: 400}, {on: responses, text: done}, {on: responses, refused: 400}]}`)
	out := must(t, ask(t, s, toResponses, `{"model":"m","input":"hi"}`))
	var v any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	start := `{"model":"m","previous_response_id":"` + digText(v, "id") + `","input":[`
	if g := ask(t, s, toResponses, start+`{"role":"user","content":"and?"}]}`); g.status != 400 ||
		!strings.Contains(g.body, "No tool output found for function call c1") {
		t.Errorf("%+v", g)
	}
	must(t, ask(t, s, toResponses, start+`{"type":"function_call_output","call_id":"c1","output":"x"}]}`))
	if g := ask(t, s, toResponses, `{"model":"m","previous_response_id":"resp_none","input":"hi"}`); !strings.Contains(
		g.body, "previous_response_not_found") {
		t.Errorf("%+v", g)
	}
	finish(t, s)
}
