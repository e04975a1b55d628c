// Package ask answers a request: a model with read-only tools over granted files, or without tools, and a conversation
// that can be continued. It reports events of the agent.
package ask

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"hako/agent"
	"hako/agent/tool"
	"hako/internal/app"
	"hako/internal/app/ask/conversation"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/internal/websearch"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// Options configure a session.
type Options struct {
	app.ReadOnlyOptions
	Request    string
	Model      string   // as in --model; empty means that of the settings, or a reachable one
	Record     string   // file for the turns of the model; empty means none
	System     string   // file of instructions; empty means none
	Turns      int      // maximum calls of the model
	Calls      int      // maximum tool calls of a turn
	Threads    int      // concurrent tool calls
	NoTools    bool     // offer no tools
	Tools      []string // names of the offered tools; empty means all
	Force      string   // the tool to call first; empty means any or none
	AutoSearch bool     // search the web first if the model finds it necessary
	Thread     string   // the conversation to continue; empty means none
	MaxOutput  int64    // tokens of an answer; zero means the limit of the provider

	Help    *tool.Tool         // explains the program; nil means that it is not offered
	Observe func(agent.Event)  // gets events; may be nil
	Busy    func(label string) // shows what is being waited for before the first turn; may be nil
}

func (o *Options) event(e agent.Event) {
	if o.Observe != nil {
		o.Observe(e)
	}
}

func (o *Options) note(text string) { o.event(agent.Event{Type: "note", Text: text}) }

func (o *Options) busy(label string) {
	if o.Busy != nil {
		o.Busy(label)
	}
}

// A Session is a request with its parts. It must be closed.
type Session struct {
	Options
	Shell *app.Shell
	Model *app.MeteredModel

	conf     *config.Config
	request  agent.Request
	engine   websearch.Engine
	engName  string
	agent    agent.Agent
	dialog   llm.Dialog
	recorder *app.TurnRecorder
	thread   *conversation.Thread
}

// Open assembles a session: model, shell, tools, conversation.
func Open(ctx context.Context, conf *config.Config, o Options) (*Session, error) {
	s := &Session{Options: o, conf: conf, request: agent.Request{Text: o.Request}}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close discards what was not committed.
func (s *Session) Close() {
	if s.Shell != nil {
		s.Shell.Close()
	}
	if s.thread != nil {
		s.thread.Close()
	}
	s.recorder.Discard() // unless it was committed
}

func (s *Session) open(ctx context.Context) (err error) {
	s.Budget = quota.DefaultLimits()
	s.Files = unique(s.Files)
	if s.request.Files, err = s.grantedFiles(); err != nil {
		return err
	}
	if err := setup.CheckGrants(s.conf, s.Record); err != nil {
		return err
	}
	executor, b, err := s.Executor(s.conf, "model")
	if err != nil {
		return err
	}
	s.Shell = b
	if err := checkReadable(s.Files, b.Limiter.Limits().FileSize); err != nil {
		return err
	}
	c, err := s.choose(ctx)
	if err != nil {
		return err
	}
	tools, err := s.offeredTools(executor)
	if err != nil {
		return err
	}
	if err := s.startDialog(); err != nil {
		return err
	}
	s.agent = agent.Agent{
		ID: b.ID, Model: s.Model.Wrapped, Tools: tools, Budget: b.Budget, Log: b.Log, Actor: "model", Secrets: b.Secrets,
		Turns: s.Turns, Calls: s.Calls, Threads: s.Threads, Context: s.window(c), Force: s.Force, Observe: s.Observe,
	}
	return nil
}

// choose chooses the model and wraps it.
func (s *Session) choose(ctx context.Context) (app.Model, error) {
	c, err := app.ChooseModel(ctx, app.ModelSource{Conf: s.conf, Record: s.Shell.RecordNetwork("model")}, s.Options.Model)
	if err != nil {
		return c, err
	}
	if c.Why != "" {
		s.note(c.Why)
	}
	if s.recorder, err = app.NewTurnRecorder(s.Record, s.Shell.Secrets); err != nil {
		return c, err
	}
	s.Model, err = s.Shell.Metered(c, s.conf, s.Shell.Budget, app.ModelOptions{
		Recorder: s.recorder, Notify: func(w llm.Waiting) { s.event(app.RetryEvent(w)) },
	})
	return c, err
}

// window returns the context window of the model in tokens.
func (s *Session) window(c app.Model) int64 {
	if n := config.ModelContext.Of(s.conf).V; n > 0 {
		return int64(n)
	}
	return c.Context
}

// ToolNames are the known tools, in the order in which they are offered.
var ToolNames = []string{"execute", "list_allowed_files", "web_search", "web_fetch", "cli_help"}

// allTools returns the tools that work here.
func (s *Session) allTools(e *tool.Executor) (tools []tool.Tool, err error) {
	tools = []tool.Tool{e.Tool(), tool.ListFiles(s.currentFiles)}
	if s.engine, s.engName, err = app.SearchEngine(s.conf); err == nil {
		tools = append(tools, tool.WebSearch(s.engine))
	} else if slices.Contains(s.Tools, "web_search") || s.Force == "web_search" || s.AutoSearch {
		return nil, err
	}
	pages := &websearch.Reader{Fetcher: s.Fetcher(s.conf), Fetched: s.Shell.RecordFetched("model")}
	tools = append(tools, tool.WebFetch(pages))
	if s.Help != nil {
		tools = append(tools, *s.Help)
	}
	return tools, nil
}

// offeredTools returns the tools to offer. A tool that cannot work here, such as web_search without an engine, is an
// error only if it was requested.
func (s *Session) offeredTools(e *tool.Executor) ([]tool.Tool, error) {
	all, err := s.allTools(e)
	if err != nil {
		return nil, err
	}
	if s.NoTools {
		if s.Force != "" || len(s.Tools) > 0 {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "run",
				Why: "--disable-all-tools goes with neither --force-tool nor --available-tools"}
		}
		return nil, nil
	}
	for _, name := range append(slices.Clone(s.Tools), s.Force) {
		if name != "" && !slices.Contains(ToolNames, name) {
			return nil, unknownTool(name)
		}
	}
	return slices.DeleteFunc(all, func(t tool.Tool) bool {
		return len(s.Tools) > 0 && !slices.Contains(s.Tools, t.Name) && t.Name != s.Force
	}), nil
}

