package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Rmdir = shell.Command{Name: "rmdir", Run: runRmdir}

func runRmdir(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	if len(operands) == 0 {
		return c.UsageError(errors.New("missing operand"))
	}
	var parents, verbose, lenient bool
	for _, o := range opts {
		parents = parents || o.Name == "p"
		verbose = verbose || o.Name == "v"
		lenient = lenient || o.Name == "ignore-fail-on-non-empty"
	}
	for _, name := range operands {
		for kind := ""; ; kind = "directory " {
			if verbose {
				fmt.Fprintf(c.Stdout, "rmdir: removing directory, %s\n", cli.Quote(name))
			}
			if err := removeDir(c, name); err != nil {
				if !lenient || !errors.Is(err, vfs.ErrNotEmpty) {
					c.Warn("failed to remove %s%s: %s", kind, cli.Quote(name), vfs.Reason(err))
				}
				break
			}
			up := cli.Dir(name)
			if !parents || up == "." || up == "/" || !strings.Contains(strings.TrimRight(name, "/"), "/") {
				break
			}
			name = up
		}
		if err := cli.Stopped(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func removeDir(c *shell.Call, name string) error {
	fi, err := lookAt(c, name, false)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return vfs.ErrNotDir
	}
	return c.FS.Remove(c.Path(name))
}
