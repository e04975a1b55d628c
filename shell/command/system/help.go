package system

import (
	"context"
	"fmt"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Help = shell.Command{Name: "help", Run: runHelp}

func runHelp(_ context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return listCommands(c)
	}
	form := ""
	for _, o := range opts {
		form = o.Name
	}
	for i, name := range names {
		cmd, ok := c.Lookup(name)
		if !ok {
			return unknownCommand(c, name, "no help topics match")
		}
		if i > 0 {
			c.Stdout.WriteString("\n")
		}
		explain(c, cmd, form)
	}
	return nil
}

// listCommands prints every command with its summary.
func listCommands(c *shell.Call) error {
	names := c.Names()
	width := cli.MaxLen(names)
	c.Stdout.WriteString("These commands exist; there are no others. help NAME explains one.\n\n")
	for _, name := range names {
		cmd, _ := c.Lookup(name)
		cmd = cmd.Described()
		fmt.Fprintf(c.Stdout, "  %-*s  %s\n", width, name, cmd.Summary)
	}
	return c.Stdout.Err()
}

func explain(c *shell.Call, cmd shell.Command, form string) {
	cmd = cmd.Described()
	switch form {
	case "s":
		fmt.Fprintln(c.Stdout, cmd.UsageLine())
		return
	case "d":
		fmt.Fprintf(c.Stdout, "%s - %s\n", cmd.Name, cmd.Summary)
		return
	}
	fmt.Fprintf(c.Stdout, "%s - %s\n\n%s\n", cmd.Name, cmd.Summary, cmd.UsageLine())
	if cmd.Help != "" {
		fmt.Fprintf(c.Stdout, "\n%s\n", cmd.Help)
	}
}

// unknownCommand says that there is no such command, and which one may be meant.
func unknownCommand(c *shell.Call, name, why string) error {
	c.Warn("%s '%s'", why, name)
	if near, ok := fault.Nearest(name, c.Names()); ok {
		fmt.Fprintf(c.Stderr, "hint: did you mean %s?\n", near)
	} else {
		fmt.Fprintln(c.Stderr, "hint: help lists all commands")
	}
	return shell.Status(1)
}
