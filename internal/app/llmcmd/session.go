// Package llmcmd has a model work over file descriptors: it reads inputs, writes
// an output and runs scripts in closed shells between them (hako cmd, and the
// command llmcmd of the shell). The descriptors themselves are in [descriptors].
package llmcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"hako/agent"
	"hako/audit"
	"hako/internal/app"
	"hako/internal/app/llmcmd/descriptors"
	"hako/internal/app/llmcmd/plan"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/setup"
	"hako/llm"
	"hako/llm/rules"
	"hako/llm/tokens"
	"hako/quota"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/vfs"
)

// Options say what a session has and how it works. The zero value has no files,
// takes the settings' model and writes to the standard output that it is given.
type Options struct {
	setup.ShellOptions
	Model, Record string // as in ask.Options
	Prompt        string // stands before the instructions, instead of a preset
	Preset        string // empty means that of the settings
	Output        string // the file that the result replaces; empty means standard output
	Metrics       string // the file in which what was used is left for scrapers; empty means none
	NoStdin       bool   // standard input is not offered
	DryRun        bool   // the request is written to standard output, and nobody is asked

	PlanModel, ExecModel string // who makes the plan, and who carries it out
	PlanOnly             bool   // the plan is the output
	PlanFile             string // a plan that is there already
}

// An Environment is what a session is connected to.
type Environment struct {
	Stdin          io.Reader
	Terminal       bool // Stdin is a terminal, and not offered
	Stdout, Stderr io.Writer

	Observe func(agent.Event)                  // events of the loop, and notes; nil means that nobody looks
	Busy    func(label string)                 // what is being waited for; empty means nothing any more; nil means that nobody looks
	Watch   func(*quota.Limiter) (stop func()) // ends what outlives its limits; nil means that nothing does
}

// A Session is one llmcmd: a model with a table of descriptors.
type Session struct {
	*Options
	env      Environment
	conf     *config.Config
	shell    *app.Shell
	meter    *quota.Budget // nil in the shell of a person, until it is needed
	depth    int           // how many sessions are around it
	parent   *Session      // that has it run in a script; nil at the top
	bills    []ModelBill   // of those that it had run
	table    *descriptors.Table
	outFile  *app.OutFile      // nil means standard output
	stdin    *watchedInput     // nil in a script
	recorder *app.TurnRecorder // nil means that nothing is recorded
	heads    []preset.Sample
	given    []rules.Input // what the built-in rules may look at
	models   []*app.MeteredModel
	began    time.Time
	text     io.Writer           // where a model's plain answer goes
	notes    io.Writer           // where a nested one writes messages; nil at the top
	sources  []descriptors.Input // all that can be read

	funding sync.Mutex // held while meter is made
}

// maxDepth is how deep llmcmd may call llmcmd.
const maxDepth = 5

// InShell returns the session behind the command llmcmd of a person's shell. It
// needs the shell before the first call; see [Session.Attach].
func InShell(env Environment) *Session { return &Session{Options: new(Options), env: env} }

// Attach gives the session the shell that it is a command of.
func (c *Session) Attach(conf *config.Config, sh *app.Shell) { c.conf, c.shell = conf, sh }

// Open puts a session together. It must be closed.
func Open(conf *config.Config, o *Options, env Environment) (*Session, error) {
	o.Strict, o.Budget = true, quota.DefaultLimits()
	o.Limits = func() quota.ScriptLimits {
		l := quota.Strict()
		l.Output, l.Time = 8<<30, 5*time.Minute // streams pass through; waiting for the model does not count
		return l
	}
	c := &Session{Options: o, conf: conf, env: env, began: time.Now()}
	o.Only = c.Commands
	names := o.Inputs
	o.Inputs = withoutStdin(names)
	if err := setup.CheckGrants(conf, o.Output, o.Record, o.Metrics); err != nil {
		return nil, err
	}
	b, err := app.OpenShell(&o.ShellOptions, conf)
	if err != nil {
		return nil, err
	}
	c.shell, c.meter = b, b.Budget
	if err := c.open(names); err != nil {
		c.Close()
		return nil, err
	}
	b.Session.FS.Watch(c.touched) // from here on: what was looked at before is not read twice
	return c, nil
}

