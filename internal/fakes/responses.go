package fakes

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

const eventStream = "text/event-stream; charset=utf-8"

func checkResponses(x *exchange) *refusal {
	if r := x.checkOpenAI(); r != nil {
		return r
	}
	var open []entry
	if id := digText(x.fields, "previous_response_id"); id != "" {
		var stored bool
		if open, stored = x.responses[id]; !stored {
			return &refusal{status: http.StatusBadRequest, code: "previous_response_not_found", param: "previous_response_id",
				message: fmt.Sprintf("Previous response with id '%s' not found.", id)}
		}
	}
	if why := paired(x.on, open, x.all); why != "" {
		return &refusal{status: http.StatusBadRequest, param: "input", message: why}
	}
	return nil
}

// A turn is an answer over Responses under construction.
type turn struct {
	*exchange
	id     string
	frames [][]byte
	output []json.RawMessage // items that are done
	answer []entry
	middle int
}

func answerResponses(x *exchange) *reply {
	t := &turn{exchange: x, id: x.id("resp_", 0)}
	t.event("response.created", "response", t.response("in_progress"))
	t.event("response.in_progress", "response", t.response("in_progress"))
	t.think()
	t.say()
	for i := range x.step.Calls {
		t.call(i)
	}
	end := len(t.frames)
	t.close()
	if x.streams() && x.step.Fault != "json" {
		return &reply{mime: eventStream, header: x.openaiHeaders(), frames: t.frames, end: end, middle: t.middle}
	}
	return &reply{header: x.openaiHeaders(), body: t.response(t.status())}
}

// event adds an event to the stream.
func (t *turn) event(kind string, kv ...any) {
	kv = append([]any{"type", kind}, kv...)
	data := object(append(kv, "sequence_number", len(t.frames))...)
	t.frames = append(t.frames, fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data))
}

// delta adds an event with its padding.
func (t *turn) delta(kind, delta string, kv ...any) {
	if v, said := dig(t.fields, "stream_options.include_obfuscation"); !said || v == true {
		kv = append(kv, "obfuscation", padding(delta))
	}
	t.event(kind, append([]any{"delta", delta}, kv...)...)
}

// done adds the last event of an item.
func (t *turn) done(item json.RawMessage, told entry) {
	t.event("response.output_item.done", "item", item, "output_index", len(t.output))
	t.output = append(t.output, item)
	t.answer = append(t.answer, told)
}

// think adds the reasoning. It is encrypted; a summary is sent only on request.
func (t *turn) think() {
	if t.step.Reasoning == "" {
		return
	}
	id, index := t.exchange.id("rs_", 0), len(t.output)
	sealed := t.sealed(id)
	item := func(sealed string, summary ...json.RawMessage) json.RawMessage {
		kv := []any{"id", id, "type", "reasoning"}
		if sealed != "" {
			kv = append(kv, "encrypted_content", sealed)
		}
		return object(append(kv, "summary", array(summary))...)
	}
	t.event("response.output_item.added", "item", item(sealed[:len(sealed)/2]), "output_index",
		index) // not all of it is there yet
	if digText(t.fields, "reasoning.summary") == "" {
		t.done(item(sealed), entry{kind: reasoning, id: id, text: sealed})
		return
	}
	part := func(s string) json.RawMessage { return object("type", "summary_text", "text", s) }
	place := []any{"item_id", id, "output_index", index, "summary_index", 0}
	t.event("response.reasoning_summary_part.added", append(slices.Clone(place), "part", part(""))...)
	for _, piece := range words(t.step.Reasoning) {
		t.delta("response.reasoning_summary_text.delta", piece, place...)
	}
	t.event("response.reasoning_summary_text.done", append(slices.Clone(place), "text", t.step.Reasoning)...)
	t.event("response.reasoning_summary_part.done", append(slices.Clone(place), "part", part(t.step.Reasoning))...)
	t.done(item(sealed, part(t.step.Reasoning)), entry{kind: reasoning, id: id, text: sealed})
}

