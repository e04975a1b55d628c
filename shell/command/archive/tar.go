package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	ctx                                                             context.Context
	mode                                                            byte // c x t r
	file                                                            string
	packing                                                         *packTool
	auto, verbose, keep, stdout, follow, absolute, wild, flat, bare bool
	strip                                                           int
	exclude                                                         []string
	owner, group                                                    string
	mtime                                                           time.Time
	dir                                                             string
	operands                                                        []tarOperand
	status                                                          int
	said                                                            map[string]bool
	width                                                           int
}

// A tarOperand is a name and the directory it is in.
type tarOperand struct {
	dir, name string
	found     bool
}

var errTarFatal = errors.New("tar: fatal")

func runTar(ctx context.Context, c *shell.Call) error {
	t := &tarCall{Call: c, ctx: ctx, file: "-", dir: c.Dir, said: map[string]bool{}, width: 19, owner: "root",
		group: "root"}
	c.Args = tarOldStyle(c.Args)
	if err := t.parse(); err != nil {
		return err
	}
	var err error
	switch t.mode {
	case 'c':
		err = t.create()
	case 'r':
		err = t.extend()
	case 'x', 't':
		err = t.read()
	default:
		t.say("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
		io.WriteString(c.Stderr, "Try 'tar --help' or 'tar --usage' for more information.\n")
		return shell.Status(2)
	}
	if errors.Is(err, errTarFatal) {
		t.say("Error is not recoverable: exiting now")
		return shell.Status(2)
	}
	if err == nil && t.status != 0 {
		t.say("Exiting with failure status due to previous errors")
		return shell.Status(t.status)
	}
	return err
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

// parse takes options and operands in turn, since -C counts for the names
// that follow it.
func (t *tarCall) parse() error {
	for {
		opts, rest, err := t.Call.Options()
		if err != nil {
			return err
		}
		for _, o := range opts {
			if err := t.set(o); err != nil {
				return err
			}
		}
		if len(rest) == 0 {
			return nil
		}
		t.operands = append(t.operands, tarOperand{dir: t.dir, name: rest[0]})
		t.Args = rest[1:]
	}
}

func (t *tarCall) set(o cli.Option) (err error) {
	switch o.Name {
	case "c", "x", "t", "r":
		t.mode = o.Name[0]
	case "f":
		t.file = o.Value
	case "C":
		err = t.chdir(o.Value)
	case "z":
		t.packing = &gzipTool
	case "j":
		t.packing = &bzip2Tool
	case "J":
		t.packing = &xzTool
	case "a":
		t.auto = true
	case "v":
		t.verbose = true
	case "k":
		t.keep = true
	case "O":
		t.stdout = true
	case "h":
		t.follow = true
	case "P":
		t.absolute = true
	case "T", "X":
		err = t.listFile(o)
	default:
		err = t.setLong(o)
	}
	return err
}

func (t *tarCall) setLong(o cli.Option) (err error) {
	switch o.Name {
	case "exclude":
		t.exclude = append(t.exclude, strings.TrimSuffix(o.Value, "/"))
	case "strip-components":
		if t.strip, err = strconv.Atoi(o.Value); err != nil || t.strip < 0 {
			t.say("%s: Invalid number of elements", o.Value)
			return errTarFatal
		}
	case "wildcards":
		t.wild = true
	case "no-recursion":
		t.flat = true
	case "owner":
		t.owner, _, _ = strings.Cut(o.Value, ":")
	case "group":
		t.group, _, _ = strings.Cut(o.Value, ":")
	case "numeric-owner":
		t.bare = true
	case "mtime":
		t.mtime, err = tarTime(o.Value)
		if err != nil {
			return t.Fail(2, "Invalid time '%s'", o.Value)
		}
	}
	return nil
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
		t.say("%s: Cannot open: %s", name, vfs.Reason(err))
		t.say("Error is not recoverable: exiting now")
		return shell.Status(2)
	}
	t.dir = dir
	return nil
}

// at is Path seen from another directory.
func (t *tarCall) at(dir, name string) string {
	return (&shell.Call{Dir: dir}).Path(name)
}

// listFile reads names or patterns from a file, one in a line.
func (t *tarCall) listFile(o cli.Option) error {
	src := io.Reader(t.Stdin)
	if o.Value != "-" {
		f, err := t.Open(o.Value)
		if err != nil {
			t.say("%s: Cannot open: %s", o.Value, vfs.Reason(err))
			t.say("Error is not recoverable: exiting now")
			return shell.Status(2)
		}
		defer f.Close()
		src = f
	}
	text, err := io.ReadAll(io.LimitReader(src, 16<<20))
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

// say prints a message of tar.
func (t *tarCall) say(format string, args ...any) {
	fmt.Fprintf(t.Stderr, "tar: "+format+"\n", args...)
}

// fail says something and makes the call end with status 2.
func (t *tarCall) fail(format string, args ...any) {
	t.status = 2
	t.say(format, args...)
}

// once says something only the first time.
func (t *tarCall) once(text string) {
	if !t.said[text] {
		t.said[text] = true
		t.say("%s", text)
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
	for _, pattern := range t.exclude {
		if cli.Fnmatch(pattern, name, false) {
			return true
		}
		for i := range len(name) {
			if name[i] == '/' && cli.Fnmatch(pattern, name[i+1:], false) {
				return true
			}
		}
	}
	return false
}

// safeName takes away what would lead out of the directory, as GNU tar does.
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
