package text

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Expand = shell.Command{Name: "expand", Run: runExpand}

// tabStops are the columns of tab stops.
type tabStops struct {
	list  []int
	every int // distance of the stops after the list; 0: a tab there is one space
}

// next returns the stop after a column. ok is false after the last stop.
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
func parseTabs(text string) (t tabStops, err error) {
	for word := range strings.FieldsFuncSeq(text, isListSeparator) {
		digits := strings.TrimLeft(word, "/+")
		n, err := strconv.Atoi(digits)
		switch {
		case strings.Trim(digits, "0123456789") != "" || digits == "":
			return t, fmt.Errorf("tab size contains invalid character(s): ‘%s’", strings.TrimLeft(digits, "0123456789"))
		case err != nil || n > math.MaxInt32:
			return t, fmt.Errorf("tab stop is too large ‘%s’", digits)
		case n == 0:
			return t, errors.New("tab size cannot be 0")
		case word != digits:
			t.every = n
		case len(t.list) > 0 && n <= t.list[len(t.list)-1]:
			return t, errors.New("tab sizes must be ascending")
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

// oldTabs replaces the old "-4" or "-4,8" by "-t".
func oldTabs(args []string) []string {
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && cli.IsDigit(args[0][1]) {
		return append([]string{"-t", args[0][1:]}, args[1:]...)
	}
	return args
}

func runExpand(ctx context.Context, c *shell.Call) error {
	c.Args = oldTabs(c.Args)
	tabs, initial := tabStops{every: 8}, false
	names, err := cli.Parse(c, cli.Flags{
		"i": &initial,
		"t": func(list string) (err error) { tabs, err = parseTabs(list); return err },
	})
	if err != nil {
		return err
	}
	return cli.MapLines(c, c.Inputs(names), func(line []byte) { expandLine(c, line, tabs, initial) })
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
