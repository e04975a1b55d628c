package policy

import (
	"reflect"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Shells parse some texts differently: ((x)) is arithmetic in one and a command in another. Another shell therefore
// gets the judged tree, printed so that it is parsed as this tree.

// needsBash is put before a script that another shell would parse differently. The second line ends any shell
// without arrays, whatever its environment.
const needsBash = `[ "${BASH_VERSION-}" ] || { echo 'this script is written for bash, and there is no bash here' >&2; exit 126; }` + "\n" +
	`: "${BASH_VERSINFO[0]}"` + "\n"

// Reprint prints a judged script without comments, for a shell that parses it again. A script that may not be
// parsed as the same tree is denied.
func Reprint(f *syntax.File) (string, Verdict) {
	if bad := refuseAmbiguous(f); bad != nil {
		return "", bad.verdict(literals(bad.where))
	}
	text, ok := printTree(f)
	if !ok {
		bad := refusal("syntax", "it cannot be printed so that every shell parses it the same way",
			"write it more simply, one command a line")
		return "", bad.verdict(literals("script"))
	}
	if !portable(f, text) {
		text = needsBash + text
	}
	return text, Verdict{Effect: Allow}
}

// printTree prints the tree and reports whether the text parses as the same tree.
func printTree(f *syntax.File) (string, bool) {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, f); err != nil {
		return "", false
	}
	again, err := parse(b.String())
	return b.String(), err == nil && shapeOf(again) == shapeOf(f)
}

// portable reports whether a POSIX shell parses the text as the same tree.
func portable(f *syntax.File, text string) bool {
	plain, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(depthLimited(text), "")
	return err == nil && shapeOf(plain) == shapeOf(f)
}

// refuseAmbiguous refuses a tree that bash or another shell may parse differently.
func refuseAmbiguous(f *syntax.File) *finding {
	e := treeVisitor{around: []nodeContext{{}}}
	syntax.Walk(f, e.visit)
	return e.bad
}

// A treeVisitor walks a tree with the context of each node.
type treeVisitor struct {
	around []nodeContext
	bodies map[*syntax.Word]bool // of here-documents
	bad    *finding
}

type nodeContext struct {
	test   bool // [[ ]]
	quoted bool // double quotes, or a here-document
	param  bool // ${ } in those
}

func (e *treeVisitor) visit(n syntax.Node) bool {
	if n == nil {
		e.around = e.around[:len(e.around)-1]
		return true
	}
	here := e.around[len(e.around)-1]
	switch n := n.(type) {
	case *syntax.CmdSubst, *syntax.ProcSubst:
		here = nodeContext{}
	case *syntax.TestClause:
		here.test = true
	case *syntax.DblQuoted:
		here.quoted = true
	case *syntax.Redirect:
		if n.Hdoc != nil {
			if e.bodies == nil {
				e.bodies = make(map[*syntax.Word]bool)
			}
			e.bodies[n.Hdoc] = true
		}
	case *syntax.Word:
		here.quoted = here.quoted || e.bodies[n]
	case *syntax.ParamExp:
		here.param = here.quoted
	case *syntax.SglQuoted:
		// "${x:-'$(rm y)'}": to most shells these quotes are text.
		if here.param && strings.ContainsAny(n.Value, "$`}\"\\\n") {
			e.bad = refusal("quotes in ${…}", "shells do not agree on what single quotes mean there",
				"set the variable on a line of its own first")
		}
	case *syntax.ExtGlob:
		// Unless it was told otherwise, !(rm x) is a command to bash. In [[ ]] it
		// is a pattern, but what is inside is mere text to the parser.
		if !here.test || strings.ContainsAny(n.Pattern.Value, "$`<>\"'\\&;") {
			e.bad = refusal("extended glob", "a shell may take "+n.Op.String()+"…) for a command",
				"use find, a loop with case, or a plain pattern")
		}
	}
	e.around = append(e.around, here)
	return true
}

// refuseMisreadText refuses shell text that bash would parse differently: a backslash does not continue a
// comment, nor a line that ends with a carriage return.
func refuseMisreadText(name, src string, f *syntax.File, plain bool) *finding {
	if bad := refuseAmbiguous(f); bad != nil {
		return bad
	}
	switch {
	case strings.ContainsAny(src, "\r\x00"):
		return refusal(name, "the script inside holds carriage returns, which shells read differently",
			"end its lines with a newline alone")
	case continuesComment(src):
		return refusal(name, "the script inside has a comment that ends with a backslash, which shells read differently",
			"leave the comment out")
	case plain && !portable(f, src):
		return refusal(name, "a plain shell and bash read the script inside differently",
			"write the commands into the script itself, or use bash -c")
	}
	return nil
}

