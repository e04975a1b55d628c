package shell

import (
	"errors"
	"fmt"
	"math"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/run/fault"
)

// stmts runs statements one after the other until something ends the list.
func (p *proc) stmts(list []*syntax.Stmt) {
	var dropped uint // the line whose rest is dropped after a failed expansion
	for _, st := range list {
		if dropped != 0 && st.Pos().Line() == dropped {
			continue
		}
		dropped = 0
		p.stmt(st)
		if p.flow == discarding && p.top && len(p.frames) == 0 && p.loops == 0 {
			p.flow, dropped = next, st.End().Line()
		}
		if p.flow != next {
			return
		}
	}
}

// stmt runs one statement with its redirections and negation.
func (p *proc) stmt(st *syntax.Stmt) {
	if !p.tick() || p.opts.noexec {
		return
	}
	if !p.trapping {
		p.line = st.Pos().Line()
	}
	if st.Background || st.Coprocess || st.Disown {
		p.background(st)
		return
	}
	p.foreground(st)
}

func (p *proc) foreground(st *syntax.Stmt) {
	if st.Negated {
		p.quiet++
	}
	p.dispatch(st)
	if st.Negated {
		p.quiet--
		p.status = negate(p.status)
		return
	}
	p.afterStatus(st)
}

// dispatch runs the command of a statement. What is one command to PIPESTATUS
// and the DEBUG trap is what does not hold other commands.
func (p *proc) dispatch(st *syntax.Stmt) {
	if !p.trapping {
		p.current = st
	}
	one := true
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		p.trap("DEBUG")
		p.simple(cmd, st.Redirs)
	case nil, *syntax.DeclClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		p.trap("DEBUG")
		p.compound(st)
	case *syntax.Subshell:
		p.compound(st)
	case *syntax.CaseClause:
		p.trap("DEBUG")
		one = false
		p.compound(st)
	default:
		one = false
		p.compound(st)
	}
	if one {
		p.pipeStatus, p.oneStatus = nil, p.status
	}
}

func negate(status int) int {
	if status == 0 {
		return 1
	}
	return 0
}

// afterStatus applies set -e and the ERR trap.
func (p *proc) afterStatus(st *syntax.Stmt) {
	if p.status == 0 || p.flow != next || p.quiet > 0 {
		return
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
			return // its last command has been asked already
		}
	case *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		if p.unopened != st {
			return // so have the commands inside
		}
	}
	p.trap("ERR")
	if p.opts.errexit && p.flow == next {
		p.flow = exiting
	}
}

// refuse stops the script because of something this shell does not do.
func (p *proc) refuse(what, why, hint string) {
	p.stop(&fault.Error{Kind: fault.Denied, Op: "run", Subject: what, Why: why, Hint: hint})
}

// compound runs a command that is not a simple one.
func (p *proc) compound(st *syntax.Stmt) {
	if len(st.Redirs) == 0 {
		p.command(st.Cmd)
		return
	}
	p.substatus = -1
	var old replaced
	defer old.undo(p)
	ok := p.redirect(st.Redirs, &old)
	switch {
	case !ok:
		p.unopened = st
	case st.Cmd != nil:
		p.command(st.Cmd)
	default:
		p.status = max(p.substatus, 0)
	}
}

// command runs a command in which others may be nested. Functions that call each
// other multiply what one script can nest, so all levels are counted.
func (p *proc) command(cmd syntax.Command) {
	if p.deep++; p.depth+p.deep > maxDeep {
		p.stop(p.ses.Limiter.Depth(math.MaxInt))
	} else {
		p.nested(cmd)
	}
	p.deep--
}

func (p *proc) nested(cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case *syntax.Block:
		p.stmts(cmd.Stmts)
	case *syntax.Subshell:
		p.subshell(cmd.Stmts)
	case *syntax.IfClause:
		p.ifClause(cmd)
	case *syntax.WhileClause:
		p.while(cmd)
	case *syntax.ForClause:
		p.forClause(cmd)
	case *syntax.CaseClause:
		p.caseClause(cmd)
	case *syntax.BinaryCmd:
		p.binary(cmd)
	case *syntax.FuncDecl:
		p.define(cmd)
	case *syntax.ArithmCmd:
		if p.opts.xtrace {
			p.trace("(( " + printNode(cmd.X) + " ))")
		}
		p.arithmCmd(cmd.X)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			p.arithmCmd(x)
		}
	case *syntax.TestClause:
		p.testClause(cmd)
	case *syntax.DeclClause:
		p.declClause(cmd)
	case *syntax.TimeClause:
		p.timeClause(cmd)
	case *syntax.CoprocClause:
		p.refuse("coproc", "background jobs do not exist in this shell", "join the commands with a pipe")
	default:
		p.refuse(fmt.Sprintf("%T", cmd), "this form is not known here", "write it with if, for, while or case")
	}
}

