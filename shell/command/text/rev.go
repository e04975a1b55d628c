package text

import (
	"context"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Rev = shell.Command{Name: "rev", Run: runRev}

func runRev(ctx context.Context, c *shell.Call) error {
	names, err := cli.Parse(c, nil)
	if err != nil {
		return err
	}
	var buf []byte
	failed := func(name string, err error) { c.Warn("cannot open %s: %s", name, vfs.Reason(err)) }
	return cli.MapLines(c, cli.Inputs(c, names, c.Open, failed), func(line []byte) {
		buf = appendReversed(buf[:0], line)
		c.Stdout.Write(buf)
	})
}

// appendReversed appends the characters of line from last to first.
func appendReversed(b, line []byte) []byte {
	for len(line) > 0 {
		_, n := utf8.DecodeLastRune(line)
		b = append(b, line[len(line)-n:]...)
		line = line[:len(line)-n]
	}
	return b
}
