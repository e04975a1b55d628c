package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hako/llm"
	"hako/llm/wire"
)

// whole checks what holds of every turn, whatever a server sent.
func whole(t *testing.T, turn *llm.Turn) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range turn.Calls {
		if c.ID == "" || seen[c.ID] || c.Arguments == "" {
			t.Errorf("call %+v", c)
		}
		seen[c.ID] = true
	}
	if turn.Raw != nil && !json.Valid(turn.Raw) {
		t.Errorf("raw %s", turn.Raw)
	}
	if turn.Cut != "" && turn.Calls != nil {
		t.Error("a turn that was cut has calls")
	}
	if u := turn.Usage; u.Input < 0 || u.Cached < 0 || u.Output < 0 {
		t.Errorf("tokens are given back: %+v", u)
	}
	body := new(responses).request(&llm.Dialog{Items: []llm.Item{turn.Item()}})
	if again := new(chat).request(&llm.Dialog{Items: []llm.Item{turn.Item()}}); !json.Valid(body) || !json.Valid(again) {
		t.Errorf("it cannot be shown again: %s, %s", body, again)
	}
}

func FuzzChat(f *testing.F) {
	for _, piece := range []string{
		`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{"}},{"id":"x","function":{"arguments":null}}]}}]}` + "\n" +
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}},{"index":3}]},"finish_reason":"tool_calls"}]}`,
		`{"choices":[{"delta":{"content":[{"type":"text","text":"x"}],"refusal":7},"finish_reason":"length"}],"usage":{"prompt_tokens":-1}}`,
	} {
		f.Add([]byte(piece))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &chat{newService("ask model", "m", "", Options{BaseURL: "http://x"})}
		told := ""
		got := &collected{say: func(piece string) { told += piece }}
		for line := range bytes.Lines(data) {
			if m.take(got, wire.Event{Data: line}) != nil {
				return
			}
		}
		if turn, err := m.turn(new(llm.Dialog), got); err == nil {
			if whole(t, turn); turn.Text != told {
				t.Errorf("told %q, then %q", told, turn.Text)
			}
		}
	})
}

func FuzzResponses(f *testing.F) {
	for _, piece := range []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"a"}}` + "\n" +
			`{"type":"response.function_call_arguments.delta","item_id":"a","delta":"{"}`,
		`{"type":"response.output_text.delta","delta":"a"}` + "\n" + `{"type":"response.output_text.done","text":"ab"}`,
		`{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"x","summary":null}}`,
	} {
		f.Add([]byte(piece), []byte(`{"output":[{"type":"function_call","call_id":"c"}]}`))
	}
	f.Fuzz(func(t *testing.T, data, end []byte) {
		m := &responses{newService("ask model", "m", "", Options{BaseURL: "http://x"})}
		out := new(output)
		for line := range bytes.Lines(data) {
			var ev event
			if decode(line, &ev) == nil {
				out.take(&ev)
			}
		}
		last := event{Response: new(response)}
		decode(end, last.Response)
		for _, last.Type = range []string{"response.completed", "response.incomplete"} {
			if turn, err := m.turn(new(llm.Dialog), out, &last, end); err == nil {
				if whole(t, turn); last.Type == "response.incomplete" && turn.Cut == "" {
					t.Error("an incomplete answer counts as whole")
				}
			}
		}
	})
}

// long returns a dialog of so many items, of the kinds that a loop makes.
func long(n int) *llm.Dialog {
	d := &llm.Dialog{System: strings.Repeat("Be careful. ", 100), CacheKey: "k",
		Tools: []llm.Tool{{Name: "execute", Text: "Runs a command.", Schema: json.RawMessage(`{"type":"object"}`)}}}
	for i := 0; len(d.Items) < n; i++ {
		id := fmt.Sprint("call_", i)
		d.Items = append(d.Items,
			llm.Item{Role: llm.User, Text: "count the \"lines\"\nof a.txt"},
			llm.Item{Role: llm.Assistant, Text: "見ます",
				Calls: []llm.Call{{ID: id, Name: "execute", Arguments: `{"command":"wc -l a.txt"}`}}},
			llm.Item{Role: llm.Result, CallID: id, Name: "execute", Text: strings.Repeat("a line of output\n", 50)})
	}
	return d
}

func TestRequestIsOneBuffer(t *testing.T) {
	d := long(100)
	for name, request := range map[string]func(*llm.Dialog) []byte{
		"responses": (&responses{service{model: "gpt-4.1"}}).request, "chat": (&chat{service{model: "m"}}).request,
	} {
		// It is one, but under the race detector, whose pools forget, checking
		// the arguments of a call may take another.
		if n := testing.AllocsPerRun(10, func() { request(d) }); n > 3+float64(len(d.Items)/3) {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	m, d := &responses{service{model: "gpt-4.1"}}, long(100)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(m.request(d))))
	}
}
