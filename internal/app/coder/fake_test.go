package coder

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hako/agent/tool"
	"hako/audit"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// A world is everything outside of the coordinator: it outlives workers.
type world struct {
	t *testing.T

	// The forge.
	comments  map[string]string // by key
	said      []string          // keys, each time
	shown     []State
	proposals []Proposal
	thread    []Comment
	stutter   bool                  // it tells everything again and again
	deskErr   func(op string) error // nil means that it answers

	// The hands.
	base      map[string]string
	commits   map[string]map[string]string
	branch    string // what was pushed last
	pushes    int
	keepErr   error
	rooms     int // that are there
	prepared  int
	prepare   func(n int) error
	furnished []string
	execute   func(p *room, command string) (Outcome, error, bool)
	ran       []string

	// The journal: bytes, as a record must survive.
	record  []byte
	effects map[string]*string // nil means begun
	saves   int
	saveErr func() error

	// Everything else.
	brain    func(d *llm.Dialog) *llm.Turn
	asked    []llm.Dialog
	notified int
	order    func(e *world) Order
	events   []Event
	ticks    int
	dieAt    int // at this tick the worker is killed; zero means never
	onTick   func(n int)
	version  int    // of the plan, in the end
	never    string // must not be in a record
}

func newWorld(t *testing.T) *world {
	return &world{t: t, comments: map[string]string{}, base: map[string]string{"a.txt": "broken\n"},
		commits: map[string]map[string]string{}, effects: map[string]*string{}, brain: fixer, version: 1}
}

// tick is a moment at which a worker may die: before and after everything that
// can be seen from outside.
func (w *world) tick() {
	w.ticks++
	if w.onTick != nil {
		w.onTick(w.ticks)
	}
	if w.ticks == w.dieAt {
		runtime.Goexit()
	}
}

// Say implements [Commenter].
func (w *world) WriteComment(_ context.Context, _ Task, key, text string) (string, error) {
	w.tick()
	if w.deskErr != nil {
		if err := w.deskErr("say " + key); err != nil {
			return "", err
		}
	}
	w.comments[key] = text
	w.said = append(w.said, key)
	w.tick()
	return "ref-" + key, nil
}

// Hear implements [Commenter].
func (w *world) Comments(_ context.Context, _ Task, after string) (list []Comment, err error) {
	if w.deskErr != nil {
		if err := w.deskErr("hear"); err != nil {
			return nil, err
		}
	}
	at := slices.IndexFunc(w.thread, func(c Comment) bool { return c.ID == after && !w.stutter })
	return slices.Clone(w.thread[at+1:]), nil
}

// Show implements [Publisher].
func (w *world) SetState(_ context.Context, _ Task, s State) error {
	w.tick()
	if w.deskErr != nil {
		if err := w.deskErr("show"); err != nil {
			return err
		}
	}
	if len(w.shown) == 0 || w.shown[len(w.shown)-1] != s {
		w.shown = append(w.shown, s)
	}
	w.tick()
	return nil
}

// Propose implements [Publisher].
func (w *world) OpenPullRequest(_ context.Context, _ Task, p Proposal) (string, error) {
	w.tick()
	if w.deskErr != nil {
		if err := w.deskErr("propose"); err != nil {
			return "", err
		}
	}
	if len(w.proposals) == 0 {
		w.proposals = append(w.proposals, p)
	}
	w.tick()
	return "https://forge.example/pull/1", nil
}

// A room is a [Workspace] in memory.
type room struct {
	w     *world
	files map[string]string
}

// Prepare implements [Workspaces].
func (w *world) Prepare(ctx context.Context, _ Task, _, kept string) (Workspace, error) {
	w.tick()
	w.prepared++
	w.rooms = 0
	if w.prepare != nil {
		if err := w.prepare(w.prepared); err != nil {
			return nil, err
		}
	}
	w.rooms = 1
	files := w.base
	if kept != "" {
		files = w.commits[kept]
		if files == nil {
			w.t.Errorf("nothing was kept as %q", kept)
		}
	}
	w.tick()
	return &room{w, maps.Clone(files)}, nil
}

func (r *room) Warnings() []string { return r.w.furnished }

// Cleanup implements [Workspaces].
func (w *world) Cleanup(ctx context.Context, _ string) error {
	if ctx.Err() != nil {
		w.t.Error("no time to clean up")
	}
	w.tick()
	w.rooms = 0
	return nil
}

