package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"hako/internal/app/coder"
	"hako/llm"
	"hako/quota"
)

// The tools that a task works with.
const (
	execute = "command-executor_execute_command"
	edit    = "text_editor"
)

// A pace is how long the outside takes; each time is drawn from a half to one and a
// half of it.
type pace struct {
	Model   time.Duration // an answer
	Command time.Duration // a command or an edit in the container
	Prepare time.Duration // a container with the clone and its dependencies
	Keep    time.Duration // commits saved and pushed
}

// task is the duration of the typical task.
func (p pace) task() time.Duration {
	return turns*p.Model + actions*p.Command + p.Prepare + (callTurns+1)*p.Keep
}

// The typical task: a plan, nine turns that call fifteen tools, a reflection, and the
// final answer. People comment twice.
const (
	turns     = 12
	callTurns = 9
	actions   = 15
)

// rest takes the time of something outside.
func rest(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A scriptedModel is a model that takes time and answers by a script.
type scriptedModel struct {
	task    coder.Task
	control string
	clock   *clock
	pace    pace
}

// Next implements [llm.Model].
func (m *scriptedModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	m.clock.asked()
	defer m.clock.answered()
	if err := rest(ctx, m.pace.Model); err != nil {
		return nil, err
	}
	done := 0
	for _, it := range d.Items {
		if len(it.Calls) > 0 {
			done++
		}
	}
	turn := m.turn(d, done)
	if working := len(turn.Calls) > 0; working && (done == 2 || done == 5) { // somebody comments meanwhile
		if _, err := ask[int](m.control, fmt.Sprint("/say?number=", m.task.Number)); err != nil {
			return nil, err
		}
	}
	turn.Model, turn.Usage = "simulated", quota.Usage{Input: 20_000, Cached: 15_000, Output: 500}
	return turn, nil
}

const plan = `{"goal_understanding":{"main_objective":"Correct the report","success_criteria":["the test passes"]},"task_decomposition":{"subtasks":[{"id":"1","description":"find the mistake"},{"id":"2","description":"correct it"},{"id":"3","description":"test it"}]},"selected_environment":{"name":"python","reasoning":"there is a pyproject.toml","verification":["python -m pytest -q"]},"comment":"I will look for the mistake, correct it and run the tests."}`

func (m *scriptedModel) turn(d *llm.Dialog, done int) *llm.Turn {
	switch {
	case strings.HasPrefix(d.System, "You plan"):
		return &llm.Turn{Text: plan}
	case d.Choice.None:
		return &llm.Turn{Text: `{"assessment":"It goes well.","plan_revision_needed":false,"next":"Run the tests."}`}
	case done < callTurns:
		return &llm.Turn{Text: "Now I look at the next part and change what is wrong there.", Calls: calls(done)}
	}
	return &llm.Turn{Text: "The report added up the wrong column. I corrected it, with a test for both formats."}
}

// calls are two in most turns, one in every third.
func calls(done int) (list []llm.Call) {
	id := func() string { return fmt.Sprintf("call-%d-%d", done, len(list)) }
	list = append(list, llm.Call{ID: id(), Name: execute,
		Arguments: fmt.Sprintf(`{"command":"sed -n '%d,+60p' report/sum.py && python -m pytest -q -k part_%d"}`, 60*done,
			done)})
	if done%3 == 2 {
		return list
	}
	change, _ := json.Marshal(map[string]any{"command": "str_replace", "path": "report/sum.py",
		"old_str": fmt.Sprint("column ", done), "new_str": strings.Repeat(fmt.Sprintf("column_%d = rows[%d]\n", done, done),
			20)})
	return append(list, llm.Call{ID: id(), Name: edit, Arguments: string(change)})
}

// output is what a command prints: 3 KB, as a part of a file and a few tests do.
var output = strings.Repeat("def total(rows, column):  # adds up one column\n", 64)

// fakeContainers make workspaces that only take time.
type fakeContainers struct {
	clocks *clocks
	pace   pace
}

// Prepare implements [coder.Workspaces].
func (h fakeContainers) Prepare(ctx context.Context, t coder.Task, _, _ string) (coder.Workspace, error) {
	p := &fakeWorkspace{h.clocks.of(t.Number), h.pace}
	return p, p.busy(ctx, h.pace.Prepare)
}

// Cleanup implements [coder.Workspaces].
func (h fakeContainers) Cleanup(context.Context, string) error { return nil }

// A fakeWorkspace is the workspace of one task.
type fakeWorkspace struct {
	clock *clock
	pace  pace
}

func (r *fakeWorkspace) busy(ctx context.Context, d time.Duration) error {
	defer r.clock.addOutside(time.Now(), inContainer)
	return rest(ctx, d)
}

// Execute implements [coder.Workspace].
func (r *fakeWorkspace) Execute(ctx context.Context, command, _ string) (coder.Outcome, error) {
	if strings.HasPrefix(command, "head ") { // the project has no notes
		return coder.Outcome{ExitCode: 1}, nil
	}
	return coder.Outcome{Stdout: output}, r.busy(ctx, r.pace.Command)
}

// Edit implements [coder.Workspace].
func (r *fakeWorkspace) Edit(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"success":true,"content":"The file was changed.","error":""}`), r.busy(ctx, r.pace.Command)
}

// Commit implements [coder.Committer].
func (r *fakeWorkspace) Commit(ctx context.Context, _ string, _ bool) (string, error) {
	return fmt.Sprintf("%040x", rand.Uint64()), r.busy(ctx, r.pace.Keep)
}