// subshell runs ( … ).
func (p *proc) subshell(list []*syntax.Stmt) {
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return
	}
	c := p.sub(p.ctx)
	c.live(func() { c.stmts(list) })
	p.adopt(c)
	p.status = c.status
}

// condition runs a list whose failure is an answer, not an error.
func (p *proc) condition(list []*syntax.Stmt) bool {
	p.quiet++
	p.stmts(list)
	p.quiet--
	return p.flow == next && p.status == 0
}

func (p *proc) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		if len(c.Cond) == 0 || p.condition(c.Cond) {
			p.stmts(c.Then)
			return
		}
		if p.flow != next {
			return
		}
	}
	p.status = 0
}

func (p *proc) while(c *syntax.WhileClause) {
	status := 0
	p.loops++
	defer func() { p.loops-- }()
	for p.iterate() {
		if p.condition(c.Cond) == c.Until {
			if p.flow == next {
				break
			}
			if p.endLoop() {
				return
			}
			continue
		}
		if p.flow == next {
			p.stmts(c.Do)
			status = p.status
		}
		if p.endLoop() {
			return
		}
	}
	if p.flow == next {
		p.status = status
	}
}

// iterate charges one turn of a loop.
func (p *proc) iterate() bool {
	if err := p.ses.Limiter.Loop(); err != nil {
		p.stop(err)
		return false
	}
	return p.tick()
}

// endLoop reports whether the loop ends now, consuming break and continue.
func (p *proc) endLoop() bool {
	switch p.flow {
	case next:
		return false
	case breaking, continuing:
		if p.levels--; p.levels > 0 {
			return true
		}
		stop := p.flow == breaking
		p.flow = next
		return stop
	}
	return true
}

func (p *proc) forClause(c *syntax.ForClause) {
	p.loops++
	defer func() { p.loops-- }()
	switch loop := c.Loop.(type) {
	case *syntax.CStyleLoop:
		p.cLoop(loop, c.Do)
	case *syntax.WordIter:
		items := p.params
		if loop.InPos.IsValid() {
			items = p.fields(loop.Items)
			if p.failed() {
				return
			}
			defer p.holdWords(items)()
		}
		if c.Select {
			p.selectLoop(loop.Name.Value, items, c.Do)
			return
		}
		p.wordLoop(loop.Name.Value, items, c.Do)
	}
}

func (p *proc) wordLoop(name string, items []string, do []*syntax.Stmt) {
	if len(items) == 0 {
		p.status = 0
	}
	for _, item := range items {
		if !p.iterate() {
			return
		}
		p.trap("DEBUG")
		if !p.setLoopName(name, item) {
			return
		}
		p.stmts(do)
		if p.endLoop() {
			return
		}
	}
}

// setLoopName gives the variable of a loop its next value; a name reference is
// itself changed, to refer to something else in every turn.
func (p *proc) setLoopName(name, item string) bool {
	if v := p.vars.get(name); v != nil && v.attrs&nameref != 0 {
		v = p.vars.own(name)
		v.str, v.set = item, true
		return true
	}
	if p.assign(name, item) {
		return true
	}
	if stops(p.bad) {
		p.failed()
		return false
	}
	p.errorf("%v", p.bad)
	p.bad, p.status = nil, 1
	return false
}

func (p *proc) cLoop(loop *syntax.CStyleLoop, do []*syntax.Stmt) {
	eval := func(x syntax.ArithmExpr, none int64) int64 {
		if x == nil {
			return none
		}
		return p.arithm(x)
	}
	eval(loop.Init, 0)
	p.status = 0
	for !p.failed() && p.iterate() && eval(loop.Cond, 1) != 0 {
		if p.failed() {
			return
		}
		p.stmts(do)
		if p.endLoop() {
			return
		}
		eval(loop.Post, 0)
	}
	p.failed()
}

