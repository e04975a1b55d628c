package main

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
	"hako/internal/app/llmcmd"
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

// A clerk is one llmcmd: a model at a desk with descriptors.
type clerk struct {
	*cmdOptions
	conf    *config.Config
	show    *show
	box     *app.Shell
	meter   *quota.Budget // nil in the shell of a person, until it is needed
	depth   int           // how many clerks it works for
	boss    *clerk        // who it works for; nil at the top
	bills   []modelBill   // of those who worked for it
	desk    *llmcmd.Desk
	out     *app.OutFile      // of -o; nil means standard output
	stdin   *watchedInput     // nil in a script
	tape    *app.TurnRecorder // of --record; nil means that nothing is recorded
	heads   []preset.Sample
	given   []rules.Input // what the built-in rules may look at
	ledger  []*app.MeteredModel
	began   time.Time
	text    io.Writer      // where a model's plain answer goes
	notes   io.Writer      // where a nested one speaks to whoever called it; nil at the top
	sources []llmcmd.Input // all that can be read

	funding sync.Mutex // held while meter is made
}

// maxDepth is how deep llmcmd may call llmcmd.
const maxDepth = 5

// clerk puts a session together.
func (o *cmdOptions) clerk(s streams, conf *config.Config) (*clerk, error) {
	o.Strict, o.Budget = true, quota.DefaultLimits()
	o.Limits = func() quota.ScriptLimits {
		l := quota.Strict()
		l.Output, l.Time = 8<<30, 5*time.Minute // streams pass through; waiting for the model does not count
		return l
	}
	c := &clerk{cmdOptions: o, conf: conf, show: newShow(s, false, o.verbose), began: time.Now()}
	o.Only = c.commands
	names := o.Inputs
	o.Inputs = withoutStdin(names)
	if err := setup.CheckGrants(conf, o.output, o.record, o.metrics); err != nil {
		return nil, err
	}
	b, err := app.OpenShell(&o.ShellOptions, conf)
	if err != nil {
		return nil, err
	}
	c.box, c.meter = b, b.Meter
	for _, note := range conf.Notes() {
		c.show.note(note)
	}
	if c.tape, err = app.NewTurnRecorder(o.record, b.Secrets); err != nil {
		b.Close()
		return nil, err
	}
	if o.output != "" {
		if c.out, err = app.NewOutFile(o.output, 0o666); err != nil {
			b.Close()
			return nil, err
		}
	}
	if err := c.sit(s, names); err != nil {
		c.close()
		return nil, err
	}
	b.Session.FS.Watch(c.touched) // from here on: what was looked at before is not read twice
	return c, nil
}

// touched charges and records what is read and written at the desk itself; what
// scripts do is the business of their gates.
func (c *clerk) touched(what, path string, bytes int64) {
	var u quota.Usage
	e := audit.Event{What: audit.Closed, Actor: "llmcmd", ID: c.box.ID, Mode: what, Path: path, Bytes: bytes}
	switch what {
	case "read":
		u.Read = bytes
	case "written":
		u.Written = bytes
	default:
		e.What = audit.Removed
	}
	_ = c.meter.Charge(u) // the next call hears of it
	_ = c.box.Log.Append(e)
}

