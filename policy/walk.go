package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxUnfolded bounds the source that is walked again because it is the body of a loop or function. Beyond it
// values count as unknown.
const maxUnfolded = 1 << 20

// A walker walks a script in the order of execution and tracks what is known about directories, variables and
// pipes.
type walker struct {
	p          *Policy
	cost       *costMeter
	out        []Verdict
	sc         scope
	ok         []string  // directories if the last command succeeded; nil means sc.dirs
	made       pipeInput // what the last command writes to its standard output
	quiet      bool      // words are evaluated a second time: judge nothing
	unfolded   int       // bytes of source walked again
	stack      []*fn
	declared   []*fn
	ints       map[string]bool      // declared with -i: what is assigned is evaluated
	assoc      map[string]bool      // declared with -A: subscripts are texts
	named      map[string]bool      // held the output of a command substitution
	fixed      map[string]bool      // declared readonly: an assignment changes nothing
	exports    map[string]bool      // exported by this script
	locals     map[string]localName // of the function that is walked
	linked     bool                 // a command before this one may have made a link
	wrote      bool                 // a command before this one may have written files
	moved      bool                 // a command before this one may have moved directories
	jobs       int                  // depth of background statements
	concurrent bool                 // something runs in the background
	wrapped    int                  // depth of scripts and commands that run one another
	nested     bool                 // the script is in the arguments of another program
	noted      map[note]bool        // refusals in out that are not about commands
	followed   map[string]bool      // names whose values have been evaluated; true while they are
}

// A note identifies a refusal of something that is not a command.
type note struct{ where, why string }

func (w *walker) refuse(words []word, f *finding) {
	if w.quiet || f == nil {
		return
	}
	if words != nil {
		w.add(f, words)
		return
	}
	w.cost.spend(costVerdict)
	n := note{f.where, f.why}
	if w.noted[n] {
		return // reported before
	}
	if w.noted == nil {
		w.noted = make(map[note]bool)
	}
	w.noted[n] = true
	v := f.verdict(nil)
	v.Argv = []string{f.where}
	w.keep(v)
}

// add records the verdict on a command.
func (w *walker) add(f *finding, words []word) {
	w.cost.spend(costVerdict + costSource*printCost(words))
	w.keep(f.verdict(words))
}

func (w *walker) keep(v Verdict) {
	w.cost.keep(sizeOfVerdict(v))
	w.out = append(w.out, v)
}

// sizeOfVerdict is the memory that a verdict takes.
func sizeOfVerdict(v Verdict) int {
	size := verdictSize + len(v.Why) + len(v.Hint) + len(v.Where)
	for _, s := range v.Argv {
		size += argSize + len(s)
	}
	return size
}

// The size of a verdict itself, and of one of its words.
const (
	verdictSize = 120
	argSize     = 16
)

// printCost is how much source is printed to show late words.
func printCost(words []word) int {
	n := 0
	for i := range words {
		if words[i].late && words[i].src != nil {
			n += costStmt + 4*sizeOf(words[i].src)
		}
	}
	return n
}

// refuseStrict refuses what is harmless in a closed shell.
func (w *walker) refuseStrict(f *finding) {
	if w.p.checks.strict {
		w.refuse(nil, f)
	}
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	w.cost.spend(costStmt)
	w.cost.enter()
	defer w.cost.leave()
	w.ok, w.made = nil, unknownInput
	switch {
	case s.Background && w.mayStart():
		w.job(s)
		return
	case (s.Background || s.Coprocess || s.Disown) && w.p.checks.foreground:
		w.refuse(nil, refusal("background &", "nothing may outlive the script in the background",
			"run it in the foreground, one command after the other"))
	}
	w.statement(s)
}

// statement walks a foreground statement.
func (w *walker) statement(s *syntax.Stmt) {
	fed := w.sc.input
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
	w.sc.input = fed
	if s.Negated {
		w.ok = nil
	}
	if !printsOnce(s) {
		w.made = unknownInput
	}
}

// mayNotOpen reports whether a redirection may fail to open its file, so that the command does not run.
func mayNotOpen(redirs []*syntax.Redirect) bool {
	for _, r := range redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			continue
		}
		if r.Word == nil || !harmlessDevice(r.Word.Lit()) && strings.Trim(r.Word.Lit(), "0123456789") != "" ||
			r.Word.Lit() == "" {
			return true
		}
	}
	return false
}

