package clients

import (
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// chatting is a request over Chat Completions.
func chatting(more ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "m",
		Messages: append([]openai.ChatCompletionMessageParamUnion{openai.UserMessage("count the lines")}, more...),
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "count", Parameters: schema(), Strict: param.NewOpt(true),
		})},
	}
}

const chatRound = `[
  {on: chat, want: {tools: [count]}, text: Let me see., calls: [{id: c1, name: count, arguments: {path: a.txt}}, {id: c2, name: count, arguments: {path: 日本.txt}}], usage: {input: 100, cached: 40, output: 9, reasoning: 3}},
  {on: chat, text: Three and four.}]`

func checkChat(t *testing.T, r *openai.ChatCompletion) {
	t.Helper()
	u := r.Usage
	if u.PromptTokens != 100 || u.PromptTokensDetails.CachedTokens != 40 || u.CompletionTokens != 9 || u.CompletionTokensDetails.ReasoningTokens != 3 || u.TotalTokens != 109 {
		t.Errorf("usage %+v", u)
	}
	if len(r.Choices) != 1 || r.Choices[0].FinishReason != "tool_calls" || r.Choices[0].Message.Content != "Let me see." {
		t.Fatalf("%+v", r)
	}
	calls := r.Choices[0].Message.ToolCalls
	if len(calls) != 2 || calls[1].ID != "c2" || calls[1].Function.Name != "count" || calls[1].Function.Arguments != `{"path":"日本.txt"}` {
		t.Errorf("%+v", calls)
	}
}

func TestChat(t *testing.T) {
	client := dial(play(t, chatRound), key, 0)
	r, err := client.Chat.Completions.New(t.Context(), chatting())
	if err != nil {
		t.Fatal(err)
	}
	checkChat(t, r)
	next := chatting(r.Choices[0].Message.ToParam(), openai.ToolMessage("3", "c1"), openai.ToolMessage("4", "c2"))
	if r, err = client.Chat.Completions.New(t.Context(), next); err != nil || r.Choices[0].Message.Content != "Three and four." {
		t.Fatal(err, r)
	}
}

// gather puts a stream together.
func gather(t *testing.T, client openai.Client, p openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	t.Helper()
	p.StreamOptions.IncludeUsage = param.NewOpt(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), p)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Log("a chunk did not fit")
		}
	}
	return &all.ChatCompletion, stream.Err()
}

func TestChatStream(t *testing.T) {
	client := dial(play(t, chatRound), key, 0)
	r, err := gather(t, client, chatting())
	if err != nil {
		t.Fatal(err)
	}
	checkChat(t, r)
	next := chatting(r.Choices[0].Message.ToParam(), openai.ToolMessage("3", "c1"), openai.ToolMessage("4", "c2"))
	if r, err = gather(t, client, next); err != nil || r.Choices[0].Message.Content != "Three and four." {
		t.Fatal(err, r)
	}
}

// TestChatVariants checks what this client makes of other servers' ways. Where
// it goes wrong, the variant is one that a client of our own has to survive.
func TestChatVariants(t *testing.T) {
	tests := []struct{ variant, name, arguments string }{
		{"args_late", "help", "{}"},
		{"args_at_once", "help", "{}"},
		{"args_null", "help", ""},
		{"openrouter_comments", "help", "{}"},
		{"usage_with_choice", "help", "{}"},
		{"crlf", "help", "{}"},
		{"repeat_names", "helphelphelp", "{}"},
	}
	for _, tt := range tests {
		client := dial(play(t, `[{on: chat, calls: [{id: c1, name: help}], variant: `+tt.variant+`, usage: {input: 5, output: 2}}]`), key, 0)
		r, err := gather(t, client, chatting())
		if err != nil || len(r.Choices) != 1 || len(r.Choices[0].Message.ToolCalls) != 1 {
			t.Errorf("%s: %v %+v", tt.variant, err, r)
			continue
		}
		if f := r.Choices[0].Message.ToolCalls[0].Function; f.Name != tt.name || f.Arguments != tt.arguments || r.Usage.TotalTokens != 7 {
			t.Errorf("%s: %+v, %+v", tt.variant, f, r.Usage)
		}
	}
}

// TestChatWithoutIndex checks that two calls run together when nobody says
// which is which.
func TestChatWithoutIndex(t *testing.T) {
	client := dial(play(t, `[{on: chat, calls: [{name: x}, {name: y}], variant: no_index}]`), key, 0)
	r, err := gather(t, client, chatting())
	if err != nil || len(r.Choices[0].Message.ToolCalls) != 1 || r.Choices[0].Message.ToolCalls[0].Function.Name != "xy" {
		t.Errorf("%v %+v", err, r)
	}
}

func TestChatFaults(t *testing.T) {
	tests := []struct{ step, finish string }{
		{"fault: cut", ""},
		{"fault: no_finish_reason", ""},
		{"fault: no_done", "stop"},
		{"fault: no_trailing_blank", "stop"},
		{"incomplete: length", "length"},
	}
	for _, tt := range tests {
		client := dial(play(t, `[{on: chat, text: hello world, `+tt.step+`}]`), key, 0)
		r, err := gather(t, client, chatting())
		if err != nil || r.Choices[0].Message.Content != "hello world" || r.Choices[0].FinishReason != tt.finish {
			t.Errorf("%s: %v %+v", tt.step, err, r)
		}
	}
	client := dial(play(t, `[{on: chat, pieces: [a, b], variant: mid_stream_error}]`), key, 0)
	r, err := gather(t, client, chatting())
	var e *ssestream.StreamError
	if !errors.As(err, &e) || r.Choices[0].Message.Content != "a" {
		t.Errorf("%v %+v", err, r)
	}
}
