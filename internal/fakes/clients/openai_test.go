// Package clients has no code, only tests: clients that nobody here wrote talk
// to the servers of package fakes. What they understand, and what they make of
// each fault, shows whether the fakes are true to life.
//
// It is a module of its own so that these clients are not among the
// dependencies of hako:
//
//	cd internal/fakes/clients && go test ./...
package clients

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"hako/internal/fakes"
)

const key = "sk-test-0123456789abcdef"

// play starts a scenario and checks in the end that it was kept to.
func play(t *testing.T, steps string) *fakes.Server {
	t.Helper()
	sc, err := fakes.Parse("key: " + key + "\nmodels: [m]\nsteps: " + steps)
	if err != nil {
		t.Fatal(err)
	}
	s := fakes.Start(sc)
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Finish() {
			t.Error(v)
		}
	})
	return s
}

func dial(s *fakes.Server, key string, retries int) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.URL()+"/v1/"), option.WithAPIKey(key), option.WithMaxRetries(retries))
}

// schema is one that may be strict.
func schema() map[string]any {
	return map[string]any{
		"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}},
		"required": []string{"path"}, "additionalProperties": false,
	}
}

// asking is a request over Responses.
func asking(items ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
	user := responses.ResponseInputItemParamOfMessage("count the lines", responses.EasyInputMessageRoleUser)
	return responses.ResponseNewParams{
		Model: "m", Store: param.NewOpt(false), Instructions: param.NewOpt("be brief"),
		Include:   []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto},
		Tools:     []responses.ToolUnionParam{responses.ToolParamOfFunction("count", schema(), true)},
		Input: responses.ResponseNewParamsInputUnion{
			OfInputItemList: append(responses.ResponseInputParam{user}, items...),
		},
	}
}

// again turns what a model put out into what the next request has to repeat.
func again(t *testing.T, output []responses.ResponseOutputItemUnion) (items []responses.ResponseInputItemUnionParam) {
	t.Helper()
	for _, item := range output {
		switch v := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			p := v.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfReasoning: &p})
		case responses.ResponseOutputMessage:
			p := v.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfOutputMessage: &p})
		case responses.ResponseFunctionToolCall:
			p := v.ToParam()
			items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCall: &p})
		default:
			t.Fatalf("an item of type %s", item.Type)
		}
	}
	return items
}

// result answers a call.
func result(id, output string) responses.ResponseInputItemUnionParam {
	item := responses.ResponseInputItemParamOfFunctionCallOutput(output)
	item.OfFunctionCallOutput.CallID = param.NewOpt(id)
	return item
}

const round = `[
  {on: responses, want: {tools: [count], contains: [be brief]}, reasoning: think hard, text: Let me see., calls: [{id: c1, name: count, arguments: {path: a.txt}}, {id: c2, name: count, arguments: {path: 日本.txt}}], usage: {input: 100, cached: 40, output: 9, reasoning: 3}},
  {on: responses, text: Three and four.}]`

// checkRound checks the first answer of a round.
func checkRound(t *testing.T, r *responses.Response) {
	t.Helper()
	u := r.Usage
	if u.InputTokens != 100 || u.InputTokensDetails.CachedTokens != 40 || u.OutputTokens != 9 || u.OutputTokensDetails.ReasoningTokens != 3 || u.TotalTokens != 109 {
		t.Errorf("usage %+v", u)
	}
	if len(r.Output) != 4 || r.OutputText() != "Let me see." || r.Status != "completed" || r.Model != "m-2025-04-14" {
		t.Fatalf("response %s", r.RawJSON())
	}
	if c := r.Output[3].AsFunctionCall(); c.CallID != "c2" || c.Name != "count" || c.Arguments != `{"path":"日本.txt"}` {
		t.Errorf("call %+v", c)
	}
	if rs := r.Output[0].AsReasoning(); rs.EncryptedContent == "" || len(rs.Summary) != 1 || rs.Summary[0].Text != "think hard" {
		t.Errorf("reasoning %s", rs.RawJSON())
	}
	if len(r.Tools) != 1 || r.Tools[0].AsFunction().Name != "count" || !r.Tools[0].AsFunction().Strict {
		t.Errorf("tools %+v", r.Tools)
	}
}

func TestResponses(t *testing.T) {
	client := dial(play(t, round), key, 0)
	r, err := client.Responses.New(t.Context(), asking())
	if err != nil {
		t.Fatal(err)
	}
	checkRound(t, r)
	next := append(again(t, r.Output), result("c1", "3"), result("c2", "4"))
	r, err = client.Responses.New(t.Context(), asking(next...))
	if err != nil || r.OutputText() != "Three and four." {
		t.Fatal(err, r)
	}
}

// heard is what a stream said.
type heard struct {
	text, summary, arguments string
	items                    []responses.ResponseOutputItemUnion
	last                     *responses.Response
	kinds                    []string
}

func listen(stream *ssestream.Stream[responses.ResponseStreamEventUnion]) (h heard, err error) {
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		h.kinds = append(h.kinds, event.Type)
		switch v := event.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			h.text += v.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			h.summary += v.Delta
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			h.arguments += v.Delta
		case responses.ResponseOutputItemDoneEvent:
			h.items = append(h.items, v.Item)
		case responses.ResponseCompletedEvent:
			h.last = &v.Response
		}
	}
	return h, stream.Err()
}

