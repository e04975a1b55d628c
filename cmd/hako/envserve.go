package main

import (
	"context"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/container"
	"hako/container/egress"
	"hako/container/proxyproc"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/run/fault"
)

func newEnvPool(s streams) *cobra.Command {
	var o envFlags
	var size int
	cmd := command("env pool", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("size") && (size < 1 || size > 100) {
			return &fault.Error{Kind: fault.Invalid, Op: "env pool", Subject: "--size " + strconv.Itoa(size),
				Why: "it is not from 1 to 100", Hint: "name a number of containers to keep"}
		}
		o.change = func(conf *config.Config, c *container.Options) error {
			c.Detached, c.Warm = false, app.Warmth(conf, size)
			c.Progress = func(line string) { fmt.Fprintln(s.err, line) }
			return nil
		}
		return o.run(s, func(ctx context.Context, b *app.Containers, _ []string) error {
			return servePool(ctx, s, b)
		})(cmd, nil)
	})
	o.register(cmd.Flags())
	cmd.Flags().IntVar(&size, "size", 0, "keep `N` of each environment (default command_executor.pool.size)")
	return cmd
}

// servePool fills the pool until it is interrupted.
func servePool(ctx context.Context, s streams, b *app.Containers) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go b.Watch(ctx, time.Duration(config.CleanupInterval.Of(b.Conf).V)*time.Hour)
	b.KeepWarm(ctx)
	if err := b.WaitWarm(ctx); err == nil {
		fmt.Fprintln(s.out, "warm: "+counts(b.WarmCount()))
	} else if ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	b.Manager.StopWarming()
	return b.CleanupAll(context.WithoutCancel(ctx))
}

func counts(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, strconv.Itoa(of[name])+" "+name)
	}
	return strings.Join(parts, ", ")
}

// newEnvKeep returns the hidden command that serves the proxy of one container. Hako starts it itself.
func newEnvKeep(streams) *cobra.Command {
	cmd := command("env keep", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
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
	})
	cmd.Hidden = true
	return cmd
}

// connections records the connections of a proxy.
func connections(task string, log audit.Log) func(egress.Event) error {
	what := map[string]string{egress.Opened: audit.Opened, egress.Denied: audit.Denied, egress.Closed: audit.Closed}
	return func(e egress.Event) error {
		path := e.Host
		if e.Port != 0 {
			path += ":" + strconv.Itoa(e.Port)
		}
		return log.Append(audit.Event{
			What: what[e.What], ID: task + "/net-" + strconv.FormatInt(e.ID, 10), Actor: "task:" + task, Mode: "network",
			Path: path + e.Path, Argv: methodOf(e), Reason: e.Why, Count: e.Count, Bytes: e.Sent + e.Received,
			Micros: e.Duration.Microseconds(),
		})
	}
}

func methodOf(e egress.Event) []string {
	if e.Method == "" {
		return nil
	}
	return []string{e.Method}
}
