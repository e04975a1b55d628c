package archive

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// What gzip, bzip2 and xz share: which file becomes which, what is refused,
// what is removed. The differences are in a packTool.

// A packProblem is something that can go wrong with one file.
type packProblem int

const (
	packMissing packProblem = iota
	packDirectory
	packHasSuffix
	packNoSuffix
	packExists
	packNotFormat
	packNotTested // packNotFormat with -t, where a tool makes the difference
	packCut
	packCorrupt
	packGarbage
	packLink
)

// A packMessage is what a tool prints about a problem: text with {command}, {file}
// and {detail}. Status 0 leaves the exit status as it is.
type packMessage struct {
	status int
	text   string
}

var (
	errPackFormat  = errors.New("not in the format")
	errPackCorrupt = errors.New("corrupt")
	errPackGarbage = errors.New("trailing garbage")
)

// A packTool is a format and the behaviour of its command.
type packTool struct {
	name     string
	stdin    string            // what messages call standard input
	suffixes map[string]string // of packed files, and what replaces it
	suffix   string            // added when packing
	level    int               // the default
	open     func(p *packer, r io.Reader) (io.Reader, error)
	create   func(p *packer, w io.Writer, name string) (io.WriteCloser, error)
	messages map[packProblem]packMessage
	done     func(p *packer, from, to string, in, out int64) // -v
	list     func(p *packer, names []string)                 // -l; nil if there is none
}

// command returns the command that packs or unpacks with the tool.
func (tool *packTool) command(name string, decode, stdout bool) shell.Command {
	return shell.Command{Name: name, Run: func(ctx context.Context, c *shell.Call) (err error) {
		defer cli.Catch(&err)
		p := &packer{Call: c, ctx: ctx, tool: tool, decode: decode, stdout: stdout, level: tool.level}
		if tool.name == "gzip" {
			c.Name = "gzip" // messages of gunzip and zcat begin with it too
		}
		names, err := cli.Parse(c, cli.Flags{
			"c": &p.stdout, "d": &p.decode, "z": cli.Set(&p.decode, false), "f": &p.force, "k": &p.keep, "l": &p.list,
			"n": &p.noName, "q": &p.quiet, "r": &p.recurse, "t": []*bool{&p.decode, &p.test}, "v": &p.verbose,
			"S": func(v string) {
				if p.suffix = v; v != "" && v[0] != '.' {
					p.suffix = "." + v
				}
			},
			"0 1 2 3 4 5 6 7 8 9": setDigit(&p.level),
		})
		if err != nil {
			return err
		}
		if p.list && tool.list == nil {
			return c.Fail(1, "-l is not available here")
		}
		p.run(names)
		return cli.StatusOr(p.status, nil)
	}}
}

// A packer is one call of a tool.
type packer struct {
	*shell.Call
	ctx  context.Context
	tool *packTool

	decode, stdout, keep, force, list, test, verbose, quiet, noName, recurse bool

	level   int
	suffix  string
	badData bool // the data of the current file is no good
	status  int
	totals  [2]int64
	listed  int
}

// setDigit returns the binding of options that are digits.
func setDigit(to *int) func(cli.Option) error {
	return func(o cli.Option) error {
		*to = int(o.Name[0] - '0')
		return nil
	}
}

// report prints the tool's message about a problem and keeps the worst status:
// 1, an error, is worse than 2, a warning.
func (p *packer) report(problem packProblem, name, detail string) {
	if name == "stdin" {
		name = p.tool.stdin
	}
	if _, ok := p.tool.messages[packNotTested]; ok && problem == packNotFormat && p.test {
		problem = packNotTested
	}
	m := p.tool.messages[problem]
	if m.status != 2 || !p.quiet {
		message := strings.NewReplacer("{command}", p.Name, "{file}", name, "{detail}", detail)
		message.WriteString(p.Stderr, m.text+"\n")
	}
	if m.status != 0 && (p.status == 0 || m.status == 1) {
		p.status = m.status
	}
	if p.tool.name == "bzip2" && (problem == packCut || problem == packCorrupt) {
		p.status = 2
	}
}

func (p *packer) run(names []string) {
	p.suffix = cmp.Or(p.suffix, p.tool.suffix)
	if len(names) == 0 {
		names = []string{"-"}
	}
	if p.list {
		p.tool.list(p, names)
		return
	}
	for _, name := range names {
		if shell.IsStdin(name) {
			p.stream("stdin", p.Stdin, p.Stdout, nil)
		} else {
			p.operand(name)
		}
	}
}

func (p *packer) operand(name string) {
	info, err := p.FS.Lstat(p.Path(name))
	if err != nil && p.decode && p.tool.name == "gzip" && !strings.HasSuffix(name, p.suffix) {
		name += p.suffix
		info, err = p.FS.Lstat(p.Path(name))
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if !p.stdout && !p.force && !p.test {
			p.report(packLink, name, "")
			return
		}
		info, err = p.FS.Stat(p.Path(name))
	}
	switch {
	case err != nil:
		p.report(packMissing, name, vfs.Reason(err))
	case info.IsDir() && !p.recurse:
		p.report(packDirectory, name, "")
	case info.IsDir():
		p.directory(name)
	default:
		p.file(name, info)
	}
}

func (p *packer) directory(name string) {
	entries, err := p.FS.ReadDir(p.Path(name))
	if err != nil {
		p.report(packMissing, name, vfs.Reason(err))
	}
	for _, e := range entries {
		p.operand(path.Join(name, e.Name()))
	}
}

