// Package llmcmd lets a model work over file descriptors: it reads inputs, writes an output and runs scripts in
// closed shells between them (hako cmd, and the shell command llmcmd). Package descriptors has the tools.
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

// Options configure a session. The zero value grants no files, uses the configured model and writes to the given
// standard output.
type Options struct {
	setup.ShellOptions
	Model, Record string // as in ask.Options
	Prompt        string // system prompt instead of a preset
	Preset        string // empty means that of the settings
	Output        string // file replaced by the result; empty means standard output
	Metrics       string // file for the usage, for scrapers; empty means none
	NoStdin       bool   // do not offer standard input
	DryRun        bool   // write the request to standard output instead of sending it

	PlanModel, ExecModel string // models that make the plan and carry it out
	PlanOnly             bool   // output the plan
	PlanFile             string // use an existing plan
}

// An Environment connects a session to its streams and observers.
type Environment struct {
	Stdin          io.Reader
	Terminal       bool // Stdin is a terminal, which is not offered
	Stdout, Stderr io.Writer

	Observe func(agent.Event)                  // gets events; may be nil
	Busy    func(label string)                 // shows what is being waited for, or "" at its end; may be nil
	Watch   func(*quota.Limiter) (stop func()) // ends the process if a script outlives its limits; may be nil
}

// A Session is a run of llmcmd: a model with a table of descriptors.
type Session struct {
	*Options
	env      Environment
	conf     *config.Config
	shell    *app.Shell
	meter    *quota.Budget // nil in an interactive shell until it is needed
	depth    int           // nesting depth
	parent   *Session      // whose script runs it; nil at the top
	bills    []ModelBill   // of nested sessions
	table    *descriptors.Table
	outFile  *app.OutFile      // nil means standard output
	stdin    *watchedInput     // nil in a script
	recorder *app.TurnRecorder // nil means that nothing is recorded
	heads    []preset.Sample
	given    []rules.Input // for the built-in rules
	models   []*app.MeteredModel
	began    time.Time
	text     io.Writer           // output of a plain answer
	notes    io.Writer           // messages of a nested session; nil at the top
	sources  []descriptors.Input // all inputs

	funding sync.Mutex // guards meter and bills
}

// maxDepth is the maximum nesting of llmcmd.
const maxDepth = 5

// InShell returns the session of the command llmcmd in an interactive shell. [Session.Attach] must be called
// before its first use.
func InShell(env Environment) *Session { return &Session{Options: new(Options), env: env} }

// Attach sets the shell of the session.
func (c *Session) Attach(conf *config.Config, sh *app.Shell) { c.conf, c.shell = conf, sh }

// Open assembles a session. It must be closed.
func Open(conf *config.Config, o *Options, env Environment) (*Session, error) {
	o.Strict, o.Budget = true, quota.DefaultLimits()
	o.Limits = func() quota.ScriptLimits {
		l := quota.Strict()
		l.Output, l.Time = 8<<30, 5*time.Minute // streams pass through; waiting for the model is not counted
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
	b.Session.FS.Watch(c.touched) // not earlier: study reads the inputs too
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

// touched charges and records what is read and written through the table. Gates do so for scripts.
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
	_ = c.meter.Charge(u) // the next call fails
	_ = c.shell.Log.Append(e)
}

// Commands adds llmcmd to the commands of the shell.
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

// inputFile opens an input file.
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

// study inspects an input before anybody reads it.
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

// inputFault reports an error with the name that the user gave.
func inputFault(name string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return &fault.Error{Kind: fault.NotFound, Op: "open", Subject: name, Err: err}
	}
	named := *f
	named.Subject = name
	if named.Kind == fault.Invalid {
		named.Kind = fault.NotFound // same exit status as for a missing file
	}
	return &named
}

// learn registers the secrets of a file, so that they are redacted also where a script cut them out of their line.
func (c *Session) learn(f *vfs.File) {
	text := make([]byte, f.Size())
	n, _ := f.ReadAt(text, 0)
	c.shell.Secrets.Add(redact.Find(string(text[:n]))...)
}

func (c *Session) spawn(context.Context) (descriptors.Worker, error) {
	return c.shell.Worker(c.shell.Session.FS, c.Dir, c.meter, c.shell.Session.Commands), nil
}

// Close ends the scripts and discards uncommitted output.
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

// settle stores the usage for hako quota and adds it to the bill of the parent. The usage of scripts is counted once,
// at the top.
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

// Run carries out the instructions and records their beginning and end.
func (c *Session) Run(ctx context.Context, instructions string) error {
	if err := c.recordOrder(instructions); err != nil {
		return err
	}
	err := c.carryOut(ctx, instructions)
	if lerr := c.recordEnd(err); err == nil {
		err = lerr
	}
	return err
}

// carryOut makes a plan if requested, runs the model, and commits the output.
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

// temperature returns the configured temperature, or nil.
func (c *Session) temperature() *float64 {
	if t := config.LlmcmdTemperature.Of(c.conf).V; t.Set {
		return &t.V
	}
	return nil
}

// model chooses a model and wraps it.
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

// choose finds the model. A dry run contacts nobody, so an unavailable model is only a note.
func (c *Session) choose(ctx context.Context, spec string) (app.Model, error) {
	found, err := app.ChooseModel(ctx, app.ModelSource{Conf: c.conf, Record: c.shell.RecordNetwork("llmcmd")}, spec)
	if err == nil || !c.DryRun || fault.KindOf(err) != fault.Unavailable {
		return found, err
	}
	c.note("as things are, it could not be sent: " + err.Error())
	name := cmp.Or(spec, config.ModelName.Of(c.conf).V, app.DefaultModel)
	return app.Model{Provider: name, Name: name}, nil
}

// instructions returns the system prompt: how to work with descriptors, then the prompt or preset.
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
		ID: c.shell.ID, Model: m.Wrapped, Budget: c.meter, Log: c.shell.Log, Actor: "llmcmd", Secrets: c.shell.Secrets,
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

// event forwards events, except the text of the model.
func (c *Session) event(e agent.Event) {
	switch {
	case c.depth > 0, e.Type == "text":
	default:
		c.observe(e)
	}
}

// planned returns the request: the instructions, or a plan.
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
	case c.DryRun:
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

// describe prints the request of a dry run.
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
