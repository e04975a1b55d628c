package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hako/agent"
	"hako/agent/tool"
	"hako/internal/app"
	"hako/internal/app/ask/conversation"
	"hako/internal/config"
	"hako/internal/term"
	"hako/internal/websearch"
	"hako/llm"
	"hako/llm/tokens"
	"hako/quota"
	"hako/run/fault"
)

// A job is one run, put together.
type job struct {
	*runOptions
	conf    *config.Config
	show    *show
	request agent.Request
	box     *app.Shell
	mind    *app.MeteredModel
	engine  websearch.Engine
	engName string
	agent   agent.Agent
	dialog  llm.Dialog
	tape    *app.TurnRecorder
	thread  *conversation.Thread
}

func (j *job) close() {
	if j.box != nil {
		j.box.Close()
	}
	if j.thread != nil {
		j.thread.Close()
	}
	j.tape.Discard() // unless it was kept
}

// prepare puts the parts together: model, box, tools, conversation.
func (j *job) prepare(ctx context.Context, cmd *cobra.Command) error {
	var err error
	if j.ReadOnlyOptions.Stdin, err = j.takeStdin(j.show.s); err != nil {
		return err
	}
	j.Budget = quota.DefaultLimits()
	j.Files = once(j.Files)
	if j.request.Files, err = j.grantedFiles(); err != nil {
		return err
	}
	if err := app.CheckGrants(j.conf, j.record); err != nil {
		return err
	}
	j.Ask = askElsewhere(j.conf, j.show.note)
	e, b, err := j.Executor(j.conf, "model")
	if err != nil {
		return err
	}
	j.box = b
	if err := readable(j.Files, b.Gauge.Limits().FileSize); err != nil {
		return err
	}
	c, err := app.ChooseModel(ctx, app.ModelSource{Conf: j.conf, Record: b.RecordNetwork("model")}, j.model)
	if err != nil {
		return err
	}
	if c.Why != "" {
		j.show.event(agent.Event{Type: "note", Text: c.Why})
	}
	if j.tape, err = app.NewTurnRecorder(j.record, b.Secrets); err != nil {
		return err
	}
	if j.mind, err = b.Metered(c, j.conf, b.Meter, app.ModelOptions{Recorder: j.tape, Notify: j.show.retry}); err != nil {
		return err
	}
	tools, err := j.toolbox(e, cmd)
	if err != nil {
		return err
	}
	if err := j.converse(); err != nil {
		return err
	}
	j.agent = agent.Agent{
		ID: b.Id, Model: j.mind.Front, Tools: tools, Budget: b.Meter, Log: b.Log, Actor: "model", Secrets: b.Secrets,
		Turns: j.turns, Calls: j.calls, Threads: j.threads, Context: j.window(c), Force: j.force, Observe: j.show.event,
	}
	return nil
}

// window is how many tokens the model can hold.
func (j *job) window(c app.Model) int64 {
	if n := config.ModelContext.Of(j.conf).V; n > 0 {
		return int64(n)
	}
	return c.Context
}

// takeStdin reads standard input if it is to be a file.
func (o *runOptions) takeStdin(s streams) ([]byte, error) {
	if !o.stdin {
		return nil, nil
	}
	if isTerminal(s.in) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read standard input", Why: "it is the terminal", Hint: "pipe something in: git log | hako run --stdin …"}
	}
	b, err := io.ReadAll(io.LimitReader(s.in, largestInput+1))
	if len(b) > largestInput {
		err = tooMuchInput("read")
	}
	return append([]byte{}, b...), err
}

// grantedFiles lists the files with their sizes; they are not read.
func (o *runOptions) grantedFiles() (list []llm.File, err error) {
	for _, name := range o.Files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, &fault.Error{Kind: fault.NotFound, Op: "grant file", Subject: name, Err: app.ReasonOf(err), Hint: "check the name"}
		}
		if info.IsDir() {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "grant file", Subject: name, Why: "it is a directory", Hint: "grant its files one by one, each with --file"}
		}
		list = append(list, llm.File{Name: name, Bytes: info.Size()})
	}
	if o.Stdin != nil {
		if slices.Contains(o.Files, app.StdinName) {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "grant file", Subject: app.StdinName, Why: "standard input goes by that name", Hint: "name the file ./" + app.StdinName}
		}
		list = append(list, llm.File{Name: app.StdinName, Bytes: int64(len(o.Stdin))})
	}
	return list, nil
}

