package fakes

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

// TestFaults checks the bytes of each fault: what is there, what is not, and
// how the connection ends.
func TestFaults(t *testing.T) {
	const call = `calls: [{id: c1, name: f, arguments: {path: abcdefgh}}]`
	tests := []struct {
		name, what, body, step string
		has, lacks, ends       string // ends: what the body ends with
		status                 int
		err                    error
	}{
		{"cut", toResponses, responsesStart, `text: hello, fault: cut`, "response.output_item.done", "response.completed",
			"}\n\n", 200, nil},
		{"cut", toChat, chatStart, `text: hello, fault: cut`, `"content":"hello"`, `"stop"`, "}\n\n", 200, nil},
		{"cut", toOllama, ollamaStart, `text: hello, fault: cut`, `"content":"hello"`, `"done":true`, "}\n", 200, nil},
		{"cut", "GET /search?q=x&format=json", "", `fault: cut`, `"query"`, "unresponsive", "", 200, io.ErrUnexpectedEOF},
		{"abort", toResponses, responsesStart, `text: hello, fault: abort`, "", "response.completed", "", 200,
			syscall.ECONNRESET},
		{"abort", toOllama, ollamaStart, `text: hello, fault: abort`, "", `"done":true`, "", 200, syscall.ECONNRESET},
		{"abort", "GET /search?q=x&format=json", "", `fault: abort`, "", "unresponsive", "", 200, syscall.ECONNRESET},
		{"cut_in_arguments", toResponses, responsesStart, call + `, fault: cut_in_arguments`, "function_call_arguments.delta",
			"function_call_arguments.done", "}\n\n", 200, nil},
		{"cut_in_arguments", toChat, chatStart, call + `, fault: cut_in_arguments`, `"arguments":"`, "tool_calls\"}", "}\n\n",
			200, nil},
		{"cut_in_arguments", toOllama, ollamaStart, call + `, fault: cut_in_arguments`, `"arguments":{"path":`, "}",
			`{"path":"`, 200, nil},
		{"failed", toResponses, responsesStart,
			`text: hel, fault: failed, error: {code: rate_limit_exceeded, message: "try again in 2s"}`,
			`"status":"failed","background":false,"completed_at":null,"error":{"code":"rate_limit_exceeded","message":"try again in 2s"}`, "response.completed", "}\n\n", 200, nil},
		{"error_flat", toResponses, responsesStart,
			`text: hel, fault: error_flat, error: {code: server_error, message: sorry}`,
			"event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"sorry\",\"param\":null,\"sequence_number\":", "response.completed", "}\n\n", 200, nil},
		{"error_flat", toOllama, ollamaStart, `text: hel, fault: error_flat, error: {message: sorry}`,
			"{\"error\":\"sorry\"}\n", `"done":true`, "}\n", 200, nil},
		{"error_nested", toResponses, responsesStart, `text: hel, fault: error_nested`,
			`{"type":"error","error":{"message":"Internal Server Error","type":"server_error","param":null,"code":"server_error"}`, "response.completed", "}\n\n", 200, nil},
		{"error_nested", toChat, chatStart, `text: hel, fault: error_nested`, `data: {"error":{"message":`, "[DONE]", "}\n\n",
			200, nil},
		{"error_nested without a stream", toResponses, `{"model":"m","input":[`, `fault: error_nested`, `{"error":{`,
			"response", "}}", 500, nil},
		{"json", toResponses, responsesStart, `text: hello, fault: json`, `"object":"response"`, "event:", "}", 200, nil},
		{"json", toChat, chatStart, `text: hello, fault: json`, `"object":"chat.completion"`, "data:", "}", 200, nil},
		{"no_finish_reason", toChat, chatStart, `text: hello, fault: no_finish_reason`, `"usage":{`, `"stop"`,
			"data: [DONE]\n\n", 200, nil},
		{"no_done", toChat, chatStart, `text: hello, fault: no_done`, `"finish_reason":"stop"`, "[DONE]", "}\n\n", 200, nil},
		{"no_trailing_blank", toResponses, responsesStart, `text: hello, fault: no_trailing_blank`, "response.completed",
			"[DONE]", "8}\n", 200, nil},
		{"no_trailing_blank", toChat, chatStart, `text: hello, fault: no_trailing_blank`, "stop", "[DONE]\n\n",
			"data: [DONE]\n", 200, nil},
		{"html502", toResponses, responsesStart, `fault: html502`, "<title>502 Bad Gateway", "{", "</html>\r\n", 502, nil},
		{"html502", "GET /search?q=x&format=json", "", `fault: html502`, "<title>502 Bad Gateway", "{", "</html>\r\n", 502,
			nil},
		{"status", toResponses, responsesStart,
			`status: 429, headers: {Retry-After: "1"}, error: {code: insufficient_quota, type: insufficient_quota, message: "no money"}`,
			`{"error":{"message":"no money","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, "data", "}",
			429, nil},
		{"status alone", toResponses, responsesStart, `status: 503`, `"code":"server_is_overloaded"`, "data", "}", 503, nil},
		{"status", toOllama, ollamaStart, `status: 401, error: {message: unauthorized}`,
			`{"error":"unauthorized","signin_url":"`, "done", "}", 401, nil},
		{"verbatim", toResponses, responsesStart, `body: "{\"oops\"", type: text/plain`, `{"oops"`, "event", `"`, 200, nil},
		{"incomplete", toChat, chatStart, `text: hel, incomplete: content_filter`, `"finish_reason":"content_filter"`,
			`"stop"`, "data: [DONE]\n\n", 200, nil},
		{"incomplete", toResponses, responsesStart, `text: hel, incomplete: content_filter`, `event: response.incomplete`,
			"response.completed", "}\n\n", 200, nil},
		{"refusal", toResponses, responsesStart, `refusal: "I will not"`, `"type":"response.refusal.delta"`, "output_text",
			"}\n\n", 200, nil},
	}
	services := map[string]string{toResponses: onResponses, toChat: onChat, toOllama: onOllama}
	for _, tt := range tests {
		on := cmp.Or(services[tt.what], onSearxng)
		t.Run(on+" "+tt.name, func(t *testing.T) {
			s := play(t, "{steps: [{on: "+on+", "+tt.step+"}]}")
			body := ""
			if tt.body != "" {
				body = tt.body + end
			}
			g := ask(t, s, tt.what, body)
			if g.status != tt.status || !errors.Is(g.err, tt.err) || !strings.Contains(g.body, tt.has) ||
				strings.Contains(g.body, tt.lacks) || g.err == nil && !strings.HasSuffix(g.body, tt.ends) {
				t.Errorf("status %d, %v:\n%s", g.status, g.err, g.body)
			}
			finish(t, s)
		})
	}
}

// TestVariants checks the ways in which chat servers spell a call.
func TestVariants(t *testing.T) {
	const first = `"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f"`
	tests := []struct{ variant, has, lacks string }{
		{"", first + `,"arguments":""}}]}`, ""},
		{"args_null", first + `,"arguments":null}}]}`, `"function":{"arguments"`},
		{"args_late", first + `}}]}`, `"arguments":""`},
		{"args_at_once", first + `,"arguments":"{\"a\":1}"}}]}`, `"function":{"arguments"`},
		{"no_index", `"tool_calls":[{"id":"c1"`, `"tool_calls":[{"index"`},
		{"repeat_names", `"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a"}`, `[{"index":0,"function"`},
		{"usage_with_choice", `"finish_reason":"tool_calls"}],"usage":{"prompt_tokens"`, `"choices":[],`},
		{"openrouter_comments", "\n\n: OPENROUTER PROCESSING\n\ndata:", ""},
		{"mid_stream_error", `data: {"error":{"message":`, "[DONE]"},
	}
	for _, tt := range tests {
		s := play(t, "{steps: [{on: chat, calls: [{id: c1, name: f, arguments: {a: 1}}], variant: "+tt.variant+"}]}")
		out := must(t, ask(t, s, toChat, chatStart+end))
		if !strings.Contains(out, tt.has) || tt.lacks != "" && strings.Contains(out, tt.lacks) {
			t.Errorf("%s:\n%s", tt.variant, out)
		}
		finish(t, s)
	}
	s := play(t, `{steps: [{on: ollama, calls: [{id: c1, name: f}], variant: no_ids}]}`)
	if out := must(t, ask(t, s, toOllama, ollamaStart+end)); strings.Contains(out, "c1") ||
		!strings.Contains(out, `"arguments":{}`) {
		t.Error(out)
	}
}

// TestHalfAText checks that an error in mid-stream comes after part of the text.
func TestHalfAText(t *testing.T) {
	s := play(t, `{steps: [{on: chat, pieces: [a, b, c, d], variant: mid_stream_error, error: {code: "502", message: gone}}]}`)
	out := must(t, ask(t, s, toChat, chatStart+end))
	if !strings.Contains(out, `"content":"b"`) || strings.Contains(out, `"content":"c"`) ||
		!strings.Contains(out, `"message":"gone"`) {
		t.Error(out)
	}
	finish(t, s)
}
