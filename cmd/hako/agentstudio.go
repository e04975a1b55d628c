package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hako/agent"
	"hako/agent/tool"
	"hako/agent/tool/mcpclient"
	"hako/container"
	"hako/container/lang"
	"hako/internal/app"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/internal/app/coder/store"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/run/fault"
)

// ledgers are what is known about tasks: the queue and the record.
type ledgers struct {
	*app.App
	conf  *config.Config
	queue *queue.Queue
}

func (l *ledgers) close() {
	_ = l.queue.Close()
	l.App.Close()
}

// ledgers opens them, for a look or an order.
func (o *agentFlags) ledgers(ctx context.Context, s streams) (*ledgers, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	b, err := app.Open(conf)
	if err != nil {
		return nil, err
	}
	b.Workers = o.workers
	q, err := openQueue(ctx, s, conf)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &ledgers{b, conf, q}, nil
}

// openQueue says so if nobody answers at once.
func openQueue(ctx context.Context, s streams, conf *config.Config) (*queue.Queue, error) {
	waiting := "waiting for whoever serves the queue of this machine"
	if config.QueueURL.Of(conf).V != "" {
		waiting = "waiting for the server of queue.url; it is asked again for some seconds"
	}
	defer meanwhile(s, waiting)()
	return queue.Open(ctx, queueOptions(conf))
}

// spare is how often the queue hands a task out beyond what a worker would try:
// the worker that gives up tells people why.
const spare = 5

func queueOptions(conf *config.Config) queue.Options {
	return queue.Options{
		URL: string(config.QueueURL.Of(conf).V), Credentials: config.QueueCredentials.Of(conf).V, RootCA: config.QueueCA.Of(conf).V,
		Dir: conf.StateFile("queue"), Name: config.QueueName.Of(conf).V, Replicas: config.QueueReplicas.Of(conf).V,
		MaxDeliver: config.QueueTries.Of(conf).V + spare, AckWait: time.Duration(config.QueueLease.Of(conf).V) * time.Second,
	}
}

// A studio is everything that an agent works with.
type studio struct {
	*ledgers
	office   *dispatch.Office
	producer *dispatch.Producer // nil means that others pick up
	worker   *dispatch.Worker   // nil means that others work
	view     *view

	dock    *container.Manager // nil without a worker
	options container.Options
	model   app.Model
	prices  func(model string, u quota.Usage) (float64, bool)
	servers []mcpclient.Server
	judge   *policy.Policy // of tools that reach beyond this machine
	asked   app.Asker      // about what the rules want asked; nil means that nobody is there

	mu     sync.Mutex
	errand map[string]*errand // by task
}

// An errand is what there is of a task in this process besides its container.
type errand struct {
	bill    *agent.Ledger
	booked  quota.Usage        // of the bill
	servers []*mcpclient.Party // nil until the model is offered tools
	opened  bool               // they were started
}

func (w *studio) close() {
	for _, f := range w.office.Forges {
		f.Close()
	}
	if w.dock != nil {
		w.dock.Close()
	}
	w.ledgers.close()
}

