package main

import "github.com/spf13/cobra"

// The groups of commands in hako --help, in their order.
const (
	groupAsk   = "ask"
	groupRun   = "run"
	groupAgent = "agent"
	groupAdmin = "admin"
)

func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: groupAsk, Title: "Ask a model:"},
		{ID: groupRun, Title: "Run commands:"},
		{ID: groupAgent, Title: "Agents and servers:"},
		{ID: groupAdmin, Title: "Look after it:"},
	}
}

// A subcommand is one of hako's, with the group it is listed in.
type subcommand struct {
	name, group string
	make        func(streams) *cobra.Command
}

// commands is the list of subcommands.
var commands = []subcommand{
	{"run", groupAsk, newRun},
	{"chat", groupAsk, newChat},
	{"cmd", groupAsk, newCmd},
	{"web", groupAsk, newWeb},
	{"models", groupAsk, newModels},
	{"sh", groupRun, newSh},
	{"exec", groupRun, newExec},
	{"host", groupRun, newHost},
	{"env", groupRun, newEnv},
	{"secretary", groupAgent, newSecretary},
	{"todo", groupAgent, newTodo},
	{"agent", groupAgent, newAgent},
	{"mcp", groupAgent, newMCP},
	{"serve", groupAgent, newServe},
	{"policy", groupAdmin, newPolicy},
	{"audit", groupAdmin, newAudit},
	{"quota", groupAdmin, newQuota},
	{"config", groupAdmin, newConfig},
	{"doctor", groupAdmin, newDoctor},
	{"demo", groupAdmin, newDemo},
	{"version", groupAdmin, newVersion},
	{"man", groupAdmin, newMan},
}

// build makes the command in its group.
func (c subcommand) build(s streams) *cobra.Command {
	cmd := c.make(s)
	cmd.GroupID = c.group
	return cmd
}
