package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/run/fault"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// simple runs a simple command: assignments, words and redirections.
func (p *proc) simple(call *syntax.CallExpr, redirs []*syntax.Redirect) {
	p.substatus = -1
	argv := p.fields(call.Args)
	if p.failed() || p.fatal != nil { // a refused substitution must not leave half a command to run
		return
	}
	if len(argv) == 0 {
		p.bare(call, redirs)
		return
	}
	if size := wordBytes(argv); size > checkFrom {
		if err := p.ses.Limiter.Hold(size); err != nil {
			p.stop(err)
			return
		}
		defer func() { _ = p.ses.Limiter.Hold(-size) }()
	}
	p.xtrace(argv)
	if len(redirs) > 0 {
		var old replaced
		defer old.undo(p)
		if !p.redirect(redirs, &old) {
			return
		}
		if argv[0] == "exec" && len(argv) == 1 {
			old.forget() // the redirections stay
			return
		}
	}
	if len(call.Assigns) > 0 {
		defer p.prefix(call.Assigns)()
		if p.failed() || p.flow != next {
			return
		}
	}
	p.runWords(argv)
	p.lastArg = argv[len(argv)-1]
}

// bare runs a command that has no words: assignments, redirections or both.
func (p *proc) bare(call *syntax.CallExpr, redirs []*syntax.Redirect) {
	var old replaced
	defer old.undo(p)
	ok := p.redirect(redirs, &old)
	p.lastArg = ""
	for _, a := range call.Assigns {
		p.assignment(a, 0)
		if p.opts.xtrace && p.bad == nil {
			p.traceAssign(a)
		}
		if p.failed() {
			return
		}
	}
	switch {
	case !ok:
		p.status = 1
	case p.flow == next:
		p.status = max(p.substatus, 0)
	}
}

// prefix makes the assignments before a command and returns what undoes them.
func (p *proc) prefix(assigns []*syntax.Assign) (undo func()) {
	old := map[string]*variable{}
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		name := a.Name.Value
		value := p.assignedText(a)
		if p.bad != nil {
			break
		}
		if v := p.vars.get(name); v != nil && v.attrs&readonly != 0 {
			p.errorf("%s: readonly variable", name)
			continue
		}
		if hidden := p.hide(name); !contains(old, name) {
			old[name] = hidden
		}
		p.assign(name, value)
		p.vars.own(name).attrs |= exported
	}
	p.prefixed = append(p.prefixed, old)
	return func() {
		p.prefixed = p.prefixed[:len(p.prefixed)-1]
		for name, v := range old {
			p.restore(name, v)
		}
	}
}

func contains[V any](m map[string]V, name string) bool {
	_, ok := m[name]
	return ok
}

func (p *proc) assignedText(a *syntax.Assign) string {
	value := ""
	if a.Append {
		value, _ = p.get(a.Name.Value)
	}
	if a.Value != nil {
		value += p.assignValue(a.Value)
	}
	return value
}

// runWords runs a command by its expanded words: function, shell builtin, builtin.
func (p *proc) runWords(argv []string) {
	name := argv[0]
	if f, ok := p.funcs[name]; ok {
		p.invoke(f, argv[1:])
		return
	}
	p.builtin(argv)
}

// builtin is runWords without functions.
func (p *proc) builtin(argv []string) {
	if inBin(argv[0]) {
		defer p.holdWords(argv)()
		// Judged by the name it runs under: a rule about rm is one about /bin/rm.
		argv = append([]string{path.Base(argv[0])}, argv[1:]...)
	}
	name := argv[0]
	if p.req.Check != nil {
		if err := p.req.Check(p.ctx, p.dir, argv); err != nil {
			p.status = 126
			p.stop(err)
			return
		}
	}
	if run := p.ownCommand(name); run != nil {
		p.ses.seen.command(name)
		err := run(argv[1:])
		if p.bad != nil { // a variable it was to set could not be
			err, p.bad = p.bad, nil
		}
		p.settle(name, err)
		return
	}
	if cmd, ok := p.ses.Commands[name]; ok {
		p.ses.seen.command(cmd.Name)
		if len(argv) == 2 && argv[1] == "--help" {
			p.settle(name, p.write(1, []byte(cmd.HelpText())))
			return
		}
		if len(argv) == 2 && argv[1] == "--version" && !strings.HasSuffix(name, "awk") {
			p.settle(name, p.write(1, fmt.Appendf(nil, "%s of hako, a command like that of GNU or its first makers\n", name)))
			return
		}
		p.settle(name, p.runCommand(cmd, argv))
		return
	}
	cmd, ok := p.ses.found(name)
	if !ok {
		p.unknown(name)
		return
	}
	p.ses.seen.command(name)
	p.settle(name, p.runCommand(cmd, argv))
}

// inBin reports whether a name is spelled as one of the usual program paths,
// which scripts use out of habit.
func inBin(name string) bool {
	dir := path.Dir(name)
	return dir == "/bin" || dir == "/usr/bin" || dir == "/usr/local/bin"
}

