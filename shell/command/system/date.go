package system

import (
	"context"
	"errors"
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
	loc, err := datetime.Zone(c)
	if err != nil {
		return err
	}
	format := "%a %b %e %H:%M:%S %Z %Y"
	var source cli.Option
	operands, err := cli.Parse(c, cli.Flags{
		"u": func() { loc = time.UTC }, "d f r": func(o cli.Option) error { source = o; return nil },
		"R": cli.Set(&format, "%a, %d %b %Y %H:%M:%S %z"),
		"I": dateStyle(c, &format, "--iso-8601", map[string]string{"": "%Y-%m-%d", "date": "%Y-%m-%d",
			"hours": "%Y-%m-%dT%H%:z", "minutes": "%Y-%m-%dT%H:%M%:z", "seconds": "%Y-%m-%dT%H:%M:%S%:z",
			"ns": "%Y-%m-%dT%H:%M:%S,%N%:z"}, "hours", "minutes", "date", "seconds", "ns"),
		"rfc-3339": dateStyle(c, &format, "--rfc-3339", map[string]string{"date": "%Y-%m-%d",
			"seconds": "%Y-%m-%d %H:%M:%S%:z", "ns": "%Y-%m-%d %H:%M:%S.%N%:z"}, "date", "seconds", "ns"),
		"s": func(string) error { return errors.New("cannot set date: Operation not permitted") },
	})
	if err != nil {
		return err
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
		return "", cli.Misuse(c, "extra operand %s", cli.QuoteCurly(operands[1]))
	}
	f, ok := strings.CutPrefix(operands[0], "+")
	if !ok {
		return "", c.Fail(1, "invalid date %s", cli.QuoteCurly(operands[0]))
	}
	return f, nil
}

// dateStyle returns the binding of an option that chooses one of several formats.
// names are its values in the order of the error message.
func dateStyle(c *shell.Call, format *string, option string, styles map[string]string, names ...string) func(
	string) error {
	return func(v string) error {
		style, ok := styles[v]
		if !ok {
			return cli.Misuse(c, "invalid argument %s for %s\nValid arguments are:\n  - ‘%s’", cli.QuoteCurly(v),
				cli.QuoteCurly(option), strings.Join(names, "’\n  - ‘"))
		}
		*format = style
		return nil
	}
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
