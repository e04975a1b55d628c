package tool

import (
	"testing"

	"hako/llm"
	"hako/llm/tokens"
)

// TestTokens keeps the tools cheap: every turn of every dialog begins with them.
func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		tool Tool
		most int
	}{
		{new(Executor).Tool(), 380},
		{ListFiles(func() []llm.File { return nil }), 40},
		{CLIHelp(nil), 50},
	} {
		n := tokens.Count(tt.tool.Name + "\n" + tt.tool.Text + "\n" + string(tt.tool.Schema))
		if n > tt.most {
			t.Errorf("%s: %d tokens, at most %d wanted", tt.tool.Name, n, tt.most)
		}
		t.Logf("%s: %d tokens, %s", tt.tool.Name, n, tt.tool.Schema)
	}
}
