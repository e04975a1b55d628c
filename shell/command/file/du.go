package file

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Du = shell.Command{Name: "du", Run: runDu}

type diskUsage struct {
	c   *shell.Call
	ctx context.Context

	all, summary, total, separate, follow, countLinks bool
	apparent                                          bool
	unit, human                                       int64
	suffix                                            string
	depth                                             int
	threshold                                         int64
	exclude                                           []string
	end                                               string
	several                                           bool                     // operands may overlap
	seen                                              map[uint64][]fs.FileInfo // what was counted already
}

func runDu(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	d := &diskUsage{c: c, ctx: ctx, unit: 1024, depth: -1, end: "\n", seen: make(map[uint64][]fs.FileInfo)}
	operands, err := d.parse()
	if err != nil {
		return err
	}
	if d.summary && d.all {
		return cli.Misuse(c, "cannot both summarize and show all entries")
	}
	if d.summary {
		d.depth = 0
	}
	if len(operands) == 0 {
		operands = []string{"."}
	}
	d.several = len(operands) > 1
	d.run(operands)
	return c.Stdout.Err()
}

func (d *diskUsage) parse() ([]string, error) {
	return cli.Parse(d.c, cli.Flags{
		"a": &d.all, "s": &d.summary, "c": &d.total, "S": &d.separate, "L": &d.follow, "l": &d.countLinks,
		"h": cli.Set(&d.human, 1024), "si": cli.Set(&d.human, 1000),
		"k":             func() { d.unit, d.human = 1024, 0 },
		"m":             func() { d.unit, d.human = 1<<20, 0 },
		"b":             func() { d.apparent, d.unit, d.human = true, 1, 0 },
		"apparent-size": &d.apparent, "0": cli.Set(&d.end, "\x00"), "exclude": &d.exclude,
		"d": func(v string) error {
			n, err := strconv.ParseUint(v, 10, 31)
			if err != nil {
				return cli.Misuse(d.c, "invalid maximum depth %s", cli.QuoteCurly(v))
			}
			d.depth = int(n)
			return nil
		},
		"B t":                      d.sized,
		"X time time-style inodes": cli.Unavailable,
	})
}

func (d *diskUsage) sized(o cli.Option) error {
	text, negative := strings.CutPrefix(o.Value, "-")
	n, ok := cli.ParseBytes(text)
	switch {
	case !ok || n == 0:
		return d.c.Fail(1, "invalid -%s argument %s", o.Name, cli.Quote(o.Value))
	case o.Name == "B":
		d.unit, d.human = n, 0
		if !cli.IsDigit(text[0]) {
			d.suffix = text
		}
	case negative:
		d.threshold = -n
	default:
		d.threshold = n
	}
	return nil
}

func (d *diskUsage) run(operands []string) {
	var sum int64
	for _, name := range operands {
		fi, err := stat(d.c, name, d.follow)
		if err != nil {
			d.c.Warn("cannot access %s: %s", cli.Quote(name), vfs.Reason(err))
			continue
		}
		sum += d.walk(name, fi, 0, nil)
	}
	if d.total {
		d.print(sum, "total")
	}
}

// walk adds up name and what is below it, and prints it unless it is too deep.
func (d *diskUsage) walk(name string, fi fs.FileInfo, depth int, parents []fs.FileInfo) int64 {
	cli.CheckStopped(d.ctx, d.c)
	cli.Check(d.c.Stdout.Err())
	if d.excluded(name) || d.counted(fi) || d.follow && cli.IndexFile(parents, fi) >= 0 {
		return 0
	}
	sum := d.size(fi)
	own := sum
	if fi.IsDir() {
		below, files := d.below(name, depth, append(slices.Clip(parents), fi))
		sum += below
		own += files
	}
	shown := sum
	if d.separate {
		shown = own
	}
	if (fi.IsDir() || d.all || depth == 0) && (d.depth < 0 || depth <= d.depth) {
		d.print(shown, name)
	}
	return sum
}

// below adds up the entries of a directory; files is the part that is not in
// subdirectories.
func (d *diskUsage) below(name string, depth int, parents []fs.FileInfo) (all, files int64) {
	list, err := d.c.FS.ReadDir(d.c.Path(name))
	if err != nil {
		d.c.Warn("cannot read directory %s: %s", cli.Quote(name), vfs.Reason(err))
	}
	for _, e := range list {
		full := cli.Join(name, e.Name())
		fi, err := e.Info()
		if d.follow {
			fi, err = stat(d.c, full, true)
		}
		if err != nil {
			d.c.Warn("cannot access %s: %s", cli.Quote(full), vfs.Reason(err))
			continue
		}
		n := d.walk(full, fi, depth+1, parents)
		all += n
		if !fi.IsDir() {
			files += n
		}
	}
	return all, files
}

func (d *diskUsage) excluded(name string) bool {
	return slices.ContainsFunc(d.exclude, func(p string) bool {
		return cli.Fnmatch(p, cli.Base(name), false) || cli.Fnmatch(p, name, false)
	})
}

// counted reports whether the file was added already under another name, or by
// an operand before.
func (d *diskUsage) counted(fi fs.FileInfo) bool {
	if !d.several && (fi.IsDir() || linksOf(fi) < 2) || d.countLinks {
		return false
	}
	ino := inodeOf(fi)
	if cli.IndexFile(d.seen[ino], fi) >= 0 {
		return true
	}
	d.seen[ino] = append(d.seen[ino], fi)
	return false
}

func (d *diskUsage) size(fi fs.FileInfo) int64 {
	if d.apparent {
		return sizeOf(fi)
	}
	return blocksOf(fi) * 512
}

func (d *diskUsage) print(n int64, name string) {
	if d.threshold > 0 && n < d.threshold || d.threshold < 0 && n > -d.threshold {
		return
	}
	text := strconv.FormatInt((n+d.unit-1)/d.unit, 10) + d.suffix
	if d.human > 0 {
		text = humanSize(n, d.human)
	}
	fmt.Fprintf(d.c.Stdout, "%s\t%s%s", text, name, d.end)
}
