package app

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
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/store"
	"hako/internal/config"
	"hako/llm"
	"hako/policy"
	"hako/quota"
	"hako/run/fault"
)

// CoderOptions configure a [Coder]. The functions are required, and may be called
// concurrently.
type CoderOptions struct {
	Produce bool   // pick up issues
	Work    bool   // work on tasks
	Model   string // empty means that of the settings
	Version string // sent to MCP servers
	Ask     Asker  // answers questions of the rules; nil means the page of hako serve

	Observe  func(dispatch.Event)                               // events of tasks
	Progress func(text string)                                  // of containers
	Trouble  func(error)                                        // errors that do not end the work
	Turn     func(model string, used quota.Usage, cost float64) // a turn of a model
	Waiting  Waiting
}

// A Coder is the coding agent: it picks up issues, works on tasks, or both.
type Coder struct {
	*TaskQueue
	Client *dispatch.ForgeClient // of the forges

	o        CoderOptions
	producer *dispatch.Producer // nil means that others pick up issues
	worker   *dispatch.Worker   // nil means that others work
	manager  *container.Manager // nil without a worker
	options  container.Options
	model    Model
	prices   func(model string, u quota.Usage) (float64, bool)
	servers  []mcpclient.Server
	outside  *policy.Policy // for tools that reach beyond this machine

	mu    sync.Mutex
	tasks map[string]*taskResources
}

// taskResources are what a task has in this process besides its container.
type taskResources struct {
	bill    *agent.ChargedModel
	booked  quota.Usage          // part of the bill that was booked
	servers []*mcpclient.Servers // nil until the model gets tools
	opened  bool                 // they were started
}

// Close closes the coder and its queue.
func (w *Coder) Close() {
	for _, f := range w.Client.Forges {
		f.Close()
	}
	if w.manager != nil {
		w.manager.Close()
	}
	w.TaskQueue.Close()
}

// NewCoder makes a coder over a queue, which it closes. Settings are validated before
// anything is picked up.
func NewCoder(ctx context.Context, q *TaskQueue, o CoderOptions) (w *Coder, err error) {
	w = &Coder{TaskQueue: q, o: o, Client: &dispatch.ForgeClient{Record: q.RecordTask},
		tasks: make(map[string]*taskResources)}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if w.Client.Forges, err = Forges(q.Conf, w.Secrets); err != nil {
		return w, err
	}
	for _, f := range w.Client.Forges {
		if err := q.RecordNetwork("agent")(f.Provider); err != nil {
			return w, err
		}
	}
	if o.Work {
		if err = w.addWorker(ctx); err != nil {
			return w, err
		}
	}
	if o.Produce {
		w.producer = &dispatch.Producer{ForgeClient: w.Client, Queue: w.Queue,
			Every: time.Duration(config.AgentPoll.Of(w.Conf).V) * time.Second, Secrets: w.Secrets, Observe: o.Observe}
	}
	return w, nil
}

// addWorker makes the worker: a model, containers, tools.
func (w *Coder) addWorker(ctx context.Context) (err error) {
	if err := w.chooseModel(ctx, w.o.Model); err != nil {
		return err
	}
	if err := w.openContainers(ctx); err != nil {
		return err
	}
	if w.servers, err = mcpServers(w.Conf); err != nil {
		return err
	}
	if w.outside, err = outsidePolicy(w.Conf); err != nil {
		return err
	}
	w.worker = &dispatch.Worker{Queue: w.Queue, ForgeClient: w.Client, Coordinator: w.coordinator(),
		Parallel: config.AgentParallel.Of(w.Conf).V, MaxAttempts: config.QueueTries.Of(w.Conf).V, Observe: w.o.Observe}
	return nil
}

func (w *Coder) chooseModel(ctx context.Context, spec string) (err error) {
	w.model, err = ChooseModel(ctx, ModelSource{Conf: w.Conf, Record: w.RecordNetwork("agent")}, spec)
	if err != nil {
		return withoutBuiltin(err)
	}
	if w.model.Provider == "builtin" {
		return &fault.Error{Kind: fault.Unavailable, Op: "choose model", Subject: "builtin",
			Why:      "the built-in rules cannot write programs",
			Hint:     "export OPENAI_API_KEY=…, or set model.name to ollama:NAME; hako models lists what can be used",
			FlagHint: "export OPENAI_API_KEY=…, or --model ollama:NAME; hako models lists what can be used"}
	}
	table, err := Prices(w.Conf)
	m := &MeteredModel{Model: w.model, Prices: table}
	w.prices = m.Price
	return err
}

// withoutBuiltin removes from a hint what does not help here.
func withoutBuiltin(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		f.Hint, f.FlagHint = strings.TrimSuffix(f.Hint, builtinHint), strings.TrimSuffix(f.FlagHint, builtinFlag)
	}
	return err
}

// openContainers opens the container manager. The containers belong to this process; if
// it is killed, the next removes them.
func (w *Coder) openContainers(ctx context.Context) error {
	if err := containersAllowed(w.Conf); err != nil {
		return err
	}
	options, err := ContainerOptions(w.Conf)
	if err != nil {
		return err
	}
	options.Enabled, options.Detached, options.Push = true, false, false
	options.Progress = w.o.Progress
	if err := options.Engine.Ping(ctx); err != nil {
		return err
	}
	judge, err := containerPolicy(w.Conf)
	if err != nil {
		return err
	}
	options.Clones.Keys.OnSecret(w.Secrets.Add)
	w.Budget, w.AskTimeout = quota.New(w.Conf.Budget(quota.Unlimited())), config.ApprovalTimeout.Of(w.Conf).V
	options.Allowed = func() container.Allowed { return allowedCommands(judge) }
	options.ServeEgress = startProxy(w.Conf)
	w.options = options
	w.manager, err = w.App.ManagerAsking(options, judge, w.approver)
	return err
}

