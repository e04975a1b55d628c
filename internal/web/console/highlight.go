package console

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A span is a part of a command in one colour.
type span struct {
	Class  string // of the style sheet; empty means the default colour
	Text   string
	Marked bool // part of the command that the reader is asked about
}

// maxHighlighted limits the commands that are highlighted; longer ones are shown plain.
const maxHighlighted = 32 << 10

// marked highlights a command as far as it parses, and marks those of its commands that are spelled like part; an empty
// part marks nothing. The text is shown completely in any case.
func marked(command, part string) []span {
	if len(command) > maxHighlighted || !utf8.ValidString(command) {
		return []span{{Text: visible(strings.ToValidUTF8(command, "\uFFFD"))}}
	}
	b := highlighter{src: command, part: part, class: make([]string, len(command)), marked: make([]bool, len(command))}
	file, _ := syntax.NewParser(syntax.KeepComments(true), syntax.RecoverErrors(8)).Parse(strings.NewReader(command), "")
	if file != nil {
		syntax.Walk(file, b.node)
	}
	return b.pieces()
}

// highlighter has the class of every byte. Inner nodes are walked after outer ones and override them.
type highlighter struct {
	src    string
	part   string // what to mark; empty means nothing
	class  []string
	marked []bool
}

func (b *highlighter) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Comment:
		b.over(n, "com")
	case *syntax.CallExpr:
		b.call(n)
	case *syntax.Assign:
		if n.Name != nil {
			b.over(n.Name, "var")
		}
	case *syntax.SglQuoted, *syntax.DblQuoted:
		b.over(n, "str")
	case *syntax.ParamExp, *syntax.ArithmExp:
		b.over(n, "var")
	case *syntax.CmdSubst:
		b.over(n, "") // the inner command has its own classes
		b.word(n.Left, opening(n), "op")
		b.word(n.Right, 1, "op")
	case *syntax.Redirect:
		b.word(n.OpPos, len(n.Op.String()), "op")
		if n.Hdoc != nil {
			b.over(n.Hdoc, "str")
		}
	case *syntax.BinaryCmd:
		b.word(n.OpPos, len(n.Op.String()), "op")
	case *syntax.Stmt:
		b.word(n.Semicolon, 1, "op")
	default:
		b.keywords(n)
	}
	return true
}

// opening is the length of $( or `.
func opening(n *syntax.CmdSubst) int {
	if n.Backquotes {
		return 1
	}
	return 2
}

// call highlights the name of a command and its flags.
func (b *highlighter) call(n *syntax.CallExpr) {
	b.mark(n)
	for i, word := range n.Args {
		switch {
		case i == 0:
			b.over(word, "cmd")
		case strings.HasPrefix(b.text(word), "-"):
			b.over(word, "flag")
		}
	}
}

// mark marks a command that certainly is the part. Words that depend on expansion are not marked.
func (b *highlighter) mark(n *syntax.CallExpr) {
	if b.part == "" || len(n.Args) == 0 || !b.spelledAs(n.Args, b.part) {
		return
	}
	from, to := b.span(n.Args[0].Pos(), n.Args[len(n.Args)-1].End())
	for i := from; i < to; i++ {
		b.marked[i] = true
	}
}

// spelledAs reports whether words are a command as the gate quotes it.
func (b *highlighter) spelledAs(words []*syntax.Word, command string) bool {
	var plain, quoted []string
	for _, word := range words {
		plain = append(plain, b.text(word))
		value, ok := valueOf(word)
		text, err := syntax.Quote(value, syntax.LangBash)
		if !ok || err != nil {
			text = b.text(word)
		}
		quoted = append(quoted, text)
	}
	return strings.Join(plain, " ") == command || strings.Join(quoted, " ") == command
}

// valueOf returns the value of a word that needs no expansion.
func valueOf(word *syntax.Word) (value string, ok bool) {
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "\\*?[~{") {
				return "", false
			}
			value += part.Value
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			value += part.Value
		case *syntax.DblQuoted:
			inner, ok := valueOf(&syntax.Word{Parts: part.Parts})
			if !ok {
				return "", false
			}
			value += inner
		default:
			return "", false
		}
	}
	return value, true
}

func (b *highlighter) keywords(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.IfClause:
		b.word(n.Position, 2, "kw")
		b.word(n.ThenPos, 4, "kw")
		b.word(n.FiPos, 2, "kw")
	case *syntax.WhileClause:
		b.word(n.WhilePos, 5, "kw")
		b.word(n.DoPos, 2, "kw")
		b.word(n.DonePos, 4, "kw")
	case *syntax.ForClause:
		b.word(n.ForPos, 3, "kw")
		b.word(n.DoPos, 2, "kw")
		b.word(n.DonePos, 4, "kw")
	case *syntax.CaseClause:
		b.word(n.Case, 4, "kw")
		b.word(n.Esac, 4, "kw")
	case *syntax.FuncDecl:
		if n.Name != nil { // a recovered parser may leave it out
			b.over(n.Name, "cmd")
		}
	}
}

func (b *highlighter) text(n syntax.Node) string {
	from, to := b.span(n.Pos(), n.End())
	return b.src[from:to]
}

func (b *highlighter) over(n syntax.Node, class string) { b.paint(n.Pos(), n.End(), class) }

func (b *highlighter) word(at syntax.Pos, length int, class string) {
	if at.IsValid() {
		from := min(int(at.Offset()), len(b.src))
		fill(b.class[from:min(from+length, len(b.src))], class)
	}
}

func (b *highlighter) paint(from, to syntax.Pos, class string) {
	i, j := b.span(from, to)
	fill(b.class[i:j], class)
}

// span clamps positions to the text, because a recovered parser may exceed it.
func (b *highlighter) span(from, to syntax.Pos) (int, int) {
	if !from.IsValid() || !to.IsValid() {
		return 0, 0
	}
	i, j := min(int(from.Offset()), len(b.src)), min(int(to.Offset()), len(b.src))
	return i, max(i, j)
}

func fill(part []string, class string) {
	for i := range part {
		part[i] = class
	}
}

// pieces joins bytes of the same class. Deceptive characters get their own span.
func (b *highlighter) pieces() []span {
	var all []span
	from := 0
	for at, r := range b.src {
		odd := deceptive(r)
		if at > from && (odd || b.class[at] != b.class[from] || b.marked[at] != b.marked[from]) {
			all = append(all, span{b.class[from], b.src[from:at], b.marked[from]})
			from = at
		}
		if odd {
			all = append(all, span{"ctl", visible(string(r)), b.marked[at]})
			from = at + utf8.RuneLen(r)
		}
	}
	if from < len(b.src) {
		all = append(all, span{b.class[from], b.src[from:], b.marked[from]})
	}
	return all
}
