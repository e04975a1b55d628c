package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Xargs = shell.Command{Name: "xargs", Run: runXargs}

// An xargs is one run of the command.
type xargs struct {
	c   *shell.Call
	ctx context.Context

	command           []string
	maxArgs, maxLines int
	replace           string
	delimiter         int // a byte, or -1 for words with quotes
	noEmpty, trace    bool
	strict, eofWord   bool
	eof, file         string
	maxBytes          int

	args   []string
	bytes  int
	lines  int
	ran    bool
	status int
}

const xargsBytes = 128 << 10

func runXargs(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	x := &xargs{c: c, ctx: ctx, delimiter: -1, maxBytes: xargsBytes}
	if err := x.parse(); err != nil {
		return err
	}
	in, done, err := x.input()
	if err != nil {
		return c.Fail(1, "Cannot open input file %s: %s", cli.Quote(x.file), vfs.Reason(err))
	}
	defer done()
	if err := cli.Try(func() { x.run(in) }); err != nil && err != errXargsDone {
		return err
	}
	return cli.StatusOr(x.status, nil)
}

func (x *xargs) parse() (err error) {
	ignored := 0
	x.command, err = cli.Parse(x.c, cli.Flags{
		"0": cli.Set(&x.delimiter, 0), "d": x.setDelimiter, "a": &x.file, "r": &x.noEmpty, "t": &x.trace, "x": &x.strict,
		"E e": func(v string) { x.eof, x.eofWord = v, v != "" },
		"I i": func(v string) { x.replace, x.maxArgs, x.maxLines = cmp.Or(v, "{}"), 0, 0 },
		"L": func(o cli.Option) error {
			x.maxArgs, x.replace = 0, ""
			return x.number(o, &x.maxLines)
		},
		"l": func(o cli.Option) error {
			x.maxArgs, x.replace = 0, ""
			o.Value = cmp.Or(o.Value, "1")
			return x.number(o, &x.maxLines)
		},
		"n": func(o cli.Option) error {
			x.maxLines, x.replace = 0, ""
			return x.number(o, &x.maxArgs)
		},
		"s": func(o cli.Option) error {
			err := x.number(o, &x.maxBytes)
			x.maxBytes = min(x.maxBytes, xargsBytes)
			return err
		},
		"P": func(o cli.Option) error {
			if o.Value == "0" {
				return nil
			}
			return x.number(o, &ignored) // one command runs at a time
		},
		"p": func(string) error { return errors.New("-p: there is nobody to ask here") },
	})
	if len(x.command) == 0 {
		x.command = []string{"echo"}
	}
	return err
}

func (x *xargs) number(o cli.Option, to *int) error {
	n, err := strconv.Atoi(o.Value)
	switch {
	case err != nil:
		return cli.Misuse(x.c, "invalid number \"%s\" for -%s option", o.Value, o.Name)
	case n < 1:
		return cli.Misuse(x.c, "value %d for -%s option should be >= 1", n, o.Name)
	}
	*to = min(n, 1<<30)
	return nil
}

func (x *xargs) setDelimiter(text string) error {
	b, ok := parseDelimiter(text)
	if !ok {
		return fmt.Errorf("Invalid input delimiter specification %s: the delimiter must be either "+
			`a single character or an escape sequence starting with \.`, text)
	}
	x.delimiter = int(b)
	return nil
}

func parseDelimiter(s string) (byte, bool) {
	if len(s) == 1 {
		return s[0], true
	}
	if len(s) > 2 && s[:2] == `\x` {
		n, err := strconv.ParseUint(s[2:], 16, 8)
		return byte(n), err == nil
	}
	if len(s) < 2 || s[0] != '\\' {
		return 0, false
	}
	text, n := cli.CutEscape(s)
	return text[0], len(text) == 1 && n == len(s)
}

func (x *xargs) input() (*stream.Reader, func(), error) {
	if x.file == "" {
		return x.c.Stdin, func() {}, nil
	}
	in, done, err := cli.OpenWith(x.c, x.file, x.c.OpenBytes)
	return in.Reader, done, err
}

