package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/run"
	"hako/run/fault"
)

// flow says how execution goes on after a statement.
type flow uint8

const (
	next flow = iota
	breaking
	continuing
	returning
	discarding // an expansion failed: the rest of the line is dropped
	exiting
)

// A proc is one shell process: the session itself, a subshell, a stage of a
// pipeline or a command substitution.
type proc struct {
	ses    *Session
	ctx    context.Context
	req    *run.Request
	parent *proc // nil for the session itself
	top    bool  // a whole shell, not a subshell of one

	vars       *scope
	funcs      map[string]*function
	shared     bool // funcs belongs to the parent too
	fds        fdTable
	dir        string
	stack      []string // of pushd
	mask       uint64   // of umask
	params     []string
	frames     []frame                // of function calls, innermost last
	prefixed   []map[string]*variable // what the assignments before running commands hide
	opts       options
	traps      map[string]string
	outerTraps map[string]string // what a subshell lists until it sets a trap itself

	status     int
	pipeStatus []int // of the stages of the last pipeline; nil: it was one command
	oneStatus  int   // the status of that command
	substatus  int   // of the last command substitution of a command, or -1
	lastArg    string
	line       uint
	current    *syntax.Stmt // the command being run
	unopened   *syntax.Stmt // the last compound command whose redirection failed
	file       string       // the script file this comes from; empty: the request itself
	argv0      string       // $0

	flow     flow
	levels   int   // of break and continue still to go
	fatal    error // why the script stops
	bad      error // why an expansion failed
	loops    int   // enclosing loops
	quiet    int   // enclosing contexts in which set -e is not in force
	depth    int   // nested functions, subshells and scripts
	deep     int   // nested expressions, see deeper
	named    int   // values being evaluated as expressions
	worked   int   // work since the clock was last looked at, see spend
	trapping bool

	jobs    []*job // started here and not yet waited for, or seen at birth
	lastJob int    // $!; zero if there was none
	pid     int    // the number of the job this is part of; zero if it is none

	start            time.Time
	random           *rand.Rand
	getopt, getoptAt int    // position of getopts within a bundle of options, and the word it is in
	sourced          int    // enclosing sourced files
	newParams        bool   // set has given new positional parameters
	paramSize        int64  // bytes charged for those that set has given
	call             *Call  // reused hooks for builtins
	scratch          []byte // reused by echo
}

type function struct {
	name     string
	body     *syntax.Stmt
	file     string
	exported bool  // a shell started from this one has it too
	size     int64 // bytes charged for it
}

// frame is one function call: what its local variables hid.
type frame struct {
	name   string
	hidden map[string]*variable
	line   uint
	file   string   // of the caller
	opts   *options // to bring back, after local -
}

// options are what set and shopt change.
type options struct {
	errexit, nounset, pipefail, noglob, xtrace, allexport, noclobber, noexec, verbose, errtrace, functrace bool
	nullglob, failglob, extglob, globstar, dotglob, nocaseglob, nocasematch, lastpipe, inheritErrexit      bool
}

func newProc(s *Session) *proc {
	p := &proc{ses: s, vars: newScope(nil, s.Limiter), funcs: map[string]*function{}, dir: s.Dir, start: s.Now(),
		argv0: "hako", top: true, mask: 0o022}
	if p.dir == "" {
		p.dir = "/box"
	}
	p.opts.extglob = true // the parser reads extended patterns anyway
	seed := s.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	p.random = rand.New(rand.NewPCG(seed, 1))
	for name, value := range map[string]string{"PWD": p.dir, "HOME": "/box", "PATH": "/usr/bin:/bin", "USER": "user",
		"LANG": "C.UTF-8", "SHLVL": "1", "TMPDIR": "/tmp"} {
		p.export(name + "=" + value)
	}
	for name, value := range map[string]string{"IFS": " \t\n", "OPTIND": "1", "PS4": "+ ",
		"BASH_VERSION": "5.2.15(1)-release", "HOSTNAME": "hako", "HOSTTYPE": "x86_64", "OSTYPE": "linux-gnu",
		"MACHTYPE": "x86_64-pc-linux-gnu"} {
		v := p.vars.own(name)
		v.str, v.set = value, true
	}
	for _, pair := range s.Env {
		p.export(pair)
	}
	return p
}

