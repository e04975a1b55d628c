package shell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/shell/stream"
	"hako/shell/vfs"
)

// replaced is what stood where redirections have put something else, in the
// order they did so. It holds it.
type replaced []entry

// entry is a number of the table with what it stands for.
type entry struct {
	n int
	d *desc
}

// undo brings the descriptors back.
func (old *replaced) undo(p *proc) {
	for i := len(*old) - 1; i >= 0; i-- {
		p.fds.set((*old)[i].n, (*old)[i].d)
	}
	*old = nil
}

// forget lets go of what the redirections have replaced for good.
func (old *replaced) forget() {
	for _, o := range *old {
		_ = o.d.release()
	}
	*old = nil
}

// redirect applies redirections in order and notes in old how to undo it, which
// is for the caller to see to, even if it panics. It answers false if one of them
// failed, which has been reported.
func (p *proc) redirect(list []*syntax.Redirect, old *replaced) bool {
	put := func(n int, d *desc) {
		*old = append(*old, entry{n, p.fds.get(n).hold()})
		p.fds.set(n, d)
	}
	for _, r := range list {
		if err := p.redirect1(r, put); err != nil {
			p.notOpened(err)
			return false
		}
		if p.failed() || p.fatal != nil {
			return false
		}
	}
	return true
}

// refused is the answer of [run.Request.Redirect]: it stops the script,
// whatever kind of error it is.
type refused struct{ error }

// notOpened reports why a redirection was not made.
func (p *proc) notOpened(err error) {
	var no refused
	p.status = 1
	switch {
	case errors.As(err, &no):
		p.status = 126
		p.stop(no.error)
	case stops(err):
		p.stop(err)
	default:
		p.errorf("%v", err)
	}
}

// redirect1 applies one redirection by calling put.
func (p *proc) redirect1(r *syntax.Redirect, put func(int, *desc)) error {
	n, name, err := p.target(r)
	if err != nil {
		return err
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return p.hereText(name, or(n, 0), p.hereDoc(r), put)
	case syntax.WordHdoc:
		return p.hereText(name, or(n, 0), p.hereWord(r.Word), put)
	}
	word, err := p.redirWord(r.Word)
	if p.bad != nil || p.fatal != nil || err != nil {
		return err
	}
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		return p.duplicate(r.Op, n, word, name, put)
	case syntax.RdrAll, syntax.AppAll:
		d, err := p.opened(word, r.Op)
		if err != nil {
			return err
		}
		put(1, d)
		put(2, d.hold())
		return nil
	}
	d, err := p.opened(word, r.Op)
	if err != nil {
		return err
	}
	std := 1
	if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut {
		std = 0
	}
	return p.place(name, or(n, std), d, put)
}

// place puts d at n for as long as the command runs. What {name} asks for gets a
// free number instead, and outlives the command.
func (p *proc) place(name string, n int, d *desc, put func(int, *desc)) error {
	if name == "" {
		put(n, d)
		return nil
	}
	n, err := p.fds.free()
	if err != nil {
		_ = d.release()
		return fmt.Errorf("%s: %w", name, err)
	}
	p.assign(name, strconv.Itoa(n))
	p.fds.set(n, d)
	return nil
}

func or(n, otherwise int) int {
	if n < 0 {
		return otherwise
	}
	return n
}

// target returns the descriptor written before a redirection: a number, a
// variable name in braces, or neither.
func (p *proc) target(r *syntax.Redirect) (n int, name string, err error) {
	if r.N == nil {
		return -1, "", nil
	}
	s := r.N.Value
	if strings.HasPrefix(s, "{") {
		return -1, strings.Trim(s, "{}"), nil
	}
	n, err = strconv.Atoi(s)
	if err != nil || n > maxFD {
		return 0, "", fmt.Errorf("%s: Bad file descriptor", s)
	}
	return n, "", nil
}

// redirWord expands the word of a redirection, which must be one word.
func (p *proc) redirWord(w *syntax.Word) (string, error) {
	fields := p.fields([]*syntax.Word{w})
	switch {
	case p.bad != nil || p.fatal != nil:
		return "", nil
	case len(fields) != 1:
		return "", fmt.Errorf("%s: ambiguous redirect", printWord(w))
	}
	return fields[0], nil
}

var openFlags = map[syntax.RedirOperator]int{
	syntax.RdrOut: os.O_WRONLY | os.O_CREATE | os.O_TRUNC, syntax.RdrClob: os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
	syntax.RdrAll: os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
	syntax.AppOut: os.O_WRONLY | os.O_CREATE | os.O_APPEND, syntax.AppAll: os.O_WRONLY | os.O_CREATE | os.O_APPEND,
	syntax.RdrIn: os.O_RDONLY, syntax.RdrInOut: os.O_RDWR | os.O_CREATE,
}

