package system

import (
	"context"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Env = shell.Command{Name: "env", Run: runEnv}

func runEnv(ctx context.Context, c *shell.Call) error {
	call := *c
	if len(c.Args) > 0 && c.Args[0] == "-" {
		call.Args = append([]string{"-i"}, c.Args[1:]...)
	}
	opts, words, err := call.Options()
	if err != nil {
		return cli.WithStatus(err, 125)
	}
	env, dir, end := c.Environ(), "", "\n"
	clean := false
	for _, o := range opts {
		switch o.Name {
		case "i":
			env, clean = nil, true
		case "u":
			env, clean = without(env, o.Value), true
		case "0":
			end = "\x00"
		case "C":
			if dir = c.Path(o.Value); !cli.IsDir(c, dir) {
				return c.Fail(125, "cannot change directory to %s: No such file or directory", cli.Quote(o.Value))
			}
		case "S":
			words = append(strings.Fields(o.Value), words...)
		}
	}
	var added []string
	for len(words) > 0 && strings.Contains(words[0], "=") {
		added = append(added, words[0])
		words = words[1:]
	}
	for _, pair := range added {
		name, _, _ := strings.Cut(pair, "=")
		env = append(without(env, name), pair)
	}
	if len(words) == 0 {
		return printEnv(c, env, end)
	}
	if _, ok := c.Lookup(words[0]); !ok {
		return c.Fail(127, "%s: No such file or directory", cli.QuoteCurly(words[0]))
	}
	change := shell.ExecIO{Dir: dir, Env: added}
	if clean {
		change.Env, change.Clean = env, true
	}
	status, err := cli.Exec(ctx, c, words, change)
	return cli.StatusOr(status, err)
}

// without is an environment that lacks one name.
func without(env []string, name string) []string {
	var rest []string
	for _, pair := range env {
		if !strings.HasPrefix(pair, name+"=") {
			rest = append(rest, pair)
		}
	}
	return rest
}

func printEnv(c *shell.Call, env []string, end string) error {
	for _, pair := range env {
		c.Stdout.WriteString(pair + end)
	}
	return nil
}
