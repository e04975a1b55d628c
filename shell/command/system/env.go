package system

import (
	"context"
	"slices"
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
	env, dir, end := c.Environ(), "", "\n"
	clean := false
	var split []string
	words, err := cli.Parse(&call, cli.Flags{
		"i": func() { env, clean = nil, true }, "0": cli.Set(&end, "\x00"),
		"u": func(v string) { env, clean = without(env, v), true },
		"C": func(v string) error {
			if dir = c.Path(v); !cli.IsDir(c, dir) {
				return c.Fail(125, "cannot change directory to %s: No such file or directory", cli.Quote(v))
			}
			return nil
		},
		"S": func(v string) { split = append(strings.Fields(v), split...) },
	})
	if err != nil {
		return cli.WithStatus(err, 125)
	}
	words = append(split, words...)
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
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

func printEnv(c *shell.Call, env []string, end string) error {
	for _, pair := range env {
		c.Stdout.WriteString(pair + end)
	}
	return nil
}
