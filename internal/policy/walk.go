package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script judges a script by its source, before anything is expanded. It
// returns the verdicts on its commands, redirections and constructs, in the
// order the walk meets them.
func (p *Policy) Script(src string) ([]Verdict, error) {
	f, err := ParseScript(src)
	if err != nil {
		return nil, err
	}
	return p.Program(f), nil
}

// Program judges a script that is parsed already.
func (p *Policy) Program(f *syntax.File) []Verdict {
	if p == nil {
		return []Verdict{(*Policy)(nil).Call(nil)}
	}
	w := &walker{p: p, sc: scope{dirs: p.startDirs()}}
	w.stmts(f.Stmts)
	w.uncalled()
	return w.out
}

// maxUnfolded bounds the source that is walked again because it is a loop's
// body or a function's. Beyond it the values in there count as unknown.
const maxUnfolded = 1 << 20

// A walker goes through a script the way a shell would, with what is known.
type walker struct {
	p        *Policy
	out      []Verdict
	sc       scope
	ok       []string // directories if the last command succeeded; nil means sc.dirs
	made     feed     // what the last command writes to its standard output
	quiet    bool     // words are evaluated a second time: judge nothing
	unfolded int      // bytes of source walked again
	stack    []*fn
	declared []*fn
	ints     map[string]bool      // declared with -i: what is assigned is evaluated
	assoc    map[string]bool      // declared with -A: subscripts are texts
	named    map[string]bool      // once held the output of a program that lists names
	fixed    map[string]bool      // declared readonly: an assignment changes nothing
	locals   map[string]localName // of the function that is walked
	linked   bool                 // a command before this one may have made a link
	wrote    bool                 // a command before this one may have written files
	wrapped  int                  // how many scripts and commands this one is inside of
}

// A fn is a function the script defines.
type fn struct {
	body   *syntax.Stmt
	maybe  bool // defined on some paths only
	called bool
	worst  bool // walked with unknown arguments, there is nothing worse to find
	counts bool // walked with numbers that are not known
}

func (w *walker) refuse(words []word, f *finding) {
	if w.quiet || f == nil {
		return
	}
	v := f.verdict(words)
	if words == nil {
		v.Argv = []string{f.where}
	}
	w.out = append(w.out, v)
}

// refuseStrict is for what harms nobody in a closed shell.
func (w *walker) refuseStrict(f *finding) {
	if w.p.manner.strict {
		w.refuse(nil, f)
	}
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	w.ok, w.made = nil, feed{kind: fedUnknown}
	if (s.Background || s.Coprocess || s.Disown) && w.p.manner.foreground {
		w.refuse(nil, refusal("background &", "nothing may outlive the script in the background", "run it in the foreground, one command after the other"))
	}
	fed := w.sc.fed
	for _, r := range s.Redirs {
		w.redirect(r)
	}
	before := w.sc
	if mayNotOpen(s.Redirs) {
		before = w.sc.share()
	}
	w.command(s.Cmd)
	if mayNotOpen(s.Redirs) {
		w.sc.merge(&before) // { sh() { :; }; } < nope defines nothing
	}
	w.sc.fed = fed
	if s.Negated {
		w.ok = nil
	}
	if !printsOnce(s) {
		w.made = feed{kind: fedUnknown}
	}
}

// mayNotOpen reports whether a redirection names a file that may not open, in
// which case the command never runs.
func mayNotOpen(redirs []*syntax.Redirect) bool {
	for _, r := range redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			continue
		}
		if r.Word == nil || !harmlessDevice(r.Word.Lit()) && strings.Trim(r.Word.Lit(), "0123456789") != "" || r.Word.Lit() == "" {
			return true
		}
	}
	return false
}

// printsOnce reports whether all that a statement prints is what its last
// command prints.
func printsOnce(s *syntax.Stmt) bool {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrIn, syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc:
		case syntax.RdrOut, syntax.AppOut:
			if r.N == nil || r.N.Value != "2" {
				return false
			}
		default:
			return false
		}
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.BinaryCmd, *syntax.TimeClause:
		return true
	case *syntax.Block:
		return len(cmd.Stmts) == 1
	case *syntax.Subshell:
		return len(cmd.Stmts) == 1
	}
	return false
}

