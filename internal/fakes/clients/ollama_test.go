package clients

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"hako/internal/fakes"
)

func ollama(t *testing.T, s *fakes.Server) *api.Client {
	t.Helper()
	base, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return api.NewClient(base, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
}

// chat asks and puts the answer together.
func chat(t *testing.T, c *api.Client, messages ...api.Message) (whole api.Message, last api.ChatResponse, err error) {
	t.Helper()
	properties := api.NewToolPropertiesMap()
	properties.Set("path", api.ToolProperty{Type: api.PropertyType{"string"}})
	tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: "count", Parameters: api.ToolFunctionParameters{
		Type: "object", Required: []string{"path"}, Properties: properties,
	}}}
	whole.Role = "assistant"
	err = c.Chat(t.Context(), &api.ChatRequest{
		Model: "m", Messages: messages, Tools: api.Tools{tool}, Options: map[string]any{"num_ctx": 8192},
	}, func(r api.ChatResponse) error {
		last = r
		whole.Content += r.Message.Content
		whole.Thinking += r.Message.Thinking
		whole.ToolCalls = append(whole.ToolCalls, r.Message.ToolCalls...)
		return nil
	})
	return whole, last, err
}

func TestOllama(t *testing.T) {
	c := ollama(t, play(t, `[
  {on: ollama, want: {tools: [count], fields: {options.num_ctx: 8192}}, reasoning: think hard, text: Let me see., calls: [{name: count, arguments: {path: a.txt}}, {name: count, arguments: {path: 日本.txt}}], usage: {input: 100, output: 9}},
  {on: ollama, text: Three and four., incomplete: length}]`))
	user := api.Message{Role: "user", Content: "count the lines"}
	said, last, err := chat(t, c, user)
	if err != nil || said.Content != "Let me see." || said.Thinking != "think hard" || len(said.ToolCalls) != 2 {
		t.Fatalf("%v %+v", err, said)
	}
	if path, _ := said.ToolCalls[1].Function.Arguments.Get("path"); path != "日本.txt" || said.ToolCalls[1].Function.Index != 1 {
		t.Errorf("%+v", said.ToolCalls[1])
	}
	if !last.Done || last.DoneReason != "stop" || last.PromptEvalCount != 100 || last.EvalCount != 9 || last.TotalDuration == 0 || last.CreatedAt.IsZero() {
		t.Errorf("%+v", last)
	}
	said, last, err = chat(t, c, user, said,
		api.Message{Role: "tool", ToolName: "count", Content: "3"}, api.Message{Role: "tool", ToolName: "count", Content: "4"})
	if err != nil || said.Content != "Three and four." || last.DoneReason != "length" {
		t.Errorf("%v %+v %+v", err, said, last)
	}
}

func TestOllamaErrors(t *testing.T) {
	user := api.Message{Role: "user", Content: "hi"}
	c := ollama(t, play(t, `[{on: ollama, status: 404, error: {message: "model 'm' not found"}}, {on: ollama, status: 401, error: {message: unauthorized}}, {on: ollama, text: hel, fault: error_flat, error: {message: out of memory}}]`))
	_, _, err := chat(t, c, user)
	var status api.StatusError
	if !errors.As(err, &status) || status.StatusCode != 404 || status.ErrorMessage != "model 'm' not found" {
		t.Errorf("%T %v", err, err)
	}
	_, _, err = chat(t, c, user)
	var auth api.AuthorizationError
	if !errors.As(err, &auth) || !strings.HasPrefix(auth.SigninURL, "https://ollama.com/") {
		t.Errorf("%T %v", err, err)
	}
	said, _, err := chat(t, c, user)
	if err == nil || err.Error() != "out of memory" || said.Content != "hel" {
		t.Errorf("%v %+v", err, said)
	}
}

func TestOllamaLists(t *testing.T) {
	c := ollama(t, play(t, `[]`))
	list, err := c.List(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].Name != "m" || list.Models[0].ModifiedAt.IsZero() {
		t.Errorf("%v %+v", err, list)
	}
	show, err := c.Show(t.Context(), &api.ShowRequest{Model: "m"})
	if err != nil || show.ModelInfo["qwen3.context_length"] != float64(32768) || len(show.Capabilities) != 2 {
		t.Errorf("%v %+v", err, show)
	}
	running, err := c.ListRunning(t.Context())
	if err != nil || len(running.Models) != 1 || running.Models[0].ContextLength != 32768 {
		t.Errorf("%v %+v", err, running)
	}
	if version, err := c.Version(t.Context()); err != nil || version == "" {
		t.Error(version, err)
	}
	if err := c.Heartbeat(t.Context()); err != nil {
		t.Error(err)
	}
}