func (c *Session) open(names []string) (err error) {
	for _, note := range c.conf.Notes() {
		c.note(note)
	}
	if c.recorder, err = app.NewTurnRecorder(c.Record, c.shell.Secrets); err != nil {
		return err
	}
	if c.Output != "" {
		if c.outFile, err = app.NewOutFile(c.Output, 0o666); err != nil {
			return err
		}
	}
	return c.connect(names)
}

func (c *Session) observe(e agent.Event) {
	if c.env.Observe != nil {
		c.env.Observe(e)
	}
}

func (c *Session) note(text string) { c.observe(agent.Event{Type: "note", Text: text}) }

func (c *Session) busy(label string) {
	if c.env.Busy != nil {
		c.env.Busy(label)
	}
}

// touched charges and records what is read and written through the table itself; what
// scripts do is the business of their gates.
func (c *Session) touched(what, path string, bytes int64) {
	var u quota.Usage
	e := audit.Event{What: audit.Closed, Actor: "llmcmd", ID: c.shell.ID, Mode: what, Path: path, Bytes: bytes}
	switch what {
	case "read":
		u.Read = bytes
	case "written":
		u.Written = bytes
	default:
		e.What = audit.Removed
	}
	_ = c.meter.Charge(u) // the next call hears of it
	_ = c.shell.Log.Append(e)
}

// Commands are the builtins, among them a llmcmd that works for this one.
func (c *Session) Commands(all shell.Set) shell.Set {
	all["llmcmd"] = shell.Command{
		Name: "llmcmd", Usage: "[-r preset] instructions", Summary: "have a language model work on standard input",
		Help: "Reads standard input, writes what the model makes of it to standard output. Uses what is left of the budget.\n",
		Run:  c.nested,
	}
	return all
}

func withoutStdin(names []string) (files []string) {
	for _, name := range names {
		if name != "-" {
			files = append(files, name)
		}
	}
	return files
}

// connect makes the table of descriptors.
func (c *Session) connect(names []string) error {
	o := descriptors.Options{
		Files: c.shell.Session.FS, Dir: c.Dir, Spawn: c.spawn, Actor: "llmcmd", Secrets: c.shell.Secrets,
		Limits: descriptors.Limits{ReadBytes: config.LlmcmdReadSize.Of(c.conf).V},
		Stdout: descriptors.Output{Name: c.Output, Writer: c.env.Stdout}, Stderr: descriptors.Output{Writer: c.env.Stderr},
		Refused: c.recordRefusal,
		Topics:  map[string]func() string{"quota": func() string { return c.meter.Left().String() }},
	}
	if c.outFile != nil {
		o.Stdout.Writer, o.MustWrite = c.outFile, true
	}
	c.text = o.Stdout.Writer
	c.stdin = watchInput(c.env.Stdin)
	stdin := descriptors.Input{Name: "stdin", Reader: c.stdin, Size: -1}
	for _, name := range names {
		in := stdin
		if name != "-" {
			var err error
			if in, err = c.inputFile(name); err != nil {
				return err
			}
		}
		o.Inputs = append(o.Inputs, in)
		if name == "-" {
			stdin.Reader = nil
		}
	}
	if !c.NoStdin && !c.env.Terminal {
		o.Stdin = stdin
	}
	c.sources = append([]descriptors.Input{o.Stdin}, o.Inputs...)
	c.table = descriptors.New(context.Background(), o)
	c.given = c.inputsForRules(o.Inputs)
	if len(names) == 0 && o.Stdin.Reader != nil {
		c.given = []rules.Input{{FD: 0}}
	}
	return nil
}

// inputFile opens one of the given files, as scripts would: it must be text and
// not too large.
func (c *Session) inputFile(name string) (descriptors.Input, error) {
	if err := c.study(name); err != nil {
		return descriptors.Input{}, inputFault(name, err)
	}
	f, err := c.shell.Session.FS.Open(setup.Within(c.Dir, name), os.O_RDONLY, 0)
	if err != nil {
		return descriptors.Input{}, inputFault(name, err)
	}
	return descriptors.Input{Name: name, Reader: f, Size: f.Size()}, nil
}

// study looks at an input by a handle of its own, before anybody reads it.
func (c *Session) study(name string) error {
	f, err := c.shell.Session.FS.Open(setup.Within(c.Dir, name), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	c.learn(f)
	head := make([]byte, 4096)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	c.heads = append(c.heads, preset.Sample{Name: path.Base(name), Head: head[:n]})
	return nil
}

// inputFault words what is wrong with a file by the name that the user gave it.
func inputFault(name string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return &fault.Error{Kind: fault.NotFound, Op: "open", Subject: name, Err: err}
	}
	named := *f
	named.Subject = name
	if named.Kind == fault.Invalid {
		named.Kind = fault.NotFound // a matter of files, like one that is not there
	}
	return &named
}

