package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"

	"hako/quota"
	"hako/run/fault"
	"hako/shell/spec"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// A Command is a command of the shell: a name, a function, and the texts for help,
// manual pages and usage errors. The texts are those of Spec where they are empty.
type Command struct {
	Name    string
	Usage   string // the usage line after the name: "[-n N] [file...]"
	Summary string // one line, lower case, no period
	Help    string // options and examples, plain text; may be empty

	// Spec says which options and operands there are, see [Call.Options]. Nil
	// means the spec of hako's own command of that name, if the texts are empty.
	Spec *spec.Spec

	Run func(ctx context.Context, c *Call) error
}

// Described returns the command with the texts of its spec.
func (c Command) Described() Command {
	if c.Spec == nil && c.Usage == "" && c.Summary == "" && c.Help == "" {
		c.Spec = spec.Lookup(c.Name)
	}
	if s := c.Spec; s != nil {
		c.Usage, c.Summary, c.Help = cmp.Or(c.Usage, s.Usage), cmp.Or(c.Summary, s.Summary), cmp.Or(c.Help, s.Help)
	}
	return c
}

// A Set holds commands by name.
type Set map[string]Command

// A Call is everything a builtin gets. It has no other way to the world.
//
// Run returns nil for status 0, a [Status] for any other, and an error for
// anything worth a message: it is printed as "name: text" and becomes status 1.
// Errors of the limiter and of the gate stop the whole script; a command only
// has to return them. [stream.ErrPipe] ends a command quietly.
type Call struct {
	Args   []string // the words after the name
	Name   string   // as it was called: egrep is grep by another name
	Stdin  *stream.Reader
	Stdout *stream.Writer // flushed by the shell when the command returns
	Stderr io.Writer

	// Out is what Stdout writes to, for a command that passes on what others
	// print. Flush Stdout first and leave it alone while Out is in use. Several
	// goroutines may write to Out and to Stderr at once; each write arrives
	// whole.
	Out    io.Writer
	Merged bool // Out and Stderr are the same open file, as after 2>&1: the order of writes is kept

	Dir     string // absolute path of the current directory
	FS      *vfs.FS
	Limiter *quota.Limiter
	Now     func() time.Time // the clock of the session
	Seed    uint64           // for whatever needs chance; zero when nobody asked for determinism

	// Getenv returns an exported or plain shell variable; Environ the exported ones.
	Getenv  func(name string) (string, bool)
	Environ func() []string

	// Exec runs another command as if the script had written it: it passes
	// the gate and may be a function or builtin. A nil field of io means the
	// call's own stream.
	Exec func(ctx context.Context, argv []string, io ExecIO) (status int, err error)

	// Fork is Exec in two steps, for a command that shall run at the same time
	// as the one that calls: what it returns must be called once, perhaps in
	// another goroutine, and must have ended before the call does.
	Fork func(ctx context.Context, argv []string, io ExecIO) (run func() (status int, err error), err error)

	// Lookup returns the command of that name, for which, help and man.
	Lookup func(name string) (Command, bool)
	// Names lists all commands there are, sorted.
	Names func() []string

	// Spec is the spec of the command. Nil means that of hako's own command called
	// Name.
	Spec *spec.Spec

	stdinFile *vfs.File // what Stdin reads, if it is a regular file
	failed    bool
	hint      func(error) string // nil means [fault.Hint]
}

// ExecIO changes the surroundings of a command started by [Call.Exec].
type ExecIO struct {
	Stdin  *stream.Reader
	Stdout io.Writer
	Dir    string
	Env    []string // NAME=value, added
	Clean  bool     // only Env, nothing inherited
}

// Status is a command's exit status as an error without a message.
type Status int

// Error implements error.
func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// ErrUsage makes the shell print the usage line and exit with status 2.
var ErrUsage = errors.New("usage")

// Options takes the words of the call apart by the spec of its command, see
// [spec.Spec.Split]. What is wrong is reported in the manner of the GNU tools; the
// error is the status that Run returns then.
func (c *Call) Options() (opts []spec.Arg, operands []string, err error) {
	s := c.spec()
	if s == nil {
		return nil, c.Args, nil
	}
	if opts, operands, err = s.Split(c.Args); err != nil {
		return nil, nil, c.UsageError(err)
	}
	return opts, operands, nil
}

func (c *Call) spec() *spec.Spec {
	if c.Spec != nil {
		return c.Spec
	}
	return spec.Lookup(c.Name)
}

// UsageError reports a bad option or operand in the manner of the GNU tools and
// returns the status to end with.
func (c *Call) UsageError(err error) error {
	c.Warn("%v", err)
	hint := "Try '" + c.Name + " --help' for more information.\n"
	switch c.Name {
	case "diff", "cmp", "patch":
		hint = c.Name + ": " + hint
	}
	io.WriteString(c.Stderr, hint)
	if s := c.spec(); s != nil {
		return Status(s.Status)
	}
	return Status(1)
}

// Path returns the absolute form of a name.
func (c *Call) Path(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Dir, name)
}

