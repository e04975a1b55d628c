package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/term"
	"hako/internal/text"
	"hako/run/fault"
)

// streams are the standard streams of a subcommand.
type streams struct {
	in       io.Reader
	out, err io.Writer
	keys     io.Reader // in; a terminal can be read by several readers in turn

	screen term.Streams // the same, for questions to a person

	tree func() *cobra.Command // returns all commands; nil means those of the command's own root
}

// treeOf returns a function that returns all commands, also where only one was built.
func (s streams) treeOf(cmd *cobra.Command) func() *cobra.Command {
	if s.tree != nil {
		return s.tree
	}
	return cmd.Root
}

func newStreams(in io.Reader, out, err io.Writer) streams {
	t := term.NewStreams(in, out, err)
	return streams{in: t.In, out: t.Out, err: t.Err, keys: t.Keys, screen: t}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool { return term.Is(stream) }

// askAt returns a function that asks the person at the terminal, or nil if there is none.
func askAt(s streams) app.Asker { return s.screen.Ask() }

// exitStatus is an exit status whose reason was already printed.
type exitStatus = app.ExitStatus

// Main runs hako with the given arguments, of which the first is the program name, and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	term.OutliveReader()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	said := commandWords(args)
	out, all := term.NewWritten(stdout)
	s := newStreams(stdin, out, stderr)
	s.tree = Tree
	root := rootFor(s, said)
	root.SetArgs(said)
	return report(all.Or(root.ExecuteContext(ctx)), stderr)
}

// aliases maps other program names to subcommands.
var aliases = map[string][]string{
	"llmsh":  {"sh"},
	"llmcmd": {"cmd"},
	"aicli":  nil,
}

// commandWords returns the arguments, after the subcommand that the program name stands for.
func commandWords(args []string) []string {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	return append(append([]string{}, aliases[name]...), args[1:]...)
}

// rootFor builds only the command that is needed: hako may be started for every line of a script.
func rootFor(s streams, words []string) *cobra.Command {
	for _, c := range commands {
		if len(words) > 0 && c.name == words[0] {
			root := emptyRoot(s)
			root.CompletionOptions.DisableDefaultCmd = true
			root.AddCommand(c.build(s))
			checkGroups(root)
			return root
		}
	}
	return newRoot(s)
}

// newRoot builds the command tree.
func newRoot(s streams) *cobra.Command {
	root := emptyRoot(s)
	for _, c := range commands {
		root.AddCommand(c.build(s))
	}
	addHelp(root)
	complete(root)
	return root
}

// emptyRoot returns the root command without subcommands.
func emptyRoot(s streams) *cobra.Command {
	root := command("hako", nil, nil)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if !cmd.Hidden { // hidden commands are started by shells for completions, or by hako itself
			warnOfVariables(s.err)
		}
	}
	root.Version = version
	root.AddGroup(groups()...)
	root.SetHelpCommandGroupID(groupAdmin)
	root.SetCompletionCommandGroupID(groupAdmin)
	return root
}

// warnOfVariables warns of misspelt environment variables.
func warnOfVariables(stderr io.Writer) {
	for _, note := range config.MisspeltVariables(os.Environ()) {
		fmt.Fprintf(stderr, "hako: note: %s\n", text.ForTerminal(note))
	}
}

// pathOf returns the path of a command without the name of the program.
func pathOf(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "hako ") }

// flagError converts an error of cobra about a flag.
func flagError(cmd *cobra.Command, err error) error {
	e := &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Err: flagReason(err), Hint: "see " + cmd.CommandPath() +
		" --help"}
	if near, ok := nearestFlag(cmd, err.Error()); ok {
		e.Hint = "did you mean --" + near + "? " + e.Hint
	} else if strings.HasPrefix(err.Error(), "unknown shorthand") && strings.HasSuffix(cmd.Use, "COMMAND") {
		e.Hint = quoteHint(cmd)
	}
	return e
}

// flagReason removes the name of a Go function from an error about a number.
func flagReason(err error) error {
	head, tail, ok := strings.Cut(err.Error(), ": strconv.")
	if !ok {
		return err
	}
	why := "it is not a number"
	if strings.HasSuffix(tail, "out of range") {
		why = "the number is too large"
	}
	return errors.New(head + ": " + why)
}

// oneCommand checks that the command is one argument.
func oneCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && strings.TrimSpace(args[0]) != "" {
		return nil
	}
	why := "there is no command"
	if len(args) > 1 {
		why = fmt.Sprintf("there are %d words where one is wanted", len(args))
	}
	return &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Why: why, Hint: quoteHint(cmd)}
}

func quoteHint(cmd *cobra.Command) string {
	sample := " 'ls -l | wc -l'"
	if cmd.CommandPath() == "hako exec" { // which has no ls
		sample = " --file app.log 'grep ERROR app.log | wc -l'"
	}
	return "quote the command as one word: " + cmd.CommandPath() + sample
}

// nearestFlag returns the flag nearest to an unknown one.
func nearestFlag(cmd *cobra.Command, text string) (string, bool) {
	_, name, ok := strings.Cut(text, "unknown flag: --")
	if !ok {
		return "", false
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fault.Nearest(name, names)
}

// report prints an error and returns the exit status.
func report(err error, stderr io.Writer) int {
	var exit exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	return term.Report(unknownCommand(err), stderr)
}

// unknownCommand gives errors of cobra, which have no kind, their kind.
func unknownCommand(err error) error {
	text := err.Error()
	if fault.KindOf(err) != fault.Other || !strings.HasPrefix(text, "unknown command") {
		return err
	}
	first, rest, _ := strings.Cut(text, "\n")
	hint := "hako --help lists the commands"
	if _, near, ok := strings.Cut(rest, "Did you mean this?\n"); ok {
		hint = "did you mean " + strings.Join(strings.Fields(near), " or ") + "? " + hint
	}
	return &fault.Error{Kind: fault.Invalid, Op: first, Hint: hint}
}
