package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/agent"
	"hako/audit"
	"hako/internal/app"
	"hako/internal/app/access"
	"hako/internal/app/asksocket"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/mcpserver"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/health"
	"hako/internal/web/api"
	"hako/internal/web/auth"
	"hako/internal/web/console"
	"hako/quota"
	"hako/run/fault"
)

// A house is all that hako serve keeps open.
type house struct {
	*app.App
	*serveFlags
	conf    *config.Config
	s       streams
	says    *slog.Logger
	desk    *questions.List // where questions of all gates wait for a person
	sources api.Sources
	sandbox *app.Sandboxes
	door    *mcpserver.Door
	metrics *health.Metrics
	agents  *view    // nil without --agent
	put     []func() // what is to be put away at the end, in reverse
}

func (h *house) close() {
	for i := len(h.put) - 1; i >= 0; i-- {
		h.put[i]()
	}
}

func (h *house) later(do func()) { h.put = append(h.put, do) }

// house puts everything together.
func (o *serveFlags) house(ctx context.Context, s streams, conf *config.Config) (h *house, err error) {
	h = &house{serveFlags: o, conf: conf, s: s, desk: &questions.List{Wait: config.ApprovalTimeout.Of(conf).V}}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.App, err = app.Open(conf); err != nil {
		return h, err
	}
	h.later(h.App.Close)
	h.says = health.Logger(s.err, config.AgentLogFormat.Of(conf).V, o.level(), h.Secrets)
	h.sources.Approvals = h.desk
	for _, open := range []func(context.Context) error{h.openDoor, h.openLedger, h.openParlour, h.openTasks} {
		if err := open(ctx); err != nil {
			return h, err
		}
	}
	h.openBoxes()
	h.showFigures()
	return h, nil
}