// sealed is the encrypted reasoning, for those who asked for it. Who did not
// and lets nothing be stored could never go on from here.
func (t *turn) sealed(id string) string {
	if slices.Contains(digList(t.fields, "include"), any("reasoning.encrypted_content")) {
		return "gAAAAA" + base64.URLEncoding.EncodeToString([]byte(id+" "+t.step.Reasoning))
	}
	if !t.stores() {
		t.violate("it neither stores the response nor includes reasoning.encrypted_content: the reasoning is lost")
	}
	return ""
}

// stores reports whether the server stores the response.
func (t *turn) stores() bool { return t.fields["store"] == nil || t.fields["store"] == true }

// say adds the text, or the refusal.
func (t *turn) say() {
	kind, member, whole, pieces := "output_text", "text", t.step.text(), t.step.pieces()
	if t.step.Refusal != "" {
		kind, member, whole, pieces = "refusal", "refusal", t.step.Refusal, words(t.step.Refusal)
	}
	if whole == "" {
		return
	}
	id, index := t.exchange.id("msg_", 0), len(t.output)
	place := []any{"content_index", 0, "item_id", id, "output_index", index}
	t.event("response.output_item.added", "item", t.message(id, "in_progress"), "output_index", index)
	t.event("response.content_part.added", append(slices.Clone(place), "part", part(kind, ""))...)
	name := "response." + kind
	if kind == "output_text" {
		place = append(place, "logprobs", []any{})
	}
	for _, piece := range pieces {
		t.delta(name+".delta", piece, place...)
	}
	t.event(name+".done", append(slices.Clone(place), member, whole)...)
	t.event("response.content_part.done", append(slices.Clone(place[:6]), "part", part(kind, whole))...)
	t.done(t.message(id, t.itemStatus(), part(kind, whole)), entry{kind: said, text: whole})
}

func part(kind, s string) json.RawMessage {
	if kind == "refusal" {
		return object("type", kind, "refusal", s)
	}
	return object("type", kind, "annotations", []any{}, "logprobs", []any{}, "text", s)
}

func (t *turn) message(id, status string, parts ...json.RawMessage) json.RawMessage {
	phase := "final_answer"
	if len(t.step.Calls) > 0 {
		phase = "commentary"
	}
	return object("id", id, "type", "message", "status", status, "content", array(parts), "phase", phase, "role",
		"assistant")
}

// call adds a function call.
func (t *turn) call(i int) {
	c := t.step.Calls[i]
	id, index, callID := t.exchange.id("fc_", i), len(t.output), t.callID(i)
	arguments := c.arguments()
	item := func(status, arguments string) json.RawMessage {
		return object("id", id, "type", "function_call", "status", status, "arguments", arguments, "call_id", callID, "name",
			c.Name)
	}
	t.event("response.output_item.added", "item", item("in_progress", ""), "output_index", index)
	pieces := chunks(arguments)
	if i == 0 {
		t.middle = len(t.frames) + len(pieces)/2
	}
	for _, piece := range pieces {
		t.delta("response.function_call_arguments.delta", piece, "item_id", id, "output_index", index)
	}
	t.event("response.function_call_arguments.done", "arguments", arguments, "item_id", id, "output_index", index)
	t.done(item(t.itemStatus(), arguments), entry{called, callID, c.Name, arguments})
}

// itemStatus is the status of an item that is done.
func (t *turn) itemStatus() string {
	if t.step.Incomplete != "" {
		return "incomplete"
	}
	return "completed"
}

// status is the final status of the response.
func (t *turn) status() string {
	if t.step.Fault == "failed" {
		return "failed"
	}
	return t.itemStatus()
}

