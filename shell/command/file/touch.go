package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/vfs"
)

var Touch = shell.Command{Name: "touch", Run: runTouch}

type toucher struct {
	c                        *shell.Call
	when                     time.Time
	create, modify, linkOnly bool
}

func runTouch(ctx context.Context, c *shell.Call) error {
	t := &toucher{c: c, when: c.Now(), create: true, modify: true}
	zone, date := datetime.ZoneOrUTC(c), ""
	operands, err := cli.Parse(c, cli.Flags{
		"c": cli.Set(&t.create, false), "a": cli.Set(&t.modify, false), "m": &t.modify, "h": &t.linkOnly, "d": &date,
		"time": func(v string) { t.modify = !strings.HasPrefix(v, "a") && v != "use" },
		"r": func(v string) error {
			fi, err := c.FS.Stat(c.Path(v))
			if err != nil {
				return fmt.Errorf("failed to get attributes of %s: %s", cli.Quote(v), vfs.Reason(err))
			}
			t.when = fi.ModTime()
			return nil
		},
		"t": func(v string) error {
			when, ok := parseStamp(v, c.Now().In(zone))
			if !ok {
				return fmt.Errorf("invalid date format %s", cli.QuoteCurly(v))
			}
			t.when = when
			return nil
		},
	})
	if err != nil {
		return err
	}
	if date != "" { // relative to the time of -r
		when, ok := datetime.Parse(date, t.when.In(zone))
		if !ok {
			return c.Fail(1, "invalid date format %s", cli.QuoteCurly(date))
		}
		t.when = when
	}
	if len(operands) == 0 {
		return cli.Misuse(c, "missing file operand")
	}
	return eachOperand(ctx, c, operands, func(name string) {
		if err := t.touch(name); err != nil {
			c.Warn("cannot touch %s: %s", cli.Quote(name), vfs.Reason(err))
		}
	})
}

func (t *toucher) touch(name string) error {
	c := t.c
	if name == "-" {
		return nil
	}
	if fi, err := c.FS.Lstat(c.Path(name)); t.linkOnly && err == nil && isLink(fi) {
		return nil // links have no time of their own here
	}
	_, err := stat(c, name, true)
	if err == nil && t.modify {
		return c.FS.Chtimes(c.Path(name), t.when, t.when)
	}
	if err == nil || !t.create && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := c.OpenFile(name, os.O_WRONLY|os.O_CREATE|vfs.Binary, 0o666)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return c.FS.Chtimes(c.Path(name), t.when, t.when)
}

// parseStamp reads [[CC]YY]MMDDhhmm[.ss].
func parseStamp(s string, now time.Time) (time.Time, bool) {
	digits, sec, dotted := strings.Cut(s, ".")
	if strings.Trim(digits+sec, "0123456789") != "" || dotted && len(sec) != 2 {
		return time.Time{}, false
	}
	year := now.Format("2006")
	switch len(digits) {
	case 8:
	case 10:
		year = "20" + digits[:2]
		if digits[:2] >= "69" {
			year = "19" + digits[:2]
		}
	case 12:
		year = digits[:4]
	default:
		return time.Time{}, false
	}
	stamp := year + digits[len(digits)-8:] + cmp.Or(sec, "00")
	t, err := time.ParseInLocation("20060102150405", stamp, now.Location())
	return t, err == nil
}
