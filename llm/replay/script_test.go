package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

func mustParse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTurn(t *testing.T) {
	s := mustParse(t, `
# a comment
{"text":"数えます","calls":[{"id":"c1","name":"execute","arguments":{"command":"wc -l a"}},{"name":"x","arguments":"{not json"}],"usage":{"input_tokens":10,"cached_tokens":4,"output_tokens":5},"model":"gpt-x","cut":"length","raw":{"a":1},"source":"openai"}

  {"pieces":["a","","b"]}
`)
	want := &llm.Turn{
		Text: "数えます", Model: "gpt-x", Cut: "length", Raw: []byte(`{"a":1}`), Source: "openai",
		Usage: quota.Usage{Input: 10, Cached: 4, Output: 5},
		Calls: []llm.Call{{ID: "c1", Name: "execute", Arguments: `{"command":"wc -l a"}`},
			{ID: "call_1", Name: "x", Arguments: "{not json"}},
	}
	if s.Left() != 2 {
		t.Errorf("%d turns left of two", s.Left())
	}
	if got, err := s.Next(t.Context(), new(llm.Dialog)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	var heard []string
	got, err := s.Next(t.Context(), &llm.Dialog{OnText: func(p string) { heard = append(heard, p) }})
	if err != nil || got.Text != "ab" || got.Model != "script" || got.Calls != nil ||
		!slices.Equal(heard, []string{"a", "", "b"}) {
		t.Errorf("got %+v, %v, heard %q", got, err, heard)
	}
}

func TestOver(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "ask model script: the script has only 0 turns",
		"{}\n":                           "ask model script: the script has only 1 turn",
		"{}\n# no more\n{\"text\":\"\"}": "ask model script: the script has only 2 turns",
	} {
		s := mustParse(t, text)
		for s.Left() > 0 {
			if _, err := s.Next(t.Context(), new(llm.Dialog)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // and it stays so
			_, err := s.Next(t.Context(), new(llm.Dialog))
			if fmt.Sprint(err) != want || fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" || s.Left() != 0 {
				t.Errorf("%q ended with %v", text, err)
			}
		}
	}
}

func TestStreaming(t *testing.T) {
	text := strings.Repeat("日本語とASCIIが混ざった長い文。", 5) + "\xff\xff"
	s := &Script{steps: []step{{turn: llm.Turn{Text: text}}}}
	var heard strings.Builder
	pieces := 0
	_, err := s.Next(t.Context(), &llm.Dialog{OnText: func(p string) {
		if len(p) > 16 || p == "" || strings.HasSuffix(p, "\xe6") {
			t.Errorf("piece %q", p)
		}
		pieces++
		heard.WriteString(p)
	}})
	if err != nil || heard.String() != text || pieces < len(text)/16 {
		t.Errorf("heard %q in %d pieces, %v", heard.String(), pieces, err)
	}
}

func TestInterrupted(t *testing.T) {
	for name, script := range map[string]string{"text": `{"text":"a long answer, in several pieces"}`,
		"pieces": `{"pieces":["a long answ","er","x"]}`} {
		ctx, cancel := context.WithCancel(t.Context())
		var heard []string
		turn, err := mustParse(t, script).Next(ctx,
			&llm.Dialog{OnText: func(p string) { heard = append(heard, p); cancel() }})
		if turn != nil || !errors.Is(err, context.Canceled) || len(heard) != 1 {
			t.Errorf("%s: %v, %v after %q", name, turn, err, heard)
		}
		s := mustParse(t, "{}")
		if _, err := s.Next(ctx, new(llm.Dialog)); !errors.Is(err, context.Canceled) || s.Left() != 1 {
			t.Errorf("%s: a turn was used up by nobody: %v", name, err)
		}
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustParse(t, `{"delay_ms":1500}`+"\n"+`{"delay_ms":60000}`)
		begin := time.Now()
		if _, err := s.Next(t.Context(), new(llm.Dialog)); err != nil || time.Since(begin) != 1500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Next(ctx, new(llm.Dialog)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestExpect(t *testing.T) {
	dialog := func(texts ...string) *llm.Dialog {
		d := new(llm.Dialog)
		for _, text := range texts {
			d.Items = append(d.Items, llm.Item{Text: text})
		}
		return d
	}
	for _, tt := range []struct {
		dialog *llm.Dialog
		ok     bool
	}{{dialog("x", "exit 12 行"), true}, {dialog("12 行", "x"), false}, {dialog(), false}} {
		_, err := mustParse(t, `{"expect":"\\b12 行$"}`).Next(t.Context(), tt.dialog)
		if (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.dialog.Items, err)
		}
		if !tt.ok && (fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), "replay turn 1: ")) {
			t.Errorf("%v", err)
		}
	}
}

