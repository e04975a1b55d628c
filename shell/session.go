// Package shell is a shell without processes: an interpreter for bash as people and
// models write it, in which every command is a Go function. It runs scripts that
// nobody has read yet: a script sees the files it was granted and nothing else of
// the machine, starts no program, opens no connection, and ends when it passes a
// limit.
//
//	files := vfs.New(vfs.Options{})
//	if err := files.Mount("/data", "./logs", false); err != nil {
//		return err
//	}
//	session := shell.New(shell.Options{FS: files, Commands: command.All()})
//	res, err := session.Run(ctx, &run.Request{Script: `grep -c ERROR /data/app.log`, Stdout: os.Stdout})
//
// A [Session] keeps its directory, variables, functions and files from one request
// to the next. Package gate puts rules, approval, a budget and a record before it.
//
// A [Command] is a name and a function, which gets a [Call]: its words, three
// streams, the tree of files, the limits. It has no other way to the outside. The
// hundred and twenty commands of package command are such functions, and so are
// those that an embedding program adds. What depends on the shell's own state
// (cd, export, read, test) is part of the interpreter.
//
// Everything that can grow is charged to one [quota.Limiter]: memory, output, loops,
// nesting, time. The first limit that is passed ends the script with an error that
// names it.
package shell

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell/bashsyntax"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// Options configure a session.
type Options struct {
	FS       *vfs.FS          // nil means an empty private tree
	Commands Set              // the builtins; nil means only those of the shell itself
	Limiter  *quota.Limiter   // nil means the limits for people
	Dir      string           // where the session starts; empty means /box
	Env      []string         // NAME=value pairs, exported; they win over what the shell itself sets
	Now      func() time.Time // nil means the real clock
	Seed     uint64           // makes $RANDOM and its like repeatable; zero means they are not
	Set      []string         // options that are on from the start, as set -o names them

	// Find is asked for a name that is neither a function, nor a command of
	// the shell itself, nor in Commands. Nil means that there is nothing else.
	// It may be called from several goroutines at once.
	Find func(name string) (Command, bool)
	// Names lists what Find could find, for hints and completion. Nil means none.
	Names func() []string
	// Unknown returns the hint for a name that is no command, "" for none.
	// Nil means the hints for a shell that starts no programs.
	Unknown func(name string) (hint string)

	// Hint words the hint of an error. Nil means [fault.Hint], which is for readers
	// that cannot give flags to hako.
	Hint func(error) string

	// Jobs permits &. What runs in the background ends with the request at
	// the latest. False means that & is refused.
	Jobs bool

	// Parse reads text that turns out to be a script: eval, source, trap.
	// Nil means the parser for bash without bounds.
	Parse func(src string) (*syntax.File, error)
}

// A Session is a shell that remembers: directory, variables, functions and
// files stay from one request to the next. It is a [run.Runner]; requests that
// come at the same time wait for each other.
type Session struct {
	Options
	mu   sync.Mutex
	root *proc
	seen *requestLog
	jobs *jobTable // the jobs of the request; nil if Jobs is false
	open openCount
}

// New returns a session.
func New(o Options) *Session {
	if o.Limiter == nil {
		o.Limiter = quota.NewLimiter(quota.Lenient())
	}
	if o.FS == nil {
		o.FS = vfs.New(vfs.Options{Limiter: o.Limiter, Now: o.Now, Seed: o.Seed})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Hint == nil {
		o.Hint = fault.Hint
	}
	if o.Parse == nil {
		o.Parse = func(src string) (*syntax.File, error) {
			f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
			if err != nil {
				return nil, err
			}
			return bashsyntax.Correct(f), nil
		}
	}
	s := &Session{Options: o}
	s.root = newProc(s)
	for _, name := range o.Set {
		if on, _ := s.root.option(name); on != nil {
			*on = true
		}
	}
	return s
}

// Run implements [run.Runner].
func (s *Session) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := time.Now()
	prog := req.Program
	if prog == nil {
		var err error
		if prog, err = s.parse(req.Script); err != nil {
			return run.Result{Exit: 2, Dir: s.root.dir}, syntaxFault(err)
		}
	}
	ctx, stop := s.Limiter.Start(ctx)
	defer stop()
	if req.Timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, req.Timeout, timeoutFault(req.Timeout))
		defer cancel()
	}
	s.seen = &requestLog{commands: map[string]int{}, index: map[[2]string]int{}, tell: req.Touched}
	s.FS.Watch(s.seen.touch)
	defer s.FS.Watch(nil)
	err := s.root.script(ctx, req, prog)
	res := run.Result{
		Exit: s.root.status, Dir: s.root.dir, Duration: time.Since(start),
		Effects: s.seen.effects, Commands: s.seen.commands, Bytes: s.seen.bytes.Load(), Stages: s.seen.stages,
		TimedOut: fault.KindOf(err) == fault.Timeout,
	}
	if res.TimedOut {
		res.Exit = 124
	}
	return res, err
}

