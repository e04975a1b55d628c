package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"hako/agent/tool"
	"hako/internal/app/mcpserver"
	"hako/internal/config"
	"hako/internal/websearch"
	"hako/quota"
)

// mcpFlags are the flags of hako mcp.
type mcpFlags struct {
	hostFlags
	http      string
	tokenFile string
	noToken   bool
	readable  []string
	writable  []string
}

func newMCP(s streams) *cobra.Command {
	var o mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp [--http ADDRESS]",
		Short: "Serve sandboxes to MCP clients: Claude Code, Codex, VS Code and others",
		Long: `mcp offers tools to any client of the Model Context Protocol: sandbox_create makes
a virtual shell, a place for programs of this machine or a container, and the
other tools run commands, edit files and start jobs in it. Everything passes the
gate. Alone it speaks on its standard streams, as clients that start it want it;
with --http it listens on this machine, and lets in who sends the token that it
prints at the start: "Authorization: Bearer TOKEN". A token that stays the same
comes from --token-file or $HAKO_MCP_TOKEN; clients and operators of hako serve may use theirs.
docs/mcp.md has recipes for clients.`,
		Example: `  claude mcp add hako -- hako mcp --root .
  hako mcp --http 127.0.0.1:7420 --token-file ~/.config/hako/mcp.token
  hako mcp --read ~/notes --write /tmp/out`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	f := cmd.Flags()
	o.hostFlags.register(f)
	f.Var((*filled)(&o.http), "http", "listen on `ADDRESS`, as 127.0.0.1:7420, instead of standard streams; loopback only")
	f.Var((*filled)(&o.tokenFile), "token-file", "with --http: the token is in `FILE`, which is made if there is none")
	f.BoolVar(&o.noToken, "no-token", false, "with --http: let in every user and program of this machine")
	f.StringArrayVar(&o.readable, "read", nil, "grant the real `DIR` for reading to virtual sandboxes, which start in the first")
	f.StringArrayVar(&o.writable, "write", nil, "grant the real `DIR` for reading and writing to virtual sandboxes")
	return cmd
}

func (o *mcpFlags) run(ctx context.Context, s streams) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	guard, err := o.guard(tokenStore(conf))
	if err != nil {
		return err
	}
	m, err := o.maker(conf)
	if err != nil {
		return err
	}
	defer m.close()
	m.secrets.Add(guard.token)
	m.sweepLater(ctx)
	options := m.options()
	options.Caller = mcpserver.Bearer(guard.holder)
	options.Elicit = guard.elicits(elicitation(conf))
	askPage(&options, conf)
	door := mcpserver.New(options)
	defer closeDoor(ctx, door)
	if o.http == "" {
		return door.Stdio(ctx, s.in, s.out)
	}
	return door.Listen(ctx, o.http, func(url string) {
		fmt.Fprintf(s.err, "hako: serving MCP at %s\nhako: %s\n", url, guard.told)
	})
}

// options are what a door is made of that has m's sandboxes.
func (m *mcpMaker) options() mcpserver.Options {
	return mcpserver.Options{Version: version, Maker: m, Tools: m.webTools(), Record: m.record, Removed: removedFrom(tokenStore(m.conf)), Policy: rulesOf(m.conf, m.workers), Secrets: m.secrets, Egress: networkOf(m.conf) != "none"}
}

// closeDoor closes all sandboxes. What cannot be closed is removed by the next who
// starts.
func closeDoor(ctx context.Context, door *mcpserver.Door) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_ = door.Close(ctx)
}

// maker opens the record and reads the rules for sandboxes.
func (o *mcpFlags) maker(conf *config.Config) (*mcpMaker, error) {
	// A call leaves much garbage behind and little else: collected half as often,
	// the slowest of many at once are twice as fast (docs/mcp.md has the figures).
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(192 << 20)
	if err := cmp.Or(rootThere(conf), o.grantsThere(), apart(conf, o.writable...)); err != nil {
		return nil, err
	}
	b, err := recorder(conf)
	if err != nil {
		return nil, err
	}
	b.meter, b.patience = quota.New(conf.Budget(quota.Unlimited())), config.ApprovalTimeout.Of(conf).V
	m := &mcpMaker{opened: b, conf: conf, flags: o, asks: make(map[string]asker), larder: larder{limits: conf.Limits(quota.Lenient())}}
	if _, err = loadPolicy(conf, "virtual"); err == nil { // mistakes in the rules are errors now, not at the first sandbox
		m.workers, err = startWorkers(conf, m.larder.kept)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	m.larder.workers, m.pooled = m.workers, m.workers.Close
	return m, nil
}

// webTools are those for the web, as far as they are set up.
func (m *mcpMaker) webTools() []tool.Tool {
	pages := &websearch.Reader{Fetcher: &websearch.Fetcher{Prefixes: config.WebPrefixes.Of(m.conf).V}, Fetched: m.fetchedBy}
	tools := []tool.Tool{tool.WebFetch(pages)}
	if engine, _, err := searchEngine(m.conf); err == nil {
		tools = append(tools, tool.WebSearch(engine))
	}
	return tools
}
