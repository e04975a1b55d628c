// Package bashsyntax corrects trees of mvdan.cc/sh that do not match bash. The policy
// judges and the interpreter runs the corrected tree, so that both see the same script.
package bashsyntax

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// Correct corrects a tree in place and returns it. The parser takes "f() { …; } && cmd"
// for a function with a list as its body. In bash the body is the first command, and the
// list goes on after the declaration.
func Correct(f *syntax.File) *syntax.File {
	syntax.Walk(f, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			correct(st)
		}
		return true
	})
	return f
}

// correct corrects one statement, as often as its list ends in such a declaration.
func correct(st *syntax.Stmt) {
	if decl := listBody(st); decl != nil {
		replace(st, decl.Body, splitBody(decl, nil))
	}
	for {
		c, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return
		}
		decl := listBody(c.Y)
		if decl == nil {
			return
		}
		replace(st, decl.Body, splitBody(decl, c))
	}
}

// listBody returns the declaration that a statement consists of, if its body is a list.
func listBody(st *syntax.Stmt) *syntax.FuncDecl {
	decl, ok := st.Cmd.(*syntax.FuncDecl)
	if !ok || decl.Body == nil {
		return nil
	}
	if _, list := decl.Body.Cmd.(*syntax.BinaryCmd); !list {
		return nil
	}
	return decl
}

// replace makes st the list that was taken for a body.
func replace(st, body, list *syntax.Stmt) {
	st.Cmd = list.Cmd
	st.Redirs = append(body.Redirs, st.Redirs...)
	st.Background = st.Background || body.Background
	st.Coprocess = st.Coprocess || body.Coprocess
	st.Disown = st.Disown || body.Disown
}

// splitBody returns the list with the declaration as its first command. Where the
// declaration is the right side of a command before, that comes first: && and || apply
// to the whole pipeline that the list begins with, a pipe to its first stage.
func splitBody(decl *syntax.FuncDecl, before *syntax.BinaryCmd) *syntax.Stmt {
	body, rest := spine(decl.Body)
	declared := *decl
	declared.Body = body
	list := &syntax.Stmt{Cmd: &declared, Position: decl.Position}
	if before != nil && !isPipe(before.Op) {
		for len(rest) > 0 && isPipe(rest[0].Op) {
			list, rest = join(list, rest[0]), rest[1:]
		}
	}
	if before != nil {
		list = join(before.X, &syntax.BinaryCmd{OpPos: before.OpPos, Op: before.Op, Y: list})
	}
	for _, c := range rest {
		list = join(list, c)
	}
	return list
}

// spine returns the first command of a list, and the commands that join the others to
// it, in order.
func spine(st *syntax.Stmt) (first *syntax.Stmt, rest []*syntax.BinaryCmd) {
	for {
		c, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok {
			slices.Reverse(rest)
			return st, rest
		}
		rest = append(rest, c)
		st = c.X
	}
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// join returns left, joined to the right side of c by its operator.
func join(left *syntax.Stmt, c *syntax.BinaryCmd) *syntax.Stmt {
	return &syntax.Stmt{Position: left.Position,
		Cmd: &syntax.BinaryCmd{OpPos: c.OpPos, Op: c.Op, X: left, Y: c.Y}}
}
