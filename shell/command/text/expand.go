package text

import (
	"context"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Expand = shell.Command{Name: "expand", Run: runExpand}

// tabStops are the columns that a tab leads to.
type tabStops struct {
	list  []int
	every int // after the list; 0: a single space for each tab there
}

// next is the stop behind a column.
func (t tabStops) next(column int) (stop int, ok bool) {
	for _, s := range t.list {
		if s > column {
			return s, true
		}
	}
	if t.every == 0 {
		return column + 1, false
	}
	return column + t.every - column%t.every, true
}

// parseTabs reads "4" or "4,8,12" or "4,/8".
func parseTabs(c *shell.Call, text string) (t tabStops, err error) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		digits := strings.TrimLeft(word, "/+")
		n, err := strconv.Atoi(digits)
		switch {
		case strings.Trim(digits, "0123456789") != "" || digits == "":
			return t, c.Fail(1, "tab size contains invalid character(s): %s",
				cli.QuoteCurly(strings.TrimLeft(digits, "0123456789")))
		case err != nil || n > math.MaxInt32:
			return t, c.Fail(1, "tab stop is too large %s", cli.QuoteCurly(digits))
		case n == 0:
			return t, c.Fail(1, "tab size cannot be 0")
		case word != digits:
			t.every = n
		case len(t.list) > 0 && n <= t.list[len(t.list)-1]:
			return t, c.Fail(1, "tab sizes must be ascending")
		default:
			t.list = append(t.list, n)
		}
	}
	switch {
	case len(t.list) == 1 && t.every == 0:
		return tabStops{every: t.list[0]}, nil
	case len(t.list) == 0 && t.every == 0:
		return tabStops{every: 8}, nil
	}
	return t, nil
}

// oldTabs rewrites the old "-4" or "-4,8" into "-t".
func oldTabs(args []string) []string {
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && cli.IsDigit(args[0][1]) {
		return append([]string{"-t", args[0][1:]}, args[1:]...)
	}
	return args
}

func runExpand(ctx context.Context, c *shell.Call) error {
	c.Args = oldTabs(c.Args)
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	tabs, initial := tabStops{every: 8}, false
	for _, o := range opts {
		if o.Name == "i" {
			initial = true
		} else if tabs, err = parseTabs(c, o.Value); err != nil {
			return err
		}
	}
	return eachText(c, names, func(line []byte) { expandLine(c, line, tabs, initial) })
}

// eachText has the lines of all inputs printed one by one.
func eachText(c *shell.Call, names []string, print func(line []byte)) error {
	for in := range c.Inputs(names) {
		err := cli.EachLine(in.Reader, '\n', func(line []byte, ended bool) error {
			print(line)
			if ended {
				c.Stdout.WriteByte('\n')
			}
			return c.Stdout.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func expandLine(c *shell.Call, line []byte, tabs tabStops, initial bool) {
	column, active := 0, true
	for _, b := range line {
		switch {
		case b == '\t' && active:
			stop, _ := tabs.next(column)
			pad(c, ' ', stop-column)
			column = stop
			continue
		case b == '\b':
			column = max(0, column-1)
		default:
			column++
		}
		if initial && !isBlank(b) {
			active = false
		}
		c.Stdout.WriteByte(b)
	}
}
