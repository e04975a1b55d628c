package bashsyntax

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// TestCorrect shows the structure of corrected trees by brackets around each list.
func TestCorrect(t *testing.T) {
	for script, want := range map[string]string{
		"f() { a; }":                         "f{a}",
		"f() { a; } && b":                    "(f{a} && b)",
		"f() { a; } | b":                     "(f{a} | b)",
		"f() { a; } | b && c || d":           "(((f{a} | b) && c) || d)",
		"a || f() { b; } && c":               "((a || f{b}) && c)",
		"a || f() { b; } | c && d":           "((a || (f{b} | c)) && d)",
		"a | f() { b; } | c":                 "((a | f{b}) | c)",
		"x && a || f() { b; } && c":          "(((x && a) || f{b}) && c)",
		"f() { a; } && g() { b; } && c":      "((f{a} && g{b}) && c)",
		"f() { g() { a; } && b; } && c":      "(f{(g{a} && b)} && c)",
		"f() { a && b; }":                    "f{(a && b)}",
		"f() ( a ) && b &":                   "(f(a) && b)&",
		"if f() { a; } && b; then c; fi":     "if",
		"function f { a; } && b":             "(f{a} && b)",
		"a && b":                             "(a && b)",
		"f() { a; } > x && b":                "(f{a}> && b)",
		"while f() { a; } && b; do c; done":  "while",
		"x=$(f() { a; } && b)":               "$((f{a} && b))",
		"f() { a; } && b | c && d":           "((f{a} && (b | c)) && d)",
		"f() { a; } |& b":                    "(f{a} |& b)",
		"f() { a; } && b; f() { c; } || d":   "(f{a} && b);(f{c} || d)",
		"a && f() { b; }":                    "(a && f{b})",
		"f() { a; } && b && g() { c; } || d": "(((f{a} && b) && g{c}) || d)",
	} {
		f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := list(Correct(f).Stmts); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}

func list(stmts []*syntax.Stmt) string {
	parts := make([]string, len(stmts))
	for i, st := range stmts {
		parts[i] = shape(st)
	}
	return strings.Join(parts, ";")
}

func shape(st *syntax.Stmt) (text string) {
	defer func() {
		text += strings.Repeat(">", len(st.Redirs))
		if st.Background {
			text += "&"
		}
	}()
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		return "(" + shape(c.X) + " " + c.Op.String() + " " + shape(c.Y) + ")"
	case *syntax.FuncDecl:
		return c.Name.Value + shape(c.Body)
	case *syntax.Block:
		return "{" + list(c.Stmts) + "}"
	case *syntax.Subshell:
		return "(" + list(c.Stmts) + ")"
	case *syntax.IfClause:
		return "if"
	case *syntax.WhileClause:
		return "while"
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			return c.Args[0].Lit()
		}
		return "$(" + list(c.Assigns[0].Value.Parts[0].(*syntax.CmdSubst).Stmts) + ")"
	}
	return "?"
}