// parse reads a script. A bug in the parser is an error of the script as well.
func (s *Session) parse(src string) (prog *syntax.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = bug{broken("script", r)}
		}
	}()
	return s.Parse(src)
}

// WorkDir returns where the session stands.
func (s *Session) WorkDir() string { return s.root.dir }

// Words returns what could stand at the start of a command, for completion.
func (s *Session) Words() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.names(), slices.Sorted(maps.Keys(s.root.funcs)))
}

// Fork returns an independent session that starts out as this one stands.
// Together they hold no more than one of them may; give up a fork by Close.
func (s *Session) Fork() (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.Options
	o.Limiter = s.Limiter.Fork()
	o.FS = s.FS.ForkFor(o.Limiter)
	c := &Session{Options: o}
	c.root = newProc(c)
	for _, name := range s.root.vars.names() {
		v := s.root.vars.get(name).clone()
		c.root.vars.place(name, v)
		if err := c.root.vars.charge(v.size); err != nil {
			c.Close()
			return nil, err
		}
	}
	c.root.funcs = maps.Clone(s.root.funcs)
	c.root.dir, c.root.opts, c.root.params = s.root.dir, s.root.opts, s.root.params
	return c, nil
}

// Close gives back what the session holds. It must not be used after.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.root.fds.drop()
	s.root.vars.drop()
	s.FS.Close()
}

// Compare lists the files that differ between two sessions.
func Compare(a, b *Session) []vfs.Change { return vfs.Diff(a.FS, b.FS) }

