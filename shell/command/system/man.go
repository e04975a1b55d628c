package system

import (
	"context"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Man = shell.Command{Name: "man", Run: runMan}

func runMan(_ context.Context, c *shell.Call) error {
	search, brief := false, false
	names, err := cli.Parse(c, cli.Flags{"k": &search, "f": &brief})
	if err != nil {
		return err
	}
	if len(names) > 1 && len(names[0]) == 1 && cli.IsDigit(names[0][0]) {
		names = names[1:] // the section; there is only one
	}
	if len(names) == 0 {
		fmt.Fprintln(c.Stderr, "What manual page do you want?\nFor example, try 'man man'.")
		return shell.Status(1)
	}
	for _, name := range names {
		if search {
			searchSummaries(c, name)
			continue
		}
		cmd, ok := c.Lookup(name)
		if !ok {
			return cli.WithStatus(unknownCommand(c, name, "no manual entry for"), 16)
		}
		if brief {
			fmt.Fprintf(c.Stdout, "%s (1) - %s\n", cmd.Name, cmd.Described().Summary)
			continue
		}
		manPage(c, cmd)
	}
	return nil
}

func manPage(c *shell.Call, cmd shell.Command) {
	cmd = cmd.Described()
	indent := func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
	fmt.Fprintf(c.Stdout, "NAME\n    %s - %s\n\nSYNOPSIS\n    %s\n", cmd.Name, cmd.Summary,
		strings.TrimPrefix(cmd.UsageLine(), "usage: "))
	if cmd.Help == "" {
		return
	}
	fmt.Fprintln(c.Stdout, "\nDESCRIPTION")
	for line := range strings.SplitSeq(cmd.Help, "\n") {
		fmt.Fprintln(c.Stdout, strings.TrimRight(indent(line), " "))
	}
}

func searchSummaries(c *shell.Call, word string) {
	word = strings.ToLower(word)
	found := false
	for _, name := range c.Names() {
		cmd, _ := c.Lookup(name)
		cmd = cmd.Described()
		if strings.Contains(strings.ToLower(name+" "+cmd.Summary), word) {
			fmt.Fprintf(c.Stdout, "%s (1) - %s\n", name, cmd.Summary)
			found = true
		}
	}
	if !found {
		c.Warn("nothing appropriate for %s", word)
	}
}