func (w *walker) command(cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		w.call(cmd)
	case *syntax.BinaryCmd:
		w.binary(cmd)
	case *syntax.Subshell:
		w.apart(func() { w.stmts(cmd.Stmts) })
	case *syntax.Block:
		w.stmts(cmd.Stmts)
	case *syntax.IfClause:
		w.ifClause(cmd)
	case *syntax.WhileClause:
		w.loop(cmd, func() {
			w.stmts(cmd.Cond)
			w.stmts(cmd.Do)
		})
	case *syntax.ForClause:
		w.forClause(cmd)
	case *syntax.CaseClause:
		w.caseClause(cmd)
	case *syntax.FuncDecl:
		w.declare(cmd)
	case *syntax.DeclClause:
		w.declClause(cmd)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			w.arithm(x)
			w.havoc(x)
		}
	case *syntax.ArithmCmd:
		w.arithm(cmd.X)
		w.havoc(cmd.X)
	case *syntax.TestClause:
		w.test(cmd.X)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			w.stmt(cmd.Stmt)
		}
	case *syntax.CoprocClause:
		if w.p.manner.foreground {
			w.refuse(nil, refusal("coproc", "a coprocess runs in the background", "use a pipe"))
		}
		w.apart(func() { w.stmt(cmd.Stmt) })
	case *syntax.TestDecl:
		w.stmt(cmd.Body)
	case nil:
	default:
		w.refuse(nil, refusal("syntax", "this construct is not understood", "write it with simple commands"))
	}
}

// apart walks what runs in a subshell: nothing it changes stays changed.
func (w *walker) apart(walk func()) {
	saved := w.sc.share()
	walk()
	made := w.made
	w.sc, w.ok, w.made = saved, nil, made
}

func (w *walker) binary(cmd *syntax.BinaryCmd) {
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		w.pipeline(cmd)
		return
	}
	first, rest := spine(cmd)
	w.stmt(first)
	before := w.sc.share()
	printed := false
	for _, next := range rest {
		printed = printed || w.made != feed{kind: fedKnown}
		if next.Op == syntax.AndStmt {
			if w.ok != nil {
				w.sc.dirs = w.ok
			}
			w.stmt(next.Y)
			continue
		}
		w.orElse(next.Y, &before)
	}
	ok := w.ok
	if ok == nil {
		ok = w.sc.dirs
	}
	w.sc.merge(&before)
	w.ok = ok
	if printed {
		w.made = feed{kind: fedUnknown}
	}
}

// orElse walks what follows ||. If it leaves the script, what comes after
// knows that the command before it succeeded.
func (w *walker) orElse(y *syntax.Stmt, before *scope) {
	ok := w.ok
	if ok == nil {
		ok = w.sc.dirs
	}
	w.sc.merge(before)
	if leaves(y) {
		w.apart(func() { w.stmt(y) })
		w.sc.dirs, w.ok = ok, nil
		*before = w.sc.share()
		return
	}
	saved := w.sc.share()
	w.stmt(y)
	w.sc.merge(&saved)
	w.ok = union(ok, w.sc.dirs)
	*before = w.sc.share()
}

// leaves reports whether a statement surely ends the script or function.
func leaves(s *syntax.Stmt) bool {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(cmd.Args) > 0 && (cmd.Args[0].Lit() == "exit" || cmd.Args[0].Lit() == "return")
	case *syntax.Block:
		return len(cmd.Stmts) > 0 && leaves(cmd.Stmts[len(cmd.Stmts)-1])
	}
	return false
}

