package system

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/strftime"
	"hako/shell/vfs"
)

var Date = shell.Command{Name: "date", Run: runDate}

func runDate(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	loc, err := datetime.Zone(c)
	if err != nil {
		return err
	}
	format := "%a %b %e %H:%M:%S %Z %Y"
	var source cli.Option
	for _, o := range opts {
		switch o.Name {
		case "u":
			loc = time.UTC
		case "I", "R", "rfc-3339":
			if format, err = dateStyle(c, o); err != nil {
				return err
			}
		case "s":
			return c.Fail(1, "cannot set date: Operation not permitted")
		case "d", "f", "r":
			source = o
		}
	}
	if format, err = dateOperand(c, operands, format); err != nil {
		return err
	}
	return showDate(ctx, c, source, loc, format)
}

func dateOperand(c *shell.Call, operands []string, format string) (string, error) {
	if len(operands) == 0 {
		return format, nil
	}
	if len(operands) > 1 {
		return "", c.UsageError(fmt.Errorf("extra operand %s", cli.QuoteCurly(operands[1])))
	}
	f, ok := strings.CutPrefix(operands[0], "+")
	if !ok {
		return "", c.Fail(1, "invalid date %s", cli.QuoteCurly(operands[0]))
	}
	return f, nil
}

// dateStyle is the format behind -I, -R and --rfc-3339.
func dateStyle(c *shell.Call, o cli.Option) (string, error) {
	if o.Name == "R" {
		return "%a, %d %b %Y %H:%M:%S %z", nil
	}
	styles := map[string]string{"": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H%:z",
		"minutes": "%Y-%m-%dT%H:%M%:z",
		"seconds": "%Y-%m-%dT%H:%M:%S%:z", "ns": "%Y-%m-%dT%H:%M:%S,%N%:z"}
	name, list := "--iso-8601", "hours minutes date seconds ns"
	if o.Name == "rfc-3339" {
		styles = map[string]string{"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S%:z", "ns": "%Y-%m-%d %H:%M:%S.%N%:z"}
		name, list = "--rfc-3339", "date seconds ns"
	}
	format, ok := styles[o.Value]
	if !ok {
		return "", badChoice(c, o.Value, name, strings.Fields(list))
	}
	return format, nil
}

// badChoice reports a word that is none of the permitted ones.
func badChoice(c *shell.Call, word, name string, list []string) error {
	text := "invalid argument " + cli.QuoteCurly(word) + " for " + cli.QuoteCurly(name) + "\nValid arguments are:"
	for _, l := range list {
		text += "\n  - " + cli.QuoteCurly(l)
	}
	return c.UsageError(fmt.Errorf("%s", text))
}

func showDate(ctx context.Context, c *shell.Call, source cli.Option, loc *time.Location, format string) error {
	now := c.Now().In(loc)
	show := func(t time.Time) { fmt.Fprintln(c.Stdout, strftime.Format(t.In(loc), format)) }
	switch source.Name {
	case "d":
		if t, ok := datetime.Parse(source.Value, now); ok {
			show(t)
			return nil
		}
		return c.Fail(1, "invalid date %s", cli.QuoteCurly(source.Value))
	case "r":
		fi, err := c.FS.Stat(c.Path(source.Value))
		if err != nil {
			return c.Fail(1, "%s: %s", source.Value, vfs.Reason(err))
		}
		show(fi.ModTime())
	case "f":
		return eachDate(ctx, c, source.Value, now, show)
	default:
		show(now)
	}
	return nil
}

func eachDate(ctx context.Context, c *shell.Call, name string, now time.Time, show func(time.Time)) error {
	for in := range c.Inputs([]string{name}) {
		for {
			line, err := in.Line()
			if err != nil {
				break
			}
			text := strings.TrimSuffix(string(line), "\n")
			if t, ok := datetime.Parse(text, now); ok {
				show(t)
			} else {
				c.Stdout.Flush() // messages stand where they belong, as GNU's do
				c.Warn("invalid date %s", cli.QuoteCurly(text))
			}
			if err := cli.Stopped(ctx, c); err != nil {
				return err
			}
		}
	}
	return c.Stdout.Err()
}
