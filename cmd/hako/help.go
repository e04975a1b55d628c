package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hako/internal/config"
	"hako/run/fault"
)

// Tree returns all commands, to describe them, as manual pages do. Running one prints nothing.
func Tree() *cobra.Command {
	root := newRoot(newStreams(strings.NewReader(""), io.Discard, io.Discard))
	if about := childNamed(root, environmentTopic); about != nil {
		about.Long = environmentText()
	}
	return root
}

const environmentTopic = "environment"

// topics are help topics.
func topics() []*cobra.Command {
	variables := command(environmentTopic, nil, nil)
	variables.SetHelpFunc(func(cmd *cobra.Command, args []string) { // built on demand, not at every start
		cmd.Long = environmentText()
		cmd.Root().HelpFunc()(cmd, args)
	})
	return []*cobra.Command{command("exit-status", nil, nil), variables}
}

// environmentText lists the variables of all settings.
func environmentText() string {
	var b strings.Builder
	b.WriteString(command(environmentTopic, nil, nil).Long + "\n")
	for _, s := range defaultSettings().Show() {
		if s.Env != "" {
			b.WriteString("\n" + strings.ReplaceAll(s.Env, " ", ", ") + "\n    " + s.Name + ": " + s.Help)
		}
	}
	return b.String()
}

func defaultSettings() *config.Config {
	c, err := config.Load(config.Source{NoFile: true, Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		return new(config.Config)
	}
	return c
}

// addHelp adds what cobra lacks: topics, a help command that fails for unknown names, and the nearest name for an
// unknown subcommand.
func addHelp(root *cobra.Command) {
	root.AddCommand(topics()...)
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	addCompletionExamples(childNamed(root, "completion"))
	checkGroups(root)
}

// addCompletionExamples adds examples to the help of cobra's completion command.
func addCompletionExamples(c *cobra.Command) {
	c.Example = "  source <(hako completion bash)\n  hako completion fish > ~/.config/fish/completions/hako.fish"
	for _, shell := range c.Commands() {
		shell.Example = "  " + shell.CommandPath() + " > hako." + shell.Name()
	}
}

func checkGroups(root *cobra.Command) {
	for _, c := range root.Commands() {
		checkGroup(c)
	}
}

func checkGroup(c *cobra.Command) {
	if !c.HasSubCommands() {
		explainArgs(c)
		return
	}
	if !c.Runnable() { // cobra would print help and succeed
		c.RunE, c.DisableFlagsInUseLine = needSubcommand, true
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return needSubcommand(cmd, args)
		}
		return nil
	}
	for _, sub := range c.Commands() {
		checkGroup(sub)
	}
}

// explainArgs makes a command answer wrong arguments with its usage, where cobra only counts them.
func explainArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || fault.KindOf(err) != fault.Other {
			return err
		}
		why := "a word is missing"
		if len(args) > 0 {
			why = fmt.Sprintf("%q is one word too many", args[len(args)-1])
		}
		return &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Why: why, Hint: "write " + cmd.UseLine() + "; see " +
			cmd.CommandPath() + " --help"}
	}
}

func noHelp(cmd *cobra.Command, word string) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "find help", Subject: word,
		Why: cmd.CommandPath() + " has no such command or topic", Hint: cmd.CommandPath() + " --help lists them"}
	if near, ok := fault.Nearest(word, commandNames(cmd)); ok {
		e.Hint = "did you mean " + near + "? " + e.Hint
	}
	return e
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		GroupID:           groupAdmin,
		Short:             "Print the help of a command, or of a topic",
		Example:           "  hako help env up\n  hako help exit-status",
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := findHelp(cmd.Root(), args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func completeHelp(cmd *cobra.Command, args []string, typed string) (list []string, _ cobra.ShellCompDirective) {
	if group, err := findHelp(cmd.Root(), args); err == nil {
		for _, name := range commandNames(group) {
			if strings.HasPrefix(name, typed) {
				list = append(list, name)
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// findHelp finds a command or topic by its path.
func findHelp(root *cobra.Command, words []string) (*cobra.Command, error) {
	at := root
	for _, word := range words {
		next := childNamed(at, word)
		if next == nil {
			return nil, noHelp(at, word)
		}
		at = next
	}
	return at, nil
}

func childNamed(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

// helpOf returns the function of the tool cli_help: the help of hako or of one of its commands.
func helpOf(tree func() *cobra.Command) func(topic string) (string, error) {
	var mu sync.Mutex // reading the help changes the tree
	whole := sync.OnceValue(tree)
	return func(topic string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		root := whole()
		cmd, err := findHelp(root, strings.Fields(strings.TrimPrefix(topic, "hako")))
		if err != nil {
			return "", &fault.Error{Kind: fault.NotFound, Op: "find help", Subject: topic, Why: "there is no such command",
				Hint: "the commands are " + strings.Join(commandNames(root), ", ")}
		}
		switch {
		case cmd.Name() == environmentTopic:
			return environmentText(), nil
		case cmd.IsAdditionalHelpTopicCommand():
			return cmd.Long, nil
		}
		return cmp.Or(cmd.Long, cmd.Short) + "\n\n" + cmd.UsageString(), nil
	}
}
