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

// streams are what a subcommand gets instead of the globals of package os.
type streams struct {
	in       io.Reader
	out, err io.Writer
	keys     io.Reader // in; if that is a terminal, to be read by several in turn

	screen term.Streams // the same, where a person is asked

	tree func() *cobra.Command // all commands; nil means those of the command's own root
}

// wholeOf returns what tells all commands, also where only one was built.
func (s streams) wholeOf(cmd *cobra.Command) func() *cobra.Command {
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

// askAt returns what puts a question to the person at the terminal, or nil if
// nobody is there.
func askAt(s streams) app.Asker { return s.screen.Ask() }

// exitStatus is a status that has already been explained.
type exitStatus = app.ExitStatus

// Main runs hako with the words args, the first of which is the name it was
// called by, and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	term.OutliveReader()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	said := words(args)
	out, all := term.NewWritten(stdout)
	s := newStreams(stdin, out, stderr)
	s.tree = Tree
	root := rootFor(s, said)
	root.SetArgs(said)
	return report(all.Or(root.ExecuteContext(ctx)), stderr)
}

// personalities maps the other names hako answers to onto its subcommands.
var personalities = map[string][]string{
	"llmsh":  {"sh"},
	"llmcmd": {"cmd"},
	"aicli":  nil,
}

// words returns the words after the name, with the subcommand that the name
// stands for before them.
func words(args []string) []string {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	return append(append([]string{}, personalities[name]...), args[1:]...)
}

// rootFor builds no more of the tree than the words need: hako may be started for
// every line of a script.
func rootFor(s streams, words []string) *cobra.Command {
	for _, c := range commands {
		if len(words) > 0 && c.name == words[0] {
			root := bareRoot(s)
			root.CompletionOptions.DisableDefaultCmd = true
			root.AddCommand(c.build(s))
			guideGroups(root)
			return root
		}
	}
	return newRoot(s)
}

// newRoot builds the command tree.
func newRoot(s streams) *cobra.Command {
	root := bareRoot(s)
	for _, c := range commands {
		root.AddCommand(c.build(s))
	}
	guide(root)
	complete(root)
	return root
}

// bareRoot is hako without its commands.
func bareRoot(s streams) *cobra.Command {
	root := command("hako", nil, nil)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if !cmd.Hidden { // those are started by a shell for completions, or by hako itself
			nameVariables(s.err)
		}
	}
	root.Version = version
	root.AddGroup(groups()...)
	root.SetHelpCommandGroupID(groupAdmin)
	root.SetCompletionCommandGroupID(groupAdmin)
	return root
}

// nameVariables warns of variables that are set to no effect.
func nameVariables(stderr io.Writer) {
	for _, note := range config.MisspeltVariables(os.Environ()) {
		fmt.Fprintf(stderr, "hako: note: %s\n", text.ForTerminal(note))
	}
}

// called returns a command's name as errors give it, which begin with hako already.
func called(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "hako ") }

// flagError turns cobra's complaint about a flag into one of ours.
func flagError(cmd *cobra.Command, err error) error {
	e := &fault.Error{Kind: fault.Invalid, Op: called(cmd), Err: plainFlag(err), Hint: "see " + cmd.CommandPath() +
		" --help"}
	if near, ok := nearestFlag(cmd, err.Error()); ok {
		e.Hint = "did you mean --" + near + "? " + e.Hint
	} else if strings.HasPrefix(err.Error(), "unknown shorthand") && strings.HasSuffix(cmd.Use, "COMMAND") {
		e.Hint = quoteHint(cmd)
	}
	return e
}

// plainFlag takes the name of a Go function out of a complaint about a number.
func plainFlag(err error) error {
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

// oneCommand checks that a command to run or judge was given as one word.
func oneCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && strings.TrimSpace(args[0]) != "" {
		return nil
	}
	why := "there is no command"
	if len(args) > 1 {
		why = fmt.Sprintf("there are %d words where one is wanted", len(args))
	}
	return &fault.Error{Kind: fault.Invalid, Op: called(cmd), Why: why, Hint: quoteHint(cmd)}
}

func quoteHint(cmd *cobra.Command) string {
	sample := " 'ls -l | wc -l'"
	if cmd.CommandPath() == "hako exec" { // which has no ls
		sample = " --file app.log 'grep ERROR app.log | wc -l'"
	}
	return "quote the command as one word: " + cmd.CommandPath() + sample
}

// nearestFlag finds the flag that was perhaps meant by an unknown one.
func nearestFlag(cmd *cobra.Command, text string) (string, bool) {
	_, name, ok := strings.Cut(text, "unknown flag: --")
	if !ok {
		return "", false
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fault.Nearest(name, names)
}

// report explains an error and returns the exit status.
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

// unknownCommand gives cobra's own errors, which have no kind, their kind.
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