// sub returns a process that starts as a copy of p. It reads p's state while p
// waits; it must not be used after p goes on.
func (p *proc) sub(ctx context.Context) *proc {
	c := *p
	c.ctx, c.parent, c.top = ctx, p, false
	c.vars = newScope(p.vars, p.ses.Limiter)
	c.shared = true
	c.fds = p.fds.share()
	c.frames = append([]frame(nil), p.frames...)
	c.depth++
	c.flow, c.fatal, c.bad, c.call, c.scratch = next, nil, nil, nil, nil
	c.loops, c.paramSize, c.prefixed = 0, 0, nil
	c.random = rand.New(rand.NewPCG(uint64(p.random.Uint32()), 2))
	c.inheritTraps(p)
	return &c
}

// inheritTraps gives a subshell the traps of its parent that go on in it.
func (c *proc) inheritTraps(p *proc) {
	if len(p.traps) == 0 {
		c.traps = nil // an empty map would be the parent's too
		return
	}
	if c.outerTraps == nil {
		c.outerTraps = p.traps
	}
	c.traps = maps.Clone(p.traps)
	delete(c.traps, "EXIT")
	c.keptTraps()
}

// live runs a subshell to its end and lets go of what it holds, whatever
// happens: others wait for the pipes it has open.
func (c *proc) live(body func()) {
	c.guard(body)
	c.guard(c.exitTrap)
	c.drop()
}

// adopt takes over the reason for which a finished subshell stopped everything.
func (p *proc) adopt(c *proc) {
	if c.fatal != nil && p.fatal == nil {
		p.stop(c.fatal)
	}
}

// stop ends the whole script.
func (p *proc) stop(err error) {
	if p.fatal == nil {
		p.fatal = err
	}
	p.flow = exiting
	if p.status == 0 {
		p.status = 1
	}
}

// fail notes that an expansion went wrong; the command it belongs to is not run.
func (p *proc) fail(format string, args ...any) {
	if p.bad == nil {
		p.bad = fmt.Errorf(format, briefly(args)...)
	}
}

// stopper is an expansion error that ends the script rather than the line.
type stopper struct {
	error
	status int
}

// failed reports a failed expansion and decides how execution goes on.
func (p *proc) failed() bool {
	if p.bad == nil {
		return false
	}
	err := p.bad
	p.bad = nil
	if stops(err) {
		p.stop(err)
		return true
	}
	p.errorf("%v", err)
	p.status = 1
	var s stopper
	if errors.As(err, &s) {
		p.flow = exiting
		if p.top && !p.opts.errexit {
			p.status = s.status // as bash has it
		}
		return true
	}
	p.flow = discarding
	return true
}

// stops reports whether an error ends the whole script: a limit, a refusal, a
// cancelled context, output that nobody takes, a bug.
func stops(err error) bool {
	switch fault.KindOf(err) {
	case fault.Exhausted, fault.Timeout, fault.Denied:
		return true
	}
	var lost lostOutput
	var ours bug
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &lost) ||
		errors.As(err, &ours)
}

// errorf prints a message of the shell itself.
func (p *proc) errorf(format string, args ...any) {
	if d := p.fds.get(2); d != nil && d.w != nil {
		fmt.Fprintf(d.w, format+"\n", briefly(args)...)
	}
}

// tick ends the script when a limit was tripped or the caller gave up.
func (p *proc) tick() bool {
	if p.flow != next {
		return false
	}
	if err := p.ended(); err != nil {
		p.stop(err)
		return false
	}
	return true
}

// write prints text to a descriptor of the process.
func (p *proc) write(fd int, b []byte) error {
	d := p.fds.get(fd)
	if d == nil || d.w == nil {
		return errors.New("write error: Bad file descriptor")
	}
	if len(b) == 0 {
		return nil
	}
	_, err := d.w.Write(b)
	return err
}