func (o *serveFlags) level() slog.Leveler {
	if o.verbose {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// openLedger shows what was done and what may be done.
func (h *house) openLedger(context.Context) error {
	path := config.AuditPath.Of(h.conf).V
	record := records.NewRecord(path)
	h.later(func() { _ = record.Close() })
	record.Begin()
	table, err := app.Prices(h.conf)
	if err != nil {
		return err
	}
	h.sources.Live, h.sources.Record, h.sources.Policy = records.NewLive(path), record, app.RulesOf(h.conf, h.Workers)
	h.sources.Budget = records.Budget{
		State: quota.UsageFile{Path: h.conf.StateFile("usage.json")}, Total: h.conf.TotalTokens(), Weights: app.Weights(h.conf),
		Cost: func(model string, u quota.Usage) float64 {
			dollars, _, _ := table.Cost(model, u)
			return dollars
		},
	}
	return nil
}

// openParlour is for talking to the secretary. Her questions go to the page.
func (h *house) openParlour(ctx context.Context) error {
	if h.model != "" { // a mistake is said now, not at the first word
		if _, err := app.ChooseModel(ctx, app.ModelSource{Conf: h.conf, Record: h.RecordNetwork("serve")}, h.model); err != nil {
			return err
		}
	}
	st, err := store.Open(config.SecretaryDatabase.Of(h.conf).V)
	if err != nil {
		return err
	}
	h.later(func() { _ = st.Close() })
	o := app.SecretaryOptions{Model: h.model, NeedRoot: h.root != "", Store: st, Workers: h.Workers}
	p := app.SecretarySessions(h.conf, o, h.desk.AskIn)
	h.later(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = p.Close(ctx) // what does not end in time ends with the process
	})
	h.sources.Secretary, h.sources.Todos = p, &sessions.Todos{Store: st, Secrets: h.Secrets}
	return nil
}

// openDoor makes the MCP endpoint. Questions about what clients want go to the
// page: who has the token of a client must not judge its commands.
func (h *house) openDoor(ctx context.Context) (err error) {
	if h.sandbox, err = app.NewSandboxes(h.conf, app.Grants{Readable: h.readable, Writable: h.writable}); err != nil {
		return err
	}
	h.later(h.sandbox.Close)
	h.Workers = h.sandbox.Workers
	h.sandbox.SweepLater(ctx)
	options := h.sandbox.Options(version)
	options.Ask, options.Elicit = h.desk.Ask, app.Elicitation(h.conf)
	options.Caller = api.Caller
	h.door = mcpserver.New(options)
	h.later(func() { app.CloseDoor(ctx, h.door) })
	return nil
}

// openTasks shows the tasks of the coding agent, and is the agent if that is
// wanted.
func (h *house) openTasks(ctx context.Context) (err error) {
	h.metrics = health.NewMetrics(health.Sources{Version: version, Log: h.says})
	if h.agent {
		return h.openAgent(ctx)
	}
	queued, err := app.OpenQueue(ctx, h.conf, h.s.waiting)
	if err != nil { // everything else can be watched
		h.says.Warn("tasks are not shown", "error", err)
		return nil
	}
	h.later(func() { _ = queued.Close() })
	h.sources.Tasks = &tasks.Service{Queue: queued, Record: h.deedOf}
	return nil
}

// openAgent is the coding agent in this process. Its questions go to the page.
func (h *house) openAgent(ctx context.Context) (err error) {
	q, err := app.OpenTaskQueue(ctx, h.conf, h.s.waiting)
	if err != nil {
		return err
	}
	q.Workers = h.Workers
	o := app.CoderOptions{Produce: true, Work: true, Model: h.model, Ask: h.desk.Ask}
	if h.agents, err = newView(ctx, h.s, q, o, false); err != nil {
		return err
	}
	h.later(h.agents.Close)
	h.agents.daemon = true
	h.metrics, h.sources.Tasks = h.agents.metrics, &tasks.Service{Queue: h.agents.Queue, Record: h.deedOf}
	return h.agents.CheckForges(ctx)
}

// openBoxes shows the sandboxes and containers.
func (h *house) openBoxes() {
	boxes := &sandboxes.Service{Provider: h.door, Record: h.deedOf, Secrets: h.Secrets}
	if dock, err := h.sandbox.Manager(); err == nil { // without one there are the others
		boxes.Containers = dock
	} else {
		h.says.Warn("containers are not shown", "error", err)
	}
	h.sources.Sandboxes = boxes
}

// showFigures adds to the metrics what only this process knows, and what the
// record says of the last day.
func (h *house) showFigures() {
	h.metrics.Show(health.Figure{Name: "hako_approvals_waiting", About: "Questions that wait for a person.", Ask: func(ctx context.Context) (map[string]int, error) {
		all, err := h.desk.Pending(ctx)
		return map[string]int{"": len(all)}, err
	}})
	h.metrics.Show(health.Figure{Name: "hako_sandboxes", About: "Sandboxes of MCP clients, by kind.", Label: "kind", Ask: func(context.Context) (map[string]int, error) {
		kinds := map[string]int{"virtual": 0, "host": 0, "container": 0}
		for _, b := range h.door.Sandboxes() {
			kinds[b.Kind]++
		}
		return kinds, nil
	}})
	h.metrics.Show(health.Figure{Name: "hako_requests_last_day", About: "Requests on record in the last 24 hours, and how many failed or had a command denied.", Label: "which", Ask: func(ctx context.Context) (map[string]int, error) {
		s, err := h.sources.Record.Stats(ctx, time.Now().Add(-24*time.Hour))
		return map[string]int{"all": int(s.Requests), "failed": int(s.Failed), "denied": int(s.Denied)}, err
	}})
}

// deedOf puts on record what a person has done to a task or a sandbox.
func (h *house) deedOf(who access.Actor, what string) (func(error), error) {
	return h.Record("serve:"+who.Name, what)
}

// serve lets people in until ctx ends.
func (h *house) serve(ctx context.Context) error {
	tokens, alias := app.TokenStore(h.conf), alias()
	web := &api.Server{
		Addr: h.addr, TLS: api.Certificate{Cert: h.cert, Key: h.key}, Public: h.public, Names: append(slices.Clone(h.names), alias),
		Sources: h.sources, Tokens: tokens, Record: h.ordered, MCP: h.door.Handler(), Metrics: h.metrics.Handler(), Log: h.says,
	}
	web.Pages = console.New(console.Options{Sources: h.sources, Session: web.Session, Profiles: otherProfiles})
	addr, stop, err := web.Start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = stop(ctx) // whoever still asks is cut off
	}()
	defer h.openHatch()()
	if err := h.welcome(tokens, addr, alias); err != nil {
		return err
	}
	defer h.introduce(ctx)()
	return h.work(ctx)
}

