package ask

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/agent"
	"hako/internal/config"
	"hako/llm"
)

// vandal removes a file just before it has it read.
type vandal struct {
	file  string
	heard string
}

func (v *vandal) Next(_ context.Context, d *llm.Dialog) (*llm.Turn, error) {
	last := d.Items[len(d.Items)-1]
	if last.Role == llm.Result {
		v.heard = last.Text
		return &llm.Turn{Text: "It is gone."}, nil
	}
	return &llm.Turn{Calls: []llm.Call{
		{ID: "1", Name: "list_allowed_files", Arguments: `{}`},
		{ID: "2", Name: "execute", Arguments: `{"command":"cat ` + v.file + `"}`},
	}}, os.Remove(v.file)
}

// TestAFileThatVanishes makes sure that it is the call that fails, not the run.
func TestAFileThatVanishes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "gone.txt")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	conf, err := config.Load(config.Source{NoFile: true})
	if err == nil {
		err = conf.Set("audit.path", "test", filepath.Join(dir, "audit.jsonl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o := Options{Request: "read it", Model: "builtin", Turns: 4, Calls: 8, Threads: 1, Observe: func(e agent.Event) {
		if e.Type == "text" {
			out.WriteString(e.Text)
		}
	}}
	o.Files = []string{file}
	s, err := Open(t.Context(), conf, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v := &vandal{file: file}
	s.agent.Model = v
	if _, err := s.Answer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(v.heard, "No such file") || out.String() != "It is gone." {
		t.Errorf("the model heard %q, the user %q", v.heard, out.String())
	}
}
