package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"hako/internal/text"
)

// everyCommand calls f for each command that can be run and is shown.
func everyCommand(c *cobra.Command, f func(*cobra.Command)) {
	if c.IsAvailableCommand() || !c.HasParent() {
		f(c)
	}
	for _, sub := range c.Commands() {
		everyCommand(sub, f)
	}
}

func TestExamplesCanBeTypedAsTheyStand(t *testing.T) {
	everyCommand(Tree(), func(c *cobra.Command) {
		if strings.TrimSpace(c.Example) == "" {
			t.Errorf("%s --help has no example", c.CommandPath())
			return
		}
		for _, line := range strings.Split(c.Example, "\n") {
			if err := hakoTakes(line); err != nil {
				t.Errorf("%s --help: %s: %v", c.CommandPath(), line, err)
			}
			if loose.MatchString(quoted.ReplaceAllString(strings.TrimSpace(line), "Q")) {
				t.Errorf("%s --help: %s: words beside a command need a #", c.CommandPath(), line)
			}
		}
	})
}

var (
	quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	loose  = regexp.MustCompile(`  +[^ #]`)
)

// hakoTakes says why hako would not understand a line at the prompt of a shell.
func hakoTakes(line string) (err error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && err == nil && len(call.Args) > 0 && call.Args[0].Lit() == "hako" {
			err = accepted(call.Args[1:])
		}
		return true
	})
	return err
}

func accepted(words []*syntax.Word) error {
	args, err := expand.Fields(&expand.Config{}, words...)
	if err != nil {
		return err
	}
	cmd, rest, err := rootFor(newStreams(strings.NewReader(""), io.Discard, io.Discard), args).Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func TestFlagsNameTheirValues(t *testing.T) {
	everyCommand(Tree(), func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			if name != strings.ToUpper(name) {
				t.Errorf("%s: --%s %s does not look like a value to fill in", c.CommandPath(), f.Name, name)
			}
		})
	})
}

// TestHelpFitsATerminal: hako --help is readable at 80 columns, and every command is
// in one of its groups.
func TestHelpFitsATerminal(t *testing.T) {
	root := Tree()
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group", c.CommandPath())
		}
	}
	var help strings.Builder
	root.SetOut(&help)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(help.String()) {
		if n := text.Cells(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, g := range groups() {
		if !strings.Contains(help.String(), "\n"+g.Title+"\n") {
			t.Errorf("no group %q", g.Title)
		}
	}
}
