package file

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/strftime"
	"hako/shell/vfs"
)

// action makes the actions without a value.
func (f *finder) action(name string) (findExpr, bool) {
	f.acted = f.acted || slices.Contains([]string{"-print", "-print0", "-ls", "-delete"}, name)
	switch name {
	case "-print":
		return f.print("\n"), true
	case "-print0":
		return f.print("\x00"), true
	case "-ls":
		return f.ls, true
	case "-delete":
		f.depthFirst = true
		return f.delete, true
	case "-quit":
		return func(*findFile) bool { cli.Check(errFindQuit); return false }, true
	}
	return nil, false
}

func (f *finder) print(end string) findExpr {
	return func(file *findFile) bool {
		f.c.Stdout.WriteString(file.path)
		_, err := f.c.Stdout.WriteString(end)
		cli.Check(err)
		return true
	}
}

func (f *finder) ls(file *findFile) bool {
	format := "%b %e  %Y"
	mtime, now := file.fi.ModTime(), f.c.Now()
	if age := now.Sub(mtime); age >= 0 && age < 180*24*3600*1e9 {
		format = "%b %e %H:%M"
	}
	name := escapeName(file.path)
	if isLink(file.fi) {
		name += " -> " + escapeName(readlink(f.c, file.abs))
	}
	_, err := fmt.Fprintf(f.c.Stdout, "%9d %6d %s %3d %-8s %-8s %8d %s %s\n", inodeOf(file.fi), blocksOf(file.fi)/2,
		cli.ModeText(file.fi.Mode()), linksOf(file.fi), cli.UserName, cli.UserName, sizeOf(file.fi),
		strftime.Format(mtime.In(datetime.ZoneOrUTC(f.c)), format), name)
	cli.Check(err)
	return true
}

func (f *finder) delete(file *findFile) bool {
	if file.name() == "." || file.abs == "/" {
		return true
	}
	if err := f.c.FS.Remove(file.abs); err != nil {
		f.warned = true
		f.c.Warn("cannot delete %s: %s", cli.QuoteCurly(file.path), vfs.Reason(err))
		return false
	}
	return true
}

// exec reads the command of -exec up to ";" or "{} +".
func (p *findParser) exec(name string) findExpr {
	p.f.acted = true
	start := p.at
	for ; p.at < len(p.words); p.at++ {
		w := p.words[p.at]
		argv := p.words[start:p.at]
		if w == "+" && p.at > start && p.words[p.at-1] == "{}" && len(argv) > 1 {
			p.at++
			return p.f.batch(argv[:len(argv)-1], name == "-execdir")
		}
		if w == ";" && len(argv) > 0 {
			p.at++
			return p.f.each(argv, name == "-execdir")
		}
	}
	fail("missing argument to `%s'", name)
	return nil
}

// each runs the command for one file; it is true if the command succeeds.
func (f *finder) each(argv []string, inDir bool) findExpr {
	return func(file *findFile) bool {
		path, dir := f.execPath(file, inDir)
		words := make([]string, len(argv))
		for i, w := range argv {
			words[i] = strings.ReplaceAll(w, "{}", path)
		}
		status, err := cli.Exec(f.ctx, f.c, words, shell.ExecIO{Dir: dir})
		cli.Check(err)
		return status == 0
	}
}

// execPath is the name of a file for a command, and the directory to run it in.
func (f *finder) execPath(file *findFile, inDir bool) (path, dir string) {
	if inDir {
		return "./" + file.name(), f.c.Path(cli.Dir(file.path))
	}
	return file.path, ""
}

// batchBytes limits the length of the words of one command of "-exec … +".
const batchBytes = 128 << 10

// A findBatch collects files for one command.
type findBatch struct {
	f     *finder
	argv  []string
	inDir bool
	dir   string
	files []string
	bytes int
}

func (f *finder) batch(argv []string, inDir bool) findExpr {
	b := &findBatch{f: f, argv: argv, inDir: inDir}
	f.batches = append(f.batches, b)
	return b.add
}

func (b *findBatch) add(file *findFile) bool {
	path, dir := b.f.execPath(file, b.inDir)
	if dir != b.dir || b.bytes+len(path)+1 > batchBytes {
		b.flush()
	}
	b.dir, b.files, b.bytes = dir, append(b.files, path), b.bytes+len(path)+1
	return true
}

func (b *findBatch) flush() {
	if len(b.files) == 0 {
		return
	}
	words := append(slices.Clone(b.argv), b.files...)
	b.files, b.bytes = nil, 0
	status, err := cli.Exec(b.f.ctx, b.f.c, words, shell.ExecIO{Dir: b.dir})
	cli.Check(err)
	b.f.warned = b.f.warned || status != 0
}

