package main

import (
	"context"
	"fmt"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/container"
	"hako/container/egress"
	"hako/container/proxyproc"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/policy"
	"hako/run/fault"
)

func newEnvPool(s streams) *cobra.Command {
	var o envFlags
	var size int
	cmd := &cobra.Command{
		Use:   "pool [--size N]",
		Short: "Keep containers warm, so that hako env up takes milliseconds",
		Long: `pool starts containers before anybody needs them, of the environments and in the
number that command_executor.pool says, and replaces each that a task takes. It
works until it is interrupted, and removes those that were not used.`,
		Example: "  hako env pool\n  hako env pool --size 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("size") && (size < 1 || size > 100) {
				return &fault.Error{Kind: fault.Invalid, Op: "env pool", Subject: "--size " + strconv.Itoa(size), Why: "it is not from 1 to 100", Hint: "name a number of containers to keep"}
			}
			b, err := o.berth(s, func(conf *config.Config, c *container.Options) error {
				c.Detached, c.Warm = false, warmth(conf, size)
				c.Progress = func(line string) { fmt.Fprintln(s.err, line) }
				return nil
			})
			if err != nil {
				return err
			}
			defer b.close()
			return b.serve(cmd.Context(), s)
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().IntVar(&size, "size", 0, "keep `N` of each environment (default command_executor.pool.size)")
	return cmd
}

// warmth is how many containers of each environment are kept warm.
func warmth(conf *config.Config, size int) map[string]int {
	if size <= 0 {
		size = config.PoolSize.Of(conf).V
	}
	names := config.PoolEnvironment.Of(conf).V
	if len(names) == 0 {
		names = []string{config.ContainerDefault.Of(conf).V}
	}
	warm := make(map[string]int)
	for _, name := range names {
		warm[name] = size
	}
	return warm
}

// serve keeps the pool filled until it is interrupted.
func (b *berth) serve(ctx context.Context, s streams) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go b.Watch(ctx, time.Duration(config.CleanupInterval.Of(b.conf).V)*time.Hour)
	b.Warmly(ctx)
	if err := b.WaitWarm(ctx); err == nil {
		fmt.Fprintln(s.out, "warm: "+counts(b.WarmCount()))
	} else if ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	b.Manager.Rest()
	return b.CleanupAll(context.WithoutCancel(ctx))
}

func counts(of map[string]int) string {
	var parts []string
	for name, n := range of {
		parts = append(parts, strconv.Itoa(n)+" "+name)
	}
	return strings.Join(parts, ", ")
}

// newEnvKeep serves the way out of a container. Hako starts it by itself.
func newEnvKeep(streams) *cobra.Command {
	return &cobra.Command{
		Use: "keep", Hidden: true, Args: cobra.NoArgs,
		Short: "Serve the way out of one container; hako starts this by itself",
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, l, err := proxyproc.Read()
			if err != nil {
				return err
			}
			var hidden redact.Set
			hidden.Add(st.Hidden...)
			log, err := audit.Open(st.Audit, audit.Options{Secrets: &hidden})
			if err != nil {
				return err
			}
			defer log.Close()
			return proxyproc.Serve(cmd.Context(), st, l, connections(st.Task, log))
		},
	}
}

// connections puts what goes through a proxy on record.
func connections(task string, log audit.Log) func(egress.Event) error {
	what := map[string]string{egress.Opened: audit.Opened, egress.Denied: audit.Denied, egress.Closed: audit.Closed}
	return func(e egress.Event) error {
		path := e.Host
		if e.Port != 0 {
			path += ":" + strconv.Itoa(e.Port)
		}
		return log.Append(audit.Event{
			What: what[e.What], ID: task + "/net-" + strconv.FormatInt(e.ID, 10), Actor: "task:" + task, Mode: "network",
			Path: path + e.Path, Argv: methodOf(e), Reason: e.Why, Count: e.Count, Bytes: e.Sent + e.Received, Micros: e.Duration.Microseconds(),
		})
	}
}

func methodOf(e egress.Event) []string {
	if e.Method == "" {
		return nil
	}
	return []string{e.Method}
}

// allowedCommands lists what the rules allow, for prompts.
func allowedCommands(p *policy.Policy) container.Allowed {
	out := container.Allowed{Commands: make(map[string][]string), Text: p.AllowedText()}
	for _, group := range p.Allowed() {
		out.Commands[group.Name] = group.Commands
	}
	return out
}