// readable says before the model is asked that a file cannot be read: its answer
// would be about nothing.
func readable(names []string, limit int64) error {
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && !info.Mode().IsRegular() {
			continue // a pipe would wait for its writer
		}
		if err == nil && info.Size() > limit {
			return &fault.Error{Kind: fault.TooLarge, Op: "read file", Subject: name, Why: fmt.Sprintf("it has %d bytes, the limit file_size is %d", info.Size(), limit), Hint: "raise it: --limit file_size=" + fmt.Sprint(info.Size())}
		}
		if err == nil {
			err = firstByte(name)
		}
		if err != nil {
			return &fault.Error{Kind: fault.NotFound, Op: "read file", Subject: name, Err: app.ReasonOf(err), Hint: "see that you may read it"}
		}
	}
	return nil
}

// firstByte reads the first byte of a file: some can be opened and not read.
func firstByte(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Read(make([]byte, 1)); err == io.EOF {
		return nil
	}
	return err
}

// filesNow is what list_allowed_files says: a file may have vanished meanwhile.
func (o *runOptions) filesNow() []llm.File {
	var list []llm.File
	for _, name := range o.Files {
		if info, err := os.Stat(name); err == nil {
			list = append(list, llm.File{Name: name, Bytes: info.Size()})
		} else if !errors.Is(err, fs.ErrNotExist) {
			list = append(list, llm.File{Name: name})
		}
	}
	if o.Stdin != nil {
		list = append(list, llm.File{Name: app.StdinName, Bytes: int64(len(o.Stdin))})
	}
	return list
}

// toolNames are the tools there are, in the order in which they are offered.
var toolNames = []string{"execute", "list_allowed_files", "web_search", "web_fetch", "cli_help"}

// allTools makes the tools that can work here.
func (j *job) allTools(e *tool.Executor, cmd *cobra.Command) ([]tool.Tool, error) {
	tools := []tool.Tool{e.Tool(), tool.ListFiles(j.filesNow)}
	var err error
	if j.engine, j.engName, err = app.SearchEngine(j.conf); err == nil {
		tools = append(tools, tool.WebSearch(j.engine))
	} else if slices.Contains(j.tools, "web_search") || j.force == "web_search" || j.autoSearch {
		return nil, err
	}
	pages := &websearch.Reader{Fetcher: j.Fetcher(j.conf), Fetched: j.box.RecordFetched("model")}
	return append(tools, tool.WebFetch(pages), tool.CLIHelp(helpOf(j.show.s.wholeOf(cmd)))), nil
}

// toolbox returns the tools that are offered. A tool that cannot work here, such
// as a search without an engine, is not offered unless it was asked for.
func (j *job) toolbox(e *tool.Executor, cmd *cobra.Command) ([]tool.Tool, error) {
	all, err := j.allTools(e, cmd)
	if err != nil {
		return nil, err
	}
	if j.noTools {
		if j.force != "" || len(j.tools) > 0 {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "run", Why: "--disable-all-tools goes with neither --force-tool nor --available-tools"}
		}
		return nil, nil
	}
	for _, name := range append(slices.Clone(j.tools), j.force) {
		if name != "" && !slices.Contains(toolNames, name) {
			return nil, unknownTool(name)
		}
	}
	var offered []tool.Tool
	for _, t := range all {
		if len(j.tools) == 0 || slices.Contains(j.tools, t.Name) || t.Name == j.force {
			offered = append(offered, t)
		}
	}
	return offered, nil
}

func unknownTool(name string) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "run", Subject: name, Why: "there is no such tool", Hint: "the tools are " + strings.Join(toolNames, ", ")}
	if near, ok := fault.Nearest(name, toolNames); ok {
		e.Hint = "did you mean " + near + "? " + e.Hint
	}
	return e
}

// converse begins the dialog, or takes up the one to be continued.
func (j *job) converse() error {
	system, err := j.instructions()
	if err != nil {
		return err
	}
	j.dialog = llm.Dialog{System: j.box.Secrets.Text(system), MaxOutput: j.maxOutput, CacheKey: "hako"}
	if j.runOptions.thread == "" {
		return nil
	}
	if j.thread, err = threads(j.conf).Open(j.runOptions.thread); err != nil {
		return err
	}
	j.dialog.Items = j.thread.Items
	return nil
}

func threads(conf *config.Config) conversation.Store {
	return conversation.Store{Dir: conf.StateFile("threads")}
}

// instructions are what stands before the dialog: ours, where there are tools to
// be explained, and those of --system.
func (j *job) instructions() (string, error) {
	var parts []string
	if !j.noTools {
		parts = append(parts, agent.System())
	}
	if j.system != "" {
		own, err := os.ReadFile(j.system)
		if err != nil {
			return "", &fault.Error{Kind: fault.NotFound, Op: "read instructions", Subject: j.system, Err: app.ReasonOf(err), Hint: "--system names a text file"}
		}
		parts = append(parts, strings.ToValidUTF8(string(own), "\uFFFD"))
	}
	return strings.Join(parts, "\n\n"), nil
}

