package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Patch = shell.Command{Name: "patch", Run: runPatch}

// A patcher is one run of patch.
type patcher struct {
	c *shell.Call

	strip                                     int // -1: only the last part of a name
	reverse, forward, force, batch, silent    bool
	dry, strict, backup, noBackup, looseSpace bool
	removeEmpty                               bool
	input, output, reject, suffix             string
	maxFuzz                                   int
	messages                                  io.Writer
	held                                      int64
	status                                    int
	written                                   bool // something went to the output file
}

// patchSeparator splits one input into the original and the patch.
const patchSeparator = "---LLMCMD_PATCH_SEPARATOR---"

func runPatch(ctx context.Context, c *shell.Call) error {
	p := &patcher{c: c, strip: -1, maxFuzz: 2, suffix: ".orig", messages: c.Stdout}
	operands, err := p.parse()
	if err != nil {
		return err
	}
	file := ""
	switch len(operands) {
	case 0:
	case 2:
		p.input = operands[1]
		fallthrough
	case 1:
		file = operands[0]
	default:
		return cli.Misuse(c, "%s: extra operand", operands[2])
	}
	if p.output == "-" {
		p.messages = c.Stderr
	}
	defer func() { c.Limiter.Hold(-p.held) }()
	err = p.run(ctx, file)
	var bad errPatch
	if errors.As(err, &bad) {
		c.Stdout.Flush() // what was said before comes before
		fmt.Fprintf(c.Stderr, "patch: **** %s\n", bad)
		return shell.Status(2)
	}
	if err == nil && !(p.dry && !p.strict) {
		err = cli.StatusOr(p.status, nil)
	}
	return err
}

func (p *patcher) parse() (operands []string, err error) {
	return cli.Parse(p.c, cli.Flags{
		"R": &p.reverse, "N": &p.forward, "f": &p.force, "t": &p.batch, "s": &p.silent, "b": &p.backup,
		"no-backup-if-mismatch": &p.noBackup, "l": &p.looseSpace, "E": &p.removeEmpty, "dry-run": &p.dry,
		"strict-dry-run": []*bool{&p.dry, &p.strict}, "i": &p.input, "o": &p.output, "r": &p.reject, "z": &p.suffix,
		"p": cli.Number(&p.strip, 0, math.MaxInt32, "**** strip count %s is not a number"),
		"F": cli.Number(&p.maxFuzz, 0, math.MaxInt32, "**** fuzz factor %s is not a number"),
		"d": func(name string) error {
			dir := p.c.Path(name)
			if !cli.IsDir(p.c, dir) {
				_, err := p.c.FS.Stat(dir)
				return fmt.Errorf("**** Can't change to directory %s : %s", name, cli.NotDirReason(err))
			}
			p.c.Dir = dir
			return nil
		},
		"e merge D g B Y V": cli.Unavailable,
	})
}

// say prints a message unless -s was given.
func (p *patcher) say(format string, args ...any) {
	if !p.silent {
		fmt.Fprintf(p.messages, format, args...)
	}
}

// tell prints a message that -s does not suppress.
func (p *patcher) tell(format string, args ...any) { fmt.Fprintf(p.messages, format, args...) }

func (p *patcher) run(ctx context.Context, file string) error {
	data, err := p.readInput()
	if err != nil {
		return err
	}
	if text, rest, ok := cutSeparator(data, patchSeparator); ok && file == "" {
		return p.filter(ctx, text, rest)
	}
	r, err := p.reader(data)
	if err != nil {
		return err
	}
	found := false
	for {
		part, err := r.next()
		if part != nil && err == nil {
			found = true
			if err := p.one(ctx, part, file); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if part != nil {
				p.say("%s file %s\n", p.verb(), p.choose(part, file))
			}
			return err
		}
		if !found && len(bytes.TrimSpace(data)) > 0 {
			return errPatch("Only garbage was found in the patch input.")
		}
		return p.c.Stdout.Err()
	}
}

func (p *patcher) readInput() ([]byte, error) {
	var r io.Reader = p.c.Stdin
	if p.input != "" && !shell.IsStdin(p.input) {
		f, err := p.c.Open(p.input)
		if err == nil && f.IsDir() {
			err = vfs.ErrIsDir
		}
		if err != nil {
			return nil, errPatch(fmt.Sprintf("Can't open patch file %s : %s", p.input, vfs.Reason(err)))
		}
		defer f.Close()
		r = f
	}
	return p.slurp(r)
}

// slurp reads everything, charging it to the session.
func (p *patcher) slurp(r io.Reader) ([]byte, error) {
	data, err := cli.ReadAll(p.c, r)
	p.held += int64(cap(data))
	return data, err
}

// hold charges what is given back when the command ends.
func (p *patcher) hold(n int64) error {
	err := p.c.Limiter.Hold(n)
	if err == nil {
		p.held += n
	}
	return err
}

// reader takes a patch apart, for which it charges lines and hunks.
func (p *patcher) reader(patch []byte) (*patchReader, error) {
	if err := p.hold(4 * lineCost * lineCount(patch)); err != nil {
		return nil, err
	}
	return &patchReader{lines: splitLines(patch)}, nil
}

func (p *patcher) verb() string {
	if p.dry {
		return "checking"
	}
	return "patching"
}