// settle turns the error of a builtin into a status and, if it is worth one, a message.
func (p *proc) settle(name string, err error) {
	var status Status
	switch {
	case err == nil:
		p.status = 0
	case errors.As(err, &status):
		p.status = int(status)
	case errors.Is(err, stream.ErrPipe):
		p.status = 141
	case errors.Is(err, ErrUsage):
		p.status = 2
		p.errorf("%s: %s", name, p.usage(name))
	case stops(err):
		p.status = 1
		p.stop(err)
	case errors.Is(err, io.EOF):
		p.status = 1
	default:
		p.status = 1
		p.errorf("%s: %s", name, p.reasonFor(name, err))
		if h := p.ses.Hint(err); h != "" {
			p.errorf("hint: %s", h)
		}
	}
	if err := p.ses.Limiter.Err(); err != nil {
		p.stop(err)
	}
}

// reasonFor words an error. The commands of the shell itself start theirs with
// a name of the script, which must not get a capital letter.
func (p *proc) reasonFor(name string, err error) string {
	words := vfs.Reason(err)
	if isShellCommand(name) && strings.EqualFold(words, err.Error()) {
		return err.Error()
	}
	return words
}

func (p *proc) usage(name string) string {
	if c, ok := p.find(name); ok {
		return c.UsageLine()
	}
	return Command{Name: name}.UsageLine()
}

// unknown reports a command that does not exist, with the names nearest to it.
func (p *proc) unknown(name string) {
	if strings.Contains(name, "/") {
		p.scriptFile(name)
		return
	}
	p.status = 127
	p.errorf("%s: command not found", name)
	p.hint(name, func() string { return hintFor(name, p.ses.names()) })
}

// hint prints what to do about a name that is no command.
func (p *proc) hint(name string, usual func() string) {
	if p.ses.Unknown != nil {
		usual = func() string { return p.ses.Unknown(name) }
	}
	if text := usual(); text != "" {
		p.errorf("hint: %s", text)
	}
}

// scriptFile explains why a path is not a command.
func (p *proc) scriptFile(name string) {
	info, err := p.ses.FS.Stat(p.path(name))
	switch {
	case err != nil:
		p.status = 127
		p.errorf("%s: %s", name, vfs.Reason(err))
	case info.IsDir():
		p.status = 126
		p.errorf("%s: Is a directory", name)
	default:
		p.status = 126
		p.errorf("%s: files are not run as programs here", name)
		p.hint(name, func() string { return "to run a shell script of yours, type: sh " + name })
	}
}

// networkNames get a hint of their own: a model that looks for one of them
// needs to know that there is no network at all.
const networkNames = " curl wget ssh scp rsync nc ncat netcat telnet ftp ping dig nslookup host git "

// programNames are what people reach for when they want a language.
const programNames = " python python3 perl ruby node npm pip go cargo make gcc java docker apt apt-get sudo su "

func hintFor(name string, names []string) string {
	switch {
	case strings.Contains(networkNames, " "+name+" "):
		return "this shell has no network and starts no programs; work on the files you were given (help lists the commands)"
	case strings.Contains(programNames, " "+name+" "):
		return "this shell starts no programs; awk, sed, jq and the shell itself can do much (help lists the commands)"
	}
	if near, ok := fault.Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %s? help lists the commands", near)
	}
	return "only builtin commands exist in this shell; help lists them"
}

// runCommand calls a command that is not one of the shell itself.
func (p *proc) runCommand(cmd Command, argv []string) error {
	in, out := p.fds.get(0), p.fds.get(1)
	c := p.hooks()
	c.Name, c.Args, c.Dir, c.failed = argv[0], argv[1:], p.dir, false
	c.Stdin, c.Stderr = closedReader, io.Discard
	if in != nil && in.r != nil {
		c.Stdin, c.stdinFile = in.r, in.file
	}
	if d := p.fds.get(2); d != nil && d.w != nil {
		c.Stderr, c.Merged = d.w, d == out
	}
	c.Out = badWriter{}
	if out != nil && out.w != nil {
		c.Out = out.w
	}
	c.Stdout = stream.NewWriter(c.Out)
	if in != nil && in.live {
		w := c.Stdout
		defer in.r.OnWait(func() { _ = w.Flush() })()
	}
	c.Spec = cmd.Spec
	err := p.guarded(cmd, c)
	if ferr := c.Stdout.Flush(); ferr != nil && (err == nil || !stops(err)) {
		err = ferr
	}
	c.Stdout.Release()
	if err == nil && c.failed {
		err = Status(1)
	}
	return err
}

// guarded runs a builtin. A bug in one of them must not end the process, which
// may be serving other sessions.
func (p *proc) guarded(cmd Command, c *Call) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = broken(cmd.Name, r)
		}
	}()
	return cmd.Run(p.ctx, c)
}

