package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"hako/llm"
	"hako/run/fault"
)

const everything = `{"text":"<b>1 & 2</b> \"quoted\" 日本語\u2028\n","calls":[{"id":"c1","name":"execute","arguments":{"command":"grep '<a>' f","x":1.50}},{"name":"y","arguments":"{\"a\": 1}"},{"name":"z","arguments":"{broken"},{"name":"w"}],"usage":{"input_tokens":10,"cached_tokens":3,"output_tokens":5},"model":"gpt-x","raw":[{"type":"reasoning","encrypted_content":"<x>"}],"source":"responses"}
{"text":"so far","error":{"status":429,"code":"rate_limit_exceeded","message":"try later","after_ms":20,"retry":true}}
{"error":{"message":"it <broke> off"},"model":"gpt-y"}
{"pieces":["a","b"],"cut":"content_filter"}
{"text":""}
`

// played is what came out of one turn of a model.
type played struct {
	turn    *llm.Turn
	refusal *llm.Refusal
	err     string
	hint    string
	heard   string
}

func playAll(m llm.Model, turns int) (all []played) {
	for range turns {
		var p played
		turn, err := m.Next(context.Background(), &llm.Dialog{OnText: func(s string) { p.heard += s }})
		p.turn, p.err, p.hint = turn, fmt.Sprint(err), fault.Hint(err)
		errors.As(err, &p.refusal)
		all = append(all, p)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	first := mustParse(t, everything)
	turns := first.Left()
	var record bytes.Buffer
	want := playAll(&Recorder{Model: first, W: &record}, turns)
	if lines := strings.Count(record.String(), "\n"); lines != turns {
		t.Fatalf("%d turns became %d lines", turns, lines)
	}
	var again bytes.Buffer
	got := playAll(&Recorder{Model: mustParse(t, record.String()), W: &again}, turns)
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("turn %d\n got %+v\nwant %+v", i+1, got[i], want[i])
		}
	}
	if again.String() != record.String() {
		t.Errorf("the record of the record is\n%s\nnot\n%s", &again, &record)
	}
	if !strings.Contains(record.String(), `"arguments":{"command":"grep '<a>' f","x":1.50}`) {
		t.Errorf("an object was not written as one:\n%s", &record)
	}
}

// answers is a model that always answers the same.
type answers struct {
	turn *llm.Turn
	err  error
}

func (a answers) Next(context.Context, *llm.Dialog) (*llm.Turn, error) { return a.turn, a.err }

func TestRecorder(t *testing.T) {
	refused := llm.Refuse("m", "it is busy", "wait",
		&llm.Refusal{Status: 503, Retry: true, After: 1500 * time.Microsecond})
	for name, tt := range map[string]struct {
		model answers
		line  string
	}{
		"turn": {answers{turn: &llm.Turn{Text: "x", Calls: []llm.Call{{ID: "a", Name: "b", Arguments: "{}"}}}},
			`{"text":"x","calls":[{"id":"a","name":"b","arguments":{}}]}` + "\n"},
		"refusal": {answers{err: refused},
			`{"model":"m","error":{"status":503,"after_ms":2,"retry":true,"why":"it is busy","hint":"wait"}}` + "\n"},
		"bare refusal": {answers{err: &llm.Refusal{Code: "x"}}, `{"error":{"code":"x"}}` + "\n"},
		"interrupted":  {answers{err: context.Canceled}, ""},
	} {
		var w strings.Builder
		turn, err := (&Recorder{Model: tt.model, W: &w}).Next(t.Context(), new(llm.Dialog))
		if turn != tt.model.turn || err != tt.model.err || w.String() != tt.line {
			t.Errorf("%s: %v, %v, wrote %s", name, turn, err, w.String())
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestRecordNotWritten(t *testing.T) {
	for name, m := range map[string]answers{
		"turn":    {turn: &llm.Turn{Text: "x"}},
		"refusal": {err: llm.Refuse("m", "", "", &llm.Refusal{Retry: true})},
	} {
		turn, err := (&Recorder{Model: m, W: full{}}).Next(t.Context(), new(llm.Dialog))
		var r *llm.Refusal
		if turn != nil || fmt.Sprint(err) != "record turn: the line could not be written: no space left" ||
			errors.As(err, &r) {
			t.Errorf("%s: %v, %v", name, turn, err)
		}
	}
	bad := answers{turn: &llm.Turn{Raw: []byte("{")}}
	if _, err := (&Recorder{Model: bad, W: new(strings.Builder)}).Next(t.Context(), new(llm.Dialog)); fault.KindOf(
		err) != fault.Unavailable {
		t.Errorf("what is no JSON: %v", err)
	}
}

// FuzzParse: whatever can be read can be played, recorded and read again.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add(`{"calls":[{"name":"x","arguments":"\ud800{"}]}`)
	f.Add("# x\n\n{}\n{\"expect\":\"a|b\"}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		turns := s.Left()
		for i := range s.steps {
			s.steps[i].delay, s.steps[i].expect = 0, nil
		}
		var record, again bytes.Buffer
		want := playAll(&Recorder{Model: s, W: &record}, turns)
		back, err := Parse(bytes.NewReader(record.Bytes()))
		if err != nil {
			t.Fatalf("%q was recorded as %q: %v", text, &record, err)
		}
		got := playAll(&Recorder{Model: back, W: &again}, turns)
		if again.String() != record.String() || len(got) != len(want) {
			t.Errorf("%q\nthen %q", &record, &again)
		}
	})
}