func (r *room) Execute(ctx context.Context, command, _ string) (Outcome, error) {
	r.w.tick()
	r.w.ran = append(r.w.ran, command)
	if r.w.execute != nil {
		if out, err, mine := r.w.execute(r, command); mine {
			return out, err
		}
	}
	switch name := strings.TrimPrefix(command, "head -c 16000 "); {
	case name != command:
		if text, ok := r.files[name]; ok {
			return Outcome{Stdout: text}, nil
		}
		return Outcome{ExitCode: 1, Stderr: "no such file"}, nil
	case command == "check":
		if !strings.Contains(r.files["a.txt"], "fixed") {
			return Outcome{ExitCode: 1, Stdout: "1 test failed"}, nil
		}
		return Outcome{Stdout: "all tests passed"}, nil
	}
	return Outcome{Stdout: "ran " + command}, nil
}

// Edit appends, so that doing it twice shows.
func (r *room) Edit(_ context.Context, call json.RawMessage) (json.RawMessage, error) {
	r.w.tick()
	var in struct{ Path, Text string }
	if err := json.Unmarshal(call, &in); err != nil {
		return nil, err
	}
	r.files[in.Path] += in.Text
	r.w.tick()
	return json.RawMessage(`{"success":true,"content":"","error":""}`), nil
}

// Keep implements [Committer].
func (r *room) Commit(_ context.Context, _ string, final bool) (string, error) {
	r.w.tick()
	if r.w.keepErr != nil {
		return "", r.w.keepErr
	}
	if maps.Equal(r.files, r.w.base) {
		return "", nil
	}
	text, _ := json.Marshal(r.files)
	commit := fmt.Sprintf("%x", text)
	r.w.commits[commit] = maps.Clone(r.files)
	if final && r.w.branch != commit { // pushing what is there does nothing
		r.w.branch = commit
		r.w.pushes++
	}
	r.w.tick()
	return commit, nil
}

// Save implements [Journal].
func (w *world) Save(_ context.Context, r Record) error {
	w.tick()
	w.saves++
	if w.saveErr != nil {
		if err := w.saveErr(); err != nil {
			return err
		}
	}
	var err error
	if w.record, err = json.Marshal(r); err != nil {
		w.t.Error(err)
	}
	if w.never != "" && strings.Contains(string(w.record), w.never) {
		w.t.Errorf("%q is in the record: %s", w.never, w.record)
	}
	w.tick()
	return nil
}

// Once implements [Journal].
func (w *world) Once(ctx context.Context, key string, do func(context.Context, bool) (string, error)) (string, error) {
	ref, again := w.effects[key]
	if ref != nil {
		return *ref, nil
	}
	w.effects[key] = nil
	text, err := do(ctx, again)
	if err != nil {
		if fault.KindOf(err) != fault.Unavailable {
			delete(w.effects, key)
		}
		return "", err
	}
	w.effects[key] = &text
	w.tick()
	return text, nil
}

// saved is the record as the next worker finds it.
func (w *world) saved() (r Record) {
	if w.record != nil {
		if err := json.Unmarshal(w.record, &r); err != nil {
			w.t.Fatal(err)
		}
	}
	return r
}

// next implements [llm.Model].
func (w *world) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	w.tick()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	kept := *d
	kept.Items = slices.Clone(d.Items)
	w.asked = append(w.asked, kept)
	turn := w.brain(d)
	if turn == nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Why: "it sleeps"}
	}
	turn.Model = "fake"
	if turn.Usage == (quota.Usage{}) {
		turn.Usage = quota.Usage{Input: 100, Output: 10}
	}
	w.tick()
	return turn, nil
}

// silent is a log that forgets.
type silent struct{}

func (*silent) Append(audit.Event) error { return nil }

