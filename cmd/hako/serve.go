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

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/access"
	"hako/internal/config"
	"hako/internal/health"
	"hako/internal/setup"
	"hako/internal/web/api"
	"hako/internal/web/auth"
	"hako/internal/web/console"
)

// serveFlags are the flags of hako serve.
type serveFlags struct {
	mcpFlags
	modelFlags
	addr      string
	cert, key string
	public    bool
	names     []string
	agent     bool
	verbose   bool
}

func newServe(s streams) *cobra.Command {
	var o serveFlags
	cmd := command("serve", func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return needSubcommand(cmd, args)
		}
		return nil
	}, func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) })
	o.register(cmd)
	cmd.AddCommand(newServeToken(s))
	return cmd
}

func (o *serveFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.hostFlags.register(f)
	f.StringVar(&o.addr, "addr", defaultAddress, "listen on `HOST:PORT`; port 0 means any that is free")
	f.Var((*nonEmpty)(&o.cert), "tls-cert", "the certificate in the PEM `FILE`; needed beyond this machine")
	f.Var((*nonEmpty)(&o.key), "tls-key", "its key in the PEM `FILE`")
	f.BoolVar(&o.public, "public", false, "listen beyond this machine without TLS, behind a proxy with TLS")
	f.StringArrayVar(&o.names, "name", nil, "accept the host name `HOST`, as box.example.com")
	f.BoolVar(&o.agent, "agent", false, "also run the coding agent")
	f.BoolVar(&o.noToken, "no-token", false, "print no token; accept only those of hako serve token")
	f.StringVar(&o.model, "model", "", "the `MODEL` of the secretary and the agent, as in hako run")
	f.StringArrayVar(&o.readable, "read", nil, "grant the real `DIR` for reading to virtual sandboxes of MCP clients")
	f.StringArrayVar(&o.writable, "write", nil, "grant the real `DIR` for reading and writing to them")
	f.BoolVar(&o.json, "json", false, "print {url, page, token} as JSON when it is ready")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log every request")
}

func (o *serveFlags) run(ctx context.Context, s streams) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	h, err := o.open(ctx, s, conf)
	if err != nil {
		return err
	}
	defer h.Close()
	return h.serve(ctx)
}