// spine flattens a && b || c, which the parser nests to the left, so that a
// long list does not become a deep recursion.
func spine(cmd *syntax.BinaryCmd) (first *syntax.Stmt, rest []*syntax.BinaryCmd) {
	for {
		rest = append(rest, cmd)
		left, ok := cmd.X.Cmd.(*syntax.BinaryCmd)
		if !ok || left.Op == syntax.Pipe || left.Op == syntax.PipeAll || len(cmd.X.Redirs) > 0 || cmd.X.Negated || cmd.X.Background {
			break
		}
		cmd = left
	}
	first = cmd.X
	for i, j := 0, len(rest)-1; i < j; i, j = i+1, j-1 {
		rest[i], rest[j] = rest[j], rest[i]
	}
	return first, rest
}

// pipeline walks the stages of a pipe, each in a subshell of its own and fed
// by the one before.
func (w *walker) pipeline(cmd *syntax.BinaryCmd) {
	var buf [8]*syntax.Stmt
	stages := pipeStages(buf[:0], cmd)
	saved := w.sc.share()
	fed := w.sc.fed
	for _, s := range stages {
		w.sc = saved.share()
		w.sc.fed = fed
		w.stmt(s)
		fed = w.made
	}
	w.sc, w.ok, w.made = saved, nil, fed
}

func pipeStages(out []*syntax.Stmt, cmd *syntax.BinaryCmd) []*syntax.Stmt {
	var backward []*syntax.Stmt
	for {
		backward = append(backward, cmd.Y)
		left, ok := cmd.X.Cmd.(*syntax.BinaryCmd)
		if !ok || left.Op != syntax.Pipe && left.Op != syntax.PipeAll || len(cmd.X.Redirs) > 0 {
			break
		}
		cmd = left
	}
	out = append(out, cmd.X)
	for i := len(backward) - 1; i >= 0; i-- {
		out = append(out, backward[i])
	}
	return out
}

func (w *walker) ifClause(cmd *syntax.IfClause) {
	w.stmts(cmd.Cond)
	before := w.sc.share()
	if w.ok != nil {
		w.sc.dirs = w.ok
	}
	w.stmts(cmd.Then)
	after := w.sc.share()
	w.sc = before
	if cmd.Else != nil {
		w.ifClause(cmd.Else)
	}
	w.sc.merge(&after)
	w.ok = nil
}

func (w *walker) caseClause(cmd *syntax.CaseClause) {
	w.one(cmd.Word)
	before := w.sc.share()
	after := w.sc.share()
	for _, item := range cmd.Items {
		w.sc = before.share()
		for _, pattern := range item.Patterns {
			w.one(pattern)
		}
		w.stmts(item.Stmts)
		after.merge(&w.sc)
		if item.Op != syntax.Break {
			before.merge(&w.sc) // falls through into the next
		}
	}
	w.sc, w.ok = after, nil
}

func (w *walker) forClause(cmd *syntax.ForClause) {
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		c := cmd.Loop.(*syntax.CStyleLoop)
		w.arithm(c.Init)
		w.havoc(c)
		w.loop(cmd, func() {
			w.arithm(c.Cond)
			w.arithm(c.Post)
			w.stmts(cmd.Do)
		})
		return
	}
	items := w.appendFields(nil, iter.Items)
	if !iter.InPos.IsValid() {
		items = append(items, word{text: insideName, late: true})
		if w.sc.args != nil {
			items = items[:0]
			for _, v := range w.sc.args {
				items = append(items, word{text: v.text, late: v.late, loose: v.loose})
			}
		}
	}
	if w.p.manner.strict {
		w.refuse(nil, judgeVariable(iter.Name.Value, false))
	}
	w.loop(cmd, func() {
		for _, v := range w.loopValues(cmd, items) {
			w.set(iter.Name.Value, v)
			w.stmts(cmd.Do)
		}
	})
}

// loopValues returns the values to walk a loop's body with: each item, or
// one that stands for all when there are too many.
func (w *walker) loopValues(loop syntax.Node, items []word) []value {
	if len(items) > 16 || !w.afford(loop, len(items)) {
		return []value{w.common(items)}
	}
	out := make([]value, 0, len(items)+1)
	for _, it := range items {
		out = append(out, value{it.text, it.late, it.loose})
	}
	if len(items) == 0 {
		out = append(out, value{late: true})
	}
	return out
}