func continuesComment(src string) bool {
	if !strings.Contains(src, "\\\n") || !strings.Contains(src, "#") {
		return false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(depthLimited(src), "")
	found := err != nil
	if err == nil {
		syntax.Walk(f, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.Comment); ok {
				line, _, _ := strings.Cut(src[min(int(c.Hash.Offset()), len(src)):], "\n")
				found = found || strings.HasSuffix(line, "\\")
			}
			return true
		})
	}
	return found
}

// shapeOf prints a tree without positions and comments, and without the choice between equivalent spellings.
func shapeOf(f *syntax.File) string {
	var s shapePrinter
	s.stmts(reflect.ValueOf(f.Stmts))
	return s.String()
}

type shapePrinter struct{ strings.Builder }

func (s *shapePrinter) stmts(list reflect.Value) {
	for i := range list.Len() {
		s.node(list.Index(i))
		s.WriteByte('\n')
	}
}

func (s *shapePrinter) node(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			s.WriteByte('-')
			return
		}
		if v.Kind() == reflect.Pointer && s.known(v.Interface()) {
			return
		}
		s.node(v.Elem())
	case reflect.Slice:
		s.WriteByte('[')
		for i := range v.Len() {
			s.node(v.Index(i))
			s.WriteByte(' ')
		}
		s.WriteByte(']')
	case reflect.Struct:
		s.fields(v)
	case reflect.String:
		s.WriteString(strconv.Quote(v.String()))
	case reflect.Bool:
		s.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.WriteString(strconv.FormatUint(v.Uint(), 10))
	default:
		s.WriteString(strconv.FormatInt(v.Int(), 10))
	}
}

// fields prints a node field by field. Backquotes and $[ ] are printed in their newer form.
func (s *shapePrinter) fields(v reflect.Value) {
	t := v.Type()
	s.WriteString(t.Name() + "{")
	for i := range v.NumField() {
		field := t.Field(i)
		switch {
		case field.Type == reflect.TypeFor[syntax.Pos](), field.Type == reflect.TypeFor[[]syntax.Comment](),
			!field.IsExported(),
			field.Name == "Backquotes", field.Name == "Bracket":
		default:
			s.node(v.Field(i))
			s.WriteByte(';')
		}
	}
	s.WriteByte('}')
}

// known prints the nodes that the parsers of different shells represent differently: export A=b is a clause in
// bash and a command in POSIX.
func (s *shapePrinter) known(n any) bool {
	switch n := n.(type) {
	case *syntax.Word:
		s.word("", n)
	case *syntax.Lit:
		s.text(n.Value)
	case *syntax.CallExpr:
		s.WriteString("call ")
		s.node(reflect.ValueOf(n.Assigns))
		for _, w := range n.Args {
			s.word("", w)
		}
	case *syntax.DeclClause:
		s.WriteString("call []")
		s.word(n.Variant.Value, nil)
		for _, a := range n.Args {
			s.declared(a)
		}
	default:
		return false
	}
	return true
}

func (s *shapePrinter) declared(a *syntax.Assign) {
	switch {
	case a.Name == nil:
		s.word("", a.Value)
	case a.Array != nil || a.Index != nil:
		s.node(reflect.ValueOf(*a))
	case a.Naked:
		s.word(a.Name.Value, nil)
	case a.Append:
		s.word(a.Name.Value+"+=", a.Value)
	default:
		s.word(a.Name.Value+"=", a.Value)
	}
}

func (s *shapePrinter) word(head string, w *syntax.Word) {
	s.WriteByte('(')
	s.text(head)
	if w != nil {
		for _, p := range w.Parts {
			s.node(reflect.ValueOf(p))
		}
	}
	s.WriteByte(')')
}

// text prints literal text so that adjacent literals print like one.
func (s *shapePrinter) text(t string) {
	q := strconv.Quote(t)
	s.WriteString(strings.NewReplacer("(", `\(`, ")", `\)`).Replace(q[1 : len(q)-1]))
}
