package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// What gzip, bzip2 and xz share: which file becomes which, what is refused,
// what is removed. What differs is in a packTool.

// A packTrouble is something that can go wrong with one file. The tools word
// each differently and disagree about the exit status.
type packTrouble int

const (
	packMissing packTrouble = iota
	packDirectory
	packHasSuffix
	packNoSuffix
	packExists
	packNotFormat
	packCut
	packCorrupt
	packGarbage
	packLink
)

var (
	errPackFormat  = errors.New("not in the format")
	errPackCorrupt = errors.New("corrupt")
	errPackGarbage = errors.New("trailing garbage")
)

// A packTool is a format and the manners of its command.
type packTool struct {
	name     string            // shown in messages
	suffixes map[string]string // of packed files, and what replaces it
	suffix   string            // added when packing
	open     func(p *packer, r io.Reader) (io.Reader, error)
	create   func(p *packer, w io.Writer, name string) (io.WriteCloser, error)
	trouble  func(p *packer, t packTrouble, name, detail string)
	done     func(p *packer, from, to string, in, out int64) // -v
	list     func(p *packer, names []string) error
}

// A packer is one call.
type packer struct {
	*shell.Call
	ctx  context.Context
	tool *packTool

	decode, stdout, keep, force, list, test, verbose, quiet, noName, recurse bool

	level  int
	suffix string
	spoilt bool // the data of the current file is no good
	status int
	totals [2]int64
	listed int
}

// complain prints a message in the tool's name and remembers the worst status;
// 1, an error, is worse than 2, a warning.
func (p *packer) complain(status int, format string, args ...any) {
	if status != 2 || !p.quiet {
		fmt.Fprintf(p.Stderr, format+"\n", args...)
	}
	if p.status == 0 || status == 1 {
		p.status = status
	}
}

