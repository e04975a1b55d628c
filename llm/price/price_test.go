package price

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"hako/quota"
	"hako/run/fault"
)

const million = 1_000_000

func TestDefault(t *testing.T) {
	table := Default()
	if table.AsOf != "2025-08-07" || len(table.models) != 10 {
		t.Errorf("%+v", table)
	}
	for model, want := range map[string][3]float64{ // input, cached, output
		"gpt-4.1": {2, 0.5, 8}, "gpt-4.1-mini": {0.40, 0.10, 1.60}, "gpt-4.1-nano": {0.10, 0.025, 0.40},
		"gpt-4o": {2.50, 1.25, 10}, "gpt-4o-mini": {0.15, 0.075, 0.60},
		"gpt-5": {1.25, 0.125, 10}, "gpt-5-mini": {0.25, 0.025, 2}, "gpt-5-nano": {0.05, 0.005, 0.40},
		"o3": {2, 0.5, 8}, "o4-mini": {1.10, 0.275, 4.40},
	} {
		for i, u := range []quota.Usage{{Input: million}, {Cached: million}, {Output: million}} {
			if got, asOf, ok := table.Cost(model, u); !ok || !near(got, want[i]) || asOf != table.AsOf {
				t.Errorf("%s, %+v: %v (%s), want %v", model, u, got, asOf, want[i])
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestCost(t *testing.T) {
	table := Default()
	for _, tt := range []struct {
		model string
		u     quota.Usage
		want  float64
		known bool
	}{
		{"gpt-4.1-mini", quota.Usage{Input: 600, Cached: 400, Output: 100}, (600*0.40 + 400*0.10 + 100*1.60) / million, true},
		{"gpt-4.1-mini", quota.Usage{}, 0, true},
		{"gpt-4.1-mini-2025-04-14", quota.Usage{Input: million}, 0.40, true},
		{"gpt-4.1-2025-04-14", quota.Usage{Input: million}, 2, true},
		{"o3-2025-04-16", quota.Usage{Input: million}, 2, true},
		{"gpt-4.1-micro", quota.Usage{Input: million}, 0, false},
		{"gpt-4.1-", quota.Usage{Input: million}, 0, false},
		{"gpt-4.1-mini-20250414", quota.Usage{Input: million}, 0, false},
		{"gpt-4.1-mini-2025-13-14", quota.Usage{Input: million}, 0, false},
		{"gpt-4.1-mini-2025-04-14-x", quota.Usage{Input: million}, 0, false},
		{"gpt-4.1-mini2025-04-14", quota.Usage{Input: million}, 0, false},
		{"-2025-04-14", quota.Usage{Input: million}, 0, false},
		{"2025-04-14", quota.Usage{Input: million}, 0, false},
		{"GPT-4.1", quota.Usage{Input: million}, 0, false},
		{"openai/gpt-4.1", quota.Usage{Input: million}, 0, false},
		{"", quota.Usage{Input: million}, 0, false},
	} {
		got, asOf, ok := table.Cost(tt.model, tt.u)
		if ok != tt.known || !near(got, tt.want) || (asOf != "") != tt.known {
			t.Errorf("%q, %+v: %v, %q, %v", tt.model, tt.u, got, asOf, ok)
		}
	}
	if _, _, ok := (Table{}).Cost("gpt-5", quota.Usage{}); ok {
		t.Error("a table without prices has one")
	}
}

func TestWith(t *testing.T) {
	own, err := Parse(strings.NewReader(`{"as_of":"2026-01-02","per":1000,"models":{
		"gpt-5":{"input":1,"output":3}, "gpt-5-mini-2025-08-07":{"input":9,"cached":0,"output":9}, "mine":{"input":0,"output":0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	base := Default()
	both := base.With(own)
	for _, tt := range []struct {
		table Table
		model string
		want  string
	}{
		{both, "gpt-5", "5000 2026-01-02 true"}, // 1000 of input, as many cached at the same price, 1000 of output
		{both, "gpt-5-2025-08-07", "5000 2026-01-02 true"},
		{both, "gpt-5-mini", "2.275 2025-08-07 true"},
		{both, "gpt-5-mini-2025-08-07", "18000 2026-01-02 true"},
		{both, "mine", "0 2026-01-02 true"},
		{both, "o3", "10.5 2025-08-07 true"},
		{base, "mine", "0  false"},
		{base, "gpt-5", "11.375 2025-08-07 true"},
		{Table{}.With(own), "mine", "0 2026-01-02 true"},
	} {
		dollars, asOf, ok := tt.table.Cost(tt.model, quota.Usage{Input: million, Cached: million, Output: million})
		if got := fmt.Sprint(math.Round(dollars*1e6)/1e6, " ", asOf, " ", ok); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.model, got, tt.want)
		}
	}
	if both.AsOf != "2025-08-07" {
		t.Errorf("%q", both.AsOf)
	}
}

func TestMistakes(t *testing.T) {
	model := func(m string) string { return `{"as_of":"2025-08-07","models":{"m":` + m + `}}` }
	for text, want := range map[string]string{
		"":                                      "the list is truncated",
		"{":                                     "the list is truncated",
		"[]":                                    "the list is not an object",
		"{}":                                    `as_of is a date such as 2025-08-07, not ""`,
		`{"as_of":"yesterday"}`:                 `not "yesterday"`,
		`{"as_of":"2025-08-07"} x`:              "something after the list",
		`{"as_of":"2025-08-07"} {}`:             "something after the list",
		`{"as_of":"2025-08-07","currency":"¥"}`: `prices are in USD, not "¥"`,
		`{"as_of":"2025-08-07","per":0}`:        "above zero",
		`{"as_of":"2025-08-07","prices":{}}`:    `unknown field "prices"`,
		model(`{"input":1,"output":1,"batch":1}`):   `unknown field "batch"`,
		model(`{"input":-1,"output":1}`):            "m has a price below zero",
		model(`{"input":1,"cached":-1,"output":1}`): "m has a price below zero",
		model(`{"input":1,"output":-0.1}`):          "m has a price below zero",
		model(`{"input":1}`):                        "m needs a price for input and one for output",
		model(`null`):                               "m needs a price",
		model(`{"input":"1","output":1}`):           "cannot be a string",
		model(`{"input":1e999,"output":1}`):         "cannot be a number 1e999",
	} {
		_, err := Parse(strings.NewReader(text))
		if got := fmt.Sprint(err); err == nil || !strings.Contains(got, want) || fault.KindOf(err) != fault.Invalid ||
			fault.Hint(err) == "" {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	if _, err := Parse(strings.NewReader(strings.Repeat(" ", largest+1))); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("a huge list: %v", err)
	}
}

// named is a reader with a name, as a file is.
type named struct{ *strings.Reader }

func (named) Name() string { return "my.json" }

func TestMistakeInFile(t *testing.T) {
	if _, err := Parse(named{strings.NewReader("[]")}); fmt.Sprint(
		err) != "read prices my.json: the list is not an object" {
		t.Error(err)
	}
}

// FuzzParse: whatever is taken for a list, no cost is below zero or not a number.
func FuzzParse(f *testing.F) {
	f.Add(string(list))
	f.Add(`{"as_of":"2025-08-07","per":1,"models":{"m":{"input":1e300,"output":0}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for name := range table.models {
			dollars, asOf, ok := table.Cost(name, quota.Usage{Input: 10, Cached: 5, Output: 3})
			if !ok || !isDate(asOf) || !(dollars >= 0) {
				t.Errorf("%q: %v, %q, %v", name, dollars, asOf, ok)
			}
		}
	})
}
