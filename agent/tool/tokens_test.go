package tool

import (
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"hako/llm"
)

// TestTokens keeps the tools cheap: every turn of every dialog begins with them.
func TestTokens(t *testing.T) {
	count := codec.NewO200kBase()
	for _, tt := range []struct {
		tool Tool
		most int
	}{
		{new(Executor).Tool(), 380},
		{ListFiles(func() []llm.File { return nil }), 40},
		{CLIHelp(nil), 50},
	} {
		n, err := count.Count(tt.tool.Name + "\n" + tt.tool.Text + "\n" + string(tt.tool.Schema))
		if err != nil || n > tt.most {
			t.Errorf("%s: %d tokens, at most %d wanted; %v", tt.tool.Name, n, tt.most, err)
		}
		t.Logf("%s: %d tokens, %s", tt.tool.Name, n, tt.tool.Schema)
	}
}