// errXargsDone ends reading early without being a failure.
var errXargsDone = errors.New("done")

// run reads all items and runs commands as soon as one is full.
func (x *xargs) run(in *stream.Reader) {
	x.clear()
	if x.bytes > x.maxBytes {
		x.fail(1, "cannot fit single argument within argument list size limit")
	}
	if x.delimiter >= 0 {
		x.splitAt(in, byte(x.delimiter))
	} else {
		x.splitWords(in)
	}
	if len(x.args) > 0 || !x.ran && !x.noEmpty && x.replace == "" {
		x.flush()
	}
}

// fail ends the command with a message.
func (x *xargs) fail(status int, format string, args ...any) {
	cli.Check(x.c.Fail(status, format, args...))
}

func (x *xargs) clear() {
	x.args, x.lines, x.bytes = nil, 0, 0
	for _, w := range x.command {
		x.bytes += len(w) + 1
	}
}

// add takes one item; with -I an item is a whole line.
func (x *xargs) add(item string) {
	if x.eofWord && item == x.eof {
		x.rest()
		cli.Check(errXargsDone)
	}
	if x.replace != "" {
		x.each(item)
		return
	}
	if x.bytes+len(item)+1 > x.maxBytes {
		if len(x.args) == 0 || x.strict {
			x.fail(1, "argument line too long")
		}
		x.flush()
	}
	x.args = append(x.args, item)
	x.bytes += len(item) + 1
	if x.maxArgs > 0 && len(x.args) >= x.maxArgs {
		x.flush()
	}
}

func (x *xargs) rest() {
	if len(x.args) > 0 {
		x.flush()
	}
}

// lineEnd counts the end of a line that had items on it.
func (x *xargs) lineEnd() {
	if x.lines++; x.maxLines > 0 && x.lines >= x.maxLines {
		x.rest()
	}
}

// each runs the command with the line in place of the replacement word.
func (x *xargs) each(line string) {
	words := make([]string, len(x.command))
	size := 0
	for i, w := range x.command {
		grown := int64(len(w)) + int64(strings.Count(w, x.replace))*int64(len(line))
		if grown > int64(x.maxBytes) {
			x.fail(1, "argument list too long")
		}
		words[i] = w
		if i > 0 {
			words[i] = strings.ReplaceAll(w, x.replace, line)
		}
		if size += len(words[i]) + 1; size > x.maxBytes {
			x.fail(1, "argument list too long")
		}
	}
	x.start(words)
}

func (x *xargs) flush() {
	words := append(slices.Clone(x.command), x.args...)
	x.clear()
	x.start(words)
}

// start runs one command and records its status.
func (x *xargs) start(words []string) {
	cli.CheckStopped(x.ctx, x.c)
	x.ran = true
	if x.trace {
		fmt.Fprintln(x.c.Stderr, strings.Join(words, " "))
	}
	if _, ok := x.c.Lookup(words[0]); !ok {
		x.fail(127, "%s: No such file or directory", words[0])
	}
	status, err := cli.Exec(x.ctx, x.c, words, shell.ExecIO{Stdin: x.childInput()})
	cli.Check(err)
	switch {
	case status == 255:
		x.fail(124, "%s: exited with status 255; aborting", words[0])
	case status > 128:
		x.fail(125, "%s: terminated by signal %d", words[0], status-128)
	case status == 126 || status == 127:
		cli.Check(shell.Status(status))
	case status != 0:
		x.status = 123
	}
}

// childInput keeps commands from reading the list of items.
func (x *xargs) childInput() *stream.Reader {
	if x.file != "" {
		return x.c.Stdin
	}
	return stream.NewReader(nil)
}

func (x *xargs) splitAt(in *stream.Reader, end byte) {
	cli.Check(cli.EachLine(in, end, func(item []byte, _ bool) error {
		x.add(string(item))
		x.lineEnd()
		return nil
	}))
}
