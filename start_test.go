package hako_test

import (
	"go/ast"
	"go/token"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"
)

// TestStart checks that no package compiles a regular expression when the program
// starts: a shell is started thousands of times, and most runs use none of them.
func TestStart(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasPrefix(s.pkg, "internal/fakes") {
			continue
		}
		for _, call := range callsAtStart(s) {
			if calls(call, "regexp", "MustCompile") {
				t.Errorf("%s: use lazyregexp.New", s.fset.Position(call.Pos()))
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

// calls reports whether a call is of the function pkg.name.
func calls(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg && sel.Sel.Name == name
}

// latePattern returns the pattern in lazyregexp.New("pattern").
func latePattern(call *ast.CallExpr) (string, bool) {
	name, ok := call.Fun.(*ast.Ident)
	if !calls(call, "lazyregexp", "New") && (!ok || name.Name != "compiled") {
		return "", false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	pattern, err := strconv.Unquote(text.Value)
	return pattern, err == nil
}
