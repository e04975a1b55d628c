package store

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"hako/audit"
	"hako/internal/app/coder"
	"hako/llm"
	"hako/llm/replay"
	"hako/quota"
)

// outside is a forge and a container in memory.
type outside struct {
	said    map[string]int
	state   coder.State
	edits   int
	kept    int // edits that were kept
	deadly  bool
	dropped bool
}

func (o *outside) WriteComment(_ context.Context, _ coder.Task, key, _ string) (string, error) {
	o.said[key]++
	return key, nil
}
func (o *outside) Comments(context.Context, coder.Task, string) ([]coder.Comment, error) {
	return nil, nil
}
func (o *outside) SetState(_ context.Context, _ coder.Task, s coder.State) error {
	o.state = s
	return nil
}
func (o *outside) OpenPullRequest(context.Context, coder.Task, coder.Proposal) (string, error) {
	return "https://forge.example/1", nil
}
func (o *outside) Prepare(_ context.Context, _ coder.Task, _, _ string) (coder.Workspace, error) {
	o.edits = o.kept
	return o, nil
}
func (o *outside) Cleanup(context.Context, string) error { o.dropped = true; return nil }
func (o *outside) Execute(_ context.Context, command, _ string) (coder.Outcome, error) {
	if command == "test" && o.deadly {
		runtime.Goexit() // kill -9
	}
	return coder.Outcome{}, nil
}
func (o *outside) Edit(context.Context, json.RawMessage) (json.RawMessage, error) {
	o.edits++
	return json.RawMessage(`{"success":true}`), nil
}
func (o *outside) Commit(context.Context, string, bool) (string, error) {
	o.kept = o.edits
	return "commit", nil
}
func (o *outside) Append(audit.Event) error { return nil }

const plan = `{"text":"{\"goal_understanding\":{\"main_objective\":\"fix\"},\"selected_environment\":{\"name\":\"go\",\"verification\":[\"go test\"]}}","usage":{"input_tokens":100,"output_tokens":20}}`

// TestKilledWorker has a worker die in the middle of a command. The next goes on
// from the disk: nothing is asked, edited or said twice.
func TestKilledWorker(t *testing.T) {
	o, s := &outside{said: map[string]int{}, deadly: true}, &Store{Dir: t.TempDir()}
	task := coder.Task{ID: "t1", Kind: coder.Issue, Number: 1, Author: "ann", Trusted: true}
	start := func(turns string) (rec coder.Record, err error) {
		j := opened(t, s, task.ID)
		from, err := j.Load()
		if err != nil {
			t.Fatal(err)
		}
		model, err := replay.Parse(strings.NewReader(turns))
		if err != nil {
			t.Fatal(err)
		}
		c := &coder.Coordinator{Commenter: o, Publisher: o, Workspaces: o, Log: o, Archive: s, Accounts: s,
			Model:   func(coder.Task, *quota.Budget) llm.Model { return model },
			Execute: llm.Tool{Name: "command-executor_execute_command"}, Edit: llm.Tool{Name: "text_editor"}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			rec, err = c.Run(context.Background(), task, j, from)
		}()
		<-done
		return rec, err
	}
	_, _ = start(plan + `
{"calls":[{"name":"text_editor","arguments":{"command":"create"}}]}
{"calls":[{"name":"command-executor_execute_command","arguments":{"command":"test"}}]}`)
	if o.dropped || o.edits != 1 {
		t.Fatalf("the worker was not killed: %+v", o)
	}
	o.deadly = false
	rec, err := start(`{"text":"Fixed.","usage":{"input_tokens":10,"output_tokens":1}}`)
	if err != nil || rec.State != coder.Done || o.edits != 1 || o.state != coder.Done || rec.Environment != "go" {
		t.Fatalf("%v: %s %s, %d edits", err, rec.State, rec.Why, o.edits)
	}
	if o.said["plan-1"] != 1 || o.said["done"] != 1 {
		t.Errorf("said %v", o.said)
	}
	past, err := s.Past(t.Context(), coder.Task{ID: "t2", Kind: coder.Issue, Number: 1})
	if err != nil || len(past) != 1 || past[0].Summary != "Fixed." || past[0].Proposal == "" {
		t.Errorf("%+v, %v", past, err)
	}
	if month, err := s.Spent(t.Context(), "ann"); err != nil || month.Input != 110 || month.Calls != 4 {
		t.Errorf("%+v, %v", month, err)
	}
	if again, err := opened(t, s, "t1").Load(); err != nil || again.Phase != coder.Ended {
		t.Errorf("%+v, %v", again, err)
	}
}
