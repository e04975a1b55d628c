package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Truncate = shell.Command{Name: "truncate", Run: runTruncate}

func runTruncate(ctx context.Context, c *shell.Call) error {
	noCreate, size, base := false, "", int64(-1)
	operands, err := cli.Parse(c, cli.Flags{
		"c": &noCreate, "s": func(v string) { size = strings.TrimLeft(v, " ") },
		"r": func(v string) error {
			fi, err := c.FS.Stat(c.Path(v))
			if err != nil {
				return fmt.Errorf("cannot stat %s: %s", cli.Quote(v), vfs.Reason(err))
			}
			base = fi.Size()
			return nil
		},
	})
	if err != nil {
		return err
	}
	if size == "" && base < 0 {
		return cli.Misuse(c, "you must specify either ‘--size’ or ‘--reference’")
	}
	if len(operands) == 0 {
		return cli.Misuse(c, "missing file operand")
	}
	op, n, ok := parseResize(size)
	if !ok {
		return c.Fail(1, "Invalid number: %s", cli.QuoteCurly(size))
	}
	return eachOperand(ctx, c, operands, func(name string) {
		if err := resize(c, name, !noCreate, base, op, n); err != nil {
			c.Warn("cannot open %s for writing: %s", cli.Quote(name), vfs.Reason(err))
		}
	})
}

// parseResize splits "+3K" into its operator and number.
func parseResize(size string) (op byte, n int64, ok bool) {
	if size == "" {
		return '+', 0, true
	}
	if strings.IndexByte("+-<>/%", size[0]) >= 0 {
		op, size = size[0], size[1:]
	}
	n, ok = cli.ParseBytes(size)
	return op, n, ok && (n > 0 || op != '/' && op != '%')
}

func resize(c *shell.Call, name string, create bool, base int64, op byte, n int64) error {
	flag := os.O_WRONLY | vfs.Binary
	if create {
		flag |= os.O_CREATE
	}
	f, err := c.OpenFile(name, flag, 0o666)
	if err != nil {
		if !create && errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if base < 0 {
		base = f.Size()
	}
	err = f.Truncate(newSize(base, op, n))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func newSize(base int64, op byte, n int64) int64 {
	switch op {
	case '+':
		return base + n
	case '-':
		return max(0, base-n)
	case '<':
		return min(base, n)
	case '>':
		return max(base, n)
	case '/':
		return base / n * n
	case '%':
		return (base + n - 1) / n * n
	}
	return n
}