// filter patches the text of standard input and prints the result, or nothing
// at all if a hunk fails.
func (p *patcher) filter(ctx context.Context, text, patch []byte) error {
	p.messages = p.c.Stderr
	p.silent = p.silent || !p.dry
	r, err := p.reader(patch)
	if err != nil {
		return err
	}
	part, err := r.next()
	if err != nil {
		return err
	}
	if part == nil {
		return errPatch("Only garbage was found in the patch input.")
	}
	a, err := p.patchLines(ctx, text, part)
	if err != nil {
		return err
	}
	if len(a.failed) > 0 || a.skipped {
		p.status = 1
		p.tell("patch: %d out of %d hunk%s FAILED; nothing is printed\n", max(len(a.failed), 1), len(part.hunks),
			cli.Plural(len(part.hunks)))
		return nil
	}
	if !p.dry {
		p.c.Stdout.Write(bytes.Join(a.out, nil))
	}
	return p.c.Stdout.Err()
}

// patchLines applies the hunks to a text in memory.
func (p *patcher) patchLines(ctx context.Context, text []byte, part *filePatch) (*patching, error) {
	if err := p.hold(2*lineCost*lineCount(text) + int64(len(text))); err != nil { // the result, too
		return nil, err
	}
	hunks := part.hunks
	if p.reverse {
		hunks = make([]*patchHunk, len(part.hunks))
		for i, h := range part.hunks {
			hunks[i] = h.reversed()
		}
	}
	a := &patching{p: p, lines: splitLines(text)}
	return a, a.apply(ctx, hunks)
}

// reversedFound decides what to do with a patch that was applied before: nobody
// can be asked, so it is passed over unless -t says to undo it.
func (p *patcher) reversedFound() (undo bool) {
	what, question := "Reversed (or previously applied) patch detected!", "Assume -R? [n] "
	if p.reverse {
		what, question = "Unreversed patch detected!", "Ignore -R? [n] "
	}
	switch {
	case p.forward:
		p.tell("%s  Skipping patch.\n", what)
	case p.batch:
		p.tell("%s  %s\n", what, map[bool]string{true: "Ignoring -R.", false: "Assuming -R."}[p.reverse])
		return true
	default:
		p.tell("%s  %s\nApply anyway? [n] \nSkipping patch.\n", what, question)
	}
	return false
}

// one patches one file.
func (p *patcher) one(ctx context.Context, part *filePatch, file string) error {
	if p.reverse {
		part.creates, part.deletes = part.deletes, part.creates
	}
	name := p.choose(part, file)
	if name == "" {
		p.notFound(part)
		return nil
	}
	text, err := p.original(name, part, file != "")
	if err != nil {
		return err
	}
	if part.creates && len(text) > 0 && file == "" {
		p.existsAlready(name, part)
		return nil
	}
	p.announce(name, part.renameTo)
	a, err := p.patchLines(ctx, text, part)
	if err != nil {
		return err
	}
	return p.finish(name, part, a, text)
}

func (p *patcher) announce(name, to string) {
	if to != "" && !p.reverse {
		p.say("%s file %s (renamed from %s)\n", p.verb(), to, name)
		return
	}
	if p.output != "" {
		p.say("%s file %s (read from %s)\n", p.verb(), p.output, name)
		return
	}
	p.say("%s file %s\n", p.verb(), name)
}

// original reads the file to patch; one that will be made is empty.
func (p *patcher) original(name string, part *filePatch, named bool) ([]byte, error) {
	f, err := p.c.Open(name)
	if errors.Is(err, fs.ErrNotExist) && (part.creates || !named) {
		return nil, nil
	}
	if err == nil && f.IsDir() {
		f.Close()
		return nil, errPatch(fmt.Sprintf("File %s is not a regular file -- refusing to patch", name))
	}
	if err != nil {
		return nil, errPatch(fmt.Sprintf("Can't open file %s : %s", name, vfs.Reason(err)))
	}
	defer f.Close()
	return p.slurp(f)
}

func (p *patcher) existsAlready(name string, part *filePatch) {
	p.status = 1
	if p.forward {
		p.tell("The next patch would create the file %s,\nwhich already exists!  Skipping patch.\n", name)
	} else {
		p.tell("The next patch would create the file %s,\nwhich already exists!  Assume -R? [n] \nApply anyway? [n] \nSkipping patch.\n", name)
	}
	p.tell("%d out of %d hunk%s ignored\n", len(part.hunks), len(part.hunks), cli.Plural(len(part.hunks)))
}

func (p *patcher) notFound(part *filePatch) {
	p.status = 1
	p.tell("can't find file to patch at input line %d\n", part.at)
	if p.strip >= 0 {
		p.tell("Perhaps you used the wrong -p or --strip option?\n")
	} else {
		p.tell("Perhaps you should have used the -p or --strip option?\n")
	}
	if part.header != "" {
		p.tell("The text leading up to this was:\n--------------------------\n%s--------------------------\n", part.header)
	}
	if p.force || p.batch {
		p.tell("No file to patch.  Skipping patch.\n")
	} else {
		p.tell("File to patch: \nSkip this patch? [y] \nSkipping patch.\n")
	}
	n := len(part.hunks)
	p.tell("%d out of %d hunk%s ignored\n", n, n, cli.Plural(n))
}

// dangerous reports whether a name leads out of the working directory.
func dangerous(name string) bool {
	if strings.HasPrefix(name, "/") {
		return true
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}
