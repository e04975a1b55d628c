package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/mcpserver"
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
	cmd := command("mcp", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) })
	f := cmd.Flags()
	o.hostFlags.register(f)
	f.Var((*nonEmpty)(&o.http), "http",
		"listen on `ADDRESS`, as 127.0.0.1:7420, instead of standard streams; loopback only")
	f.Var((*nonEmpty)(&o.tokenFile), "token-file", "with --http: read the token from `FILE`, or create it")
	f.BoolVar(&o.noToken, "no-token", false, "with --http: accept every user and program of this machine")
	f.StringArrayVar(&o.readable, "read", nil,
		"grant the real `DIR` for reading to virtual sandboxes, which start in the first")
	f.StringArrayVar(&o.writable, "write", nil, "grant the real `DIR` for reading and writing to virtual sandboxes")
	return cmd
}

func (o *mcpFlags) run(ctx context.Context, s streams) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	guard, err := app.MCPAccessOptions{HTTP: o.http != "", TokenFile: o.tokenFile, NoToken: o.noToken}.Access(
		app.TokenStore(conf))
	if err != nil {
		return err
	}
	m, err := app.NewSandboxes(conf, app.Grants{Readable: o.readable, Writable: o.writable})
	if err != nil {
		return err
	}
	defer m.Close()
	m.Secrets.Add(guard.Token)
	m.SweepLater(ctx)
	options := m.Options(version)
	options.Caller = mcpserver.Bearer(guard.Holder)
	options.Elicit = guard.MaxAnswer(app.Elicitation(conf))
	app.AskPage(&options, conf)
	door := mcpserver.New(options)
	defer app.CloseMCP(ctx, door)
	if o.http == "" {
		return door.Stdio(ctx, s.in, s.out)
	}
	return door.Listen(ctx, o.http, func(url string) {
		fmt.Fprintf(s.err, "hako: serving MCP at %s\nhako: %s\n", url, guard.Note)
	})
}