// studio puts together what it takes to pick issues up, to work on them, or
// both. What is wrong with the settings is said before anything is picked up.
func (o *agentFlags) studio(ctx context.Context, s streams, produce, labour bool) (w *studio, err error) {
	l, err := o.ledgers(ctx, s)
	if err != nil {
		return nil, err
	}
	w = &studio{ledgers: l, office: &dispatch.Office{Record: l.RecordTask}, asked: o.asked, errand: make(map[string]*errand)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.office.Forges, err = forges(l.conf, w.Secrets); err != nil {
		return w, err
	}
	for _, f := range w.office.Forges {
		if err := l.RecordNetwork("agent")(f.Provider); err != nil {
			return w, err
		}
	}
	w.view = newView(s, w, o.json)
	if labour {
		if err = w.hire(ctx, o); err != nil {
			return w, err
		}
	}
	if produce {
		w.producer = &dispatch.Producer{Office: w.office, Queue: w.queue, Every: time.Duration(config.AgentPoll.Of(w.conf).V) * time.Second, Secrets: w.Secrets, Observe: w.view.event}
	}
	return w, nil
}

// providers are the forges there are, with their settings.
var providers = []struct {
	name string
	keys config.ForgeKeys
}{{forge.GitHub, config.GitHub}, {forge.GitLab, config.GitLab}}

// forges opens those that are set up.
func forges(conf *config.Config, secrets *redact.Set) (list []dispatch.Forge, err error) {
	for _, p := range providers {
		k := p.keys
		if !k.Enabled.Of(conf).V {
			continue
		}
		c := forge.Config{
			Provider: p.name, APIURL: k.APIURL.Of(conf).V, Token: k.Token.Of(conf).V, BotName: k.BotName.Of(conf).V,
			CAFile: cmp.Or(k.CA.Of(conf).V, config.DockerCA.Of(conf).V), Labels: labelsOf(conf, k), Hide: func(token string) { secrets.Add(token) },
		}
		f, err := openForge(conf, c)
		if err != nil {
			return list, err
		}
		list = append(list, dispatch.Forge{Forge: f, Provider: p.name, Labels: c.Labels, Bot: c.BotName, NeedAssignee: k.NeedAssignee.Of(conf).V, Repos: k.Repositories.Of(conf).V})
	}
	if name := switchedOff(conf); len(list) == 0 && name != "" {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "find forge", Why: name + ".enabled is false", Hint: "set it to true, or set up the other forge"}
	}
	if len(list) == 0 {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "find forge", Why: "there is neither a token of GitHub nor one of GitLab",
			Hint: "export GITHUB_PERSONAL_ACCESS_TOKEN=… or GITLAB_PERSONAL_ACCESS_TOKEN=…, or set github.app; docs/agent.md says what it has to be good for"}
	}
	return list, nil
}

// switchedOff names a forge that has a token and is not to be used.
func switchedOff(conf *config.Config) string {
	for _, p := range providers {
		if p.keys.Token.Of(conf).V != "" && !p.keys.Enabled.Of(conf).V {
			return p.name
		}
	}
	return ""
}

// openForge opens a forge by its token, or as the App that is set up.
func openForge(conf *config.Config, c forge.Config) (forge.Forge, error) {
	if c.Provider == forge.GitHub {
		var err error
		if c.App, err = app.GithubApp(conf); err != nil {
			return nil, err
		}
	}
	return forge.New(c)
}

func labelsOf(conf *config.Config, k config.ForgeKeys) forge.Labels {
	return forge.Labels{
		Ready: k.Ready.Of(conf).V, Processing: k.Processing.Of(conf).V, Done: k.Done.Of(conf).V,
		Failed: k.Failed.Of(conf).V, Paused: k.Paused.Of(conf).V, Stopped: k.Stopped.Of(conf).V,
	}
}

// hire puts a worker together: a model, containers, tools.
func (w *studio) hire(ctx context.Context, o *agentFlags) (err error) {
	if err := w.think(ctx, o.model); err != nil {
		return err
	}
	if err := w.build(ctx); err != nil {
		return err
	}
	if w.servers, err = mcpServers(w.conf); err != nil {
		return err
	}
	if w.judge, err = app.OutsidePolicy(w.conf); err != nil {
		return err
	}
	w.worker = &dispatch.Worker{Queue: w.queue, Office: w.office, Coordinator: w.coordinator(), Parallel: config.AgentParallel.Of(w.conf).V, Tries: config.QueueTries.Of(w.conf).V, Observe: w.view.event}
	return nil
}

// think chooses the model.
func (w *studio) think(ctx context.Context, spec string) (err error) {
	w.model, err = app.ChooseModel(ctx, app.ModelSource{Conf: w.conf, Record: w.RecordNetwork("agent")}, spec)
	if err != nil {
		return withoutBuiltin(err)
	}
	if w.model.Provider == "builtin" {
		return &fault.Error{Kind: fault.Unavailable, Op: "choose model", Subject: "builtin", Why: "the built-in rules cannot write programs", Hint: "export OPENAI_API_KEY=…, or set model.name to ollama:NAME; hako models lists what can be used", FlagHint: "export OPENAI_API_KEY=…, or --model ollama:NAME; hako models lists what can be used"}
	}
	table, err := app.Prices(w.conf)
	m := &app.MeteredModel{Model: w.model, Prices: table}
	w.prices = m.Price
	return err
}

