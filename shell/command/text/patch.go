package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
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
	memory                                    cli.Memory
	status                                    int
	written                                   bool // something went to the output file
}

// patchSeparator splits one input into the original and the patch.
const patchSeparator = "---LLMCMD_PATCH_SEPARATOR---"

func runPatch(ctx context.Context, c *shell.Call) error {
	p := &patcher{c: c, strip: -1, maxFuzz: 2, suffix: ".orig", messages: c.Stdout, memory: cli.Memory{C: c}}
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
	defer p.memory.Release()
	err = p.run(ctx, file)
	var bad *statusError
	if errors.As(err, &bad) {
		c.Stdout.Flush() // earlier messages come first
		return c.Fail(bad.status, "**** %s", bad.text)
	}
	if p.dry && !p.strict {
		return err
	}
	return cli.StatusOr(p.status, err)
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

func (p *patcher) run(ctx context.Context, file string) (err error) {
	defer cli.Catch(&err)
	data := p.readInput()
	if text, patch, ok := cutSeparator(data, patchSeparator); ok && file == "" {
		p.filter(ctx, text, patch)
		return p.c.Stdout.Err()
	}
	r := p.reader(data)
	r.malformedIn = func(part *filePatch) { p.say("%s file %s\n", p.verb(), p.choose(part, file)) }
	found := false
	for part := r.next(); part != nil; part = r.next() {
		found = true
		p.one(ctx, part, file)
	}
	if !found && len(bytes.TrimSpace(data)) > 0 {
		fail(2, onlyGarbage)
	}
	return p.c.Stdout.Err()
}

const onlyGarbage = "Only garbage was found in the patch input."

func (p *patcher) readInput() []byte {
	if p.input == "" {
		p.input = "-"
	}
	in, done, err := cli.OpenOperand(p.c, p.input)
	if err != nil {
		fail(2, "Can't open patch file %s : %s", p.input, vfs.Reason(err))
	}
	defer done()
	return p.slurp(in)
}

// slurp reads everything and charges it to the session.
func (p *patcher) slurp(r io.Reader) []byte {
	data, err := p.memory.ReadAll(r)
	cli.Check(err)
	return data
}

// reader returns a reader of a patch, and charges its lines and hunks.
func (p *patcher) reader(patch []byte) *patchReader {
	cli.Check(p.memory.Hold(4 * lineCost * lineCount(patch)))
	return &patchReader{lines: splitLines(patch)}
}

func (p *patcher) verb() string {
	if p.dry {
		return "checking"
	}
	return "patching"
}

// filter patches the text of standard input and prints the result, or nothing if a hunk
// fails.
func (p *patcher) filter(ctx context.Context, text, patch []byte) {
	p.messages = p.c.Stderr
	p.silent = p.silent || !p.dry
	part := p.reader(patch).next()
	if part == nil {
		fail(2, onlyGarbage)
	}
	if p.reverse {
		part.reverse()
	}
	a := p.patchLines(ctx, text, part)
	if len(a.failed) > 0 || a.skipped {
		p.status = 1
		p.tell("patch: %d out of %d hunk%s FAILED; nothing is printed\n", max(len(a.failed), 1), len(part.hunks),
			cli.Plural(len(part.hunks)))
	} else if !p.dry {
		p.c.Stdout.Write(bytes.Join(a.out, nil))
	}
}

// patchLines applies the hunks to a text in memory.
func (p *patcher) patchLines(ctx context.Context, text []byte, part *filePatch) *patching {
	cli.Check(p.memory.Hold(2*lineCost*lineCount(text) + int64(len(text)))) // the result, too
	a := &patching{p: p, lines: splitLines(text)}
	a.apply(ctx, part.hunks)
	return a
}

// reversedFound decides what to do with a patch that was applied before. Nobody can be
// asked, so the patch is skipped unless -t is given, which undoes it.
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
func (p *patcher) one(ctx context.Context, part *filePatch, file string) {
	if p.reverse {
		part.reverse()
	}
	name := p.choose(part, file)
	if name == "" {
		p.notFound(part)
		return
	}
	text := p.original(name, part, file != "")
	if part.creates && len(text) > 0 && file == "" {
		p.existsAlready(name, part)
		return
	}
	p.announce(name, part.renameTo)
	p.finish(name, part, p.patchLines(ctx, text, part), text)
}

func (p *patcher) announce(name, to string) {
	switch {
	case to != "" && !p.reverse:
		p.say("%s file %s (renamed from %s)\n", p.verb(), to, name)
	case p.output != "":
		p.say("%s file %s (read from %s)\n", p.verb(), p.output, name)
	default:
		p.say("%s file %s\n", p.verb(), name)
	}
}

// original reads the file to patch. A file that the patch creates is empty.
func (p *patcher) original(name string, part *filePatch, named bool) []byte {
	f, err := p.c.Open(name)
	if errors.Is(err, fs.ErrNotExist) && (part.creates || !named) {
		return nil
	}
	if err != nil {
		fail(2, "Can't open file %s : %s", name, vfs.Reason(err))
	}
	defer f.Close()
	if f.IsDir() {
		fail(2, "File %s is not a regular file -- refusing to patch", name)
	}
	return p.slurp(f)
}

func (p *patcher) existsAlready(name string, part *filePatch) {
	question := "Assume -R? [n] \nApply anyway? [n] \n"
	if p.forward {
		question = ""
	}
	p.tell("The next patch would create the file %s,\nwhich already exists!  %sSkipping patch.\n", name, question)
	p.ignored(part)
}

func (p *patcher) notFound(part *filePatch) {
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
	p.ignored(part)
}

// ignored reports that a file is skipped.
func (p *patcher) ignored(part *filePatch) {
	p.status = 1
	n := len(part.hunks)
	p.tell("%d out of %d hunk%s ignored\n", n, n, cli.Plural(n))
}

// dangerous reports whether a name leads out of the working directory.
func dangerous(name string) bool {
	return strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..")
}