// learn has the secrets of a file remembered, so that the model does not see them
// either where a script has cut them out of their line.
func (c *Session) learn(f *vfs.File) {
	text := make([]byte, f.Size())
	n, _ := f.ReadAt(text, 0)
	c.shell.Secrets.Add(redact.Find(string(text[:n]))...)
}

func (c *Session) spawn(context.Context) (descriptors.Worker, error) {
	return c.shell.Worker(c.shell.Session.FS, c.Dir, c.meter, c.shell.Session.Commands), nil
}

// Close ends what still runs and gives up what was not kept.
func (c *Session) Close() {
	if c.table != nil {
		_ = c.table.Close()
	}
	if c.outFile != nil {
		c.outFile.Discard()
	}
	c.settle()
	if c.depth == 0 {
		if err := c.recorder.Commit(); err != nil {
			c.note(err.Error())
		}
		c.shell.Close()
	}
}

// settle keeps what was used for hako quota, and tells it to whom it works for.
// What scripts used is counted once, at the top.
func (c *Session) settle() {
	scripts := quota.Usage{}
	if c.depth == 0 {
		scripts = c.meter.Used()
	}
	for _, m := range c.models {
		if err := m.Book(c.conf, scripts); err != nil {
			c.note("what was used is not kept for hako quota: " + err.Error())
		}
		scripts = quota.Usage{}
		if c.parent != nil {
			c.parent.addBill(c.billOf(m))
		}
	}
	if c.parent != nil {
		for _, b := range c.bills {
			c.parent.addBill(b)
		}
	}
}

// Run does what is asked for, with its beginning and its end on record.
func (c *Session) Run(ctx context.Context, instructions string) error {
	if err := c.recordOrder(instructions); err != nil {
		return err // unrecorded means undone
	}
	err := c.carryOut(ctx, instructions)
	if lerr := c.recordEnd(err); err == nil {
		err = lerr
	}
	return err
}

// carryOut plans if asked to, carries out, and keeps the output if all went well.
func (c *Session) carryOut(ctx context.Context, instructions string) error {
	if c.env.Watch != nil {
		defer c.env.Watch(c.shell.Limiter)()
	}
	if _, err := c.instructions(""); err != nil {
		return err
	}
	request, err := c.planned(ctx, instructions)
	if err != nil || c.PlanOnly {
		return err
	}
	model := c.Model
	if c.ExecModel != "" {
		model = c.ExecModel
	}
	m, err := c.model(ctx, model)
	if err != nil {
		return err
	}
	system, err := c.instructions(m.Name)
	if err != nil {
		return err
	}
	a := c.agent(m)
	d := &llm.Dialog{System: c.shell.Secrets.Text(system), MaxOutput: int64(config.ModelMaxOutput.Of(c.conf).V),
		Temperature: c.temperature(), CacheKey: "llmcmd"}
	r := agent.Request{Text: request, Notes: []string{c.table.Map()}}
	if c.toolless() {
		if r.Text, err = c.withData(request); err != nil {
			return err
		}
		r.Notes = nil
	}
	if c.DryRun {
		return c.describe(d, a, r, m)
	}
	answer, err := a.Run(ctx, d, r)
	c.busy("")
	return c.finish(ctx, m, answer, err)
}

// temperature is nil if nobody set one.
func (c *Session) temperature() *float64 {
	if t := config.LlmcmdTemperature.Of(c.conf).V; t.Set {
		return &t.V
	}
	return nil
}

// model chooses a model and puts before it what counts and records.
func (c *Session) model(ctx context.Context, spec string) (*app.MeteredModel, error) {
	chosen, err := c.choose(ctx, spec)
	if err != nil {
		return nil, err
	}
	if chosen.Provider == "builtin" && !c.DryRun {
		if chosen.Model, err = c.rules(chosen.Why != ""); err != nil {
			return nil, err
		}
	}
	if chosen.Why != "" && c.depth == 0 {
		c.note(chosen.Why)
	}
	m, err := c.shell.Metered(chosen, c.conf, c.meter, app.ModelOptions{
		Recorder: c.recorder, Tries: config.LlmcmdRetries.Of(c.conf).V + 1, Pause: max(config.LlmcmdRetryDelay.Of(c.conf).V,
			1), Notify: func(w llm.Waiting) { c.observe(app.RetryEvent(w)) },
	})
	if err == nil {
		c.models = append(c.models, m)
	}
	return m, err
}