// afford reports whether node may be walked n times more.
func (w *walker) afford(node syntax.Node, n int) bool {
	cost := n * (16 + int(node.End().Offset()) - int(node.Pos().Offset()))
	if cost < 0 || w.unfolded+cost > maxUnfolded {
		return false
	}
	w.unfolded += cost
	return true
}

// common returns one value for many words: a name inside the root if they
// all are, else anything.
func (w *walker) common(items []word) value {
	c := w.newCommand(nil)
	for _, it := range items {
		if it.loose || len(it.text) > 0 && it.text[0] == '-' || c.path(it) != nil {
			return anything
		}
	}
	return value{text: insideName, late: true}
}

// loop walks a body that may run many times or never.
func (w *walker) loop(node syntax.Node, walk func()) {
	w.havoc(node)
	if w.sc.lost || changesDir(node) {
		w.sc.dirs = nil
	}
	before := w.sc.share()
	walk()
	w.sc.merge(&before)
	w.ok = nil
	w.loopAgain(node, walk, &before)
}

// loopAgain walks a body until nothing changes any more: functions and
// builtins set variables in ways that a look at the source does not show.
func (w *walker) loopAgain(node syntax.Node, walk func(), before *scope) {
	for range 3 {
		if w.sc.same(before) {
			return
		}
		if !w.afford(node, 1) {
			break
		}
		*before = w.sc.share()
		first := len(w.out)
		walk()
		w.out = append(w.out[:first], notAllowed(w.out[first:])...)
		w.sc.merge(before)
		w.ok = nil
	}
	if !w.sc.same(before) {
		w.sc.forget()
	}
}

// notAllowed drops what a second look at a command need not repeat.
func notAllowed(vs []Verdict) []Verdict {
	out := vs[:0:0]
	for _, v := range vs {
		if v.Effect != Allow {
			out = append(out, v)
		}
	}
	return out
}

// havoc forgets the variables that node may set.
func (w *walker) havoc(node syntax.Node) {
	if !w.afford(node, 1) {
		w.sc.forget()
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				w.set(n.Name.Value, later(n))
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				w.havocCall(n)
			}
		case *syntax.BinaryArithm:
			if word, ok := n.X.(*syntax.Word); ok && isAssignment(n.Op) {
				w.set(word.Lit(), value{text: "1", late: true})
			}
		case *syntax.UnaryArithm:
			if word, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
				w.set(word.Lit(), value{text: "1", late: true})
			}
		}
		return true
	})
}

// later is what an assignment in a loop leaves behind: a number, or anything.
func later(a *syntax.Assign) value {
	if a.Value == nil || len(a.Value.Parts) != 1 || a.Append {
		return anything
	}
	part := a.Value.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	switch part := part.(type) {
	case *syntax.ArithmExp:
		return value{text: "1", late: true}
	case *syntax.Lit:
		if part.Value != "" && strings.Trim(part.Value, "0123456789") == "" {
			return value{text: part.Value, late: true}
		}
	}
	return anything
}

// havocCall forgets what builtins that set variables by name may set.
func (w *walker) havocCall(call *syntax.CallExpr) {
	switch call.Args[0].Lit() {
	case "read", "mapfile", "readarray", "printf", "getopts", "unset", "export", "declare", "local", "typeset", "readonly", "let":
		for _, a := range call.Args[1:] {
			if v, ok := w.sc.vars[a.Lit()]; ok && a.Lit() != "" {
				w.set(a.Lit(), value{v.text, true, true})
			}
		}
	case "set", "shift":
		if w.sc.args != nil {
			w.sc.args = unknownArgs()
		}
	case "eval":
		w.sc.forget()
	}
}

func isAssignment(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// changesDir reports whether node holds a cd outside of any subshell.
func changesDir(node syntax.Node) bool {
	found := false
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst:
			return false
		case *syntax.CallExpr:
			for _, a := range n.Args {
				switch a.Lit() {
				case "cd", "pushd", "popd":
					found = true
				}
			}
		}
		return !found
	})
	return found
}