// slashed keeps the slash of a name which says that it is a directory's.
func slashed(full, name string) string {
	if strings.HasSuffix(name, "/") && full != "/" {
		full += "/"
	}
	return full
}

// Warn prints "name: text" to standard error and makes the call end with
// status 1 if it would have ended with 0.
func (c *Call) Warn(format string, args ...any) {
	c.failed = true
	fmt.Fprintf(c.Stderr, c.Name+": "+format+"\n", args...)
}

// WarnFile is Warn for a file that could not be used, in the words of the C
// library, with the way round if there is one.
func (c *Call) WarnFile(name string, err error) {
	c.Warn("%s: %s", name, vfs.Reason(err))
	hint := c.hint
	if hint == nil {
		hint = fault.Hint
	}
	if h := hint(err); h != "" {
		fmt.Fprintf(c.Stderr, "hint: %s\n", h)
	}
}

// Failed reports whether Warn was called.
func (c *Call) Failed() bool { return c.failed }

// Fail prints "name: text" and returns the status, for `return c.Fail(2, …)`.
func (c *Call) Fail(status int, format string, args ...any) error {
	c.Warn(format, args...)
	return Status(status)
}

// OpenFile opens a file by the flags of package os, and [vfs.Binary].
func (c *Call) OpenFile(name string, flag int, perm fs.FileMode) (*vfs.File, error) {
	return c.FS.Open(slashed(c.Path(name), name), flag, perm)
}

// Open opens a file for reading.
func (c *Call) Open(name string) (*vfs.File, error) {
	return c.OpenFile(name, os.O_RDONLY, 0)
}

// OpenBytes is Open for commands whose business is bytes rather than text:
// the strict profile lets them read what is not text.
func (c *Call) OpenBytes(name string) (*vfs.File, error) {
	return c.OpenFile(name, os.O_RDONLY|vfs.Binary, 0)
}

// Create opens a file for writing and empties it.
func (c *Call) Create(name string) (*vfs.File, error) {
	return c.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

// An Input is one operand opened for reading.
type Input struct {
	*stream.Reader
	Name string    // the operand; "-" for standard input without one
	File *vfs.File // nil for standard input, unless it is a file yet unread
}

// IsStdin reports whether an operand means standard input: "-", /dev/stdin.
func IsStdin(name string) bool {
	n, ok := devFD(name)
	return name == "-" || ok && n == 0
}

// Named returns the input under the name by which it was asked for.
func (in Input) Named(name string) Input {
	in.Name = name
	return in
}

// StdinInput returns standard input as an operand. It has a file if it comes
// from a regular one and nothing was read yet, so that the file may be used in
// its place; whoever does leaves the file's position where reading ended.
func (c *Call) StdinInput() Input {
	in := Input{Reader: c.Stdin, Name: "-"}
	if c.stdinFile == nil {
		return in
	}
	if pos, err := c.stdinFile.Seek(0, io.SeekCurrent); err == nil && pos == 0 {
		in.File = c.stdinFile
	}
	return in
}

// Inputs yields the named operands in turn, or standard input if there are
// none; "-" and /dev/stdin are standard input. What cannot be opened is reported in the manner
// of GNU and passed over, and makes the call fail with status 1.
func (c *Call) Inputs(names []string) iter.Seq[Input] { return c.inputs(names, c.Open) }

// InputsBytes is Inputs by way of [Call.OpenBytes].
func (c *Call) InputsBytes(names []string) iter.Seq[Input] { return c.inputs(names, c.OpenBytes) }

func (c *Call) inputs(names []string, open func(string) (*vfs.File, error)) iter.Seq[Input] {
	if len(names) == 0 {
		names = []string{"-"}
	}
	return func(yield func(Input) bool) {
		for _, name := range names {
			if !c.input(name, open, yield) {
				return
			}
		}
	}
}

// input opens one operand for yield. The file is closed even if yield panics, as commands
// do to end: closing it puts it on record.
func (c *Call) input(name string, open func(string) (*vfs.File, error), yield func(Input) bool) (more bool) {
	if IsStdin(name) {
		return yield(c.StdinInput().Named(name))
	}
	f, err := open(name)
	if err == nil && f.IsDir() {
		f.Close()
		err = vfs.ErrIsDir
	}
	if err != nil {
		c.WarnFile(name, err)
		return true
	}
	defer f.Close()
	in := Input{c.Reader(f), name, f}
	defer in.Release()
	return yield(in)
}

// Reader wraps a file so that over-long lines are charged to the session.
func (c *Call) Reader(src io.Reader) *stream.Reader {
	r := stream.NewReader(src)
	r.Grow = c.Limiter.Fits
	return r
}

// UsageLine returns the line that help and usage errors show.
func (c Command) UsageLine() string {
	return strings.TrimRight("usage: "+c.Name+" "+c.Described().Usage, " ")
}

// HelpText returns what --help, help and man print.
func (c Command) HelpText() string {
	c = c.Described()
	text := c.UsageLine() + "\n" + c.Summary + "\n"
	if c.Help != "" {
		text += "\n" + strings.TrimRight(c.Help, "\n") + "\n"
	}
	return text
}
