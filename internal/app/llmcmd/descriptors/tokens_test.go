package descriptors

import (
	"strings"
	"testing"

	"hako/llm/tokens"
)

// TestTokens keeps the tools cheap: every request begins with them.
func TestTokens(t *testing.T) {
	total := 0
	for _, tool := range newBox(t, Options{}).Tools() {
		n := tokens.Count(tool.Name + "\n" + tool.Text + "\n" + string(tool.Schema))
		t.Logf("%s: %d tokens, %s", tool.Name, n, tool.Schema)
		total += n
	}
	if t.Logf("all: %d tokens", total); total > 900 {
		t.Errorf("%d tokens, at most 900 wanted", total)
	}
}

// TestTopics reads every topic and looks for numbers that were not filled in.
func TestTopics(t *testing.T) {
	b := newBox(t, Options{Topics: map[string]func() string{"quota": func() string { return "7 calls left" }}})
	list := b.call("help", `{}`)
	_, names, _ := strings.Cut(list, "Topics: ")
	for name := range strings.SplitSeq(names, ", ") {
		text := b.call("help", `{"keys":[%q]}`, name)
		for _, hole := range []string{"{count}", "{lines}", "{page}", "{write}", "{script}", "{running}", "{open}", "{room}",
			"{wait}", "{nested}", "file does not exist"} {
			if strings.Contains(text, hole) {
				t.Errorf("%s has %s", name, hole)
			}
		}
	}
	if got := b.call("help", `{"keys":["quota"]}`); got != "7 calls left" || !strings.Contains(names, "quota") {
		t.Error(got, names)
	}
}