// commands are the builtins, among them a llmcmd that works for this one.
func (c *clerk) commands(all shell.Set) shell.Set {
	all["llmcmd"] = shell.Command{
		Name: "llmcmd", Args: "[-r preset] instructions", Summary: "have a language model work on standard input",
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

// sit lays out the descriptors.
func (c *clerk) sit(s streams, names []string) error {
	o := llmcmd.Options{
		Files: c.box.Session.FS, Dir: c.Dir, Spawn: c.spawn, Actor: "llmcmd", Secrets: c.box.Secrets,
		Limits: llmcmd.Limits{ReadBytes: config.LlmcmdReadSize.Of(c.conf).V},
		Stdout: llmcmd.Output{Name: c.output, Writer: s.out}, Stderr: llmcmd.Output{Writer: s.err},
		Refused: c.recordRefusal,
		Topics:  map[string]func() string{"quota": func() string { return c.meter.Left().String() }},
	}
	if c.out != nil {
		o.Stdout.Writer, o.MustWrite = c.out, true
	}
	c.text = o.Stdout.Writer
	c.stdin = watchInput(s.in)
	stdin := llmcmd.Input{Name: "stdin", Reader: c.stdin, Size: -1}
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
	if !c.noStdin && !isTerminal(s.in) {
		o.Stdin = stdin
	}
	c.sources = append([]llmcmd.Input{o.Stdin}, o.Inputs...)
	c.desk = llmcmd.New(context.Background(), o)
	c.given = c.inputsForRules(o.Inputs)
	if len(names) == 0 && o.Stdin.Reader != nil {
		c.given = []rules.Input{{FD: 0}}
	}
	return nil
}

// inputFile opens one of the given files, as scripts would: it must be text and
// not too large.
func (c *clerk) inputFile(name string) (llmcmd.Input, error) {
	if err := c.study(name); err != nil {
		return llmcmd.Input{}, inputFault(name, err)
	}
	f, err := c.box.Session.FS.Open(setup.Within(c.Dir, name), os.O_RDONLY, 0)
	if err != nil {
		return llmcmd.Input{}, inputFault(name, err)
	}
	return llmcmd.Input{Name: name, Reader: f, Size: f.Size()}, nil
}

// study looks at an input by a handle of its own, before anybody reads it.
func (c *clerk) study(name string) error {
	f, err := c.box.Session.FS.Open(setup.Within(c.Dir, name), os.O_RDONLY, 0)
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
func (c *clerk) learn(f *vfs.File) {
	text := make([]byte, f.Size())
	n, _ := f.ReadAt(text, 0)
	c.box.Secrets.Add(redact.Find(string(text[:n]))...)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (c *clerk) spawn(context.Context) (llmcmd.Worker, error) {
	return c.box.Worker(c.box.Session.FS, c.Dir, c.meter, c.box.Session.Commands), nil
}

func (c *clerk) close() {
	if c.desk != nil {
		_ = c.desk.Close()
	}
	if c.out != nil {
		c.out.Discard()
	}
	c.settle()
	if c.depth == 0 {
		if err := c.tape.Commit(); err != nil {
			c.show.note(err.Error())
		}
		c.box.Close()
	}
}

// settle keeps what was used for hako quota, and tells it to whom it works for.
// What scripts used is counted once, at the top.
func (c *clerk) settle() {
	scripts := quota.Usage{}
	if c.depth == 0 {
		scripts = c.meter.Used()
	}
	for _, m := range c.ledger {
		if err := m.Book(c.conf, scripts); err != nil {
			c.show.note("what was used is not kept for hako quota: " + err.Error())
		}
		scripts = quota.Usage{}
		if c.boss != nil {
			c.boss.addBill(billOf(m, c.meter))
		}
	}
	if c.boss != nil {
		for _, b := range c.bills {
			c.boss.addBill(b)
		}
	}
}

// work does what is asked for, with its beginning and its end on record.
func (c *clerk) work(ctx context.Context, instructions string) error {
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
func (c *clerk) carryOut(ctx context.Context, instructions string) error {
	defer watchdog(c.box.Gauge, c.show.s.err)()
	if _, err := c.instructions(""); err != nil {
		return err
	}
	request, err := c.planned(ctx, instructions)
	if err != nil || c.planOnly {
		return err
	}
	model := c.cmdOptions.model
	if c.execModel != "" {
		model = c.execModel
	}
	m, err := c.mind(ctx, model)
	if err != nil {
		return err
	}
	system, err := c.instructions(m.Name)
	if err != nil {
		return err
	}
	a := c.agent(m)
	d := &llm.Dialog{System: c.box.Secrets.Text(system), MaxOutput: int64(config.ModelMaxOutput.Of(c.conf).V), Temperature: c.temperature(), CacheKey: "llmcmd"}
	r := agent.Request{Text: request, Notes: []string{c.desk.Map()}}
	if c.toolless() {
		if r.Text, err = c.withData(request); err != nil {
			return err
		}
		r.Notes = nil
	}
	if c.dryRun {
		return c.describe(d, a, r, m)
	}
	answer, err := a.Run(ctx, d, r)
	c.show.spinner.Stop()
	return c.finish(ctx, m, answer, err)
}

// temperature is nil if nobody set one.
func (c *clerk) temperature() *float64 {
	if t := config.LlmcmdTemperature.Of(c.conf).V; t.Set {
		return &t.V
	}
	return nil
}

// mind chooses a model and puts before it what counts and records.
func (c *clerk) mind(ctx context.Context, spec string) (*app.MeteredModel, error) {
	chosen, err := c.choose(ctx, spec)
	if err != nil {
		return nil, err
	}
	if chosen.Provider == "builtin" && !c.dryRun {
		if chosen.Model, err = c.rules(chosen.Why != ""); err != nil {
			return nil, err
		}
	}
	if chosen.Why != "" && c.depth == 0 {
		c.show.note(chosen.Why)
	}
	m, err := c.box.Metered(chosen, c.conf, c.meter, app.ModelOptions{
		Recorder: c.tape, Tries: config.LlmcmdRetries.Of(c.conf).V + 1, Pause: max(config.LlmcmdRetryDelay.Of(c.conf).V, 1), Notify: c.show.retry,
	})
	if err == nil {
		c.ledger = append(c.ledger, m)
	}
	return m, err
}

// choose finds the model. A dry run asks nobody: that nobody would answer is no
// more than good to know.
func (c *clerk) choose(ctx context.Context, spec string) (app.Model, error) {
	found, err := app.ChooseModel(ctx, app.ModelSource{Conf: c.conf, Record: c.box.RecordNetwork("llmcmd")}, spec)
	if err == nil || !c.dryRun || fault.KindOf(err) != fault.Unavailable {
		return found, err
	}
	c.show.note("as things are, it could not be sent: " + err.Error())
	name := cmp.Or(spec, config.ModelName.Of(c.conf).V, app.DefaultModel)
	return app.Model{Provider: name, Name: name}, nil
}

// instructions are what stands before the dialog: how to work at a desk, then
// the prompt or preset.
func (c *clerk) instructions(model string) (string, error) {
	text := llmcmd.Instructions()
	if own := c.conf.SystemPrompt(model); own != "" {
		text = own
	}
	if c.prompt != "" {
		return text + "\n\n" + c.prompt, nil
	}
	name := c.preset
	if name == "" {
		name = config.LlmcmdPreset.Of(c.conf).V
	}
	if name == preset.Choose {
		name = preset.Auto(c.heads)
	}
	p, err := preset.Find(name, userPresets(c.conf))
	if err != nil {
		return "", err
	}
	return text + "\n\n" + p.Text, nil
}

func (c *clerk) agent(m *app.MeteredModel) *agent.Agent {
	a := &agent.Agent{
		ID: c.box.ID, Model: m.Front, Budget: c.meter, Log: c.box.Log, Actor: "llmcmd", Secrets: c.box.Secrets,
		Turns: int(min(c.meter.Left().Calls(), 1000)), Calls: 64, Threads: 1, Context: m.Context, Observe: c.event,
	}
	if !config.LlmcmdDisableTools.Of(c.conf).V {
		a.Tools, a.Leave = c.desk.Tools(), "exit"
		a.Left = func() bool {
			_, _, left := c.desk.Exited()
			return left
		}
		a.Again, a.Leaving = c.reminder, leaving
	}
	return a
}

// event shows what people may want to see; the model's words are not the output.
func (c *clerk) event(e agent.Event) {
	switch {
	case c.depth > 0, e.Type == "text":
	default:
		c.show.event(e)
	}
}

// planned returns what the model is asked to do: the instructions, or a plan.
func (c *clerk) planned(ctx context.Context, instructions string) (string, error) {
	request := instructions
	if request == "" {
		request = "Do what the instructions above say."
	}
	var p *plan.Plan
	var err error
	switch {
	case c.planFile != "":
		if p, err = readPlan(c.planFile); err == nil {
			err = p.Check(c.desk.Readable())
		}
	case c.dryRun: // which asks nobody, not even the planner
		return request, nil
	case c.planModel != "" || c.planOnly:
		p, err = c.plan(ctx, request)
	default:
		return request, nil
	}
	if err != nil {
		return "", err
	}
	if c.planOnly {
		_, err = c.text.Write(p.JSON())
		if err == nil && c.out != nil {
			err = c.keepOutput()
		}
		return "", err
	}
	return p.Prompt(), nil
}

// describe prints the request that would be sent.
func (c *clerk) describe(d *llm.Dialog, a *agent.Agent, r agent.Request, m *app.MeteredModel) error {
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
	out := c.show.s.out
	fmt.Fprintf(out, "model:   %s\nbudget:  %s\ntools:   %s\nfixed:   %d tokens (o200k)\n\n--- instructions\n%s\n\n--- request\n",
		m.Model, c.meter.Left(), strings.Join(names, ", "), n, d.System)
	_, err = fmt.Fprintln(out, c.box.Secrets.Text(llm.Annotate(r.Text, nil, r.Notes...)))
	return err
}
