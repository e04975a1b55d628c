package file

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/strftime"
	"hako/shell/vfs"
)

var Ls = shell.Command{Name: "ls", Run: runLs}

// ls is one run of the command.
type ls struct {
	c   *shell.Call
	ctx context.Context

	all, almost, long, recursive, self         bool
	noOwner, noGroup, numeric, inode, blocks   bool
	reverse, dirsFirst, follow, followOperands bool
	layout                                     byte  // '1', 'C', 'x' or 'm'
	sort                                       byte  // 'n', 't', 'S', 'X', 'v' or 'U'
	mark                                       byte  // 0, '/' or 'F'
	quote                                      byte  // 0, 'Q' or 'b'
	unit                                       int64 // 1024 or 1000 for readable sizes, 0 for bytes
	timeStyle                                  string
	width                                      int
	hide                                       []string
	end                                        string
	status                                     int
	printed                                    bool
}

// An lsEntry is one file to list.
type lsEntry struct {
	name string
	path string
	fi   fs.FileInfo
}

func runLs(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	l := &ls{c: c, ctx: ctx, layout: '1', sort: 'n', width: 80, end: "\n"}
	operands, err := l.parse()
	if err != nil {
		return err
	}
	l.run(operands)
	return cli.StatusOr(l.status, nil)
}

func (l *ls) parse() ([]string, error) {
	letter := func(to *byte) func(cli.Option) error {
		return func(o cli.Option) error { *to = o.Name[0]; return nil }
	}
	return cli.Parse(l.c, cli.Flags{
		"a": &l.all, "A": &l.almost, "l": &l.long, "R": &l.recursive, "d": &l.self, "r": &l.reverse, "i": &l.inode,
		"s": &l.blocks, "L": &l.follow, "H": &l.followOperands, "group-directories-first": &l.dirsFirst,
		"n": []*bool{&l.long, &l.numeric}, "g": []*bool{&l.long, &l.noOwner}, "o": []*bool{&l.long, &l.noGroup},
		"G": &l.noGroup, "h": cli.Set(&l.unit, 1024), "si": cli.Set(&l.unit, 1000),
		"1":         letter(&l.layout),
		"C x m":     func(o cli.Option) error { l.layout, l.long = o.Name[0], false; return nil },
		"t S X v U": letter(&l.sort),
		"f":         func() { l.sort, l.all, l.long = 'U', true, false },
		"F classify": func(v string) {
			if v != "never" && v != "none" && v != "no" {
				l.mark = 'F'
			}
		},
		"p": cli.Set(&l.mark, '/'), "file-type": cli.Set(&l.mark, 't'),
		"indicator-style": func(v string) {
			l.mark = map[string]byte{"slash": '/', "classify": 'F', "file-type": 't'}[v]
		},
		"I hide": &l.hide, "B": func() { l.hide = append(l.hide, "*~", ".*~") },
		"Q b": letter(&l.quote), "N": cli.Set(&l.quote, 0),
		"zero":       func() { l.end, l.layout = "\x00", '1' },
		"w":          l.setWidth,
		"full-time":  func() { l.long, l.timeStyle = true, "full-iso" },
		"time-style": l.setTimeStyle, "sort format": l.named,
	})
}

func (l *ls) setWidth(text string) error {
	n, _, ok := cli.CutNumber(text, 6)
	if !ok {
		return fmt.Errorf("invalid line width: %s", cli.QuoteCurly(text))
	}
	l.width = n
	return nil
}

func (l *ls) setTimeStyle(text string) error {
	style := strings.TrimPrefix(text, "posix-")
	if !strings.HasPrefix(style, "+") && !slices.Contains([]string{"full-iso", "long-iso", "iso", "locale"}, style) {
		return fmt.Errorf("invalid argument %s for %s", cli.QuoteCurly(text), cli.QuoteCurly("time style"))
	}
	l.timeStyle = style
	return nil
}

func (l *ls) named(o cli.Option) error {
	choices := map[string]map[string]byte{
		"sort": {"none": 'U', "time": 't', "size": 'S', "extension": 'X', "version": 'v', "name": 'n', "width": 'w'},
		"format": {"long": 'l', "verbose": 'l', "single-column": '1', "commas": 'm', "vertical": 'C', "across": 'x',
			"horizontal": 'x'},
	}
	letter, ok := choices[o.Name][o.Value]
	switch {
	case !ok:
		return l.c.Fail(1, "invalid argument %s for %s", cli.QuoteCurly(o.Value), cli.QuoteCurly("--"+o.Name))
	case o.Name == "sort":
		l.sort = letter
	case letter == 'l':
		l.long = true
	default:
		l.layout, l.long = letter, false
	}
	return nil
}

// run lists the operands: first what is not a directory, then the directories.
func (l *ls) run(operands []string) {
	if len(operands) == 0 {
		operands = []string{"."}
	}
	var plain, dirs []lsEntry
	for _, name := range operands {
		e, err := l.operand(name)
		if err != nil {
			l.c.Warn("cannot access %s: %s", cli.Quote(name), vfs.Reason(err))
			l.status = 2
			continue
		}
		if e.fi.IsDir() && !l.self {
			dirs = append(dirs, e)
		} else {
			plain = append(plain, e)
		}
	}
	l.order(plain)
	l.order(dirs)
	if len(plain) > 0 {
		l.print(plain)
		l.printed = true
	}
	titled := len(operands) > 1 || l.recursive
	for _, d := range dirs {
		l.dir(d, titled, nil)
	}
}

