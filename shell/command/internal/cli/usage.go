package cli

import (
	"fmt"
	"io"

	"hako/shell"
)

// WithStatus gives an error that only carries a status another status, for commands
// whose usage errors are not 1.
func WithStatus(err error, status int) error {
	if _, ok := err.(shell.Status); ok {
		return shell.Status(status)
	}
	return err
}

// usageStatus lists the commands that report a usage error with 2, as GNU's do.
var usageStatus = map[string]int{"grep": 2, "egrep": 2, "fgrep": 2, "sort": 2, "diff": 2, "ls": 2, "cmp": 2, "patch": 2, "jq": 2, "awk": 2, "tar": 2}

// Usage reports a bad option the way GNU commands do.
func Usage(c *shell.Call, err error) error {
	c.Warn("%v", err)
	hint := "Try '" + c.Name + " --help' for more information.\n"
	switch c.Name {
	case "diff", "cmp", "patch":
		hint = c.Name + ": " + hint
	}
	io.WriteString(c.Stderr, hint)
	return shell.Status(max(1, usageStatus[c.Name]))
}

// Misuse reports wrong operands the way GNU commands do.
func Misuse(c *shell.Call, format string, args ...any) error {
	return Usage(c, fmt.Errorf(format, args...))
}