// file packs or unpacks one file into another, or to standard output.
func (p *packer) file(name string, info vfs.Info) {
	target := ""
	if !p.stdout && !p.test {
		var ok bool
		if target, ok = p.target(name); !ok {
			return
		}
	}
	f, err := p.OpenBytes(name)
	if err != nil {
		p.report(packMissing, name, vfs.Reason(err))
		return
	}
	defer f.Close()
	if target == "" {
		p.stream(name, f, p.Stdout, nil)
		return
	}
	if _, err := p.FS.Lstat(p.Path(target)); err == nil && !p.force {
		p.report(packExists, target, "")
		return
	}
	p.replace(name, target, f, info)
}

// target is the name of the file to write.
func (p *packer) target(name string) (string, bool) {
	if !p.decode {
		if strings.HasSuffix(name, p.suffix) && !p.force {
			p.report(packHasSuffix, name, p.suffix)
			return "", false
		}
		return name + p.suffix, true
	}
	for suffix, plain := range p.tool.suffixes {
		if base, ok := strings.CutSuffix(name, suffix); ok && path.Base(base) != "" && base != "" {
			return base + plain, true
		}
	}
	if base, ok := strings.CutSuffix(name, p.suffix); ok && base != "" {
		return base, true
	}
	p.report(packNoSuffix, name, "")
	if p.tool.name == "bzip2" {
		return name + ".out", true
	}
	return "", false
}

// replace writes the new file and then removes the old one; an incomplete new file
// is removed.
func (p *packer) replace(name, target string, f *vfs.File, info vfs.Info) {
	if p.force {
		p.FS.Remove(p.Path(target))
	}
	out, err := p.FS.Open(p.Path(target), os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		p.report(packMissing, target, vfs.Reason(err))
		return
	}
	err = writeFile(out, func(w *stream.Writer) { p.stream(name, f, w, out) })
	if err != nil || p.badData {
		p.FS.Remove(p.Path(target))
		cli.Check(err)
		return
	}
	p.FS.Chtimes(p.Path(target), info.ModTime(), info.ModTime())
	if p.keep {
		return
	}
	f.Close()
	if err := p.FS.Remove(p.Path(name)); err != nil {
		p.report(packMissing, name, vfs.Reason(err))
	}
}

// writeFile lets write fill f, and closes it. It returns the error of [cli.Check] in write.
func writeFile(f *vfs.File, write func(w *stream.Writer)) error {
	w := stream.NewWriter(f)
	err := cli.Try(func() { write(w) })
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	w.Release()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// stream moves one input to one output. file is the file behind w, if any.
// Errors of the data are reported; errors of the session end the command.
func (p *packer) stream(name string, r io.Reader, w *stream.Writer, file *vfs.File) {
	p.badData = false
	src := &contextReader{ctx: p.ctx, r: r}
	in, out, err := p.move(name, src, w)
	cli.Check(cmp.Or(w.Flush(), src.err, p.Limiter.Err(), w.Err()))
	cli.CheckStopped(p.ctx, p.Call)
	switch {
	case errors.Is(err, errPackGarbage):
		p.report(packGarbage, name, "")
	case isLimit(err):
		cli.Check(err)
	case err != nil:
		p.reportBadData(name, err)
		return
	}
	if p.verbose {
		to := ""
		if file != nil {
			to, _ = p.target(name)
		}
		p.tool.done(p, name, to, in, out)
	}
}

// reportBadData reports data that cannot be unpacked.
func (p *packer) reportBadData(name string, err error) {
	p.badData = true
	switch {
	case errors.Is(err, errPackFormat):
		p.report(packNotFormat, name, "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.report(packCut, name, "")
	default:
		detail := "format violated"
		if errors.Is(err, gzip.ErrChecksum) {
			detail = "crc error"
		}
		p.report(packCorrupt, name, detail)
	}
}

// move returns the bytes read and written.
func (p *packer) move(name string, src *contextReader, w *stream.Writer) (in, out int64, err error) {
	if !p.decode {
		zw, err := p.tool.create(p, &countedWriter{w, &out}, name)
		if err != nil {
			return 0, 0, err
		}
		in, err = io.Copy(zw, src)
		if cerr := zw.Close(); err == nil {
			err = cerr
		}
		return in, out, err
	}
	zr, err := p.tool.open(p, src)
	if err != nil {
		return src.n, 0, err
	}
	if p.test {
		out, err = io.Copy(&contextDiscard{p.ctx}, zr)
	} else {
		out, err = io.Copy(struct{ io.Writer }{w}, zr)
	}
	return src.n, out, err
}

// contextReader counts, stops with the context, and keeps the error of the
// source apart from the one that a decoder returns for it.
type contextReader struct {
	ctx context.Context
	r   io.Reader
	n   int64
	err error
}

func (w *contextReader) Read(b []byte) (int, error) {
	if w.ctx.Err() != nil {
		w.err = context.Cause(w.ctx)
		return 0, w.err
	}
	n, err := w.r.Read(b)
	w.n += int64(n)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// A heldWriter gives memory back when the stream is finished.
type heldWriter struct {
	io.WriteCloser
	release func()
}

func (h *heldWriter) Close() error {
	defer h.release()
	return h.WriteCloser.Close()
}

type countedWriter struct {
	w io.Writer
	n *int64
}

func (c *countedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	*c.n += int64(n)
	return n, err
}

// contextDiscard discards the output of a test, but ends with the script.
type contextDiscard struct{ ctx context.Context }

func (d *contextDiscard) Write(b []byte) (int, error) {
	if d.ctx.Err() != nil {
		return 0, context.Cause(d.ctx)
	}
	return len(b), nil
}
