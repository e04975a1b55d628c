package app

import (
	"context"
	"time"

	"hako/agent"
	"hako/audit"
	"hako/internal/app/access"
	"hako/internal/app/asksocket"
	"hako/internal/app/coder/queue"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/mcpserver"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/health"
	"hako/quota"
	"hako/run/fault"
)

// ServerOptions configure a [Server]. Caller and Warn are required.
type ServerOptions struct {
	Grants                                 // directories that virtual sandboxes of MCP clients see
	Model    string                        // of the secretary; empty means that of the settings, or a reachable one
	NeedRoot bool                          // it is an error if programs cannot run
	Version  string                        // reported to MCP clients
	Caller   mcpserver.CallerFunc          // identifies MCP clients
	Warn     func(message string, e error) // gets failures of optional parts
}

// A Server is the state of hako serve: sandboxes of MCP clients, the record, the secretary, and the questions of
// all gates.
type Server struct {
	*App
	Conf           *config.Config
	Questions      *questions.List // where questions wait for a person
	Sandboxes      *Sandboxes
	MCP            *mcpserver.Server
	Live           *records.Live
	Records        *records.Record
	Policy         records.Policy
	Budget         records.Budget
	Secretary      *sessions.Manager
	Todos          *sessions.Todos
	SandboxService *sandboxes.Service

	o       ServerOptions
	closers []func() // in the order of opening
}