func (p *packer) run(names []string) error {
	if p.suffix == "" {
		p.suffix = p.tool.suffix
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	if p.list {
		if err := p.tool.list(p, names); err != nil {
			return err
		}
		return p.result()
	}
	for _, name := range names {
		var err error
		if shell.IsStdin(name) {
			err = p.stream("stdin", p.Stdin, p.Stdout, nil)
		} else {
			err = p.operand(name)
		}
		if err != nil {
			return err
		}
	}
	return p.result()
}

func (p *packer) result() error {
	if p.status != 0 {
		return shell.Status(p.status)
	}
	return nil
}

func (p *packer) operand(name string) error {
	info, err := p.FS.Lstat(p.Path(name))
	if err != nil && p.decode && p.tool.name == "gzip" && !strings.HasSuffix(name, p.suffix) {
		name += p.suffix
		info, err = p.FS.Lstat(p.Path(name))
	}
	if err != nil {
		p.tool.trouble(p, packMissing, name, vfs.Reason(err))
		return nil
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if !p.stdout && !p.force && !p.test {
			p.tool.trouble(p, packLink, name, "")
			return nil
		}
		if info, err = p.FS.Stat(p.Path(name)); err != nil {
			p.tool.trouble(p, packMissing, name, vfs.Reason(err))
			return nil
		}
	}
	if info.IsDir() {
		return p.directory(name)
	}
	return p.file(name, info)
}

func (p *packer) directory(name string) error {
	if !p.recurse {
		p.tool.trouble(p, packDirectory, name, "")
		return nil
	}
	entries, err := p.FS.ReadDir(p.Path(name))
	if err != nil {
		p.tool.trouble(p, packMissing, name, vfs.Reason(err))
		return nil
	}
	for _, e := range entries {
		if err := p.operand(path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// file packs or unpacks one file into another, or to standard output.
func (p *packer) file(name string, info vfs.Info) error {
	target := ""
	if !p.stdout && !p.test {
		var ok bool
		if target, ok = p.target(name); !ok {
			return nil
		}
	}
	f, err := p.OpenBytes(name)
	if err != nil {
		p.tool.trouble(p, packMissing, name, vfs.Reason(err))
		return nil
	}
	defer f.Close()
	if target == "" {
		return p.stream(name, f, p.Stdout, nil)
	}
	if _, err := p.FS.Lstat(p.Path(target)); err == nil && !p.force {
		p.tool.trouble(p, packExists, target, "")
		return nil
	}
	return p.replace(name, target, f, info)
}

// target is the name of the file to write.
func (p *packer) target(name string) (string, bool) {
	if !p.decode {
		if strings.HasSuffix(name, p.suffix) && !p.force {
			p.tool.trouble(p, packHasSuffix, name, p.suffix)
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
	p.tool.trouble(p, packNoSuffix, name, "")
	if p.tool.name == "bzip2" {
		return name + ".out", true
	}
	return "", false
}

// replace writes the new file beside the old one and then removes the old one;
// a half-written one does not stay.
func (p *packer) replace(name, target string, f *vfs.File, info vfs.Info) error {
	if p.force {
		p.FS.Remove(p.Path(target))
	}
	out, err := p.FS.Open(p.Path(target), os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		p.tool.trouble(p, packMissing, target, vfs.Reason(err))
		return nil
	}
	w := stream.NewWriter(out)
	err = p.stream(name, f, w, out)
	w.Release()
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil || p.spoilt {
		p.FS.Remove(p.Path(target))
		return err
	}
	p.FS.Chtimes(p.Path(target), info.ModTime(), info.ModTime())
	if !p.keep {
		f.Close()
		if err := p.FS.Remove(p.Path(name)); err != nil {
			p.tool.trouble(p, packMissing, name, vfs.Reason(err))
		}
	}
	return nil
}

// stream moves one input to one output. file is the file behind w, if any.
// Troubles with the data are reported; errors of the session are returned.
func (p *packer) stream(name string, r io.Reader, w *stream.Writer, file *vfs.File) error {
	p.spoilt = false
	src := &watchedReader{ctx: p.ctx, r: r}
	in, out, err := p.move(name, src, w)
	if ferr := w.Flush(); err == nil || ferr != nil {
		if ferr != nil {
			return ferr
		}
	}
	switch {
	case src.err != nil:
		return src.err
	case p.Limiter.Err() != nil || p.ctx.Err() != nil || w.Err() != nil:
		return cmp.Or(p.Limiter.Err(), w.Err(), context.Cause(p.ctx))
	case errors.Is(err, errPackGarbage):
		p.tool.trouble(p, packGarbage, name, "")
	case isLimit(err):
		return err
	case err != nil:
		p.spoil(name, err)
		return nil
	}
	if p.verbose && p.tool.done != nil {
		to := ""
		if file != nil {
			to, _ = p.target(name)
		}
		p.tool.done(p, name, to, in, out)
	}
	return nil
}

// spoil reports data that cannot be unpacked.
func (p *packer) spoil(name string, err error) {
	p.spoilt = true
	switch {
	case errors.Is(err, errPackFormat):
		p.tool.trouble(p, packNotFormat, name, "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.tool.trouble(p, packCut, name, "")
	default:
		p.tool.trouble(p, packCorrupt, name, err.Error())
	}
}

// move returns the bytes read and written.
func (p *packer) move(name string, src *watchedReader, w *stream.Writer) (in, out int64, err error) {
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
		out, err = io.Copy(&checkedDiscard{p.ctx}, zr)
	} else {
		out, err = io.Copy(struct{ io.Writer }{w}, zr)
	}
	return src.n, out, err
}

// watchedReader counts, stops with the context, and keeps the error of the
// source apart from what a decoder makes of it.
type watchedReader struct {
	ctx context.Context
	r   io.Reader
	n   int64
	err error
}

func (w *watchedReader) Read(b []byte) (int, error) {
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

type countedWriter struct {
	w io.Writer
	n *int64
}

func (c *countedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	*c.n += int64(n)
	return n, err
}

// checkedDiscard swallows a test's output but still ends with the script.
type checkedDiscard struct{ ctx context.Context }

func (d *checkedDiscard) Write(b []byte) (int, error) {
	if d.ctx.Err() != nil {
		return 0, context.Cause(d.ctx)
	}
	return len(b), nil
}