func (w *Coder) coordinator() *coder.Coordinator {
	st := &store.Store{Dir: w.Conf.StateFile("agent")}
	if config.QueueURL.Of(w.Conf).V != "" {
		st.KeyValue = w.Queue.KeyValue("store") // accounts and archives are shared by all workers
	}
	return &coder.Coordinator{
		Workspaces: containerWorkspaces{manager: w.manager, author: w.author, cleanUp: w.settle, guard: guarded(w.Conf)},
		Log:        w.Log, Model: w.ask, Price: w.prices,
		Environments: coder.Environments{Table: w.manager.SelectionPrompt, Choose: w.choose, Prompt: w.manager.SystemPrompt},
		Execute:      functionOf(w.manager.Functions()), Edit: functionOf(w.manager.TextEditorFunctions()), Tools: w.tools,
		Archive: st, Accounts: st, Verify: config.PlanningVerify.Of(w.Conf).V, Limits: planningLimits(w.Conf),
		Context: cmp.Or(w.model.Context, int64(config.ModelContext.Of(w.Conf).V)), Secrets: w.Secrets,
	}
}

// guarded are files that a model must not change: they run with the rights of the
// project as soon as they are on a branch.
func guarded(conf *config.Config) []string {
	if config.AgentCIFiles.Of(conf).V {
		return nil
	}
	return []string{".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/"}
}

func functionOf(list []container.Function) llm.Tool {
	return llm.Tool{Name: list[0].Name, Text: list[0].Description, Schema: list[0].Parameters}
}

func (w *Coder) choose(asked string) (name, warning string) {
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
		Turns: config.PlanningTurns.Of(conf).V, Actions: config.PlanningActions.Of(conf).V,
		Tokens: config.PlanningTokens.Of(conf).V, Cost: config.PlanningCost.Of(conf).V,
		Same: config.PlanningSame.Of(conf).V, Replans: never(config.PlanningReplans.Of(conf).V),
		ReflectEvery: never(config.PlanningReflect.Of(conf).V),
		UserTokens:   config.PlanningUserTokens.Of(conf).V, UserCost: config.PlanningUserCost.Of(conf).V,
	}
}

// author is the author of commits: from the settings, or the account whose token pushes
// them.
func (w *Coder) author(t coder.Task) string {
	if a := config.AgentAuthor.Of(w.Conf).V; a != "" {
		return a
	}
	name := "hako"
	for _, f := range w.Client.Forges {
		if f.Provider == t.Provider && f.Bot != "" {
			name = f.Bot
		}
	}
	return name + " <" + strings.NewReplacer("[", "", "]", "").Replace(name) + "@users.noreply.invalid>"
}

// ask returns the model for a task, with accounting, recording and retries.
func (w *Coder) ask(t coder.Task, meter *quota.Budget) llm.Model {
	bill := &agent.ChargedModel{Model: w.model.Model, ID: t.ID, Name: w.model.Name, Actor: "agent:" + t.ID, Budget: meter,
		Log: w.Log, Price: w.prices,
		Cap: totalBudget(w.Conf), Ahead: w.model.ExpectedUsage()}
	e := &taskResources{bill: bill}
	w.mu.Lock()
	w.tasks[t.ID] = e
	w.mu.Unlock()
	return &llm.Retry{Model: w.counted(bill), Notify: func(p llm.Waiting) { w.note(t.ID, retryText(p)) }}
}

func retryText(p llm.Waiting) string {
	return fmt.Sprintf("the model is asked again in %v: %v", p.Wait, p.Err)
}

// settle ends the resources of a task, and books its usage.
func (w *Coder) settle(task string) {
	w.mu.Lock()
	e := w.tasks[task]
	delete(w.tasks, task)
	w.mu.Unlock()
	if e == nil {
		return
	}
	for _, s := range e.servers {
		_ = s.Close()
	}
	w.settleUsage(e)
}

// tools returns the tools of a task that reach beyond its container: those of its
// forge, and of MCP servers, which end with ctx.
func (w *Coder) tools(ctx context.Context, t coder.Task) ([]tool.Tool, error) {
	list, err := w.Client.Tools(t, w.Secrets)
	if err != nil {
		return nil, err
	}
	for _, party := range w.serversOf(ctx, t.ID) {
		list = append(list, party.Tools()...)
	}
	return w.GatedTools(list, w.outside, w.approver(t.ID), t.ID)
}

// serversOf starts the MCP servers of a task. Those that fail are noted and omitted.
func (w *Coder) serversOf(ctx context.Context, task string) []*mcpclient.Servers {
	w.mu.Lock()
	e := w.tasks[task]
	w.mu.Unlock()
	if e == nil || e.opened {
		return e.parties()
	}
	for _, s := range w.servers {
		party, err := mcpclient.Open(ctx, []mcpclient.Server{s},
			mcpclient.Options{Log: func(server, line string) { w.note(task, server+": "+line) }, Secrets: w.Secrets,
				Version: w.o.Version})
		if err != nil {
			w.note(task, "the tools of "+s.Name+" are missing: "+err.Error())
			continue
		}
		e.servers = append(e.servers, party)
	}
	e.opened = true
	return e.servers
}

func (e *taskResources) parties() []*mcpclient.Servers {
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
