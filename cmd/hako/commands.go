package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpFiles have the help of all commands: for each a line "% PATH", its usage, one line and a longer description,
// and examples.
//
//go:embed help
var helpFiles embed.FS

// command returns a command with its help. Nil args accepts any number of arguments.
func command(path string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	file, _, _ := strings.Cut(path, " ")
	text, err := helpFiles.ReadFile("help/" + file + ".txt")
	_, section, found := strings.Cut("\n"+string(text), "\n% "+path+"\n")
	if err != nil || !found {
		panic("no help for " + path)
	}
	section, _, _ = strings.Cut(section, "\n% ")
	section, examples, _ := strings.Cut(section, "\nExamples:\n")
	use, section, _ := strings.Cut(section, "\n")
	short, long, _ := strings.Cut(section, "\n")
	return &cobra.Command{Use: use, Short: short, Long: strings.Trim(long, "\n"),
		Example: strings.TrimRight(examples, "\n"), Args: args, RunE: run}
}

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
		{ID: groupAdmin, Title: "Administration:"},
	}
}

// A subcommand has the group that lists it.
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

func (c subcommand) build(s streams) *cobra.Command {
	cmd := c.make(s)
	cmd.GroupID = c.group
	return cmd
}