func unknownTool(name string) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "run", Subject: name, Why: "there is no such tool",
		Hint: "the tools are " + strings.Join(ToolNames, ", ")}
	if near, ok := fault.Nearest(name, ToolNames); ok {
		e.Hint = "did you mean " + near + "? " + e.Hint
	}
	return e
}

// startDialog starts or continues the dialog.
func (s *Session) startDialog() error {
	system, err := s.instructions()
	if err != nil {
		return err
	}
	s.dialog = llm.Dialog{System: s.Shell.Secrets.Text(system), MaxOutput: s.MaxOutput, CacheKey: "hako"}
	if s.Thread == "" {
		return nil
	}
	if s.thread, err = Threads(s.conf).Open(s.Thread); err != nil {
		return err
	}
	s.dialog.Items = s.thread.Items
	return nil
}

// Threads returns the store of conversations.
func Threads(conf *config.Config) conversation.Store {
	return conversation.Store{Dir: conf.StateFile("threads")}
}

// instructions returns the system prompt: that of the tools, and that of --system.
func (s *Session) instructions() (string, error) {
	var parts []string
	if !s.NoTools {
		parts = append(parts, agent.System())
	}
	if s.System != "" {
		own, err := os.ReadFile(s.System)
		if err != nil {
			return "", &fault.Error{Kind: fault.NotFound, Op: "read instructions", Subject: s.System, Err: fault.Reason(err),
				FlagHint: "--system names a text file"}
		}
		parts = append(parts, strings.ToValidUTF8(string(own), "\uFFFD"))
	}
	return strings.Join(parts, "\n\n"), nil
}

// Run answers the request, and stores the conversation and the usage.
func (s *Session) Run(ctx context.Context) error {
	s.event(agent.Event{Type: "start", Model: s.Model.Name, Provider: s.Model.Provider})
	err := s.search(ctx)
	if err == nil {
		var answer agent.Answer
		if answer, err = s.Answer(ctx); err == nil && strings.TrimSpace(answer.Text) == "" {
			s.note("the model answered nothing")
		}
	}
	if s.thread != nil {
		if serr := s.thread.Save(s.dialog.Items); err == nil {
			err = serr
		}
	}
	used := s.Shell.Budget.Used()
	if qerr := s.Model.Book(s.conf, used); qerr != nil { // not worth failing
		s.note("what was used is not kept for hako quota: " + qerr.Error())
	}
	if terr := s.recorder.Commit(); err == nil {
		err = terr
	}
	s.event(agent.Event{
		Type: "usage", Model: s.Model.Name, Provider: s.Model.Provider, Usage: &used,
		Millis: s.Model.Ledger.Total().Time.Milliseconds(), Cost: s.Model.Cost(),
	})
	return err
}

// Answer runs the agent and stores nothing.
func (s *Session) Answer(ctx context.Context) (agent.Answer, error) {
	return s.agent.Run(ctx, &s.dialog, s.request)
}

// search searches the web if the model finds it necessary.
func (s *Session) search(ctx context.Context) error {
	if !s.AutoSearch {
		return nil
	}
	if s.engine == nil {
		_, _, err := app.SearchEngine(s.conf)
		return err
	}
	s.busy("deciding whether to search")
	decision, clear, err := s.agent.Decide(ctx, s.request)
	switch {
	case err != nil:
		return err
	case !clear:
		s.event(agent.Event{Type: "searched", Text: "not searched: the model did not say clearly whether it is needed"})
		return nil
	case !decision.Need:
		s.event(agent.Event{Type: "searched", Text: "no search needed"})
		return nil
	}
	return s.searchFor(ctx, decision.Query)
}

func (s *Session) searchFor(ctx context.Context, query string) error {
	query = s.Shell.Secrets.Text(query)
	if err := s.Shell.RecordNetwork("model")(s.engName + ": " + query); err != nil {
		return err
	}
	s.busy("searching")
	hits, err := s.engine.Search(ctx, websearch.Query{Text: query})
	if err != nil {
		return err
	}
	s.request.Found = websearch.Results(hits)
	s.event(agent.Event{Type: "searched", Name: s.engName, Text: fmt.Sprintf("searched with %s for %q: %d results",
		s.engName, query, len(hits))})
	return nil
}
