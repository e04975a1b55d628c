package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/strftime"
	"hako/shell/vfs"
)

var Stat = shell.Command{Name: "stat", Run: runStat}

func runStat(ctx context.Context, c *shell.Call) error {
	s := &stater{c: c, format: statDefault, end: "\n"}
	operands, err := parseOperands(c, cli.Flags{
		"c":      func(v string) { s.format, s.fixed, s.end, s.escapes = v, true, "\n", false },
		"printf": func(v string) { s.format, s.fixed, s.end, s.escapes = v, true, "", true },
		"t":      func() { s.format, s.fixed = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o", true },
		"L":      &s.follow,
		"f":      func(string) error { return errors.New("-f: the tree is memory, not a file system; see df") },
	}, "missing operand")
	if err != nil {
		return err
	}
	for _, name := range operands {
		fi, err := stat(c, name, s.follow)
		if err != nil {
			c.Stdout.Flush() // messages stand where they belong, as GNU's do
			c.Warn("cannot statx %s: %s", cli.Quote(name), vfs.Reason(err))
			continue
		}
		s.show(name, fi)
		if err := cli.Stopped(ctx, c); err != nil {
			return err
		}
	}
	return c.Stdout.Err()
}

type stater struct {
	c       *shell.Call
	format  string
	fixed   bool // the format was given
	end     string
	escapes bool
	follow  bool
}

const statDefault = `  File: %n
  Size: %-10s	Blocks: %-10b IO Block: %-6o %F
Device: %Hd,%Ld	Inode: %-11i Links: %h
Access: (%04a/%A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)
Access: %x
Modify: %y
Change: %z
 Birth: %w`

func (s *stater) show(name string, fi fs.FileInfo) {
	out, format := s.c.Stdout, s.format
	if !s.fixed && isLink(fi) {
		format = strings.Replace(format, "%n", "%n -> %l", 1)
	}
	for format != "" {
		i := strings.IndexAny(format, `%\`)
		if i < 0 {
			i = len(format)
		}
		out.WriteString(format[:i])
		if format = format[i:]; format == "" {
			break
		}
		if format[0] == '\\' {
			n := s.escape(format)
			format = format[n:]
			continue
		}
		text, n := s.directive(format, name, fi)
		out.WriteString(text)
		format = format[n:]
	}
	out.WriteString(s.end)
}

func (s *stater) escape(format string) int {
	if !s.escapes {
		s.c.Stdout.WriteString(`\`)
		return 1
	}
	text, n := cli.CutEscape(format)
	switch {
	case len(text) == 2 && text[1] == '"':
		text = `"`
	case len(text) == 2:
		fmt.Fprintf(s.c.Stderr, "stat: warning: unrecognized escape '%s'\n", text)
		text = text[1:]
	}
	s.c.Stdout.WriteString(text)
	return n
}

// directive expands the %-field at the front of format.
func (s *stater) directive(format, name string, fi fs.FileInfo) (string, int) {
	i := 1
	for i < len(format) && strings.IndexByte("-+ #0'", format[i]) >= 0 {
		i++
	}
	flags := format[1:i]
	width, rest, _ := cli.CutNumber(format[i:], 4)
	precision := -1
	if after, ok := strings.CutPrefix(rest, "."); ok {
		precision, rest, _ = cli.CutNumber(after, 4)
	}
	if len(rest) > 1 && (rest[0] == 'H' || rest[0] == 'L') && strings.IndexByte("dr", rest[1]) >= 0 {
		rest = rest[1:]
	}
	if rest == "" {
		return format, len(format)
	}
	n := len(format) - len(rest) + 1
	if rest[0] == '%' {
		return "%", n
	}
	text, numeric := s.field(rest[0], name, fi)
	if !numeric && precision >= 0 && precision < len(text) {
		text = text[:precision]
	}
	if numeric && strings.Contains(flags, "+") {
		text = "+" + text
	}
	width = min(width, maxPad)
	if numeric && strings.Contains(flags, "0") && len(text) < width {
		return strings.Repeat("0", width-len(text)) + text, n
	}
	return padField(text, width, strings.Contains(flags, "-")), n
}

// statFields are the fields of a format that are not times.
var statFields = map[byte]func(s *stater, name string, fi fs.FileInfo) string{
	'n': func(_ *stater, name string, _ fs.FileInfo) string { return name },
	'N': (*stater).quotedName,
	'l': func(s *stater, name string, _ fs.FileInfo) string { return s.target(name) },
	's': func(_ *stater, _ string, fi fs.FileInfo) string { return strconv.FormatInt(sizeOf(fi), 10) },
	'b': func(_ *stater, _ string, fi fs.FileInfo) string { return strconv.FormatInt(blocksOf(fi), 10) },
	'B': statConst("512"), 'o': statConst("4096"), 'm': statConst("/"),
	'a': func(_ *stater, _ string, fi fs.FileInfo) string { return fmt.Sprintf("%o", cli.UnixMode(fi.Mode())) },
	'A': func(_ *stater, _ string, fi fs.FileInfo) string { return cli.ModeText(fi.Mode()) },
	'f': func(_ *stater, _ string, fi fs.FileInfo) string {
		return fmt.Sprintf("%x", cli.UnixMode(fi.Mode())|rawType(fi.Mode()))
	},
	'F': func(_ *stater, _ string, fi fs.FileInfo) string { return cli.FileKind(fi) },
	'h': func(_ *stater, _ string, fi fs.FileInfo) string { return strconv.Itoa(linksOf(fi)) },
	'i': func(_ *stater, _ string, fi fs.FileInfo) string { return strconv.FormatUint(inodeOf(fi), 10) },
	'u': statConst(strconv.Itoa(cli.UserID)), 'g': statConst(strconv.Itoa(cli.UserID)),
	'U': statConst(cli.UserName), 'G': statConst(cli.UserName),
	'd': statConst("0"), 'D': statConst("0"), 't': statConst("0"), 'T': statConst("0"), 'r': statConst("0"),
	'R': statConst("0"),
}

func statConst(text string) func(*stater, string, fs.FileInfo) string {
	return func(*stater, string, fs.FileInfo) string { return text }
}

func (s *stater) quotedName(name string, fi fs.FileInfo) string {
	if isLink(fi) {
		return cli.Quote(name) + " -> " + cli.Quote(s.target(name))
	}
	return cli.Quote(name)
}

func (s *stater) field(letter byte, name string, fi fs.FileInfo) (text string, numeric bool) {
	if f, ok := statFields[letter]; ok {
		return f(s, name, fi), strings.IndexByte("nNlAFUGm", letter) < 0
	}
	return s.timeField(letter, fi)
}

func (s *stater) target(name string) string {
	return readlink(s.c, s.c.Path(name))
}

func (s *stater) timeField(letter byte, fi fs.FileInfo) (string, bool) {
	t := fi.ModTime().In(datetime.ZoneOrUTC(s.c))
	switch letter {
	case 'x', 'y', 'z', 'w':
		return strftime.Format(t, "%Y-%m-%d %H:%M:%S.%N %z"), false
	case 'X', 'Y', 'Z', 'W':
		return strconv.FormatInt(t.Unix(), 10), true
	}
	return "?", false
}

// rawType is the file type in the upper bits of st_mode.
func rawType(m fs.FileMode) uint32 {
	return map[byte]uint32{'d': 0o40000, 'l': 0o120000, 'c': 0o20000, 'b': 0o60000, 'p': 0o10000, 's': 0o140000,
		'-': 0o100000}[cli.TypeLetter(m)]
}
