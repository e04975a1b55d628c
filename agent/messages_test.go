package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hako/agent/tool"
	"hako/llm"
)

// worker is an agent that ends by exit, and the order in which its tools ran.
func worker(turns ...any) (*Agent, *player, *[]string) {
	a, p, _, _ := newAgent(turns...)
	var order []string
	left := false
	note := func(name string, f func()) tool.Tool {
		return tool.New(name, "x", func(context.Context, said) (string, error) {
			order = append(order, name)
			f()
			return "ok", nil
		})
	}
	a.Tools = append(a.Tools, note("write", func() {}), note("exit", func() { left = true }))
	a.Turns, a.Threads, a.Leave, a.Left = 10, 1, "exit", func() bool { return left }
	a.Again = func() string { return "nothing comes of words" }
	return a, p, &order
}

// TestAskedAgain: words alone are answered, at most twice in a row.
func TestAskedAgain(t *testing.T) {
	words := calls("Let me look first.")
	tests := []struct {
		name  string
		turns []any
		asked int
		words string
	}{
		{"goes on", []any{words, calls("", `1 exit {"say":""}`)}, 2, "Let me look first."},
		{"thrice", []any{words, words, words, calls("", `1 exit {"say":""}`)}, 3, "Let me look first."},
		{"in a row only", []any{words, words, calls("", `1 write {"say":""}`), words, words, calls("", `2 exit {"say":""}`)},
			6, "Let me look first."},
		{"forgotten", []any{words, calls("", `1 write {"say":""}`), calls("", `2 exit {"say":""}`)}, 3, ""},
		{"beside exit", []any{calls("Two.", `1 exit {"say":""}`)}, 1, "Two."},
		{"beside other calls", []any{calls("I write.", `1 write {"say":""}`), calls("", `2 exit {"say":""}`)}, 2, ""},
		{"nothing", []any{calls(""), calls(""), calls("")}, 3, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, p, _ := worker(tt.turns...)
			d := new(llm.Dialog)
			answer, err := a.Run(t.Context(), d, Request{Text: "x"})
			if err != nil || len(p.asked) != tt.asked || answer.Words != tt.words {
				t.Errorf("asked %d times, words %q, %v", len(p.asked), answer.Words, err)
			}
			whole(t, d.Items)
			if slices.ContainsFunc(d.Items, func(it llm.Item) bool {
				return it.Role == llm.Assistant && it.Text == "" &&
					len(it.Calls) == 0
			}) {
				t.Error("an empty turn was kept")
			}
		})
	}
}

// TestAskedAgainBudget: in the last turn nobody is asked again.
func TestAskedAgainBudget(t *testing.T) {
	a, p, _ := worker(calls("a"), calls("b"), calls("c"))
	a.Turns = 2
	answer, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "x"})
	if err != nil || len(p.asked) != 2 || answer.Words != "b" {
		t.Error(len(p.asked), answer, err)
	}
	if last := p.asked[1].Items; !strings.HasPrefix(last[len(last)-1].Text, "nothing comes of words\n[turn 2 of 2") {
		t.Error(last[len(last)-1])
	}
}

// TestWordsKept: words are not forgotten when asking again fails.
func TestWordsKept(t *testing.T) {
	a, _, _ := worker(calls("I could not finish."), errors.New("down"))
	answer, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "x"})
	if err == nil || answer.Words != "I could not finish." {
		t.Error(answer, err)
	}
}

// TestExitLast: what ends the work is carried out after the rest of its turn,
// and not at all if that is refused.
func TestExitLast(t *testing.T) {
	a, _, order := worker(calls("", `1 exit {"say":""}`, `2 write {"say":""}`, `3 write {"say":""}`))
	if _, err := a.Run(t.Context(), new(llm.Dialog), Request{Text: "x"}); err != nil ||
		!slices.Equal(*order, []string{"write", "write", "exit"}) {
		t.Error(*order, err)
	}

	a, p, order := worker(calls("", `1 exit {"say":""}`, `2 write {"say":""}`, `3 refuse {"say":""}`),
		calls("", `4 exit {"say":""}`))
	a.Leaving = func(_ llm.Call, failed error) error { return failed }
	d := new(llm.Dialog)
	if _, err := a.Run(t.Context(), d, Request{Text: "x"}); err != nil || len(p.asked) != 2 ||
		!slices.Equal(*order, []string{"write", "exit"}) {
		t.Error(*order, err)
	}
	whole(t, d.Items)
}
