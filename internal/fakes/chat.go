package fakes

import (
	"encoding/json"
	"fmt"
	"net/http"
)

func checkChat(x *exchange) *refusal {
	if r := x.checkOpenAI(); r != nil {
		return r
	}
	if why := paired(x.on, nil, x.all); why != "" {
		return &refusal{status: http.StatusBadRequest, param: "messages", message: why}
	}
	return nil
}

// A completion is an answer over Chat Completions under construction.
type completion struct {
	*exchange
	frames [][]byte
	middle int
}

func answerChat(x *exchange) *reply {
	c := &completion{exchange: x}
	if !x.streams() || x.step.Fault == "json" {
		c.remember()
		return &reply{header: x.openaiHeaders(), body: c.whole()}
	}
	c.chunk(object("role", "assistant", "content", "", "refusal", nil), nil, nil)
	c.say()
	for i := range x.step.Calls {
		c.call(i)
	}
	end := len(c.frames)
	c.close()
	return &reply{mime: eventStream, header: x.openaiHeaders(), frames: c.frames, end: end, middle: c.middle}
}

// chunk adds a chunk with a single choice.
func (c *completion) chunk(delta json.RawMessage, finish, usage any) {
	choice := object("index", 0, "delta", delta, "logprobs", nil, "finish_reason", finish)
	c.data(append(c.commonFields("chat.completion.chunk"), c.withUsage([]json.RawMessage{choice}, usage)...)...)
	if c.step.Variant == "openrouter_comments" {
		c.frames = append(c.frames, []byte(": OPENROUTER PROCESSING\n\n"))
	}
}

// withUsage adds the usage if the client asked for it: null everywhere but at the end.
func (c *completion) withUsage(choices []json.RawMessage, usage any) []any {
	kv := []any{"choices", array(choices)}
	if c.wantsUsage() {
		kv = append(kv, "usage", usage)
	}
	return kv
}

func (c *completion) wantsUsage() bool { return digTrue(c.fields, "stream_options.include_usage") }

// data adds an event without a name.
func (c *completion) data(kv ...any) {
	c.frames = append(c.frames, fmt.Appendf(nil, "data: %s\n\n", object(kv...)))
}

// commonFields are in all chunks of an answer.
func (c *completion) commonFields(kind string) []any {
	return []any{"id", c.id("chatcmpl-", 0), "object", kind, "created", c.created(), "model", c.snapshot(),
		"service_tier", "default", "system_fingerprint", "fp_0123456789"}
}

// say streams reasoning, text and refusal. OpenAI hides the reasoning; others show it
// under this name.
func (c *completion) say() {
	for _, piece := range words(c.step.Reasoning) {
		c.chunk(object("reasoning_content", piece), nil, nil)
	}
	pieces := c.step.pieces()
	for i, piece := range pieces {
		if c.step.Variant == "mid_stream_error" && i == (len(pieces)+1)/2 {
			break
		}
		c.chunk(object("content", piece), nil, nil)
	}
	for _, piece := range words(c.step.Refusal) {
		c.chunk(object("refusal", piece), nil, nil)
	}
}

// call streams a call in one of the ways in which servers do it.
func (c *completion) call(i int) {
	name, id, arguments := c.step.Calls[i].Name, c.callID(i), c.step.Calls[i].arguments()
	first := []any{"name", name}
	pieces := chunks(arguments)
	switch c.step.Variant {
	case "args_null":
		first, pieces = append(first, "arguments", nil), nil
	case "args_at_once":
		first, pieces = append(first, "arguments", arguments), nil
	case "args_late":
	default:
		first = append(first, "arguments", "")
	}
	c.callDelta(i, "id", id, "type", "function", "function", object(first...))
	if i == 0 {
		c.middle = len(c.frames) + len(pieces)/2
	}
	for _, piece := range pieces {
		if c.step.Variant == "repeat_names" {
			c.callDelta(i, "id", id, "type", "function", "function", object("name", name, "arguments", piece))
			continue
		}
		c.callDelta(i, "function", object("arguments", piece))
	}
}

func (c *completion) callDelta(i int, kv ...any) {
	if c.step.Variant != "no_index" {
		kv = append([]any{"index", i}, kv...)
	}
	c.chunk(object("tool_calls", []json.RawMessage{object(kv...)}), nil, nil)
}

// close ends the stream, or fails to.
func (c *completion) close() {
	fault, variant := c.step.Fault, c.step.Variant
	if fault == "error_nested" || variant == "mid_stream_error" {
		c.data("error", c.failure().errorObject())
		return
	}
	var together any
	if variant == "usage_with_choice" {
		together = c.usageObject()
	}
	if fault != "no_finish_reason" {
		c.chunk(object(), c.finish(), together)
	}
	if c.wantsUsage() && together == nil {
		c.data(append(c.commonFields("chat.completion.chunk"), c.withUsage(nil, c.usageObject())...)...)
	}
	if fault != "no_done" {
		c.frames = append(c.frames, []byte("data: [DONE]\n\n"))
	}
	if fault == "" || fault == "no_done" {
		c.remember()
	}
}

// finish is the finish reason.
func (c *completion) finish() string {
	switch {
	case c.step.Incomplete != "":
		return c.step.Incomplete
	case len(c.step.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// remember keeps the answer for the next request.
func (c *completion) remember() {
	c.exchange.remember(func(call *Call) string {
		if c.step.Variant == "args_null" {
			return "{}"
		}
		return call.arguments()
	})
}

// whole is the answer without streaming.
func (c *completion) whole() json.RawMessage {
	message := []any{"role", "assistant", "content", orNull(c.step.text()), "refusal", orNull(c.step.Refusal),
		"annotations", []any{}}
	var calls []json.RawMessage
	for i, call := range c.step.Calls {
		calls = append(calls, object("id", c.callID(i), "type", "function",
			"function", object("name", call.Name, "arguments", call.arguments())))
	}
	if calls != nil {
		message = append(message, "tool_calls", calls)
	}
	choice := object("index", 0, "message", object(message...), "logprobs", nil, "finish_reason", c.finish())
	return object(append(c.commonFields("chat.completion"), "choices", []json.RawMessage{choice}, "usage",
		c.usageObject())...)
}

func (c *completion) usageObject() json.RawMessage {
	u := c.usage()
	return object("prompt_tokens", u.Input, "completion_tokens", u.Output, "total_tokens", u.Input+u.Output,
		"prompt_tokens_details", object("cached_tokens", u.Cached, "audio_tokens", 0),
		"completion_tokens_details", object("reasoning_tokens", u.Reasoning, "audio_tokens", 0,
			"accepted_prediction_tokens", 0, "rejected_prediction_tokens", 0))
}