// get returns the value of a variable, special parameters not included.
func (p *proc) get(name string) (string, bool) {
	if v := p.lookup(name); v != nil {
		return v.first()
	}
	return p.dynamic(name)
}

// lookup follows name references.
func (p *proc) lookup(name string) *variable {
	v := p.vars.get(name)
	for range 10 {
		if v == nil || v.attrs&nameref == 0 || !v.set {
			return v
		}
		base, _, _ := strings.Cut(v.str, "[")
		v = p.vars.get(base)
	}
	p.errorf("warning: %s: circular name reference", name)
	return nil
}

// resolve returns the name that a name reference stands for, and its subscript.
func (p *proc) resolve(name string) (string, string) {
	for range 10 {
		v := p.vars.get(name)
		if v == nil || v.attrs&nameref == 0 || !v.set || v.str == "" {
			return name, ""
		}
		base, sub, ok := strings.Cut(v.str, "[")
		if ok {
			return base, strings.TrimSuffix(sub, "]")
		}
		name = base
	}
	p.errorf("warning: %s: circular name reference", name)
	return "", ""
}

// dynamic returns the variables that are computed when they are read.
func (p *proc) dynamic(name string) (string, bool) {
	switch name {
	case "RANDOM":
		return strconv.Itoa(int(p.random.Uint32() & 0x7fff)), true
	case "SRANDOM":
		return strconv.FormatUint(uint64(p.random.Uint32()), 10), true
	case "SECONDS":
		return strconv.FormatInt(int64(p.ses.Now().Sub(p.start)/time.Second), 10), true
	case "EPOCHSECONDS":
		return strconv.FormatInt(p.ses.Now().Unix(), 10), true
	case "EPOCHREALTIME":
		return fmt.Sprintf("%.6f", float64(p.ses.Now().UnixMicro())/1e6), true
	case "LINENO":
		return strconv.Itoa(int(p.line)), true
	case "BASH_SUBSHELL":
		return strconv.Itoa(p.subDepth()), true
	case "BASH_COMMAND":
		if p.current == nil {
			return "", false
		}
		return strings.TrimSpace(printNode(p.current)), true
	case "UID", "EUID", "GROUPS":
		return "1000", true
	case "BASHPID":
		return strconv.Itoa(max(p.pid, 1)), true
	case "PPID":
		return "1", true
	case "BASH":
		return "/bin/bash", true
	case "SHELLOPTS":
		return p.optionList(setNames), true
	case "BASHOPTS":
		return p.optionList(shoptNames, "cmdhist", "complete_fullquote", "extquote", "force_fignore", "globasciiranges",
			"globskipdots", "patsub_replacement", "promptvars", "sourcepath"), true
	}
	return "", false
}

func (p *proc) subDepth() int {
	n := 0
	for q := p; !q.top; q = q.parent {
		n++
	}
	return n
}

// capture runs stmts in a subshell and returns what they print.
func (p *proc) capture(stmts []*syntax.Stmt) string {
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return ""
	}
	c := p.sub(p.ctx)
	if !p.opts.inheritErrexit {
		c.opts.errexit = false
	}
	buf := &gathered{p: p}
	out := &desc{w: buf}
	closed := p.closing(out)
	c.fds.set(1, out.hold())
	c.live(func() { c.stmts(stmts) })
	closed()
	p.adopt(c)
	p.substatus, p.status = c.status, c.status
	return buf.text()
}

// gathered is the output of a command substitution. Commands that run at the
// same time may write to it.
type gathered struct {
	p  *proc
	mu sync.Mutex
	b  []byte
}

func (g *gathered) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.b)+len(b) > 4096 {
		if err := g.p.ses.Limiter.Fits(int64(2 * (len(g.b) + len(b)))); err != nil {
			return 0, err
		}
	}
	g.b = append(g.b, b...)
	return len(b), nil
}

// text returns the output without NUL bytes and final newlines, as bash does.
func (g *gathered) text() string {
	b := g.b
	for len(b) > 0 && b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	s := string(b)
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}
