package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/jq"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Jq = shell.Command{Name: "jq", Run: runJq}

// A jqCall is one call of jq.
type jqCall struct {
	*shell.Call
	run    *jq.Run
	filter string
	given  bool // a filter was given
	files  []string

	null, raw, join, compact, slurp, rawInput, sort, ascii, status, events, seq, zero bool

	indent     int
	tab        bool
	named      *jq.Object
	positional *jq.Array
	parser     *jq.Parser
	name       string // of the file being read
	rest       []string
	closing    func()
	queue      []any // events of --stream that wait
	broken     int   // files that could not be opened
	last       any
	any        bool
}

func runJq(ctx context.Context, c *shell.Call) error {
	j := &jqCall{Call: c, indent: 2, named: &jq.Object{}, positional: jq.NewArray(), closing: func() {}}
	j.run = jq.New(ctx, jqHostOf(c))
	defer j.run.Release()
	defer func() { j.closing() }()
	return j.run.Guard(j.main)
}

func (j *jqCall) main() error {
	if err := j.parse(j.Args); err != nil {
		return j.report(err)
	}
	if !j.given {
		return shell.ErrUsage
	}
	j.run.Input, j.run.Where = j.next, j.where
	args := jq.NewObject(2)
	args.Put("positional", j.positional)
	args.Put("named", j.named)
	j.run.Globals["$ARGS"] = args
	j.run.Globals["$__prog_args"] = j.positional
	for i, k := range j.named.Keys {
		j.run.Globals["$"+k] = j.named.Vals[i]
	}
	f, err := j.run.Compile(j.filter)
	if fault.KindOf(err) == fault.Exhausted {
		return err
	}
	if err != nil {
		fmt.Fprintf(j.Stderr, "jq: error: %s at <top-level>, line 1:\n%s\njq: 1 compile error\n", err, j.filter)
		return shell.Status(3)
	}
	j.rest = j.files
	if len(j.files) == 0 {
		j.rest = []string{"-"}
	}
	return j.execute(f)
}

// jqHostOf returns the host of a program for a call.
func jqHostOf(c *shell.Call) jq.Host {
	return jq.Host{Limiter: c.Limiter, Now: c.Now, Environ: c.Environ, Stderr: c.Stderr}
}

// execute runs the filter on every input.
func (j *jqCall) execute(f jq.Filter) error {
	if j.null {
		return j.finish(j.once(f, nil))
	}
	for {
		v, err := j.next()
		if err == io.EOF {
			return j.finish(nil)
		}
		if err == nil {
			err = j.once(f, v)
		}
		if err != nil {
			return j.finish(err)
		}
	}
}

// once runs the filter on one input. An uncaught error is reported;
// the next input follows.
func (j *jqCall) once(f jq.Filter, v any) error {
	err := j.run.Evaluate(f, v, j.print)
	failed, ok := errors.AsType[*jq.Error](err)
	if !ok {
		return err
	}
	j.broken = 5
	j.Stdout.Flush()
	if s, ok := failed.Val.(string); ok {
		fmt.Fprintf(j.Stderr, "jq: error (at %s): %s\n", j.place(), s)
	} else {
		fmt.Fprintf(j.Stderr, "jq: error (at %s) (not a string): %s\n", j.place(), j.run.ToJSON(failed.Val))
	}
	return nil
}

// place is the input and line for a message.
func (j *jqCall) place() string {
	if j.parser == nil {
		return "<unknown>"
	}
	_, line := j.where()
	name := j.name
	if name == "-" {
		name = "<stdin>"
	}
	return fmt.Sprintf("%s:%d", name, line)
}

func (j *jqCall) where() (any, int) {
	if j.parser == nil {
		return nil, 0
	}
	if j.name == "-" {
		return nil, j.parser.Lines()
	}
	return j.name, j.parser.Lines()
}

// finish decides the exit status.
func (j *jqCall) finish(err error) error {
	if err != nil {
		return j.report(err)
	}
	switch {
	case j.broken != 0:
		return shell.Status(j.broken)
	case j.status && !j.any:
		return shell.Status(4)
	case j.status && !jq.Truthy(j.last):
		return shell.Status(1)
	}
	return j.Stdout.Err()
}

// report turns an error into a message and a status.
func (j *jqCall) report(err error) error {
	if syntax, ok := errors.AsType[*jq.SyntaxError](err); ok {
		j.Stdout.Flush()
		fmt.Fprintf(j.Stderr, "parse error: %s\n", syntax.Text)
		return shell.Status(2)
	}
	if halt, ok := errors.AsType[*jq.Halt](err); ok {
		return jqHalt(j.Call, j.run, halt)
	}
	return err
}

// jqHalt carries out halt and halt_error.
func jqHalt(c *shell.Call, run *jq.Run, h *jq.Halt) error {
	c.Stdout.Flush()
	if text, ok := h.Val.(string); ok {
		io.WriteString(c.Stderr, text)
	} else if !h.Silent {
		fmt.Fprintln(c.Stderr, run.ToJSON(h.Val))
	}
	if h.Status == 0 {
		return nil
	}
	return shell.Status(h.Status)
}

