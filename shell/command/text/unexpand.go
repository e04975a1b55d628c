package text

import (
	"context"

	"hako/shell"
)

var Unexpand = shell.Command{Name: "unexpand", Run: runUnexpand}

func runUnexpand(ctx context.Context, c *shell.Call) error {
	c.Args = oldTabs(c.Args)
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	tabs, all, first := tabStops{every: 8}, false, false
	for _, o := range opts {
		switch o.Name {
		case "a":
			all = true
		case "first-only":
			first = true
		case "t":
			all = true
			if tabs, err = parseTabs(c, o.Value); err != nil {
				return err
			}
		}
	}
	return eachText(c, names, func(line []byte) { unexpandLine(c, line, tabs, all && !first) })
}

// unexpandLine gathers blanks and writes as many tabs for them as there are
// stops among them. A single space before a stop stays a space, unless more
// blanks follow it.
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
	spaces, lone := 0, false // lone: the pending tab stands for one space so far
	flushLone := func(more bool) {
		if lone && more {
			c.Stdout.WriteByte('\t')
		} else if lone {
			c.Stdout.WriteByte(' ')
		}
		lone = false
	}
	for _, b := range blanks {
		stop, known := tabs.next(column)
		if !known {
			flushLone(true)
			pad(c, ' ', spaces)
			spaces = 0
			c.Stdout.WriteByte(b)
			column++
			continue
		}
		flushLone(true)
		if b == '\t' {
			c.Stdout.WriteByte('\t')
			column, spaces = stop, 0
			continue
		}
		column++
		spaces++
		if column == stop {
			if spaces == 1 {
				lone = true
			} else {
				c.Stdout.WriteByte('\t')
			}
			spaces = 0
		}
	}
	flushLone(false)
	pad(c, ' ', spaces)
	return column
}