// opened opens the file of a redirection, or the descriptor it stands for.
func (p *proc) opened(name string, op syntax.RedirOperator) (*desc, error) {
	if n, ok := devFD(name); ok {
		d := p.fds.get(n)
		if d == nil {
			return nil, fmt.Errorf("%s: No such file or directory", name)
		}
		return d.hold(), nil
	}
	if p.req.Redirect != nil {
		if err := p.req.Redirect(p.ctx, p.dir, op.String(), name); err != nil {
			return nil, refused{err}
		}
	}
	if strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/") {
		return nil, fmt.Errorf("%s: there is no network in this shell", name)
	}
	flag, ok := openFlags[op]
	if !ok {
		return nil, fmt.Errorf("%s: this redirection is not known here", op)
	}
	if p.opts.noclobber && (op == syntax.RdrOut || op == syntax.RdrAll) {
		if info, err := p.ses.FS.Stat(p.path(name)); err == nil && info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: cannot overwrite existing file", name)
		}
	}
	d, err := p.open(name, flag)
	if err != nil && !stops(err) {
		err = fmt.Errorf("%s: %s", name, vfs.Reason(err))
	}
	return d, err
}

// devFD reads /dev/stdin, /dev/fd/3 and the like.
func devFD(name string) (int, bool) {
	switch name {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	if dir, base := path.Split(name); dir == "/dev/fd/" {
		n, err := strconv.Atoi(base)
		return n, err == nil
	}
	return 0, false
}

// duplicate applies >&N, <&N, >&-, >&N- and >&file.
func (p *proc) duplicate(op syntax.RedirOperator, n int, word, name string, put func(int, *desc)) error {
	std := 1
	if op == syntax.DplIn {
		std = 0
	}
	if word == "-" {
		if name != "" {
			return p.closeNamed(name)
		}
		put(or(n, std), nil)
		return nil
	}
	digits, move := strings.CutSuffix(word, "-")
	src, err := strconv.Atoi(digits)
	if err != nil {
		if op == syntax.DplOut && n < 0 {
			d, err := p.opened(word, syntax.RdrAll)
			if err != nil {
				return err
			}
			put(1, d)
			put(2, d.hold())
			return nil
		}
		return fmt.Errorf("%s: ambiguous redirect", word)
	}
	d := p.fds.get(src)
	if d == nil {
		return fmt.Errorf("%d: Bad file descriptor", src)
	}
	if err := p.place(name, or(n, std), d.hold(), put); err != nil {
		return err
	}
	if move && src != n {
		put(src, nil)
	}
	return nil
}

// closeNamed applies {name}>&-. The number is whatever the script has put into
// the variable.
func (p *proc) closeNamed(name string) error {
	text, _ := p.get(name)
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s: ambiguous redirect", name)
	case err != nil || n < 0 || n > maxFD:
		return fmt.Errorf("%s: Bad file descriptor", text)
	}
	p.fds.set(n, nil)
	return nil
}

// hereWord expands the word of <<<.
func (p *proc) hereWord(w *syntax.Word) []byte {
	text := p.word(w)
	if p.bad == nil {
		p.bad = p.ses.Limiter.Fits(int64(3 * len(text)))
	}
	if p.bad != nil {
		return nil
	}
	return append(append(make([]byte, 0, len(text)+1), text...), '\n')
}

// hereText opens text for reading. It is held for as long as it is open.
func (p *proc) hereText(name string, n int, text []byte, put func(int, *desc)) error {
	if p.bad != nil {
		return nil
	}
	size := int64(len(text))
	if err := p.ses.Limiter.Hold(size); err != nil {
		return err
	}
	d := &desc{r: stream.NewBytes(text), close: func() error { return p.ses.Limiter.Hold(-size) }}
	return p.place(name, n, d.hold(), put)
}

// hereDoc expands the body of a here-document. Its lines are not split, and
// quotes in it are ordinary characters; with a quoted delimiter nothing is special.
func (p *proc) hereDoc(r *syntax.Redirect) []byte {
	if r.Hdoc == nil {
		return nil
	}
	raw := isQuoted(r.Word)
	var b []byte
	start := true // of a line
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			text := p.quoted([]syntax.WordPart{part})
			if p.bad == nil {
				p.bad = p.ses.Limiter.Fits(int64(2*len(b) + 3*len(text)))
			}
			if p.bad != nil {
				return nil
			}
			b = append(b, text...)
			start = false
			continue
		}
		text := lit.Value
		if r.Op == syntax.DashHdoc {
			text = stripTabs(text, start)
		}
		if !raw {
			text = hereLit(text)
		}
		b = append(b, text...)
		start = strings.HasSuffix(text, "\n")
	}
	return b
}

// isQuoted reports whether any part of a here-document's delimiter is quoted.
func isQuoted(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.IndexByte(lit.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

// stripTabs removes the tabs at the start of lines, for <<-.
func stripTabs(s string, start bool) string {
	lines := strings.SplitAfter(s, "\n")
	for i := range lines {
		if i > 0 || start {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
	}
	return strings.Join(lines, "")
}

// hereLit removes the backslashes that are special in a here-document.
func hereLit(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