// OpenServer assembles a server. It must be closed.
func OpenServer(ctx context.Context, conf *config.Config, o ServerOptions) (s *Server, err error) {
	s = &Server{Conf: conf, o: o, Questions: &questions.List{Wait: config.ApprovalTimeout.Of(conf).V}}
	if s.App, err = Open(conf); err != nil {
		return nil, err
	}
	s.onClose(s.App.Close)
	for _, open := range []func(context.Context) error{s.openMCP, s.openRecords, s.openSecretary} {
		if err := open(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	s.openSandboxes()
	return s, nil
}

// Close closes everything in reverse order of opening.
func (s *Server) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

func (s *Server) onClose(do func()) { s.closers = append(s.closers, do) }

// openMCP makes the MCP endpoint. Questions about commands of clients go to the web page: the holder of a
// client's token must not approve its commands.
func (s *Server) openMCP(ctx context.Context) (err error) {
	if s.Sandboxes, err = NewSandboxes(s.Conf, s.o.Grants); err != nil {
		return err
	}
	s.onClose(s.Sandboxes.Close)
	s.Workers = s.Sandboxes.Workers
	s.Sandboxes.SweepLater(ctx)
	options := s.Sandboxes.Options(s.o.Version)
	options.Ask, options.Elicit, options.Caller = s.Questions.Ask, Elicitation(s.Conf), s.o.Caller
	s.MCP = mcpserver.New(options)
	s.onClose(func() { CloseMCP(ctx, s.MCP) })
	return nil
}

// openRecords opens the record, the policy and the budget.
func (s *Server) openRecords(context.Context) error {
	path := config.AuditPath.Of(s.Conf).V
	s.Records = records.NewRecord(path)
	s.onClose(func() { _ = s.Records.Close() })
	s.Records.Begin()
	table, err := Prices(s.Conf)
	if err != nil {
		return err
	}
	s.Live, s.Policy = records.NewLive(path), rulesOf(s.Conf, s.Workers)
	s.Budget = records.Budget{
		State: UsageState(s.Conf), Total: s.Conf.TotalTokens(), Weights: Weights(s.Conf),
		Cost: func(model string, u quota.Usage) float64 {
			dollars, _, _ := table.Cost(model, u)
			return dollars
		},
	}
	return nil
}

// openSecretary opens the secretary. Its questions go to the web page.
func (s *Server) openSecretary(ctx context.Context) error {
	if s.o.Model != "" { // report a mistake now, not at the first request
		if _, err := ChooseModel(ctx, s.models(), s.o.Model); err != nil {
			return err
		}
	}
	st, err := store.Open(config.SecretaryDatabase.Of(s.Conf).V)
	if err != nil {
		return err
	}
	s.onClose(func() { _ = st.Close() })
	o := SecretaryOptions{Model: s.o.Model, NeedRoot: s.o.NeedRoot, Store: st, Workers: s.Workers}
	s.Secretary = SecretarySessions(s.Conf, o, s.Questions.AskIn)
	s.onClose(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.Secretary.Close(ctx) // what does not end in time ends with the process
	})
	s.Todos = &sessions.Todos{Store: st, Secrets: s.Secrets}
	return nil
}

func (s *Server) models() ModelSource {
	return ModelSource{Conf: s.Conf, Record: s.RecordNetwork("serve")}
}

// SecretaryModel returns the model of the secretary.
func (s *Server) SecretaryModel(ctx context.Context) (Model, error) {
	return chooseSecretaryModel(ctx, s.models(), s.o.Model)
}

// openSandboxes opens the service for sandboxes and containers.
func (s *Server) openSandboxes() {
	s.SandboxService = &sandboxes.Service{Provider: s.MCP, Record: s.recordAction, Secrets: s.Secrets}
	if manager, err := s.Sandboxes.Manager(); err == nil {
		s.SandboxService.Containers = manager
	} else {
		s.o.Warn("containers are not shown", err)
	}
}

// openQueue opens the queue of the coding agent.
func (s *Server) OpenQueue(ctx context.Context, waiting Waiting) (*tasks.Service, error) {
	q, err := openQueue(ctx, s.Conf, waiting)
	if err != nil {
		return nil, err
	}
	s.onClose(func() { _ = q.Close() })
	return s.Tasks(q), nil
}

// Tasks returns the service for the tasks of a queue.
func (s *Server) Tasks(q *queue.Queue) *tasks.Service {
	return &tasks.Service{Queue: q, Record: s.recordAction}
}

// Figures returns the metrics of this process and of the record.
func (s *Server) Figures() []health.Figure {
	return []health.Figure{
		{Name: "hako_approvals_waiting", About: "Questions that wait for a person.",
			Ask: func(ctx context.Context) (map[string]int, error) {
				all, err := s.Questions.Pending(ctx)
				return map[string]int{"": len(all)}, err
			}},
		{Name: "hako_sandboxes", About: "Sandboxes of MCP clients, by kind.", Label: "kind",
			Ask: func(context.Context) (map[string]int, error) {
				kinds := map[string]int{"virtual": 0, "host": 0, "container": 0}
				for _, b := range s.MCP.Sandboxes() {
					kinds[b.Kind]++
				}
				return kinds, nil
			}},
		{Name: "hako_requests_last_day",
			About: "Requests on record in the last 24 hours, and how many failed or had a command denied.", Label: "which",
			Ask: func(ctx context.Context) (map[string]int, error) {
				st, err := s.Records.Stats(ctx, time.Now().Add(-24*time.Hour))
				return map[string]int{"all": int(st.Requests), "failed": int(st.Failed), "denied": int(st.Denied)}, err
			}},
	}
}

// recordAction records what a person does to a task or a sandbox.
func (s *Server) recordAction(who access.Actor, what string) (func(error), error) {
	return s.Record("serve:"+who.Name, what)
}

// RecordOrder records an order through the page or the API. done records its outcome.
func (s *Server) RecordOrder(actor, what string) (done func(error), err error) {
	answered, err := s.recordAsked("serve:"+actor, what)
	return func(err error) { _ = answered("", err) }, err
}

// recordAsked records a question of another process. done records the answer.
func (s *Server) recordAsked(actor, what string) (done func(words string, err error) error, err error) {
	e := audit.Event{What: audit.Ordered, ID: agent.NewID(), Actor: actor, Script: what}
	began := time.Now()
	return func(words string, err error) error {
		end := audit.Event{What: audit.Answered, ID: e.ID, Actor: e.Actor, Path: what, Reason: words,
			Micros: time.Since(began).Microseconds()}
		if err != nil {
			end.Error, end.Kind = err.Error(), fault.KindOf(err).String()
		}
		return s.Log.Append(end)
	}, s.Log.Append(e)
}

// OpenAskSocket lets other processes of this user ask through the web page. It is optional.
func (s *Server) OpenAskSocket() (closeIt func()) {
	warn := func(err error) { s.o.Warn("other processes cannot ask at the page", err) }
	closeIt, err := (&asksocket.Server{Dir: askSocketDir(s.Conf), Ask: s.Questions.Ask, Record: s.recordAsked,
		Warn: warn}).Open()
	if err != nil {
		warn(err)
		return func() {}
	}
	return closeIt
}
