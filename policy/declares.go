package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Declares reports whether a script may leave something in its session that changes the meaning of later scripts:
// a function, a trap, a shell option, an open file, a variable that controls programs or the shell. After such a
// script [Policy.ReadOnly] is not valid in the session.
//
// The result is true for whatever is not understood. The working directory does not count: the caller knows it.
func Declares(file *syntax.File) bool {
	if file == nil {
		return true
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		found = found || declares(n)
		return !found
	})
	return found
}

func declares(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.FuncDecl, *syntax.DeclClause:
		return true
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			return commandDeclares(n.Args)
		}
		for _, a := range n.Assigns {
			if a.Name == nil || isControlName(a.Name.Value) {
				return true
			}
		}
	case *syntax.Redirect:
		return n.N != nil && strings.HasPrefix(n.N.Value, "{")
	case *syntax.WordIter:
		return isControlName(n.Name.Value)
	case *syntax.ParamExp: // ${X:=y}
		return n.Param != nil && isControlName(n.Param.Value) && n.Exp != nil &&
			(n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
	case *syntax.BinaryArithm:
		return setsControlName(n.X)
	case *syntax.UnaryArithm:
		return setsControlName(n.X)
	}
	return false
}

// setsControlName reports whether arithmetic may change a control variable.
func setsControlName(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && isControlName(w.Lit())
}

// commandDeclares judges a simple command.
func commandDeclares(args []*syntax.Word) bool {
	name := plainWord(args[0])
	if name.late {
		return true
	}
	switch name.text {
	case "command", "builtin":
		rest := args[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0].Lit(), "-") {
			if strings.ContainsAny(rest[0].Lit(), "vV") {
				return false // it only looks the name up
			}
			rest = rest[1:]
		}
		return len(rest) > 0 && commandDeclares(rest)
	case "printf":
		return len(args) > 1 && strings.HasPrefix(plainWord(args[1]).text, "-v")
	case "read", "mapfile", "readarray", "getopts", "unset", "let":
		for _, a := range args[1:] {
			if w := plainWord(a); w.late || isControlName(w.text) {
				return true
			}
		}
	}
	return hasWord(wordList("declaring-commands"), name.text)
}

// isControlName reports whether a variable may control programs or the shell. By convention those have capital
// letters.
func isControlName(name string) bool { return strings.ToLower(name) != name }
