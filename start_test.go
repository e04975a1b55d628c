package hako_test

import (
	"go/ast"
	"go/token"
	"regexp/syntax"
	"strconv"
	"testing"
)

// startsLight are the packages that make no regular expression when the program
// starts: a shell is started thousands of times, and waits for all of them.
const startsLight = "container/lang internal/app/coder internal/app/llmcmd/plan internal/app/llmcmd/preset internal/config llm/rules policy shell/command shell/command/archive shell/command/data shell/command/file shell/command/internal/cli shell/command/internal/datetime shell/command/number shell/command/system shell/command/text shell/jq"

// TestStart checks that nothing is made at the start which most runs don't use.
func TestStart(t *testing.T) {
	for _, s := range sources(t) {
		if !holds(startsLight, s.pkg) {
			continue
		}
		for _, call := range callsAtStart(s) {
			if isMustCompile(call) {
				t.Errorf("%s: make it when it is first needed, as sync.OnceValue does", s.fset.Position(call.Pos()))
			}
		}
	}
}

// TestLatePatterns checks what would otherwise fail only when it is first used.
func TestLatePatterns(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		for _, call := range callsAtStart(s) {
			pattern, ok := latePattern(call)
			if !ok {
				continue
			}
			n++
			if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
				t.Errorf("%s: %v", s.fset.Position(call.Pos()), err)
			}
		}
	}
	if n < 40 {
		t.Errorf("found %d patterns, there are more", n)
	}
}

// callsAtStart are the calls by which variables of a package get their values.
// What stands in a function is called later.
func callsAtStart(s source) (all []*ast.CallExpr) {
	for _, decl := range s.Decls {
		if d, ok := decl.(*ast.GenDecl); !ok || d.Tok != token.VAR {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				all = append(all, call)
			}
			_, later := n.(*ast.FuncLit)
			return !later
		})
	}
	return all
}

func isMustCompile(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "regexp" && sel.Sel.Name == "MustCompile"
}

// latePattern returns the pattern in compiled("pattern") and cli.LazyRegexp("pattern").
func latePattern(call *ast.CallExpr) (string, bool) {
	name, ok := call.Fun.(*ast.Ident)
	if sel, of := call.Fun.(*ast.SelectorExpr); of {
		name, ok = sel.Sel, true
	}
	if !ok || name.Name != "compiled" && name.Name != "LazyRegexp" {
		return "", false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	pattern, err := strconv.Unquote(text.Value)
	return pattern, err == nil
}