// hooks returns the call with everything that is the same for all builtins of
// this process. Builtins do not nest except through Exec, which makes its own.
func (p *proc) hooks() *Call {
	if p.call == nil {
		p.call = &Call{
			FS: p.ses.FS, Limiter: p.ses.Limiter, Now: p.ses.Now, Seed: p.ses.Seed, hint: p.ses.Hint,
			Getenv: p.get, Environ: p.environ, Exec: p.exec, Fork: p.fork, Lookup: p.find, Names: p.ses.names,
		}
	}
	c := *p.call
	return &c
}

var closedReader = stream.NewBytes(nil)

// badWriter is a descriptor that is closed.
type badWriter struct{}

func (badWriter) Write([]byte) (int, error) {
	return 0, errors.New("write error: Bad file descriptor")
}

// find returns a command by name, for help and which.
func (p *proc) find(name string) (Command, bool) {
	if c, ok := p.within(name); ok {
		return c, true
	}
	return p.ses.found(name)
}

// within is find among the commands that are part of this shell.
func (p *proc) within(name string) (Command, bool) {
	if c, ok := p.ses.Commands[name]; ok {
		return c, true
	}
	if isShellCommand(name) && p.ses.has(name) {
		return Command{Name: name}, true
	}
	return Command{}, false
}

// environ returns the exported variables.
func (p *proc) environ() []string {
	var out []string
	for _, name := range p.vars.names() {
		if v := p.vars.get(name); v.attrs&exported != 0 && v.set && v.kind == scalar {
			out = append(out, name+"="+v.str)
		}
	}
	return out
}

// exec implements [Call.Exec].
func (p *proc) exec(ctx context.Context, argv []string, x ExecIO) (int, error) {
	run, err := p.fork(ctx, argv, x)
	if err != nil {
		return 1, err
	}
	return run()
}

// fork implements [Call.Fork].
func (p *proc) fork(ctx context.Context, argv []string, x ExecIO) (run func() (int, error), err error) {
	if len(argv) == 0 {
		return func() (int, error) { return 0, nil }, nil
	}
	if err := p.tooDeep(); err != nil {
		return nil, err
	}
	c := p.sub(ctx)
	if x.Clean {
		c.vars = newScope(nil, p.ses.Limiter)
	}
	for _, pair := range x.Env {
		c.export(pair)
	}
	if x.Dir != "" {
		c.dir = x.Dir
	}
	if x.Stdin != nil {
		c.fds.set(0, (&desc{r: x.Stdin, borrowed: true, live: true}).hold())
	}
	if x.Stdout != nil {
		c.fds.set(1, (&desc{w: &locked{w: x.Stdout}}).hold())
	}
	c.quiet++
	return func() (int, error) {
		c.live(func() {
			defer c.holdWords(argv)() // whoever forks has made the list
			if c.flow == next {
				c.runWords(argv)
			}
		})
		return c.status, c.fatal
	}, nil
}

// path returns the absolute form of a name.
func (p *proc) path(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.dir, name)
}

// traceAssign prints an assignment for set -x: a value as it was expanded, an
// array as it was written.
func (p *proc) traceAssign(a *syntax.Assign) {
	if a.Array != nil {
		p.trace(a.Name.Value + "=" + printNode(a.Array))
		return
	}
	v, _ := p.get(a.Name.Value)
	p.trace(a.Name.Value + "=" + p.shellQuote(v))
}

// xtrace prints a command before it runs, for set -x.
func (p *proc) xtrace(argv []string) {
	if !p.opts.xtrace {
		return
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = p.shellQuote(w)
	}
	p.trace(strings.Join(words, " "))
}

func (p *proc) trace(text string) {
	ps4, _ := p.get("PS4")
	if p.fits(3 * (len(ps4) + len(text))) {
		_ = p.write(2, []byte(ps4+text+"\n"))
	}
}

// open opens a file for a redirection.
func (p *proc) open(name string, flag int) (*desc, error) {
	if err := p.ses.open.take(); err != nil {
		return nil, err
	}
	f, err := p.ses.FS.Open(slashed(p.path(name), name), flag, 0o666)
	if err == nil && f.IsDir() {
		f.Close()
		err = vfs.ErrIsDir
	}
	if err != nil {
		p.ses.open.back()
		return nil, err
	}
	d := &desc{close: func() error { p.ses.open.back(); return f.Close() }}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		d.w = f
	}
	if flag&os.O_WRONLY == 0 {
		d.r = stream.NewReader(f)
		d.r.Grow = p.ses.Limiter.Fits
	}
	if flag&os.O_RDWR != 0 && f.IsRegular() {
		d.w = readWriter{f, d.r}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 && f.IsRegular() {
		d.file = f
	}
	return d.hold(), nil
}

// A readWriter writes where its reader stands, not where that has read ahead to.
type readWriter struct {
	*vfs.File
	r *stream.Reader
}

func (rw readWriter) Write(b []byte) (int, error) {
	if ahead := rw.r.Discard(); ahead > 0 {
		if _, err := rw.Seek(-int64(ahead), io.SeekCurrent); err != nil {
			return 0, err
		}
	}
	return rw.File.Write(b)
}
