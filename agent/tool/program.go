package tool

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A program is a checked pipeline: the text for the audit log, and the syntax tree that is judged and run. The text is
// not parsed again, so that what runs is what was checked.
type program struct {
	script string
	file   *syntax.File
}

// newProgram writes a pipeline so that the shell reads exactly these words, and builds the syntax tree that its parser
// would.
func newProgram(pipeline [][]string) program {
	var w programWriter
	w.line = 1
	st := w.simple(pipeline[0])
	for _, words := range pipeline[1:] {
		w.space()
		pipe := w.pos()
		w.text("| ")
		next := w.simple(words)
		st = &syntax.Stmt{Position: st.Position, Cmd: &syntax.BinaryCmd{OpPos: pipe, Op: syntax.Pipe, X: st, Y: next}}
	}
	return program{w.b.String(), &syntax.File{Stmts: []*syntax.Stmt{st}}}
}

// A programWriter writes text and tracks the position.
type programWriter struct {
	b     strings.Builder
	line  uint
	start int // offset of the line
}

func (w *programWriter) pos() syntax.Pos {
	at := w.b.Len()
	return syntax.NewPos(uint(at), w.line, uint(at-w.start+1))
}

func (w *programWriter) space() { w.b.WriteByte(' ') }

func (w *programWriter) text(s string) {
	at := w.b.Len()
	w.b.WriteString(s)
	w.line += uint(strings.Count(s, "\n"))
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		w.start = at + i + 1
	}
}

// simple writes one command.
func (w *programWriter) simple(words []string) *syntax.Stmt {
	call := &syntax.CallExpr{}
	st := &syntax.Stmt{Position: w.pos(), Cmd: call}
	for i, word := range words {
		if i > 0 {
			w.space()
		}
		call.Args = append(call.Args, w.word(word))
	}
	return st
}

// word writes a word as [quote] does.
func (w *programWriter) word(word string) *syntax.Word {
	if quote(word) == word {
		return &syntax.Word{Parts: []syntax.WordPart{w.literal(word)}}
	}
	var parts []syntax.WordPart
	for i, piece := range strings.Split(word, "'") {
		if i > 0 {
			parts = append(parts, w.literal(`\'`))
		}
		left := w.pos()
		w.text("'" + piece)
		parts = append(parts, &syntax.SglQuoted{Left: left, Right: w.pos(), Value: piece})
		w.text("'")
	}
	return &syntax.Word{Parts: parts}
}

func (w *programWriter) literal(s string) *syntax.Lit {
	at := w.pos()
	w.text(s)
	return &syntax.Lit{ValuePos: at, ValueEnd: w.pos(), Value: s}
}