// operand follows a link to a directory unless the link itself will be shown.
func (l *ls) operand(name string) (lsEntry, error) {
	fi, err := stat(l.c, name, l.follow || l.followOperands)
	if err != nil {
		return lsEntry{}, err
	}
	if isLink(fi) && !l.long && !l.self && l.mark != 'F' {
		if to, err := l.c.FS.Stat(l.c.Path(name)); err == nil && to.IsDir() {
			fi = to
		}
	}
	return lsEntry{name, l.c.Path(name), fi}, nil
}

// dir lists one directory, and with -R what is below it. above are the
// directories it is in: a link to one of them is a loop.
func (l *ls) dir(d lsEntry, titled bool, parents []fs.FileInfo) {
	cli.CheckStopped(l.ctx, l.c)
	cli.Check(l.c.Stdout.Err())
	if l.follow && cli.IndexFile(parents, d.fi) >= 0 {
		l.c.Warn("%s: not listing already-listed directory", d.name)
		l.status = 2
		return
	}
	entries, err := l.read(d)
	if err != nil {
		l.c.Warn("cannot open directory %s: %s", cli.Quote(d.name), vfs.Reason(err))
		l.status = max(l.status, map[bool]int{true: 2, false: 1}[parents == nil])
		return
	}
	l.title(d.name, titled)
	if l.long || l.blocks {
		l.total(entries)
	}
	l.print(entries)
	for _, e := range entries {
		if l.recursive && e.name != "." && e.name != ".." && e.fi.IsDir() {
			e.name = cli.Join(d.name, e.name)
			l.dir(e, true, append(slices.Clip(parents), d.fi))
		}
	}
}

func (l *ls) title(name string, titled bool) {
	if l.printed {
		l.c.Stdout.WriteString("\n")
	}
	l.printed = true
	if titled {
		fmt.Fprintf(l.c.Stdout, "%s:\n", l.quoteName(name))
	}
}

// read returns the visible entries of a directory in order.
func (l *ls) read(d lsEntry) ([]lsEntry, error) {
	list, err := l.c.FS.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var entries []lsEntry
	if l.all {
		up, err := l.c.FS.Stat(l.c.Path(cli.Join(d.path, "..")))
		if err != nil {
			return nil, err
		}
		entries = append(entries, lsEntry{".", d.path, d.fi}, lsEntry{"..", d.path, up})
	}
	for _, e := range list {
		if !l.visible(e.Name()) {
			continue
		}
		fi, err := e.Info()
		full := cli.Join(d.path, e.Name())
		if l.follow {
			if to, err := l.c.FS.Stat(full); err == nil {
				fi = to
			}
		}
		if err == nil {
			entries = append(entries, lsEntry{e.Name(), full, fi})
		}
	}
	l.order(entries)
	return entries, nil
}

func (l *ls) visible(name string) bool {
	if strings.HasPrefix(name, ".") && !l.all && !l.almost {
		return false
	}
	return !slices.ContainsFunc(l.hide, func(p string) bool {
		return cli.Fnmatch(p, name, false) && (name[0] != '.' || p[0] == '.')
	})
}

func (l *ls) order(entries []lsEntry) {
	slices.SortStableFunc(entries, func(a, b lsEntry) int {
		if l.dirsFirst && a.fi.IsDir() != b.fi.IsDir() {
			return map[bool]int{true: -1, false: 1}[a.fi.IsDir()]
		}
		if l.sort == 'U' {
			return 0
		}
		n := l.compare(a, b)
		if l.reverse {
			return -n
		}
		return n
	})
}

func (l *ls) compare(a, b lsEntry) int {
	n := 0
	switch l.sort {
	case 't':
		n = b.fi.ModTime().Compare(a.fi.ModTime())
	case 'S':
		n = cmp.Compare(sizeOf(b.fi), sizeOf(a.fi))
	case 'X':
		n = cmp.Compare(path.Ext(a.name), path.Ext(b.name))
	case 'v':
		n = cli.CompareVersions([]byte(a.name), []byte(b.name))
	case 'w':
		n = cmp.Compare(cli.TextWidth([]byte(a.name)), cli.TextWidth([]byte(b.name)))
	}
	return cmp.Or(n, cmp.Compare(a.name, b.name))
}

// lsTime is the time column of the long form: old and future times show the
// year instead of the hour.
func (l *ls) lsTime(t, now time.Time) string {
	const halfYear = 31556952 * time.Second / 2
	recent := t.After(now.Add(-halfYear)) && !t.After(now)
	format := "%b %e  %Y"
	if recent {
		format = "%b %e %H:%M"
	}
	switch l.timeStyle {
	case "full-iso":
		format = "%Y-%m-%d %H:%M:%S.%N %z"
	case "long-iso":
		format = "%Y-%m-%d %H:%M"
	case "iso":
		format = "%Y-%m-%d "
		if recent {
			format = "%m-%d %H:%M"
		}
	}
	if own, ok := strings.CutPrefix(l.timeStyle, "+"); ok {
		old, new, two := strings.Cut(own, "\n")
		format = old
		if two && recent {
			format = new
		}
	}
	return strftime.Format(t, format)
}