// selectLoop offers a menu on standard error and reads the choice.
func (p *proc) selectLoop(name string, items []string, do []*syntax.Stmt) {
	for p.iterate() {
		for i, item := range items {
			if p.errorf("%d) %s", i+1, item); !p.spend(1024) {
				p.failed()
				return
			}
		}
		line, ok := p.readLine(0, '\n', true)
		if !ok {
			p.print("")
			p.status = 1
			return
		}
		p.assign("REPLY", line)
		choice := ""
		var n int
		if _, err := fmt.Sscan(line, &n); err == nil && n >= 1 && n <= len(items) {
			choice = items[n-1]
		}
		p.assign(name, choice)
		p.stmts(do)
		if p.endLoop() {
			return
		}
	}
}

func (p *proc) caseClause(c *syntax.CaseClause) {
	text := p.word(c.Word)
	if p.failed() {
		return
	}
	defer p.holdWords([]string{text})()
	if p.opts.xtrace {
		p.trace("case " + p.shellQuote(text) + " in")
	}
	matched, fall := false, false
	for _, item := range c.Items {
		if !fall && !p.anyPattern(item.Patterns, text) {
			if p.failed() {
				return
			}
			continue
		}
		if matched = matched || len(item.Stmts) > 0; !matched {
			p.status = 0
		}
		p.stmts(item.Stmts)
		if p.flow != next || item.Op == syntax.Break {
			return
		}
		fall = item.Op == syntax.Fallthrough
	}
	if !matched {
		p.status = 0
	}
}

func (p *proc) anyPattern(words []*syntax.Word, text string) bool {
	for _, w := range words {
		if p.compile(p.pattern(w), p.opts.nocasematch).Match(text) && p.bad == nil {
			return true
		}
		if p.bad != nil {
			return false
		}
	}
	return false
}

func (p *proc) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		p.list(c)
	default:
		p.pipeline(c)
	}
}

// list runs commands joined by && and ||. The tree leans to the left and may be
// as deep as the script is long, so it is not followed by recursion.
func (p *proc) list(c *syntax.BinaryCmd) {
	var few [8]*syntax.BinaryCmd
	outer := few[:0]
	for inner := joinedBy(c.X); inner != nil; inner = joinedBy(c.X) {
		outer = append(outer, c)
		c = inner
	}
	p.quiet++
	p.stmt(c.X)
	for i := len(outer) - 1; i >= 0; i-- {
		p.second(c)
		c = outer[i]
	}
	p.quiet--
	p.second(c)
}

// second runs the right side if the left one leads there.
func (p *proc) second(c *syntax.BinaryCmd) {
	if p.flow == next && (p.status == 0) == (c.Op == syntax.AndStmt) {
		p.stmt(c.Y)
	}
}

// joinedBy returns the && or || that a statement consists of, or nil.
func joinedBy(st *syntax.Stmt) *syntax.BinaryCmd {
	c, ok := st.Cmd.(*syntax.BinaryCmd)
	if !ok || c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
		return nil
	}
	if len(st.Redirs) > 0 || st.Negated || st.Background || st.Coprocess || st.Disown {
		return nil
	}
	return c
}

func (p *proc) arithmCmd(x syntax.ArithmExpr) {
	n := p.expr(x)
	var unbound stopper
	if p.bad != nil && !stops(p.bad) && !errors.As(p.bad, &unbound) {
		p.errorf("((: %v", p.bad)
		p.bad = nil
		p.status = 1
		return
	}
	if p.failed() {
		return
	}
	p.status = 0
	if n == 0 {
		p.status = 1
	}
}

func (p *proc) timeClause(c *syntax.TimeClause) {
	start := time.Now()
	if c.Stmt != nil {
		p.stmt(c.Stmt)
	}
	d := time.Since(start)
	if c.PosixFormat {
		p.errorf("real %.2f\nuser 0.00\nsys 0.00", d.Seconds())
		return
	}
	p.errorf("\nreal\t%dm%.3fs\nuser\t0m0.000s\nsys\t0m0.000s", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())))
}
