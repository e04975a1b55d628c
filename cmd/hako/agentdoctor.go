package main

import (
	"context"
	"errors"
	"strings"

	"hako/agent/tool/mcpclient"
	"hako/internal/app"
	"hako/internal/app/coder/queue"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/run/fault"
)

// checkForges asks each forge for the name of the agent's account.
func checkForges(ctx context.Context, at app.ModelSource) finding {
	list, err := app.Forges(at.Conf, new(redact.Set))
	if len(list) == 0 && !app.AnyForge(at.Conf) {
		return off("no token of GitHub or GitLab",
			"export GITHUB_PERSONAL_ACCESS_TOKEN=… or GITLAB_PERSONAL_ACCESS_TOKEN=… to use hako agent; docs/agent.md says how")
	}
	if err != nil {
		return bad("", err)
	}
	var names []string
	for _, f := range list {
		defer f.Close()
		if err := at.Record(f.Provider); err != nil {
			return bad("", err)
		}
		name, err := f.CurrentUser(ctx)
		if err != nil {
			return bad("", err)
		}
		if err := f.Check(); err != nil {
			return bad("", err)
		}
		names = append(names, f.Provider+" as "+visible(name))
	}
	return good("%s", strings.Join(names, ", "))
}

// checkServers checks that the MCP servers of the settings could be started.
func checkServers(_ context.Context, at app.ModelSource) finding {
	all, err := at.Conf.MCPServers()
	if err != nil {
		return bad("", err)
	}
	if len(all) == 0 {
		return off("no MCP servers", "mcp_servers in the settings gives the agent more tools")
	}
	var names []string
	for _, m := range all {
		if err := mcpclient.Server(m).Check(); err != nil {
			return bad("", err)
		}
		names = append(names, m.Name)
	}
	return good("%s", strings.Join(names, ", "))
}

// checkQueue asks a remote queue for its counters. It does not open the embedded one.
func checkQueue(ctx context.Context, at app.ModelSource) finding {
	if config.QueueURL.Of(at.Conf).V == "" {
		return good("embedded; it is served by whichever hako agent runs first")
	}
	o := app.QueueOptions(at.Conf)
	o.RetryFor = checkTime / 3 // it must fail before our own timeout
	q, err := queue.Open(ctx, o)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return bad("", &fault.Error{Kind: fault.Unavailable, Op: "ask queue", Subject: o.URL, Why: "nobody answers",
			Hint: "start the NATS server there, or change queue.url"})
	case err != nil:
		return bad("", err)
	}
	defer q.Close()
	n, err := q.Stats(ctx)
	if err != nil {
		return bad("", err)
	}
	return good("answers: %d tasks wait, %d are worked on, %d were given up", n.Queued, n.Held, n.Dead)
}