// printfAction reads the format once and makes a function of it.
func printfAction(f *finder, _, format string) findExpr {
	f.acted = true
	var parts []func(*findFile) string
	for format != "" {
		i := strings.IndexAny(format, `%\`)
		if i < 0 {
			i = len(format)
		}
		if text := format[:i]; text != "" {
			parts = append(parts, func(*findFile) string { return text })
		}
		if format = format[i:]; format == "" {
			break
		}
		part, rest := f.printfPart(format)
		parts, format = append(parts, part), rest
	}
	return func(file *findFile) bool {
		for _, part := range parts {
			f.c.Stdout.WriteString(part(file))
		}
		cli.Check(f.c.Stdout.Err())
		return true
	}
}

// printfPart reads one escape or directive at the front of a format.
func (f *finder) printfPart(format string) (part func(*findFile) string, rest string) {
	if format[0] == '\\' {
		text, n := cli.CutEscape(format)
		return func(*findFile) string { return text }, format[n:]
	}
	i := 1
	for i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0 {
		i++
	}
	if i >= len(format) {
		fail("error: %s at end of format string", format)
	}
	spec, letter := format[1:i], format[i]
	if letter == '%' {
		return func(*findFile) string { return "%" }, format[i+1:]
	}
	value := findFields[letter]
	if strings.IndexByte("TACB", letter) >= 0 && i+1 < len(format) {
		i++
		kind := format[i]
		value = func(f *finder, file *findFile) string { return f.timeField(file, kind) }
	}
	if value == nil {
		text := format[:i+1]
		return func(*findFile) string { return text }, format[i+1:]
	}
	left, width := parseWidth(spec)
	return func(file *findFile) string { return padField(value(f, file), width, left) }, format[i+1:]
}

// maxPad limits the width of one field.
const maxPad = 1024

func parseWidth(spec string) (left bool, width int) {
	left = strings.HasPrefix(spec, "-")
	width, _, _ = cli.CutNumber(strings.TrimLeft(spec, "-+ #0"), 4)
	return left, min(width, maxPad)
}

func padField(s string, width int, left bool) string {
	missing := strings.Repeat(" ", max(0, width-len(s)))
	if left {
		return s + missing
	}
	return missing + s
}

// findFields are the directives of -printf that need no more letters.
var findFields = map[byte]func(f *finder, file *findFile) string{
	'p': func(_ *finder, file *findFile) string { return file.path },
	'P': func(_ *finder, file *findFile) string { return file.below() },
	'f': func(_ *finder, file *findFile) string { return file.name() },
	'h': func(_ *finder, file *findFile) string { return headOf(file) },
	'H': func(_ *finder, file *findFile) string { return file.root },
	'd': func(_ *finder, file *findFile) string { return strconv.Itoa(file.depth) },
	's': func(_ *finder, file *findFile) string { return strconv.FormatInt(sizeOf(file.fi), 10) },
	'k': func(_ *finder, file *findFile) string { return strconv.FormatInt(blocksOf(file.fi)/2, 10) },
	'b': func(_ *finder, file *findFile) string { return strconv.FormatInt(blocksOf(file.fi), 10) },
	'm': func(_ *finder, file *findFile) string {
		return strconv.FormatUint(uint64(cli.UnixMode(file.fi.Mode())), 8)
	},
	'M': func(_ *finder, file *findFile) string { return cli.ModeText(file.fi.Mode()) },
	'u': findUser, 'g': findUser, 'U': findUserID, 'G': findUserID,
	'i': func(_ *finder, file *findFile) string { return strconv.FormatUint(inodeOf(file.fi), 10) },
	'n': func(_ *finder, file *findFile) string { return strconv.Itoa(linksOf(file.fi)) },
	'y': func(_ *finder, file *findFile) string { return string(findType(file.fi.Mode())) },
	'Y': (*finder).targetType,
	'l': func(f *finder, file *findFile) string { return readlink(f.c, file.abs) },
	't': (*finder).modTime, 'a': (*finder).modTime, 'c': (*finder).modTime,
	'D': func(*finder, *findFile) string { return "0" },
	'F': func(*finder, *findFile) string { return "tree" },
}

func findUser(*finder, *findFile) string { return cli.UserName }

func findUserID(*finder, *findFile) string { return strconv.Itoa(cli.UserID) }

func (f *finder) modTime(file *findFile) string {
	return strftime.Format(file.fi.ModTime().In(datetime.ZoneOrUTC(f.c)), "%a %b %e %H:%M:%S.%N0 %Y")
}

// headOf is the directory part as %h shows it.
func headOf(file *findFile) string {
	if !strings.Contains(file.path, "/") {
		return "."
	}
	i := strings.LastIndexByte(strings.TrimRight(file.path, "/"), '/')
	if i < 0 {
		return file.path[:len(file.path)-1]
	}
	return file.path[:i]
}

// targetType is the type of the target of a link: N if it does not exist.
func (f *finder) targetType(file *findFile) string {
	fi := file.fi
	if isLink(fi) {
		to, err := f.c.FS.Stat(file.abs)
		if err != nil {
			return "N"
		}
		fi = to
	}
	return string(findType(fi.Mode()))
}

// timeField is %T followed by the letter of a date format; find has ten
// decimal places where date has nine.
func (f *finder) timeField(file *findFile, kind byte) string {
	t := file.fi.ModTime().In(datetime.ZoneOrUTC(f.c))
	switch kind {
	case '@':
		return fmt.Sprintf("%d.%09d0", t.Unix(), t.Nanosecond())
	case 'S', 'T', 'X':
		return strftime.Format(t, "%"+string(kind)+".%N0")
	case '+':
		return strftime.Format(t, "%Y-%m-%d+%H:%M:%S.%N0")
	case 'c':
		return strftime.Format(t, "%a %b %e %H:%M:%S %Y")
	}
	return strftime.Format(t, "%"+string(kind))
}
