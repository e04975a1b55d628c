package file

import (
	"context"
	"errors"
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
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	t := &toucher{c: c, when: c.Now(), create: true, modify: true}
	for _, o := range opts {
		switch o.Name {
		case "c":
			t.create = false
		case "a":
			t.modify = false
		case "m":
			t.modify = true
		case "time":
			t.modify = !strings.HasPrefix(o.Value, "a") && o.Value != "use"
		case "h":
			t.linkOnly = true
		}
	}
	if err := t.setTime(opts); err != nil {
		return err
	}
	if len(operands) == 0 {
		return c.UsageError(errors.New("missing file operand"))
	}
	for _, name := range operands {
		if err := t.touch(name); err != nil {
			c.Warn("cannot touch %s: %s", cli.Quote(name), vfs.Reason(err))
		}
		if err := cli.Stopped(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// setTime reads the options that say which time to use. A relative date counts
// from the time of the file given with -r.
func (t *toucher) setTime(opts []cli.Option) error {
	c, zone := t.c, datetime.ZoneOrUTC(t.c)
	text := ""
	for _, o := range opts {
		switch o.Name {
		case "r":
			fi, err := c.FS.Stat(c.Path(o.Value))
			if err != nil {
				return c.Fail(1, "failed to get attributes of %s: %s", cli.Quote(o.Value), vfs.Reason(err))
			}
			t.when = fi.ModTime()
		case "t":
			when, ok := parseStamp(o.Value, c.Now().In(zone))
			if !ok {
				return c.Fail(1, "invalid date format %s", cli.QuoteCurly(o.Value))
			}
			t.when = when
		case "d":
			text = o.Value
		}
	}
	if text == "" {
		return nil
	}
	when, ok := datetime.Parse(text, t.when.In(zone))
	if !ok {
		return c.Fail(1, "invalid date format %s", cli.QuoteCurly(text))
	}
	t.when = when
	return nil
}

func (t *toucher) touch(name string) error {
	c := t.c
	if name == "-" {
		return nil
	}
	if fi, err := c.FS.Lstat(c.Path(name)); t.linkOnly && err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return nil // links have no time of their own here
	}
	_, err := lookAt(c, name, true)
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
	if sec == "" {
		sec = "00"
	}
	t, err := time.ParseInLocation("20060102150405", year+digits[len(digits)-8:]+sec, now.Location())
	return t, err == nil
}