// otherProfiles are the rules that can be looked at besides those for programs.
var otherProfiles = []string{"virtual", "container", "outside"}

// ordered puts on record what somebody wants done through the page or the API,
// and done what came of it.
func (h *house) ordered(actor, what string) (done func(error), err error) {
	told, err := h.passed("serve:"+actor, what)
	return func(err error) { _ = told("", err) }, err // it is done; that it was wanted is on record
}

// passed does so for another process, and takes the answer down in words.
func (h *house) passed(actor, what string) (done func(words string, err error) error, err error) {
	e := audit.Event{What: audit.Ordered, ID: agent.NewID(), Actor: actor, Script: what}
	began := time.Now()
	return func(words string, err error) error {
		end := audit.Event{What: audit.Answered, ID: e.ID, Actor: e.Actor, Path: what, Reason: words, Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Error, end.Kind = err.Error(), fault.KindOf(err).String()
		}
		return h.Log.Append(end)
	}, h.Log.Append(e)
}

// openHatch lets other processes of this user ask at the page. Everything else
// works without.
func (h *house) openHatch() (shut func()) {
	complain := func(err error) { h.says.Warn("other processes cannot ask at the page", "error", err) }
	shut, err := (&asksocket.Hatch{Dir: app.AskSocketDir(h.conf), Ask: h.desk.Ask, Record: h.passed, Complain: complain}).Open()
	if err != nil {
		complain(err)
		return func() {}
	}
	return shut
}

// alias is a name of this machine that nobody else knows: a browser shows the
// cookie of 127.0.0.1 to every port of it, where programs of others may listen.
// Browsers know what is below localhost without asking anybody.
func alias() string { return "hako-" + strings.ToLower(rand.Text()[:10]) + ".localhost" }

// welcome says where it is and how to come in.
func (h *house) welcome(tokens *auth.Store, addr, alias string) error {
	url, token := h.url(addr), ""
	page := h.page(addr, alias)
	if !h.noToken {
		var err error
		if token, err = tokens.Ephemeral(printedName, access.Operator); err != nil {
			return err
		}
		h.Secrets.Add(token)
	}
	if h.json {
		return encode(h.s.out, map[string]string{"url": url, "page": page, "token": token})
	}
	fmt.Fprintf(h.s.err, "hako: serving at %s\n", page)
	if page != url {
		fmt.Fprintf(h.s.err, "hako: programs come in at %s\n", url)
	}
	if token != "" {
		fmt.Fprintf(h.s.err, "hako: log in with this token, which lasts until Ctrl-C: %s\n", token)
	}
	return nil
}

// introduce says with whom one talks, or what is missing, before the first word
// is said to her. Nobody waits for it: a server of models may take its time.
func (h *house) introduce(ctx context.Context) (enough func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { h.tellModel(ctx) })
	return func() {
		cancel()
		asking.Wait()
	}
}

// tellModel says which model the secretary has. Everything else works without.
func (h *house) tellModel(ctx context.Context) {
	c, err := app.ChooseSecretaryModel(ctx, app.ModelSource{Conf: h.conf, Record: h.RecordNetwork("serve")}, h.model)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		h.says.Warn("the secretary has no model", "error", err)
	default:
		h.says.Info("the secretary has a model", "model", c.String())
	}
}

// url is where programs go: by the name that others know, if there is one.
func (h *house) url(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	switch {
	case len(h.names) > 0:
		return fmt.Sprintf("%s%s:%d/", h.scheme(), h.names[0], at.Port())
	case err == nil && at.Addr().IsUnspecified():
		return fmt.Sprintf("%s127.0.0.1:%d/", h.scheme(), at.Port())
	}
	return h.scheme() + addr + "/"
}

// page is where people go.
func (h *house) page(addr, alias string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() || len(h.names) > 0 || h.cert != "" {
		return h.url(addr)
	}
	return fmt.Sprintf("%s%s:%d/", h.scheme(), alias, at.Port())
}

func (h *house) scheme() string {
	if h.cert != "" {
		return "https://"
	}
	return "http://"
}

// work is the coding agent, or waiting for the end.
func (h *house) work(ctx context.Context) error {
	if h.agents != nil {
		return h.agents.serve(ctx)
	}
	<-ctx.Done()
	return nil
}