// withoutBuiltin takes out of a hint what is no help here.
func withoutBuiltin(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		f.Hint, f.FlagHint = strings.TrimSuffix(f.Hint, app.BuiltinHint), strings.TrimSuffix(f.FlagHint, app.BuiltinFlag)
	}
	return err
}

// build opens the dock. Containers belong to this process: whoever kills it
// leaves them to the next.
func (w *studio) build(ctx context.Context) error {
	if err := app.ContainersAllowed(w.conf); err != nil {
		return err
	}
	options, err := app.ContainerOptions(w.conf)
	if err != nil {
		return err
	}
	options.Enabled, options.Detached, options.Push = true, false, false
	options.Progress = w.view.progress
	if _, err := options.Engine.Ping(ctx); err != nil {
		return err
	}
	judge, err := app.ContainerPolicy(w.conf)
	if err != nil {
		return err
	}
	options.Clones.Keys.Hide(w.Secrets.Add)
	w.Meter, w.AskTimeout = quota.New(w.conf.Budget(quota.Unlimited())), config.ApprovalTimeout.Of(w.conf).V
	options.Allowed = func() container.Allowed { return app.AllowedCommands(judge) }
	options.Keep = app.StartProxy(w.conf)
	w.options = options
	w.dock, err = w.App.ManagerAsking(options, judge, w.approver)
	return err
}

// coordinator puts together what carries tasks out.
func (w *studio) coordinator() *coder.Coordinator {
	st := &store.Store{Dir: w.conf.StateFile("agent")}
	if config.QueueURL.Of(w.conf).V != "" {
		st.Shelf = w.queue.Shelf("store") // accounts and what is inherited are those of all workers
	}
	return &coder.Coordinator{
		Hands: yard{dock: w.dock, author: w.author, left: w.settle, guard: guarded(w.conf)}, Log: w.Log, Model: w.ask, Price: w.prices,
		Environments: coder.Environments{Table: w.dock.SelectionPrompt, Choose: w.choose, Prompt: w.dock.SystemPrompt},
		Execute:      functionOf(w.dock.Functions()), Edit: functionOf(w.dock.TextEditorFunctions()), Tools: w.tools,
		Archive: st, Accounts: st, Verify: config.PlanningVerify.Of(w.conf).V, Limits: planningLimits(w.conf),
		Context: cmp.Or(w.model.Context, int64(config.ModelContext.Of(w.conf).V)), Secrets: w.Secrets,
	}
}

// guarded are the files that nobody's model changes: they run with the rights of
// the project as soon as they are on a branch.
func guarded(conf *config.Config) []string {
	if config.AgentCIFiles.Of(conf).V {
		return nil
	}
	return []string{".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/"}
}

func functionOf(list []container.Function) llm.Tool {
	return llm.Tool{Name: list[0].Name, Text: list[0].Description, Schema: list[0].Parameters}
}

func (w *studio) choose(asked string) (name, warning string) {
	return lang.Choose(asked, w.options.Images, w.options.Default)
}

func planningLimits(conf *config.Config) coder.Limits {
	never := func(n int) int { // in the settings zero means never
		if n == 0 {
			return -1
		}
		return n
	}
	return coder.Limits{
		Turns: config.PlanningTurns.Of(conf).V, Actions: config.PlanningActions.Of(conf).V, Tokens: config.PlanningTokens.Of(conf).V, Cost: config.PlanningCost.Of(conf).V,
		Same: config.PlanningSame.Of(conf).V, Replans: never(config.PlanningReplans.Of(conf).V), ReflectEvery: never(config.PlanningReflect.Of(conf).V),
		UserTokens: config.PlanningUserTokens.Of(conf).V, UserCost: config.PlanningUserCost.Of(conf).V,
	}
}