func TestRefusal(t *testing.T) {
	s := mustParse(t, `{"text":"half","model":"gpt-x","error":{"status":429,"code":"rate_limit_exceeded","message":"try later","after_ms":20,"retry":true,"hint":"wait"}}`)
	var heard string
	_, err := s.Next(t.Context(), &llm.Dialog{OnText: func(p string) { heard += p }})
	var r *llm.Refusal
	if !errors.As(err, &r) ||
		*r != (llm.Refusal{Status: 429, Code: "rate_limit_exceeded", Message: "try later", Retry: true,
			After: 20 * time.Millisecond}) {
		t.Fatalf("%v: %+v", err, r)
	}
	if got := err.Error(); got != "ask model gpt-x: the script refuses: rate_limit_exceeded: try later" ||
		fault.Hint(err) != "wait" || heard != "half" {
		t.Errorf("%s, heard %q", got, heard)
	}
}

func TestMadeUpIDs(t *testing.T) {
	s := mustParse(t, `{"calls":[{"name":"a"},{"id":"call_2","name":"b"}]}
{"calls":[{"name":"c"},{"id":"call_3","name":"d"},{"name":"e"}]}`)
	var ids []string
	for _, st := range s.steps {
		for _, c := range st.turn.Calls {
			ids = append(ids, c.ID)
		}
	}
	if want := []string{"call_1", "call_2", "call_4", "call_3", "call_5"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}

// named is a reader with a name, as a file is.
type named struct {
	io.Reader
}

func (named) Name() string { return "turns.jsonl" }

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"txt":"x"}`: `line 1: unknown field "txt" | did you mean text?`,
		"\n# x\n" + `{"usage":{"inputtokens":1}}`: `line 3: unknown field "inputtokens" | did you mean input_tokens?`,
		`{"error":{"zzzzzzz":1}}`:                 `unknown field "zzzzzzz" | `,
		`["x"]`:                                   "line 1: a turn is an object in braces",
		`{"text":"x"`:                             "the line ends in the middle of a turn",
		`{"text":"x"} {}`:                         "there is something after the turn",
		`{"text":5}`:                              "text cannot be a number",
		`{"usage":{"input_tokens":"x"}}`:          "usage.input_tokens cannot be a string",
		`{"text":"a","pieces":["b"]}`:             "text or pieces, not both",
		`{"cut":"tired"}`:                         `cut is length or content_filter, not "tired"`,
		`{"usage":{"output_tokens":-1}}`:          "usage cannot be below zero",
		`{"delay_ms":-1}`:                         "a time cannot be below zero",
		`{"error":{"after_ms":-1}}`:               "a time cannot be below zero",
		`{"error":{},"calls":[{"name":"x"}]}`:     "a turn with an error has no calls",
		`{"calls":[{"id":"x"}]}`:                  "a call has no name",
		`{"calls":[{"name":"x","arguments":7}]}`:  "arguments are an object, or a string",
		`{"expect":"("}`:                          "missing closing )",
		`hello`:                                   "line 1: a turn is an object in braces",
		"{}\nnull":                                "line 2: a turn is an object in braces",
		"{}\n{\"text\" x}":                        "line 2: invalid character 'x' after object key",
	} {
		_, err := Parse(strings.NewReader(text))
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); err == nil || !strings.Contains(got, want) ||
			fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	if _, err := Parse(named{strings.NewReader("\n{")}); !strings.Contains(fmt.Sprint(err),
		"read script turns.jsonl:2: ") {
		t.Errorf("in a file: %v", err)
	}
	if _, err := Parse(io.MultiReader(strings.NewReader("{}\n"), &brokenReader{})); !strings.Contains(fmt.Sprint(err),
		"line 2: no more") {
		t.Errorf("a broken reader: %v", err)
	}
}

type brokenReader struct{}

func (*brokenReader) Read([]byte) (int, error) { return 0, errors.New("no more") }

func TestConcurrent(t *testing.T) {
	const n = 200
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{\"text\":\"%d\"}\n", i)
	}
	var record lockedBuffer
	r := &Recorder{Model: mustParse(t, text.String()), W: &record}
	var seen sync.Map
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				turn, err := r.Next(t.Context(), &llm.Dialog{OnText: func(string) {}})
				if err != nil {
					t.Error(err)
					return
				}
				if _, twice := seen.LoadOrStore(turn.Text, true); twice {
					t.Errorf("turn %s was given twice", turn.Text)
				}
			}
		})
	}
	wg.Wait()
	if back := mustParse(t, record.String()); back.Left() != n {
		t.Errorf("%d turns were recorded", back.Left())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func TestAllocations(t *testing.T) {
	s := mustParse(t, strings.Repeat(`{"text":"some answer of usual length","calls":[{"name":"x","arguments":{"a":1}}]}`+
		"\n", 300))
	d := &llm.Dialog{OnText: func(string) {}}
	if n := testing.AllocsPerRun(200, func() { s.Next(context.Background(), d) }); n > 0 {
		t.Errorf("%v allocations a turn", n)
	}
}

func BenchmarkThousandTurns(b *testing.B) {
	text := strings.Repeat(`{"text":"looking","calls":[{"name":"execute","arguments":{"command":"wc -l a"}}],"usage":{"input_tokens":10,"cached_tokens":0,"output_tokens":5}}`+"\n", 1000)
	b.ReportAllocs()
	for b.Loop() {
		s := mustParse(b, text)
		for s.Left() > 0 {
			s.Next(context.Background(), new(llm.Dialog))
		}
	}
}
