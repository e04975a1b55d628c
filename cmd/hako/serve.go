package main

import (
	"context"

	"github.com/spf13/cobra"
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
	cmd := &cobra.Command{
		Use:   "serve [--addr HOST:PORT] [--agent]",
		Short: "Serve the console page, the HTTP API and MCP: watch, approve, stop, talk",
		Long: `serve opens a page for people and an API for programs: what models do now, what
waits for an approval, the secretary, tasks, sandboxes, budget, record and rules,
and an MCP endpoint at /mcp. It listens on this machine only and lets in who has a
token: the one it prints, or one of hako serve token. docs/console.md shows it.`,
		Example: `  hako serve                                        # then open the address it prints
  hako serve --root ~/project --model ollama:qwen3
  hako serve --agent                                # work on issues in the same process
  hako serve token add mika --role reader           # for somebody who may only look
  hako serve --addr 0.0.0.0:8480 --tls-cert c.pem --tls-key k.pem --name box.example.com`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return needSubcommand(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	o.register(cmd)
	cmd.AddCommand(newServeToken(s))
	return cmd
}

func (o *serveFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.hostFlags.register(f)
	f.StringVar(&o.addr, "addr", usualAddress, "listen on `HOST:PORT`; port 0 means any that is free")
	f.Var((*filled)(&o.cert), "tls-cert", "the certificate in the PEM `FILE`; needed beyond this machine")
	f.Var((*filled)(&o.key), "tls-key", "its key in the PEM `FILE`")
	f.BoolVar(&o.public, "public", false, "listen beyond this machine without TLS, behind a proxy that has it")
	f.StringArrayVar(&o.names, "name", nil, "the `HOST` by which others reach it, as box.example.com")
	f.BoolVar(&o.agent, "agent", false, "also be the coding agent: pick up issues and work on them")
	f.BoolVar(&o.noToken, "no-token", false, "print no token; only those of hako serve token come in")
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
	h, err := o.house(ctx, s, conf)
	if err != nil {
		return err
	}
	defer h.close()
	return h.serve(ctx)
}