// close adds the terminal event and remembers the answer, unless the client never gets
// its end.
func (t *turn) close() {
	f := t.failure()
	switch t.step.Fault {
	case "error_flat":
		usual := defaultErrors[f.status]
		t.event("error", "code", cmp.Or(f.code, usual[0]), "message", f.message, "param", orNull(f.param))
		return
	case "error_nested":
		t.event("error", "error", f.errorObject())
		return
	}
	t.event("response."+t.status(), "response", t.response(t.status()))
	if t.step.Fault != "" && t.step.Fault != "json" {
		return
	}
	t.exchange.dialog.answer(len(t.all), t.answer)
	if t.stores() {
		t.responses[t.id] = slices.DeleteFunc(slices.Clone(t.answer), func(e entry) bool { return e.kind != called })
	}
}

// response formats the whole object. Until the end it has no usage.
func (t *turn) response(status string) json.RawMessage {
	var completed, incomplete, failed, usage any
	tier := "default"
	switch status {
	case "in_progress":
		tier = "auto"
	case "failed":
		f := t.failure()
		failed = object("code", cmp.Or(f.code, defaultErrors[f.status][0]), "message", f.message)
	case "incomplete":
		reason := map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[t.step.Incomplete]
		incomplete, usage = object("reason", reason), t.usageObject()
	default:
		completed, usage = t.created()+1, t.usageObject()
	}
	echo := t.echo()
	return object("id", t.id, "object", "response", "created_at", t.created(), "status", status, "background", false,
		"completed_at", completed, "error", failed, "frequency_penalty", 0.0, "incomplete_details", incomplete,
		"instructions", echo("instructions", nil), "max_output_tokens", echo("max_output_tokens", nil),
		"max_tool_calls", echo("max_tool_calls", nil), "model", t.snapshot(), "output", array(t.output),
		"parallel_tool_calls", echo("parallel_tool_calls", true), "presence_penalty", 0.0,
		"previous_response_id", echo("previous_response_id", nil), "prompt_cache_key", echo("prompt_cache_key", nil),
		"prompt_cache_retention", nil,
		"reasoning", object("effort", echo("reasoning.effort", nil), "summary", echo("reasoning.summary", nil)),
		"safety_identifier", nil, "service_tier", tier, "store", echo("store", true), "temperature", echo("temperature", 1.0),
		"text", object("format", echo("text.format", object("type", "text")), "verbosity", echo("text.verbosity", "medium")),
		"tool_choice", echo("tool_choice", "auto"), "tools", array(t.tools()), "top_logprobs", 0, "top_p", echo("top_p", 1.0),
		"truncation", echo("truncation", "disabled"), "usage", usage, "user", nil, "metadata", echo("metadata", object()))
}

// echo returns a function that finds a member of the request, or returns a default.
func (x *exchange) echo() func(path string, usual any) any {
	return func(path string, usual any) any {
		if v, ok := dig(x.fields, path); ok && v != nil {
			return v
		}
		return usual
	}
}

// tools echoes the tools; one without "strict" becomes strict.
func (t *turn) tools() []json.RawMessage {
	var all []json.RawMessage
	for _, tool := range digList(t.fields, "tools") {
		strict, said := dig(tool, "strict")
		parameters, _ := dig(tool, "parameters")
		if schema, ok := parameters.(map[string]any); ok && (!said || strict == nil) {
			strict = true
			schema = maps.Clone(schema)
			schema["additionalProperties"] = false
			parameters = schema
		}
		description, _ := dig(tool, "description")
		all = append(all, object("type", "function", "description", description, "name", digText(tool, "name"), "parameters",
			parameters, "strict", strict))
	}
	return all
}

func (t *turn) usageObject() json.RawMessage {
	u := t.usage()
	return object("input_tokens", u.Input, "input_tokens_details", object("cached_tokens", u.Cached),
		"output_tokens", u.Output, "output_tokens_details", object("reasoning_tokens", u.Reasoning), "total_tokens",
		u.Input+u.Output)
}