// choose finds the model. A dry run asks nobody: that nobody would answer is no
// more than good to know.
func (c *Session) choose(ctx context.Context, spec string) (app.Model, error) {
	found, err := app.ChooseModel(ctx, app.ModelSource{Conf: c.conf, Record: c.shell.RecordNetwork("llmcmd")}, spec)
	if err == nil || !c.DryRun || fault.KindOf(err) != fault.Unavailable {
		return found, err
	}
	c.note("as things are, it could not be sent: " + err.Error())
	name := cmp.Or(spec, config.ModelName.Of(c.conf).V, app.DefaultModel)
	return app.Model{Provider: name, Name: name}, nil
}

// instructions are what stands before the dialog: how to work with descriptors, then
// the prompt or preset.
func (c *Session) instructions(model string) (string, error) {
	text := descriptors.Instructions()
	if own := c.conf.SystemPrompt(model); own != "" {
		text = own
	}
	if c.Prompt != "" {
		return text + "\n\n" + c.Prompt, nil
	}
	name := c.Preset
	if name == "" {
		name = config.LlmcmdPreset.Of(c.conf).V
	}
	if name == preset.Choose {
		name = preset.Auto(c.heads)
	}
	p, err := preset.Find(name, Presets(c.conf))
	if err != nil {
		return "", err
	}
	return text + "\n\n" + p.Text, nil
}

func (c *Session) agent(m *app.MeteredModel) *agent.Agent {
	a := &agent.Agent{
		ID: c.shell.ID, Model: m.Front, Budget: c.meter, Log: c.shell.Log, Actor: "llmcmd", Secrets: c.shell.Secrets,
		Turns: int(min(c.meter.Left().Calls(), 1000)), Calls: 64, Threads: 1, Context: m.Context, Observe: c.event,
	}
	if !config.LlmcmdDisableTools.Of(c.conf).V {
		a.Tools, a.Leave = c.table.Tools(), "exit"
		a.Left = func() bool {
			_, _, left := c.table.Exited()
			return left
		}
		a.Again, a.Leaving = c.reminder, leaving
	}
	return a
}

// event shows what people may want to see; the model's words are not the output.
func (c *Session) event(e agent.Event) {
	switch {
	case c.depth > 0, e.Type == "text":
	default:
		c.observe(e)
	}
}

// planned returns what the model is asked to do: the instructions, or a plan.
func (c *Session) planned(ctx context.Context, instructions string) (string, error) {
	request := instructions
	if request == "" {
		request = "Do what the instructions above say."
	}
	var p *plan.Plan
	var err error
	switch {
	case c.PlanFile != "":
		if p, err = readPlan(c.PlanFile); err == nil {
			err = p.Check(c.table.Readable())
		}
	case c.DryRun: // which asks nobody, not even the planner
		return request, nil
	case c.PlanModel != "" || c.PlanOnly:
		p, err = c.plan(ctx, request)
	default:
		return request, nil
	}
	if err != nil {
		return "", err
	}
	if c.PlanOnly {
		_, err = c.text.Write(p.JSON())
		if err == nil && c.outFile != nil {
			err = c.keepOutput()
		}
		return "", err
	}
	return p.Prompt(), nil
}

// describe prints the request that would be sent.
func (c *Session) describe(d *llm.Dialog, a *agent.Agent, r agent.Request, m *app.MeteredModel) error {
	for _, t := range a.Tools {
		d.Tools = append(d.Tools, t.Tool)
	}
	n, err := tokens.Request(d)
	if err != nil {
		return err
	}
	names := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		names[i] = t.Name
	}
	out := c.env.Stdout
	fmt.Fprintf(out, "model:   %s\nbudget:  %s\ntools:   %s\nfixed:   about %d tokens\n\n--- instructions\n%s\n\n--- request\n",
		m.Model, c.meter.Left(), strings.Join(names, ", "), n, d.System)
	_, err = fmt.Fprintln(out, c.shell.Secrets.Text(llm.Annotate(r.Text, nil, r.Notes...)))
	return err
}
