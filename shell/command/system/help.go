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
	form := ""
	names, err := cli.Parse(c, cli.Flags{"d m s": func(o cli.Option) error { form = o.Name; return nil }})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return listCommands(c)
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

// unknownCommand reports that there is no such command, and suggests a similar one.
func unknownCommand(c *shell.Call, name, why string) error {
	c.Warn("%s '%s'", why, name)
	if near, ok := fault.Nearest(name, c.Names()); ok {
		fmt.Fprintf(c.Stderr, "hint: did you mean %s?\n", near)
	} else {
		fmt.Fprintln(c.Stderr, "hint: help lists all commands")
	}
	return shell.Status(1)
}
