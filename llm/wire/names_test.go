package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hako/internal/testload"
	"hako/llm"
)

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "gpt-4.1": "gpt-4.1", "名前": "名前", "a b": "a b", "a\x1b[31mb\r\n": "ab", "a\x7f\u0085b": "a b",
		"a\u202eb\u2066\u200d\ufeff": "ab",
		"a\u2028\u2029b":             "a b", "a\xffb\ufffd": "ab",
		"\U000e0041a":                    "a", // a letter of the tags, which cannot be seen
		strings.Repeat("x", 200):         strings.Repeat("x", 200),
		strings.Repeat("x", 201):         strings.Repeat("x", 200),
		"x" + strings.Repeat("é", 100):   "x" + strings.Repeat("é", 99),
		strings.Repeat("🗻", 1<<20):       strings.Repeat("🗻", 50),
		strings.Repeat("\x00", 60) + "a": "a",
	} {
		if got := Name(text); got != want {
			t.Errorf("%.40q became %q", text, got)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("a\u202eb")
	f.Add(strings.Repeat("語\xe8", 300))
	f.Fuzz(func(t *testing.T, text string) {
		if got := Name(text); len(got) > maxName || !utf8.ValidString(got) || Name(got) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestCount(t *testing.T) {
	for text, want := range map[string]Count{
		"0": 0, "7": 7, "7.9": 7, "-1": 0, "-1e400": 0, "1e3": 1000, "1000000001": 1e9, "9223372036854775807": 1e9,
		"1e400": 1e9,
		"null":  0, `"7"`: 0, "true": 0, "{}": 0, "[1]": 0,
	} {
		c := Count(3)
		if err := json.Unmarshal([]byte(text), &c); err != nil || c != want && text != "null" {
			t.Errorf("%s: %d, %v", text, c, err)
		}
	}
}

func TestUsage(t *testing.T) {
	d := &llm.Dialog{System: "12345678", Items: []llm.Item{{Role: llm.User, Text: "1234"}},
		Tools:  []llm.Tool{{Name: "f", Text: "abcd", Schema: json.RawMessage(`{"a":12}`)}},
		Format: &llm.Format{Schema: json.RawMessage(`{}  `)}}
	const sent = 2 + 4 + 1 + 8 + 1 + 1 + 2 + 1
	tests := []struct {
		input, cached, output Count
		said                  int64
		want                  [3]int64
	}{
		{10, 4, 3, 99, [3]int64{6, 4, 3}},
		{10, 40, 3, 99, [3]int64{0, 10, 3}},
		{0, 40, 3, 99, [3]int64{sent, 0, 3}},
		{10, 0, 0, 99, [3]int64{10, 0, 99}},
		{0, 0, 0, 1 << 40, [3]int64{sent, 0, 1e9}},
		{10, 0, 0, 0, [3]int64{10, 0, 0}},
	}
	for _, tt := range tests {
		u := Usage(d, tt.input, tt.cached, tt.output, tt.said)
		if got := [3]int64{u.Input, u.Cached, u.Output}; got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestIdentifyCleans(t *testing.T) {
	calls := []llm.Call{{ID: "a\x1b", Name: "f\u202e"}, {ID: "a", Name: strings.Repeat("n", 300)}, {ID: "\x00"}}
	Identify(new(llm.Dialog), calls)
	if calls[0].ID != "a" || calls[0].Name != "f" || calls[1].ID != "call_1" || len(calls[1].Name) != 200 ||
		calls[2].ID != "call_2" {
		t.Errorf("%+v", calls)
	}
}

// A long dialog costs a look at each of its calls, not one for each new call.
func TestIdentifyIsLinear(t *testing.T) {
	d := &llm.Dialog{Items: make([]llm.Item, 40_000)}
	calls := make([]llm.Call, 40_000)
	for i := range d.Items {
		d.Items[i].Calls = []llm.Call{{ID: fmt.Sprint("call_", i+40_000)}}
		calls[i].ID = "same"
	}
	start := time.Now()
	Identify(d, calls)
	if took := time.Since(start); took > testload.Bound(2*time.Second) || calls[1].ID != "call_80000" {
		t.Errorf("took %v, ended with %s", took, calls[1].ID)
	}
}