// coordinator returns a worker in the world.
func (w *world) coordinator() *Coordinator {
	return &Coordinator{
		Commenter: w, Publisher: w, Workspaces: w, Log: new(silent),
		Model:   func(Task, *quota.Budget) llm.Model { return w },
		Price:   func(_ string, u quota.Usage) (float64, bool) { return float64(u.Output) / 1000, true },
		Execute: llm.Tool{Name: "command-executor_execute_command", Schema: json.RawMessage(`{}`)},
		Edit:    llm.Tool{Name: "text_editor", Schema: json.RawMessage(`{}`)},
		Environments: Environments{
			Table: func() string { return "| python | node |" },
			Choose: func(asked string) (string, string) {
				if asked == "python" || asked == "node" {
					return asked, ""
				}
				return "python", fmt.Sprintf("there is no environment %q; python is used", asked)
			},
			Prompt: func(name string) string { return "Commands run in " + name + "." },
		},
		Tools: func(context.Context, Task) ([]tool.Tool, error) {
			return []tool.Tool{tool.New("forge_notify", "x", func(context.Context, struct{}) (string, error) {
				w.tick()
				w.notified++
				w.tick()
				return "notified", nil
			})}, nil
		},
		Orders: func(context.Context, Task) (Order, error) {
			if w.order == nil {
				return Continue, nil
			}
			return w.order(w), nil
		},
		Observe: func(e Event) { w.events = append(w.events, e) },
	}
}

var exampleTask = Task{ID: "t1", Provider: "github", Repo: "o/r", Number: 7, Kind: Issue, Title: "a.txt is broken",
	Body:   "Please fix it.",
	Author: "alice", Trusted: true, Branch: "hako/7"}

// run has a worker work on the task from where it stands. It reports whether
// the worker lived to the end.
func (w *world) run(t Task) (rec Record, err error, lived bool) {
	return w.runBy(context.Background(), w.coordinator(), t)
}

func (w *world) runBy(ctx context.Context, c *Coordinator, t Task) (rec Record, err error, lived bool) {
	from := w.saved()
	done := make(chan struct{})
	go func() { // of its own, as a worker that is killed ends it
		defer close(done)
		rec, err = c.Run(ctx, t, w, from)
		lived = true
	}()
	<-done
	return rec, err, lived
}

// must is run for what must work.
func (w *world) must(t Task) Record {
	w.t.Helper()
	rec, err, _ := w.run(t)
	if err != nil {
		w.t.Fatal(err)
	}
	return rec
}

const goodPlan = `{"phase":"planning","goal_understanding":{"main_objective":"Fix a.txt","success_criteria":["the test passes"],"constraints":[],"context_analysis":"x"},
"task_decomposition":{"reasoning":"small","subtasks":[{"id":"1","description":"append the word"}]},
"action_plan":{"execution_order":["1"],"actions":[{"id":"1","description":"edit a.txt"}]},
"selected_environment":{"name":"python","reasoning":"there is Python","setup_commands":["setup"],"verification":["check"]},
"comment":"I will fix it."}`

// planning tells what a dialog is for.
func planning(d *llm.Dialog) bool { return strings.HasPrefix(d.System, "You plan") }

// lastText is the text of the last item.
func lastText(d *llm.Dialog) string { return d.Items[len(d.Items)-1].Text }

// turnsOf counts the turns of the model that called something.
func turnsOf(d *llm.Dialog) (n int) {
	for _, it := range d.Items {
		if len(it.Calls) > 0 {
			n++
		}
	}
	return n
}

func callTurn(text string, calls ...string) *llm.Turn {
	t := &llm.Turn{Text: text}
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		t.Calls = append(t.Calls, llm.Call{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: args})
	}
	return t
}

func edit(text string) string {
	return fmt.Sprintf(`text_editor {"command":"insert","path":"a.txt","text":%q}`, text)
}

func command(c string) string {
	return fmt.Sprintf(`command-executor_execute_command {"command":%q}`, c)
}

// following is a model that gives the plan, then the turns one by one.
func following(turns ...*llm.Turn) func(d *llm.Dialog) *llm.Turn {
	return func(d *llm.Dialog) *llm.Turn {
		if planning(d) {
			return &llm.Turn{Text: goodPlan}
		}
		if n := turnsOf(d); n < len(turns) {
			t := *turns[n]
			return &t
		}
		return &llm.Turn{Text: "I fixed a.txt."}
	}
}

// fixer looks, edits in two steps, notifies, and is done.
func fixer(d *llm.Dialog) *llm.Turn {
	return following(
		callTurn("Let me look.", command("cat a.txt")),
		callTurn("", edit("one\n"), edit("two\n")),
		callTurn("", "forge_notify {}", command("check")),
		callTurn("", edit("fixed\n"), command("check")),
	)(d)
}

const fixedText = "broken\none\ntwo\nfixed\n"