// author is whom commits are by: the settings say it, or it is the account whose
// token pushes them.
func (w *studio) author(t coder.Task) string {
	if a := config.AgentAuthor.Of(w.conf).V; a != "" {
		return a
	}
	name := "hako"
	for _, f := range w.office.Forges {
		if f.Provider == t.Provider && f.Bot != "" {
			name = f.Bot
		}
	}
	return name + " <" + strings.NewReplacer("[", "", "]", "").Replace(name) + "@users.noreply.invalid>"
}

// ask returns the model for a task, with what counts, records and retries before
// it.
func (w *studio) ask(t coder.Task, meter *quota.Budget) llm.Model {
	bill := &agent.Ledger{Model: w.model.Model, ID: t.ID, Name: w.model.Name, Actor: "agent:" + t.ID, Budget: meter, Log: w.Log, Price: w.prices,
		Cap: app.TotalBudget(w.conf), Ahead: w.model.ExpectedUsage()}
	e := &errand{bill: bill}
	w.mu.Lock()
	w.errand[t.ID] = e
	w.mu.Unlock()
	return &llm.Retry{Model: w.view.counted(bill, w.prices), Notify: func(p llm.Waiting) { w.view.note(t.ID, retryText(p)) }}
}

func retryText(p llm.Waiting) string {
	return fmt.Sprintf("the model is asked again in %v: %v", p.Wait, p.Err)
}

// settle ends what belongs to a task, and books what it used of the model.
func (w *studio) settle(task string) {
	w.mu.Lock()
	e := w.errand[task]
	delete(w.errand, task)
	w.mu.Unlock()
	if e == nil {
		return
	}
	for _, s := range e.servers {
		_ = s.Close() // they are ended in any case
	}
	w.settleUsage(e)
}

// tools are those of a task that reach beyond its container: of its forge, and
// of MCP servers, which end with ctx.
func (w *studio) tools(ctx context.Context, t coder.Task) ([]tool.Tool, error) {
	list, err := w.office.Tools(t, w.Secrets)
	if err != nil {
		return nil, err
	}
	for _, party := range w.serversOf(ctx, t.ID) {
		list = append(list, party.Tools()...)
	}
	return w.GatedTools(list, w.judge, w.approver(t.ID), t.ID)
}

// serversOf are the MCP servers of a task, one process each for all of it. One
// that cannot be used is done without, and that is said.
func (w *studio) serversOf(ctx context.Context, task string) []*mcpclient.Party {
	w.mu.Lock()
	e := w.errand[task]
	w.mu.Unlock()
	if e == nil || e.opened {
		return e.parties()
	}
	for _, s := range w.servers {
		party, err := mcpclient.Open(ctx, []mcpclient.Server{s}, mcpclient.Options{Log: func(server, line string) { w.view.note(task, server+": "+line) }, Secrets: w.Secrets, Version: version})
		if err != nil {
			w.view.note(task, "the tools of "+s.Name+" are missing: "+err.Error())
			continue
		}
		e.servers = append(e.servers, party)
	}
	e.opened = true
	return e.servers
}

func (e *errand) parties() []*mcpclient.Party {
	if e == nil {
		return nil
	}
	return e.servers
}

func mcpServers(conf *config.Config) (list []mcpclient.Server, err error) {
	all, err := conf.MCPServers()
	for _, m := range all {
		list = append(list, mcpclient.Server(m))
	}
	return list, err
}

// watched starts what goes on beside the work, and returns what ends it.
func (w *studio) watched(ctx context.Context) (end func(), err error) {
	stop, err := w.view.health(ctx)
	if err != nil {
		return nil, err
	}
	if w.dock == nil {
		return stop, nil
	}
	sweeping, enough := context.WithCancel(ctx)
	go w.dock.Watch(sweeping, time.Duration(config.CleanupInterval.Of(w.conf).V)*time.Hour)
	return func() {
		enough()
		if err := w.dock.CleanupAll(context.WithoutCancel(ctx)); err != nil {
			w.view.trouble(err)
		}
		stop()
	}, nil
}

// ready says what keeps the agent from working.
func (w *studio) ready(ctx context.Context) error {
	_, err := w.queue.Stats(ctx)
	if w.dock != nil {
		_, down := w.options.Engine.Ping(ctx)
		err = errors.Join(err, down)
	}
	return err
}