// work runs the loop and tells what it took.
func (j *job) work(ctx context.Context) error {
	defer watchdog(j.box.Gauge, j.show.s.err)()
	j.show.event(agent.Event{Type: "start", Model: j.mind.Name, Provider: j.mind.Provider})
	err := j.search(ctx)
	if err == nil {
		var answer agent.Answer
		if answer, err = j.agent.Run(ctx, &j.dialog, j.request); err == nil && strings.TrimSpace(answer.Text) == "" {
			j.show.event(agent.Event{Type: "note", Text: "the model ended without a word"})
		}
	}
	if j.thread != nil {
		if serr := j.thread.Save(j.dialog.Items); err == nil {
			err = serr
		}
	}
	if qerr := j.mind.Book(j.conf, j.box.Meter.Used()); qerr != nil { // the answer is there all the same
		j.show.event(agent.Event{Type: "note", Text: "what was used is not kept for hako quota: " + qerr.Error()})
	}
	if terr := j.tape.Commit(); err == nil {
		err = terr
	}
	j.tell()
	return err
}

// tell ends a run with what it took.
func (j *job) tell() {
	t := j.mind.Ledger.Total()
	if j.json {
		used := j.box.Meter.Used()
		j.show.event(agent.Event{Type: "usage", Model: j.mind.Name, Provider: j.mind.Provider, Usage: &used, Millis: t.Time.Milliseconds(), Cost: j.mind.Cost()})
	}
	if j.stats {
		j.show.endText()
		j.show.note(j.mind.Stats())
	}
}

// search looks the request up on the web if the model finds that needed.
func (j *job) search(ctx context.Context) error {
	if !j.autoSearch {
		return nil
	}
	if j.engine == nil {
		_, _, err := app.SearchEngine(j.conf)
		return err
	}
	j.show.spinner.Start("deciding whether to search")
	decision, clear, err := j.agent.Decide(ctx, j.request)
	switch {
	case err != nil:
		return err
	case !clear:
		j.show.event(agent.Event{Type: "searched", Text: "not searched: the model did not say clearly whether it is needed"})
		return nil
	case !decision.Need:
		j.show.event(agent.Event{Type: "searched", Text: "no search needed"})
		return nil
	}
	return j.look(ctx, decision.Query)
}

func (j *job) look(ctx context.Context, query string) error {
	query = j.box.Secrets.Text(query)
	if err := j.box.RecordNetwork("model")(j.engName + ": " + query); err != nil {
		return err
	}
	j.show.spinner.Start("searching")
	hits, err := j.engine.Search(ctx, websearch.Query{Text: query})
	if err != nil {
		return err
	}
	j.request.Found = websearch.Results(hits)
	j.show.event(agent.Event{Type: "searched", Name: j.engName, Text: fmt.Sprintf("searched with %s for %q: %d results", j.engName, query, len(hits))})
	return nil
}

// describe tells what a run would send.
func (j *job) describe(w io.Writer) error {
	for _, t := range j.agent.Tools {
		j.dialog.Tools = append(j.dialog.Tools, t.Tool)
	}
	fixed, err := tokens.Request(&j.dialog)
	if err != nil {
		return err
	}
	parts, err := tokenParts(&j.dialog)
	if err != nil {
		return err
	}
	if j.json {
		return encode(w, map[string]any{"model": j.mind.Name, "provider": j.mind.Provider, "files": j.request.Files, "fixed_tokens": fixed, "parts": parts, "system": j.dialog.System})
	}
	fmt.Fprintf(w, "model:    %s\nlimits:   %d turns, %d calls a turn, %d at a time\n", j.mind.Model, j.turns, j.calls, j.threads)
	fmt.Fprintf(w, "budget:   %s\n", j.box.Meter.Left())
	for _, f := range j.request.Files {
		fmt.Fprintf(w, "file:     %s (%d bytes)\n", visible(f.Name), f.Bytes)
	}
	fmt.Fprintf(w, "request:  %s\n", term.Brief(j.box.Secrets.Text(j.request.Text), 200))
	fmt.Fprintf(w, "fixed:    %d tokens (o200k) in every request:\n", fixed)
	for _, p := range parts {
		fmt.Fprintf(w, "          %5d  %s\n", p.Tokens, p.Name)
	}
	return nil
}

// A tokenPart is one part of the fixed prompt.
type tokenPart struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

func tokenParts(d *llm.Dialog) (parts []tokenPart, err error) {
	one := func(name string, d llm.Dialog) {
		n, terr := tokens.Request(&d)
		parts = append(parts, tokenPart{name, n})
		err = errors.Join(err, terr)
	}
	one("instructions", llm.Dialog{System: d.System})
	for _, t := range d.Tools {
		one("tool "+t.Name, llm.Dialog{Tools: []llm.Tool{t}})
	}
	return parts, err
}

// once leaves out what was named before.
func once(names []string) (list []string) {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