func (s *Session) names() []string {
	out := slices.Collect(maps.Keys(s.Commands))
	for _, name := range shellCommands {
		if s.has(name) {
			out = append(out, name)
		}
	}
	if s.Names != nil {
		out = append(out, s.Names()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// has reports whether a command of the shell itself exists in this session.
func (s *Session) has(name string) bool { return s.Jobs || name != "kill" }

// found asks for a command that is not part of this shell.
func (s *Session) found(name string) (Command, bool) {
	if s.Find == nil {
		return Command{}, false
	}
	return s.Find(name)
}

// requestLog is what a request did, gathered from all its subshells.
type requestLog struct {
	mu       sync.Mutex
	commands map[string]int
	effects  []run.Effect
	index    map[[2]string]int
	tell     func(run.Effect)
	stages   []run.Stage
	bytes    atomic.Int64 // printed
}

// maxStages bounds the list of failed stages: a loop has as many as it likes.
const maxStages = 10

func (t *requestLog) stage(s run.Stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.stages) < maxStages && !slices.Contains(t.stages, s) {
		t.stages = append(t.stages, s)
	}
}

func (t *requestLog) command(name string) {
	t.mu.Lock()
	t.commands[name]++
	t.mu.Unlock()
}

// maxEffects bounds the list that a hostile script can make us keep.
const maxEffects = 1000

func (t *requestLog) touch(what, path string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{what, path}
	if what == "refused" {
		// nothing was done: it is for the record alone
	} else if i, ok := t.index[key]; ok {
		t.effects[i].Bytes += bytes
	} else if len(t.effects) < maxEffects {
		t.index[key] = len(t.effects)
		t.effects = append(t.effects, run.Effect{What: what, Path: path, Bytes: bytes})
	}
	if t.tell != nil {
		t.tell(run.Effect{What: what, Path: path, Bytes: bytes})
	}
}

// printer charges what a script prints and keeps writers apart: stages of a
// pipeline write at the same time.
type printer struct {
	mu      *sync.Mutex
	w       io.Writer
	limiter *quota.Limiter
	n       *atomic.Int64
}

func (o *printer) Write(p []byte) (int, error) {
	if err := o.limiter.Print(int64(len(p))); err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.w.Write(p)
	o.n.Add(int64(n))
	if err != nil && !stops(err) {
		err = lostOutput{err}
	}
	return n, err
}

// lostOutput is the error of whoever takes what the script prints. There is
// nobody to work for then, so it ends the script.
type lostOutput struct{ error }

func (l lostOutput) Unwrap() error { return l.error }

// script runs a whole program in the root process.
func (p *proc) script(ctx context.Context, req *run.Request, prog *syntax.File) error {
	if req.Args != nil {
		defer func(old []string) { p.params = old }(p.params)
	}
	if err := p.begin(ctx, req); err != nil {
		return err
	}
	if len(prog.Stmts) == 0 {
		p.status = 0
	}
	params := p.params
	if !p.guard(func() { p.stmts(prog.Stmts); p.exitTrap() }) {
		p.guard(func() { p.unwind(params) })
	}
	p.dismiss()
	p.fds.set(0, nil)
	p.fds.set(1, nil)
	p.fds.set(2, nil)
	err := p.fatal
	if err == nil {
		err = p.ses.Limiter.Err()
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && p.status == 0 { // the last stage of a pipeline may have ended well
		p.status = 1
	}
	p.fatal, p.flow = nil, 0
	return err
}

// unwind brings back what the calls had hidden that the interpreter broke in,
// so that the session can go on.
func (p *proc) unwind(params []string) {
	for len(p.frames) > 0 {
		p.leave()
	}
	p.params, p.file = params, ""
	p.depth, p.deep, p.named, p.sourced, p.trapping = 0, 0, 0, 0, false
	p.fds.drop()
}

// begin connects the process to a request.
func (p *proc) begin(ctx context.Context, req *run.Request) error {
	p.ctx, p.req, p.flow, p.fatal, p.bad = p.hire(ctx), req, next, nil, nil
	p.frames, p.prefixed, p.loops, p.quiet = nil, nil, 0, 0
	p.argv0, p.file = cmp.Or(req.Name, req.File, "hako"), req.File
	if err := p.chdir(req.Dir); err != nil {
		p.status = 1
		return &fault.Error{Kind: fault.NotFound, Op: "start in directory", Err: err}
	}
	if req.Args != nil {
		p.params = req.Args
	}
	for _, pair := range req.Env {
		p.export(pair)
	}
	mu := new(sync.Mutex)
	in := &desc{r: stream.NewReader(stream.WithContext(p.ctx, req.Stdin)), live: true}
	in.r.Grow = p.ses.Limiter.Fits
	p.fds.set(0, in.hold())
	for n, w := range []io.Writer{req.Stdout, req.Stderr} {
		if w == nil {
			w = io.Discard
		}
		if n == 1 && same(req.Stdout, req.Stderr) {
			p.fds.set(2, p.fds.get(1).hold())
			break
		}
		p.fds.set(n+1, (&desc{w: &printer{mu, w, p.ses.Limiter, &p.ses.seen.bytes}}).hold())
	}
	return nil
}

// same reports whether what is printed and what is complained go to one place.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

func (p *proc) export(pair string) {
	name, value, _ := strings.Cut(pair, "=")
	v := p.vars.own(name)
	v.str, v.set = value, true
	v.attrs |= exported
}

func syntaxFault(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return &fault.Error{Kind: fault.Invalid, Op: "read script", Err: err,
		Hint: "check quotes, brackets and keywords around that place"}
}

func timeoutFault(d time.Duration) error {
	return &fault.Error{Kind: fault.Timeout, Op: "stop script", Why: "it took longer than " + d.String(),
		Hint: "do less at once, or ask for more time"}
}