func (o *serveFlags) level() slog.Leveler {
	if o.verbose {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// A webServer is the server with the console, and the coding agent with --agent.
type webServer struct {
	*app.Server
	*serveFlags
	s       streams
	log     *slog.Logger
	metrics *health.Metrics
	sources api.Sources
	agents  *view // nil without --agent
}

// open opens everything that is served.
func (o *serveFlags) open(ctx context.Context, s streams, conf *config.Config) (h *webServer, err error) {
	h = &webServer{serveFlags: o, s: s}
	h.log = health.Logger(s.err, config.AgentLogFormat.Of(conf).V, o.level(), setup.Secrets(conf))
	h.Server, err = app.OpenServer(ctx, conf, app.ServerOptions{
		Grants: app.Grants{Readable: o.readable, Writable: o.writable}, Model: o.model, NeedRoot: o.root != "",
		Version: version, Caller: api.Caller, Warn: func(message string, err error) { h.log.Warn(message, "error", err) },
	})
	if err != nil {
		return nil, err
	}
	h.log = health.Logger(s.err, config.AgentLogFormat.Of(conf).V, o.level(), h.Secrets)
	h.sources = api.Sources{
		Live: h.Live, Approvals: h.Questions, Secretary: h.Secretary, Todos: h.Todos, Sandboxes: h.SandboxService,
		Budget: h.Budget, Record: h.Records, Policy: h.Policy,
	}
	if err := h.openTasks(ctx); err != nil {
		h.Close()
		return nil, err
	}
	for _, f := range h.Figures() {
		h.metrics.Show(f)
	}
	return h, nil
}

// Close closes the coding agent before the parts that it uses.
func (h *webServer) Close() {
	if h.agents != nil {
		h.agents.Close()
	}
	h.Server.Close()
}

// openTasks opens the queue of the coding agent, or the agent itself with --agent.
func (h *webServer) openTasks(ctx context.Context) (err error) {
	h.metrics = health.NewMetrics(health.Sources{Version: version, Log: h.log})
	if h.agent {
		return h.openAgent(ctx)
	}
	tasks, err := h.OpenQueue(ctx, h.s.waiting)
	if err != nil { // everything else still works
		h.log.Warn("tasks are not shown", "error", err)
		return nil
	}
	h.sources.Tasks = tasks
	return nil
}

// openAgent opens the coding agent in this process. Its questions go to the console.
func (h *webServer) openAgent(ctx context.Context) (err error) {
	q, err := app.OpenTaskQueue(ctx, h.Conf, h.s.waiting)
	if err != nil {
		return err
	}
	q.Workers = h.Workers
	o := app.CoderOptions{Produce: true, Work: true, Model: h.model, Ask: h.Questions.Ask}
	agents, err := newView(ctx, h.s, q, o, false)
	if err != nil {
		return err
	}
	agents.daemon, h.agents = true, agents
	h.metrics, h.sources.Tasks = h.agents.metrics, h.Tasks(h.agents.Queue)
	return h.agents.CheckForges(ctx)
}

// serve serves until ctx ends.
func (h *webServer) serve(ctx context.Context) error {
	tokens, alias := app.TokenStore(h.Conf), randomName()
	web := &api.Server{
		Addr: h.addr, TLS: api.Certificate{Cert: h.cert, Key: h.key}, Public: h.public,
		Names:   append(slices.Clone(h.names), alias),
		Sources: h.sources, Tokens: tokens, Record: h.RecordOrder, MCP: h.MCP.Handler(), Metrics: h.metrics.Handler(),
		Log: h.log,
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
	defer h.OpenAskSocket()()
	if err := h.printAddress(tokens, addr, alias); err != nil {
		return err
	}
	defer h.logModelLater(ctx)()
	return h.work(ctx)
}

// otherProfiles are the policy profiles that the console shows besides the host profile.
var otherProfiles = []string{"virtual", "container", "outside"}

// randomName is a host name of this machine that nobody else knows: a browser sends a cookie of 127.0.0.1 to every
// port, where other users' programs may listen. Browsers resolve names below localhost themselves.
func randomName() string { return "hako-" + strings.ToLower(rand.Text()[:10]) + ".localhost" }

// printAddress prints the URL and the token.
func (h *webServer) printAddress(tokens *auth.Store, addr, alias string) error {
	url, token := h.url(addr), ""
	page := h.page(addr, alias)
	if !h.noToken {
		var err error
		if token, err = tokens.Ephemeral(ephemeralName, access.Operator); err != nil {
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

// logModelLater logs the model of the secretary in the background: a provider may be slow.
func (h *webServer) logModelLater(ctx context.Context) (enough func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { h.logModel(ctx) })
	return func() {
		cancel()
		asking.Wait()
	}
}

func (h *webServer) logModel(ctx context.Context) {
	c, err := h.SecretaryModel(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		h.log.Warn("the secretary has no model", "error", err)
	default:
		h.log.Info("the secretary has a model", "model", c.String())
	}
}

// url is where programs go: by the name that others know, if there is one.
func (h *webServer) url(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	switch {
	case len(h.names) > 0:
		return fmt.Sprintf("%s%s:%d/", h.scheme(), h.names[0], at.Port())
	case err == nil && at.Addr().IsUnspecified():
		return fmt.Sprintf("%s127.0.0.1:%d/", h.scheme(), at.Port())
	}
	return h.scheme() + addr + "/"
}

// page is the URL of the console.
func (h *webServer) page(addr, alias string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() || len(h.names) > 0 || h.cert != "" {
		return h.url(addr)
	}
	return fmt.Sprintf("%s%s:%d/", h.scheme(), alias, at.Port())
}

func (h *webServer) scheme() string {
	if h.cert != "" {
		return "https://"
	}
	return "http://"
}

// work runs the coding agent, or waits for the end.
func (h *webServer) work(ctx context.Context) error {
	if h.agents != nil {
		return h.agents.serve(ctx)
	}
	<-ctx.Done()
	return nil
}
