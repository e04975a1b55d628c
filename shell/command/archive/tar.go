package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Tar = shell.Command{Name: "tar", Run: runTar}

// A tarCall is one call.
type tarCall struct {
	*shell.Call
	ctx                                                       context.Context
	mode                                                      byte // c x t r
	file                                                      string
	packing                                                   *packTool
	auto, verbose, keep, stdout, follow, absolute, wild, flat bool
	numeric                                                   bool // --numeric-owner
	strip                                                     int
	exclude                                                   []string
	owner, group                                              string
	mtime                                                     time.Time
	dir                                                       string
	operands                                                  []tarOperand
	status                                                    int
	printed                                                   map[string]bool // messages
	width                                                     int
}

// A tarOperand is a name and the directory it is in.
type tarOperand struct {
	dir, name string
	found     bool
}

func runTar(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	t := &tarCall{Call: c, ctx: ctx, file: "-", dir: c.Dir, printed: map[string]bool{}, width: 19, owner: "root",
		group: "root"}
	c.Args = tarOldStyle(c.Args)
	if err := t.parse(); err != nil {
		return err
	}
	switch t.mode {
	case 'c':
		t.create()
	case 'r':
		t.extend()
	case 'x', 't':
		t.read()
	default:
		return t.misuse("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
	}
	if t.status != 0 {
		t.warn("Exiting with failure status due to previous errors")
	}
	return cli.StatusOr(t.status, nil)
}

// tarOldStyle turns "czf a.tgz dir" into "-c -z -f a.tgz dir": letters that
// take a value find theirs among the words that follow.
func tarOldStyle(args []string) []string {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
		return args
	}
	rest := args[1:]
	var out []string
	for _, letter := range args[0] {
		out = append(out, "-"+string(letter))
		if strings.ContainsRune("fCTXbH", letter) && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// parse reads options and operands one after the other, since -C applies to the names
// that follow it.
func (t *tarCall) parse() error {
	flags := t.flags()
	for {
		rest, err := cli.Parse(t.Call, flags)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			return nil
		}
		t.operands = append(t.operands, tarOperand{dir: t.dir, name: rest[0]})
		t.Args = rest[1:]
	}
}

func (t *tarCall) flags() cli.Flags {
	return cli.Flags{
		"c x t r": func(o cli.Option) error { t.mode = o.Name[0]; return nil },
		"f":       &t.file, "C": t.chdir, "T X": t.listFile,
		"z": cli.Set(&t.packing, &gzipTool), "j": cli.Set(&t.packing, &bzip2Tool), "J": cli.Set(&t.packing, &xzTool),
		"a": &t.auto, "v": &t.verbose, "k": &t.keep, "O": &t.stdout, "h": &t.follow, "P": &t.absolute,
		"p S b":     func() {}, // permissions are always kept; sparse files and blocks make no difference
		"wildcards": &t.wild, "no-recursion": &t.flat, "numeric-owner": &t.numeric,
		"owner":   func(v string) { t.owner, _, _ = strings.Cut(v, ":") },
		"group":   func(v string) { t.group, _, _ = strings.Cut(v, ":") },
		"exclude": func(v string) { t.exclude = append(t.exclude, strings.TrimSuffix(v, "/")) },
		"strip-components": func(v string) (err error) {
			if t.strip, err = strconv.Atoi(v); err != nil || t.strip < 0 {
				return t.fatal("%s: Invalid number of elements", v)
			}
			return nil
		},
		"mtime": func(v string) (err error) {
			if t.mtime, err = tarTime(v); err != nil {
				return t.Fail(2, "Invalid time '%s'", v)
			}
			return nil
		},
	}
}

func tarTime(s string) (time.Time, error) {
	if text, ok := strings.CutPrefix(s, "@"); ok {
		n, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(n, 0), err
	}
	var err error
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04",
		"2006-01-02"} {
		var at time.Time
		if at, err = time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, err
}

func (t *tarCall) chdir(name string) error {
	dir := t.at(t.dir, name)
	info, err := t.FS.Stat(dir)
	if err == nil && !info.IsDir() {
		err = vfs.ErrNotDir
	}
	if err != nil {
		return t.fatal("%s: Cannot open: %s", name, vfs.Reason(err))
	}
	t.dir = dir
	return nil
}

// at resolves a name in another directory.
func (t *tarCall) at(dir, name string) string {
	return (&shell.Call{Dir: dir}).Path(name)
}

// listFile reads names or patterns from a file, one in a line.
func (t *tarCall) listFile(o cli.Option) error {
	in, done, err := cli.OpenOperand(t.Call, o.Value)
	if err != nil {
		return t.fatal("%s: Cannot open: %s", o.Value, vfs.Reason(err))
	}
	defer done()
	text, err := io.ReadAll(io.LimitReader(in, 16<<20))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
		case o.Name == "X":
			t.exclude = append(t.exclude, line)
		default:
			t.operands = append(t.operands, tarOperand{dir: t.dir, name: line})
		}
	}
	return nil
}