func TestResponsesStream(t *testing.T) {
	client := dial(play(t, round), key, 0)
	h, err := listen(client.Responses.NewStreaming(t.Context(), asking()))
	if err != nil || h.last == nil {
		t.Fatal(err, h.kinds)
	}
	checkRound(t, h.last)
	if h.text != "Let me see." || h.summary != "think hard" || h.arguments != `{"path":"a.txt"}{"path":"日本.txt"}` || len(h.items) != 4 {
		t.Errorf("%+v", h)
	}
	next := append(again(t, h.items), result("c1", "3"), result("c2", "4"))
	if h, err = listen(client.Responses.NewStreaming(t.Context(), asking(next...))); err != nil || h.text != "Three and four." {
		t.Fatal(err, h)
	}
}

// TestResponsesFaults checks that the client makes of each fault what it makes
// of the real thing: mostly nothing, which is why hako has its own.
func TestResponsesFaults(t *testing.T) {
	const say = `on: responses, text: hello world`
	tests := []struct {
		step    string
		last    string // the type of the last event; empty means that there is none
		kind    func(error) bool
		details string
	}{
		{say, "response.completed", none, ""},
		{say + `, fault: cut`, "response.output_item.done", none, "a clean end is not noticed"},
		{say + `, fault: no_trailing_blank`, "response.output_item.done", none, "the last event is dropped"},
		{say + `, fault: failed`, "response.failed", none, "an ordinary event"},
		{say + `, fault: error_flat`, "error", none, "an ordinary event"},
		{say + `, fault: error_nested`, "response.output_item.done", func(err error) bool { var e *ssestream.StreamError; return errors.As(err, &e) }, ""},
		{say + `, fault: abort`, "", func(err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
		}, ""},
		{say + `, fault: json`, "", none, "no events at all"},
		{say + `, torn: true`, "response.completed", none, ""},
		{say + `, variant: crlf`, "response.completed", none, ""},
		{`on: responses, refusal: I will not`, "response.completed", none, ""},
		{say + `, incomplete: length`, "response.incomplete", none, ""},
		{`on: responses, calls: [{name: count, arguments: {path: abcdefgh}}], fault: cut_in_arguments`, "response.function_call_arguments.delta", none, ""},
	}
	for _, tt := range tests {
		client := dial(play(t, "[{"+tt.step+"}]"), key, 0)
		h, err := listen(client.Responses.NewStreaming(t.Context(), asking()))
		last := ""
		if len(h.kinds) > 0 {
			last = h.kinds[len(h.kinds)-1]
		}
		if !tt.kind(err) || tt.last != "" && last != tt.last || tt.details == "no events at all" && last != "" {
			t.Errorf("%s: ended with %s, %v (%s)", tt.step, last, err, tt.details)
		}
	}
}

func none(err error) bool { return err == nil }

// TestErrors checks what the client reads out of a refusal.
func TestErrors(t *testing.T) {
	tests := []struct {
		steps, key, code, kind string
		status, retries        int
	}{
		{`[{on: responses, refused: 401}]`, "sk-wrong-0123456789", "invalid_api_key", "invalid_request_error", 401, 2},
		{`[{on: responses, status: 429, headers: {Retry-After-Ms: "20"}}, {on: responses, status: 429, headers: {Retry-After-Ms: "20"}}, {on: responses, status: 429}]`, key, "rate_limit_exceeded", "requests", 429, 2},
		{`[{on: responses, status: 429, error: {code: insufficient_quota, type: insufficient_quota, message: no money}}]`, key, "insufficient_quota", "insufficient_quota", 429, 0},
		{`[{on: responses, status: 400, error: {code: context_length_exceeded, message: too long, param: input}}]`, key, "context_length_exceeded", "invalid_request_error", 400, 2},
		{`[{on: responses, fault: html502}]`, key, "", "", 502, 0},
		{`[{on: responses, status: 500, headers: {x-should-retry: "false"}}]`, key, "server_error", "server_error", 500, 2},
	}
	for _, tt := range tests {
		client := dial(play(t, tt.steps), tt.key, tt.retries)
		_, err := client.Responses.New(t.Context(), asking())
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != tt.status || e.Code != tt.code || e.Type != tt.kind {
			t.Errorf("%s: %v", tt.steps, err)
		}
	}
}

// TestOllamaStyleError checks that an error which is a mere string loses its
// status on the way.
func TestOllamaStyleError(t *testing.T) {
	client := dial(play(t, `[{on: responses, status: 404, type: application/json, body: '{"error":"no such model"}'}]`), key, 0)
	_, err := client.Responses.New(t.Context(), asking())
	var e *openai.Error
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &e) || !errors.As(err, &wrong) {
		t.Errorf("%T %v", err, err)
	}
}

func TestModels(t *testing.T) {
	client := dial(play(t, `[]`), key, 0)
	page, err := client.Models.List(t.Context())
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != "m" {
		t.Fatal(err, page)
	}
}

// TestStrictness checks that the fake finds what this client cannot know.
func TestStrictness(t *testing.T) {
	sc, err := fakes.Parse("steps: [{on: responses}]")
	if err != nil {
		t.Fatal(err)
	}
	s := fakes.Start(sc)
	defer s.Close()
	client := dial(s, key, 0)
	orphan := asking(result("c9", "x"))
	if _, err := client.Responses.New(t.Context(), orphan); err == nil || !strings.Contains(strings.Join(s.Finish(), " "), "c9") {
		t.Error(err, s.Finish())
	}
}
