package fakes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// refuseOllama formats an error of Ollama: a mere string.
func refuseOllama(_ *exchange, r *refusal) *reply {
	kv := []any{"error", r.message}
	if r.status == http.StatusUnauthorized {
		kv = append(kv, "signin_url", "https://ollama.com/connect?name=fake&key=none")
	}
	return &reply{status: r.status, mime: "application/json; charset=utf-8", body: object(kv...)}
}

func checkOllama(x *exchange) *refusal {
	if r := x.checkBody(); r != nil {
		return r
	}
	if why := paired(x.on, nil, x.all); why != "" {
		return bad("%s", why)
	}
	return x.checkPulled()
}

// checkPulled checks that Ollama has the model. A name without a tag means the latest.
func (x *exchange) checkPulled() *refusal {
	model := digText(x.fields, "model")
	if x.sc.knows(model) || x.sc.knows(model+":latest") {
		return nil
	}
	return &refusal{status: http.StatusNotFound, message: fmt.Sprintf("model '%s' not found", model)}
}

func answerOllama(x *exchange) *reply {
	var frames [][]byte
	line := func(message json.RawMessage) { frames = append(frames, append(x.line(message, false), '\n')) }
	for _, piece := range words(x.step.Reasoning) {
		line(object("role", "assistant", "content", "", "thinking", piece))
	}
	for _, piece := range x.step.pieces() {
		line(object("role", "assistant", "content", piece))
	}
	middle := len(frames)
	for i := range x.step.Calls {
		line(object("role", "assistant", "content", "", "tool_calls", x.ollamaCalls(i, i+1)))
	}
	end := len(frames)
	if x.step.Fault == "error_flat" {
		return &reply{mime: ndjson, frames: append(frames, append(object("error", x.failure().message), '\n'))}
	}
	if x.step.Fault == "" {
		x.remember(func(c *Call) string {
			arguments, _ := decode([]byte(c.arguments()))
			return canonical(arguments)
		})
	}
	if !x.streams() {
		return &reply{mime: "application/json; charset=utf-8", body: x.line(x.message(), true)}
	}
	frames = append(frames, append(x.line(object("role", "assistant", "content", ""), true), '\n'))
	if x.step.Fault == "cut_in_arguments" {
		at := bytes.Index(frames[middle], []byte(`"arguments":`)) + len(x.step.Calls[0].arguments())/2
		frames[middle] = frames[middle][:at+len(`"arguments":`)]
		middle++
	}
	return &reply{mime: ndjson, frames: frames, end: end, middle: middle}
}

const ndjson = "application/x-ndjson"

// line formats one object of the stream; the last one has the usage.
func (x *exchange) line(message json.RawMessage, done bool) []byte {
	kv := []any{"model", digText(x.fields, "model"), "created_at", x.now(), "message", message, "done", done}
	if !done {
		return object(kv...)
	}
	u := x.usage()
	reason := "stop"
	if x.step.Incomplete != "" {
		reason = "length"
	}
	kv = append(kv, "done_reason", reason, "total_duration", 4883583458, "load_duration", 1334875)
	if u.Input > 0 {
		kv = append(kv, "prompt_eval_count", u.Input)
	}
	kv = append(kv, "prompt_eval_duration", 342546000)
	if u.Output > 0 {
		kv = append(kv, "eval_count", u.Output)
	}
	return object(append(kv, "eval_duration", 4535599000)...)
}

func (x *exchange) now() string {
	return startTime.Add(time.Duration(x.number) * time.Second).Format(time.RFC3339Nano)
}

// message is the answer without streaming.
func (x *exchange) message() json.RawMessage {
	kv := []any{"role", "assistant", "content", x.step.text()}
	if x.step.Reasoning != "" {
		kv = append(kv, "thinking", x.step.Reasoning)
	}
	if n := len(x.step.Calls); n > 0 {
		kv = append(kv, "tool_calls", x.ollamaCalls(0, n))
	}
	return object(kv...)
}

// ollamaCalls formats some of the calls: arguments are objects.
func (x *exchange) ollamaCalls(from, to int) []json.RawMessage {
	var all []json.RawMessage
	for i := from; i < to; i++ {
		c := x.step.Calls[i]
		function := object("index", i, "name", c.Name, "arguments", json.RawMessage(c.arguments()))
		if x.step.Variant == "no_ids" {
			all = append(all, object("function", function))
			continue
		}
		all = append(all, object("id", x.callID(i), "function", function))
	}
	return all
}

// details describe an invented model.
func details() json.RawMessage {
	return object("parent_model", "", "format", "gguf", "family", "qwen3", "families", []string{"qwen3"},
		"parameter_size", "8.2B", "quantization_level", "Q4_K_M")
}

func (sc *Scenario) context() int { return cmp.Or(sc.Context, 32768) }

func (sc *Scenario) capabilities() []string {
	if sc.Capabilities == nil {
		return []string{"completion", "tools"}
	}
	return sc.Capabilities
}

const digest = "500a1f067a9f782620b40bee6f7b0c89e17ae61f686b92c24933e4ca4b2b8b41"

func answerTags(x *exchange) *reply {
	var all []json.RawMessage
	for _, name := range x.sc.Models {
		all = append(all, object("name", name, "model", name, "modified_at", startTime.Format(time.RFC3339Nano), "size",
			5225388164,
			"digest", digest, "details", details(), "capabilities", x.sc.capabilities()))
	}
	return &reply{mime: "application/json; charset=utf-8", body: object("models", array(all))}
}

func checkShow(x *exchange) *refusal {
	if r := x.checkBody(); r != nil {
		return r
	}
	return x.checkPulled()
}

func answerShow(x *exchange) *reply {
	info := object("general.architecture", "qwen3", "general.parameter_count", 8190735360, "qwen3.context_length",
		x.sc.context(),
		"qwen3.embedding_length", 4096)
	return &reply{mime: "application/json; charset=utf-8", body: object("modelfile", "FROM "+digText(x.fields, "model"),
		"parameters", "",
		"template", "{{ .Prompt }}", "details", details(), "model_info", info, "capabilities", x.sc.capabilities(),
		"modified_at", startTime.Format(time.RFC3339Nano))}
}

func answerPs(x *exchange) *reply {
	var all []json.RawMessage
	for _, name := range x.sc.Models {
		all = append(all, object("name", name, "model", name, "size", 6654289920, "digest", digest, "details", details(),
			"expires_at", startTime.Add(5*time.Minute).Format(time.RFC3339Nano), "size_vram", 0,
			"context_length", x.sc.context()))
	}
	return &reply{mime: "application/json; charset=utf-8", body: object("models", array(all))}
}

func answerVersion(*exchange) *reply {
	return &reply{mime: "application/json; charset=utf-8", body: object("version", "0.17.4")}
}