// warn prints a message.
func (t *tarCall) warn(format string, args ...any) {
	fmt.Fprintf(t.Stderr, "tar: "+format+"\n", args...)
}

// fail prints a message and makes the call end with status 2.
func (t *tarCall) fail(format string, args ...any) {
	t.status = 2
	t.warn(format, args...)
}

// check is fail with the reason of err, unless err is nil or ends the script.
func (t *tarCall) check(err error, format string, args ...any) {
	if isLimit(err) {
		cli.Check(err)
	}
	if err != nil {
		t.fail(format+": %s", append(args, vfs.Reason(err))...)
	}
}

// fatal prints a message and ends the call.
func (t *tarCall) fatal(format string, args ...any) error {
	t.warn(format, args...)
	t.warn("Error is not recoverable: exiting now")
	return shell.Status(2)
}

// misuse prints a message about the command line and ends the call.
func (t *tarCall) misuse(message string) error {
	t.warn("%s", message)
	io.WriteString(t.Stderr, "Try 'tar --help' or 'tar --usage' for more information.\n")
	return shell.Status(2)
}

// once prints a message only the first time.
func (t *tarCall) once(text string) {
	if !t.printed[text] {
		t.printed[text] = true
		t.warn("%s", text)
	}
}

// excluded reports whether a pattern matches the name or a directory it is in.
func (t *tarCall) excluded(name string) bool {
	name = strings.TrimSuffix(name, "/")
	for name != "" && len(t.exclude) > 0 {
		if t.matches(name) {
			return true
		}
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	return false
}

// matches tries the patterns on a name and on what follows its slashes.
func (t *tarCall) matches(name string) bool {
	return slices.ContainsFunc(t.exclude, func(pattern string) bool {
		if cli.Fnmatch(pattern, name, false) {
			return true
		}
		for i := range len(name) {
			if name[i] == '/' && cli.Fnmatch(pattern, name[i+1:], false) {
				return true
			}
		}
		return false
	})
}

// safeName removes the part of a name that leads out of the directory, as GNU tar does.
// ok is false if the name still has "..".
func (t *tarCall) safeName(name, what string) (safe string, ok bool) {
	if t.absolute {
		return name, true
	}
	cut := 0
	for i := 0; i < len(name); {
		end := strings.IndexByte(name[i:], '/')
		part := name[i:]
		if end >= 0 {
			part = name[i : i+end]
		}
		if part == ".." || part == "" && i == cut {
			cut = min(i+len(part)+1, len(name))
		}
		if end < 0 {
			break
		}
		i += end + 1
	}
	if cut > 0 {
		t.once("Removing leading `" + name[:cut] + "' from " + what)
	}
	if name[cut:] == "" {
		return ".", true
	}
	return name[cut:], !strings.Contains("/"+name[:cut]+"/", "/../") || t.mode == 'c' || t.mode == 'r'
}
