package openai

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/llm"
	"hako/run/fault"
)

// answered asks a server that answers with these events.
func answered(t *testing.T, dial func(string, Options) llm.Model, events ...string) (*llm.Turn, error) {
	t.Helper()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			io.WriteString(w, "data: "+e+"\n\n")
		}
	})
	return dial("m", options(url)).Next(t.Context(), new(llm.Dialog))
}

// many spells n things, with the number of each in place of the #, apart by a
// separator.
func many(n int, text, between string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

const (
	chatCall     = `{"index":#,"id":"c#","function":{"name":"f","arguments":"{}"}}`
	responseCall = `{"type":"function_call","call_id":"c#","name":"f","arguments":"{}"}`
	chatStop     = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

func TestTooManyCalls(t *testing.T) {
	for n, fits := range map[int]bool{256: true, 257: false, 60_000: false} {
		streamed := strings.Split(many(n, `{"type":"response.output_item.done","output_index":#,"item":`+responseCall+`}`,
			"\n"), "\n")
		for name, ask := range map[string]func() (*llm.Turn, error){
			"chat": func() (*llm.Turn, error) {
				return answered(t, Chat, `{"choices":[{"index":0,"delta":{"tool_calls":[`+many(n, chatCall, ",")+`]}}]}`, chatStop)
			},
			"at the end": func() (*llm.Turn, error) {
				return answered(t, Responses, `{"type":"response.completed","response":{"status":"completed","output":[`+
					many(n, responseCall, ",")+`]}}`)
			},
			"one by one": func() (*llm.Turn, error) {
				return answered(t, Responses,
					append(streamed, `{"type":"response.completed","response":{"status":"completed"}}`)...)
			},
		} {
			turn, err := ask()
			if fits && (err != nil || len(turn.Calls) != n) {
				t.Errorf("%s: %d calls: %v", name, n, err)
			}
			if !fits && (err == nil || err.Error() != "ask model m: the answer makes more than 256 calls" ||
				fault.KindOf(err) != fault.TooLarge) {
				t.Errorf("%s: %d calls: %v", name, n, err)
			}
		}
	}
}

func TestTooManyParts(t *testing.T) {
	const text = `{"type":"message","content":[{"text":"x"}]}`
	ask := map[string][]string{
		"messages": {`{"type":"response.completed","response":{"status":"completed","output":[` + many(150_000, text, ",") +
			`]}}`},
		"passages": {`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[` +
			many(300_000, `{"text":"x"}`, ",") + `]}}`},
		"one by one": strings.Split(many(100_000, `{"type":"response.output_text.delta","output_index":#,"delta":"x"}`, "\n"),
			"\n"),
		"crumbs": strings.Split(many(100_000, `{"type":"response.output_text.delta","content_index":#,"delta":"x"}`,
			"\n"), "\n"),
	}
	for name, events := range ask {
		start := time.Now()
		_, err := answered(t, Responses, events...)
		if err == nil || !strings.HasSuffix(err.Error(), "answered in more than 1024 parts") ||
			time.Since(start) > testload.Bound(10*time.Second) {
			t.Errorf("%s: after %v: %v", name, time.Since(start), err)
		}
	}
}

// Time must grow with what is sent, not with its square. Each of these took
// from many seconds to hours when it did.
func TestTimeIsLinear(t *testing.T) {
	blank := strings.Repeat(" ", 4<<20)
	tests := map[string]struct {
		dial   func(string, Options) llm.Model
		events []string
		text   int // bytes
	}{
		"passages of a chunk": {Chat, []string{
			`{"choices":[{"index":0,"delta":{"content":[` + many(150_000, `{"type":"text","text":"0123456789"}`, ",") + `]}}]}`,
			chatStop}, 1_500_000},
		"pieces of a call": {Chat,
			slices.Concat([]string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{` + blank +
				`"}}]}}]}`},
				slices.Repeat([]string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":" "}}]}}]}`},
					30_000), []string{chatStop}), 0},
	}
	for name, tt := range tests {
		start := time.Now()
		turn, err := answered(t, tt.dial, tt.events...)
		if err != nil || len(turn.Text) != tt.text || time.Since(start) > testload.Bound(10*time.Second) {
			t.Errorf("%s: after %v: %v", name, time.Since(start), err)
		}
	}
}

func TestNamesAreBounded(t *testing.T) {
	long := strings.Repeat("語", 100_000)
	both(t, func(t *testing.T, dial func(string, Options) llm.Model, _, _ string) {
		events := []string{`{"model":"` + long + `","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + long +
			`1","function":{"name":"` + long +
			`"}},{"index":1,"id":"` + long + `2","function":{"name":"g"}}]},"finish_reason":"stop"}]}`}
		if dialed(dial) == "/responses" {
			events = []string{`{"type":"response.completed","response":{"status":"completed","model":"` + long +
				`","output":[{"type":"function_call","name":"` + long +
				`","call_id":"` + long + `1"},{"type":"function_call","name":"g","call_id":"` + long + `2"}]}}`}
		}
		turn, err := answered(t, dial, events...)
		if err != nil || len(turn.Calls) != 2 {
			t.Fatalf("%v", err)
		}
		want := strings.Repeat("語", 66)
		if a, b := turn.Calls[0], turn.Calls[1]; turn.Model != want || a.Name != want || a.ID != want || b.ID == a.ID {
			t.Errorf("%d bytes, %d, %d; the second is called %q", len(turn.Model), len(a.Name), len(a.ID), b.ID)
		}
	})
}

func TestModelNamesAreCleaned(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"data":[{"id":"\u001bz"},{"id":"\u202e"},{},{"id":"b\u0007\u200f"},{"id":"`+
			strings.Repeat("c", 5000)+`"}]}`)
	})
	names, err := Models(t.Context(), options(url))
	if err != nil || !slices.Equal(names, []string{"b", strings.Repeat("c", 200), "z"}) {
		t.Errorf("%q, %v", names, err)
	}
}

func TestShape(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "{": false, "{}": true, `{"a":"}`: false, `{"a":"}"`: false, `{"a":"\"}"}`: true, `{"a":[{}]} `: true,
		`{"a":"\\"}`: true,
		"[":          false, "[]": true, " ": false, `{"a":"]"`: false, "1": false,
	} {
		for at := range len(text) + 1 {
			var s shape
			s.follow(text[:at])
			s.follow(text[at:])
			if s.closed() != want {
				t.Errorf("%q in two at %d", text, at)
			}
		}
	}
}