// print writes one result.
func (j *jqCall) print(v any) error {
	j.last, j.any = v, true
	if j.seq {
		j.Stdout.WriteByte(0x1e)
	}
	end := "\n"
	if j.zero {
		end = "\x00"
	}
	if j.join {
		end = ""
	}
	if s, ok := v.(string); ok && j.raw {
		j.run.Spend(int64(len(s)))
		if j.ascii {
			j.run.Alloc(6 * int64(len(s)))
			j.Stdout.Write(jq.AppendText(nil, s, true))
		} else {
			j.Stdout.WriteString(s)
		}
		_, err := j.Stdout.WriteString(end)
		return err
	}
	indent := ""
	switch {
	case j.compact:
	case j.tab:
		indent = "\t"
	default:
		indent = strings.Repeat(" ", j.indent)
	}
	return writeJSON(j.Stdout, &jq.Encoder{Usage: j.run.Usage, ASCII: j.ascii, Sort: j.sort, Indent: indent}, v, end)
}

// writeJSON encodes v to w.
func writeJSON(w *stream.Writer, e *jq.Encoder, v any, end string) error {
	e.Buf = make([]byte, 0, 512)
	e.Drain = func(b []byte) error {
		_, err := w.Write(b)
		return err
	}
	e.Encode(v, 0)
	_, err := w.Write(append(e.Buf, end...))
	return err
}

// next is the next input.
func (j *jqCall) next() (any, error) {
	if j.slurp {
		if j.rest == nil {
			return nil, io.EOF
		}
		return j.slurped()
	}
	for {
		if j.parser == nil {
			if err := j.open(); err != nil {
				return nil, err
			}
		}
		v, err := j.one()
		if err != io.EOF {
			return v, err
		}
		j.closing()
		if len(j.rest) == 0 {
			return nil, io.EOF
		}
		j.parser = nil
	}
}

// one reads a value or a line.
func (j *jqCall) one() (any, error) {
	if len(j.queue) > 0 {
		v := j.queue[0]
		j.queue = j.queue[1:]
		return v, nil
	}
	if !j.rawInput {
		v, err := j.parser.Value()
		if err == nil && j.events {
			j.run.Waiting = &j.queue
			j.run.Pin()
			j.run.Events(v, nil, func(e any) { j.queue = append(j.queue, e) })
			j.run.Unpin()
			v, j.queue = j.queue[0], j.queue[1:]
		}
		return v, err
	}
	line, err := j.parser.In.Line()
	if err != nil {
		return nil, err
	}
	j.parser.Line++
	j.run.Alloc(int64(len(line)) + 16)
	return strings.ToValidUTF8(strings.TrimSuffix(string(line), "\n"), "\uFFFD"), nil
}

// slurped collects all inputs.
func (j *jqCall) slurped() (any, error) {
	var items []any
	var text strings.Builder
	j.slurp = false
	j.run.Pin()
	defer j.run.Unpin()
	for {
		v, err := j.next()
		if err == io.EOF {
			j.slurp, j.rest = true, nil
			if j.rawInput {
				return text.String(), nil
			}
			return jq.NewArray(items...), nil
		}
		if err != nil {
			return nil, err
		}
		if j.rawInput {
			line := v.(string)
			if n := text.Len() + len(line) + 1; n > text.Cap() {
				j.run.Alloc(int64(n))
			}
			text.WriteString(line)
			text.WriteByte('\n')
		} else {
			items = append(items, v)
			j.run.Alloc(40)
		}
	}
}

// open goes to the next file; one that cannot be opened is reported.
func (j *jqCall) open() error {
	for len(j.rest) > 0 {
		name := j.rest[0]
		j.rest = j.rest[1:]
		in, done, err := cli.OpenOperand(j.Call, name)
		if err != nil {
			fmt.Fprintf(j.Stderr, "jq: error: Could not open file %s: %s\n", name, vfs.Reason(err))
			j.broken = 2
			continue
		}
		j.closing = done
		j.name, j.parser = name, &jq.Parser{Usage: j.run.Usage, In: in.Reader}
		return nil
	}
	return io.EOF
}

// fileValue reads a file for --slurpfile and --rawfile.
func (j *jqCall) fileValue(name string, raw bool) (any, error) {
	in, done, err := cli.OpenOperand(j.Call, name)
	if err != nil {
		fmt.Fprintf(j.Stderr, "jq: Bad JSON in --%s: Could not open %s: %s\n",
			map[bool]string{true: "rawfile", false: "slurpfile"}[raw], name, vfs.Reason(err))
		return nil, shell.Status(2)
	}
	defer done()
	if raw {
		text, err := cli.ReadAll(j.Call, in)
		defer func() { j.Limiter.Hold(-int64(cap(text))) }()
		j.run.Alloc(int64(len(text)))
		return strings.ToValidUTF8(string(text), "\uFFFD"), err
	}
	list := jq.NewArray()
	p := &jq.Parser{Usage: j.run.Usage, In: in.Reader}
	for {
		v, err := p.Value()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, v)
		j.run.Alloc(40)
	}
}

// parseText reads one JSON value from a word.
func (j *jqCall) parseText(option, text string) (any, error) {
	p := &jq.Parser{Usage: j.run.Usage, In: stream.NewBytes([]byte(text))}
	v, err := p.Value()
	if _, bad := errors.AsType[*jq.SyntaxError](err); bad || err == io.EOF {
		return nil, j.misuse("Invalid JSON text passed to --" + option)
	}
	return v, err
}

// count reads the number of --indent.
func (j *jqCall) count(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < 0:
		return j.Fail(2, "Cannot indent less than 0 characters")
	case n > 7:
		return j.Fail(2, "Cannot indent more than 7 characters")
	}
	j.indent, j.compact = n, n == 0
	return nil
}
