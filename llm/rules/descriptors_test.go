package rules

import (
	"testing"

	"hako/llm"
)

// atDesk is a model that has spawned scripts with the given outputs.
func atDesk(outputs map[string]string) *descriptorModel {
	m := Descriptors{Inputs: []Input{{Name: "s.csv", Bytes: 9}, {Name: "b.log", Bytes: 9}}}.New().(*descriptorModel)
	for script, out := range outputs {
		m.jobs = append(m.jobs, &scriptJob{script: script, output: output{OK: true, Out: out}})
	}
	return m
}

func TestDeskResult(t *testing.T) {
	outputs := map[string]string{"grep -c x": "4\n", "grep x": "a x\nb x\n", "cut": "10 Downing Street\n"}
	for _, tt := range []struct {
		text string
		want result
	}{
		{"4 lines (s.csv)", result{script: "grep -c x", about: "4 lines (s.csv)"}},
		{"4 行です（s.csv）。", result{script: "grep -c x", about: "4 行です（s.csv）。"}},
		{"10 Downing Street (s.csv, column 2)", result{script: "cut", about: "10 Downing Street (s.csv, column 2)"}},
		{"7.5 (s.csv, average)", result{text: "7.5", about: "7.5 (s.csv, average)"}},
		{"4 lines, 20 words (s.csv)", result{text: "4 lines, 20 words (s.csv)"}},
		{"Yes: 4 lines (s.csv)", result{text: "Yes: 4 lines (s.csv)"}},
		{"Nothing found (s.csv).", result{about: "Nothing found (s.csv)."}},
		{"```\na x\nb x\n```\n2 lines (s.csv)", result{script: "grep x", about: "2 lines (s.csv)"}},
		{"```\na x\nb x\n```", result{script: "grep x"}},
		{"- a: 1\n- b: 2\n\n(s.csv, sum)", result{text: "- a: 1\n- b: 2", about: "(s.csv, sum)"}},
		{"1 line (s.csv)\n2 lines (b.log)\nTotal: 3", result{text: "1 line (s.csv)\n2 lines (b.log)\nTotal: 3"}},
	} {
		if got, ok := atDesk(outputs).result(&conversation{}, tt.text); !ok || got != tt.want {
			t.Errorf("%q: %+v, %v", tt.text, got, ok)
		}
	}
}

// Nothing but an answer may become the output, whatever it quotes.
func TestDeskExcuses(t *testing.T) {
	q := &query{}
	for _, text := range []string{q.unknown(), q.partly("x"), q.twoThings(), q.noFiles(),
		"s.csv has no column or key \"x\". It has: a, b.", "I say:\n\n```\na x\n```"} {
		if got, ok := atDesk(map[string]string{"grep x": "a x\n"}).result(&conversation{}, text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got, ok := atDesk(nil).result(&conversation{request: "x (s.csv"}, q.partly("x (s.csv")); ok {
		t.Errorf("quotes the request: %+v", got)
	}
	if got, ok := atDesk(map[string]string{"head": "a,(s.csv\n1,2\n"}).result(&conversation{},
		`s.csv has no column or key "x". It has: a, (s.csv.`); ok {
		t.Errorf("quotes the file: %+v", got)
	}
	if got, ok := atDesk(nil).result(&conversation{failed: &output{}}, "4 lines (s.csv)"); ok {
		t.Errorf("a command failed: %+v", got)
	}
}

func TestDeskPages(t *testing.T) {
	for result, want := range map[string]struct {
		text      string
		ended, ok bool
		status    int
	}{
		"[fd 11: 1 line, 6 bytes, end of file; script 1 exited with status 0]\nawake\n":    {"awake\n", true, true, 0},
		"[fd 11: 1 line, 6 bytes, more follows]\nawake\n":                                  {"awake\n", false, true, 2},
		"[fd 11: end of file, nothing more to read; script 2 exited with status 141]":      {"", true, true, 141},
		"[fd 11: 1 line, 6 bytes, then it broke off: no]\nawake\n":                         {"", false, false, 2},
		"read fd 11: there is no such descriptor":                                          {"", false, false, 2},
		"[fd 11: 1 line, 5 bytes, end of file; script 1 ended with status 5: denied]\nx\n": {"x\n", true, true, 5},
	} {
		text, ended, ok := readPage(result)
		if text != want.text || ended != want.ended || ok != want.ok || statusIn(result) != want.status {
			t.Errorf("%q: %q, %v, %v, %d", result, text, ended, ok, statusIn(result))
		}
	}
}

// The loop's line is taken off the last result only, and only once.
func TestDeskHears(t *testing.T) {
	m := atDesk(nil)
	var heard []string
	hear := func(s string) { heard = append(heard, s) }
	m.asked["1"], m.asked["2"] = hear, hear
	m.hear(&llm.Dialog{Items: []llm.Item{
		{Role: llm.Result, CallID: "1", Text: "a\n[turn 2 of 3]"},
		{Role: llm.Result, CallID: "2", Text: "b\n[turn 2 of 3]\n[turn 2 of 50; 48 calls left]"},
	}})
	if len(heard) != 2 || heard[0] != "a\n[turn 2 of 3]" || heard[1] != "b\n[turn 2 of 3]" {
		t.Errorf("%q", heard)
	}
}
