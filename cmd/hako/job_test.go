package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/agent"
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
	var out, err bytes.Buffer
	s := newStreams(strings.NewReader(""), &out, &err)
	o := &runOptions{modelFlags: modelFlags{model: "builtin"}, turns: 4, calls: 8, threads: 1}
	o.noConfig, o.audit, o.Files = true, filepath.Join(dir, "audit.jsonl"), []string{file}
	conf, lerr := o.load()
	if lerr != nil {
		t.Fatal(lerr)
	}
	j := &job{runOptions: o, conf: conf, show: newShow(s, false, true), request: agent.Request{Text: "read it"}}
	if err := j.prepare(t.Context(), newRoot(s)); err != nil {
		t.Fatal(err)
	}
	defer j.close()
	v := &vandal{file: file}
	j.agent.Model = v
	if _, err := j.agent.Run(t.Context(), &j.dialog, j.request); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(v.heard, "No such file") || out.String() != "It is gone." {
		t.Errorf("the model heard %q, the user %q", v.heard, out.String())
	}
}