// printsOnce reports whether a statement prints nothing but the output of its last command.
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
		w.simpleCommand(cmd)
	case *syntax.BinaryCmd:
		w.andOr(cmd)
	case *syntax.Subshell:
		w.subshell(func() { w.stmts(cmd.Stmts) })
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
		w.defineFunction(cmd)
	case *syntax.DeclClause:
		w.declClause(cmd)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			w.arithm(x)
			w.forgetVariables(x)
		}
	case *syntax.ArithmCmd:
		w.arithm(cmd.X)
		w.forgetVariables(cmd.X)
	case *syntax.TestClause:
		w.test(cmd.X)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			w.stmt(cmd.Stmt)
		}
	case *syntax.CoprocClause:
		if w.p.checks.foreground {
			w.refuse(nil, refusal("coproc", "a coprocess runs in the background", "use a pipe"))
		}
		w.subshell(func() { w.stmt(cmd.Stmt) })
	case *syntax.TestDecl:
		w.stmt(cmd.Body)
	case nil:
	default:
		w.refuse(nil, refusal("syntax", "this construct is not understood", "write it with simple commands"))
	}
}

// subshell walks the commands of a subshell: changes to the scope end with it.
func (w *walker) subshell(walk func()) {
	saved := w.sc.share()
	walk()
	made := w.made
	w.sc, w.ok, w.made = saved, nil, made
}

func (w *walker) andOr(cmd *syntax.BinaryCmd) {
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		w.pipeline(cmd)
		return
	}
	first, rest := flattenList(cmd)
	w.stmt(first)
	before := w.sc.share()
	printed := false
	for _, next := range rest {
		printed = printed || w.made != pipeInput{kind: inputKnown}
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
		w.made = unknownInput
	}
}

// orElse walks the command after ||. If that one exits, the command before || succeeded for what follows.
func (w *walker) orElse(y *syntax.Stmt, before *scope) {
	ok := w.ok
	if ok == nil {
		ok = w.sc.dirs
	}
	w.sc.merge(before)
	if exits(y) {
		w.subshell(func() { w.stmt(y) })
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

// exits reports whether a statement certainly ends the script or function.
func exits(s *syntax.Stmt) bool {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(cmd.Args) > 0 && (cmd.Args[0].Lit() == "exit" || cmd.Args[0].Lit() == "return")
	case *syntax.Block:
		return len(cmd.Stmts) > 0 && exits(cmd.Stmts[len(cmd.Stmts)-1])
	}
	return false
}

// flattenList flattens a && b || c, which the parser nests to the left, so that a long list is not a deep
// recursion.
func flattenList(cmd *syntax.BinaryCmd) (first *syntax.Stmt, rest []*syntax.BinaryCmd) {
	for {
		rest = append(rest, cmd)
		left, ok := cmd.X.Cmd.(*syntax.BinaryCmd)
		if !ok || left.Op == syntax.Pipe || left.Op == syntax.PipeAll || len(cmd.X.Redirs) > 0 || cmd.X.Negated ||
			cmd.X.Background {
			break
		}
		cmd = left
	}
	first = cmd.X
	slices.Reverse(rest)
	return first, rest
}

// pipeline walks the stages of a pipe, each in its own subshell with the output of the stage before as input.
func (w *walker) pipeline(cmd *syntax.BinaryCmd) {
	var buf [8]*syntax.Stmt
	stages := pipeStages(buf[:0], cmd)
	saved := w.sc.share()
	fed := w.sc.input
	for _, s := range stages {
		w.sc = saved.share()
		w.sc.input = fed
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
	slices.Reverse(backward)
	return append(out, backward...)
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
	w.expandUnsplit(cmd.Word)
	before := w.sc.share()
	after := w.sc.share()
	for _, item := range cmd.Items {
		w.sc = before.share()
		for _, pattern := range item.Patterns {
			w.expandUnsplit(pattern)
		}
		w.stmts(item.Stmts)
		after.merge(&w.sc)
		if item.Op != syntax.Break {
			before.merge(&w.sc) // falls through into the next
		}
	}
	w.sc, w.ok = after, nil
}

// ownJob stands for $!: an unknown number that is certainly that of a job of this script.
const ownJob = "%!"

// mayStart reports whether a statement may run in the background. Inside eval and sh -c it may not, since the
// script around them would not know of it.
func (w *walker) mayStart() bool { return w.p.checks.jobs && w.wrapped == 0 }

// job walks a background statement, which runs in its own subshell.
func (w *walker) job(s *syntax.Stmt) {
	w.concurrent = true
	w.jobs++
	w.subshell(func() { w.statement(s) })
	w.jobs--
	w.made = unknownInput
}
