package text

import (
	"context"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Unexpand = shell.Command{Name: "unexpand", Run: runUnexpand}

func runUnexpand(ctx context.Context, c *shell.Call) error {
	c.Args = oldTabs(c.Args)
	tabs, all, first := tabStops{every: 8}, false, false
	names, err := cli.Parse(c, cli.Flags{
		"a": &all, "first-only": &first,
		"t": func(list string) (err error) { all = true; tabs, err = parseTabs(list); return err },
	})
	if err != nil {
		return err
	}
	return cli.MapLines(c, c.Inputs(names), func(line []byte) { unexpandLine(c, line, tabs, all && !first) })
}

// unexpandLine replaces blanks up to a stop by a tab. A single space before a stop stays a
// space, unless more blanks follow it.
func unexpandLine(c *shell.Call, line []byte, tabs tabStops, all bool) {
	for i, column := 0, 0; i < len(line); {
		if !isBlank(line[i]) {
			if !all {
				c.Stdout.Write(line[i:])
				return
			}
			if line[i] == '\b' {
				column = max(0, column-1)
			} else {
				column++
			}
			c.Stdout.WriteByte(line[i])
			i++
			continue
		}
		start := i
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		column = unexpandBlanks(c, line[start:i], column, tabs)
	}
}

func unexpandBlanks(c *shell.Call, blanks []byte, column int, tabs tabStops) int {
	spaces, lone := 0, false // lone: a tab that stands for one space so far is pending
	for _, b := range blanks {
		if lone {
			c.Stdout.WriteByte('\t')
			lone = false
		}
		stop, known := tabs.next(column)
		switch {
		case !known:
			pad(c, ' ', spaces)
			spaces = 0
			c.Stdout.WriteByte(b)
			column++
			continue
		case b == '\t':
			c.Stdout.WriteByte('\t')
			column, spaces = stop, 0
			continue
		}
		column++
		spaces++
		if column == stop {
			if lone = spaces == 1; !lone {
				c.Stdout.WriteByte('\t')
			}
			spaces = 0
		}
	}
	if lone {
		c.Stdout.WriteByte(' ')
	}
	pad(c, ' ', spaces)
	return column
}
