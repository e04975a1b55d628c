package tool

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/internal/text"
	"hako/policy"
	"hako/run/fault"
)

// maxCommand is the length of the longest command that is read.
const maxCommand = 8 << 10

// The rules by which a command is refused, as refusals and the record name them.
const (
	syntaxRule  = "execute:syntax"   // simple commands and |, words that mean themselves
	commandRule = "execute:commands" // only the listed ones
	optionRule  = "execute:options"  // only the listed ones
	fileRule    = "execute:files"    // only the granted ones
	urlRule     = "execute:urls"     // only below the allowed prefixes
	sedRule     = "execute:sed"      // only scripts that read
)

// A refused is the refusal of a command.
type refused struct{ rule, why, hint string }

func (r *refused) Error() string { return r.why }

// parse parses a command as simple commands joined by |, each of plain words, and refuses any other construct.
func parse(command string) ([][]string, error) {
	switch {
	case len(command) > maxCommand:
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "execute", Subject: brief(command),
			Why: "the command is longer than 8192 bytes", Hint: "do less in one command"}
	case strings.ContainsRune(command, 0):
		return nil, &fault.Error{Kind: fault.Invalid, Op: "execute", Subject: brief(command),
			Why: "the command contains a NUL byte", Hint: "leave it out"}
	}
	file, err := policy.ParseScript(command)
	if err != nil {
		return nil, invalid(command, err)
	}
	switch len(file.Stmts) {
	case 0:
		return nil, &fault.Error{Kind: fault.Invalid, Op: "execute", Subject: brief(command), Why: "the command is empty",
			Hint: allowed()}
	case 1:
		return stages(nil, file.Stmts[0])
	}
	return nil, only("several commands one after the other")
}

// invalid returns the error of the parser with a hint.
func invalid(command string, err error) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "execute", Subject: brief(command), Why: "the command cannot be read",
		Err: err, Hint: allowed()}
	if cause, ok := errors.AsType[*fault.Error](err); ok {
		e.Kind, e.Err, e.Why = cause.Kind, nil, strings.TrimPrefix(cause.Error(), "parse script ")
	}
	return e
}

func only(what string) error {
	return &refused{syntaxRule, what + " cannot be used here", allowed()}
}

// stages appends the commands of a pipeline to list.
func stages(list [][]string, st *syntax.Stmt) ([][]string, error) {
	switch {
	case len(st.Redirs) > 0:
		return nil, &refused{syntaxRule, "redirections cannot be used here",
			"the output comes back by itself, standard error too; read files by naming them. A literal > or < must be quoted"}
	case st.Background || st.Coprocess || st.Disown:
		return nil, &refused{syntaxRule, "background commands (&) cannot be used here",
			"run one command at a time. A literal & must be quoted"}
	case st.Negated:
		return nil, only("negation (!)")
	case st.Semicolon.IsValid():
		return nil, only("the separator ;")
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		words, err := simple(cmd)
		return append(list, words), err
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.Pipe {
			return nil, only("the operator " + cmd.Op.String())
		}
		list, err := stages(list, cmd.X)
		if err != nil {
			return nil, err
		}
		return stages(list, cmd.Y)
	}
	return nil, only(construct(st.Cmd))
}

// construct names a compound command.
func construct(cmd syntax.Command) string {
	switch cmd.(type) {
	case *syntax.Subshell:
		return "a subshell ( )"
	case *syntax.Block:
		return "a block { }"
	case *syntax.IfClause, *syntax.CaseClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		return "a condition or calculation"
	case *syntax.WhileClause, *syntax.ForClause:
		return "a loop"
	case *syntax.FuncDecl:
		return "a function"
	case *syntax.DeclClause:
		return "a declaration"
	}
	return "this construct"
}

func simple(call *syntax.CallExpr) ([]string, error) {
	if len(call.Assigns) > 0 {
		return nil, only("assignments")
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		var err error
		if words[i], err = literal(w); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// literal returns the text of a word that consists of literal parts only.
func literal(w *syntax.Word) (string, error) {
	var b strings.Builder
	for i, part := range w.Parts {
		if err := addPart(&b, part, i == 0); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func addPart(b *strings.Builder, part syntax.WordPart, first bool) error {
	switch x := part.(type) {
	case *syntax.Lit:
		if first && strings.HasPrefix(x.Value, "~") {
			return &refused{syntaxRule, "~ is not expanded here", "write the name of the file as it was granted"}
		}
		return addBare(b, x.Value)
	case *syntax.SglQuoted:
		if x.Dollar {
			return addEscaped(b, x.Value)
		}
		b.WriteString(x.Value)
		return nil
	case *syntax.DblQuoted:
		if x.Dollar {
			return only(`the quote $"…"`)
		}
		return addQuoted(b, x.Parts)
	}
	return &refused{syntaxRule, substitution(part) + " cannot be used here",
		"write the words out. A literal $ or ` must stand in single quotes"}
}

func substitution(part syntax.WordPart) string {
	switch part.(type) {
	case *syntax.ParamExp:
		return "variables ($name)"
	case *syntax.CmdSubst:
		return "command substitution"
	case *syntax.ArithmExp:
		return "arithmetic"
	case *syntax.ProcSubst:
		return "process substitution"
	case *syntax.ExtGlob, *syntax.BraceExp:
		return "patterns of file names"
	}
	return "this kind of word"
}

// addBare adds unquoted text.
func addBare(b *strings.Builder, s string) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case strings.IndexByte("*?[", c) >= 0:
			return &refused{syntaxRule, "patterns of file names (* ? [ ]) are not expanded here",
				"name the files, or put the word in single quotes if the character is meant"}
		case c == '{' && (strings.Contains(s[i:], ",") || strings.Contains(s[i:], "..")):
			return &refused{syntaxRule, "braces ({a,b}) are not expanded here",
				"write the words out, or put the word in single quotes if the braces are meant"}
		default:
			b.WriteByte(c)
		}
	}
	return nil
}

// addQuoted adds text in double quotes.
func addQuoted(b *strings.Builder, parts []syntax.WordPart) error {
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return addPart(b, part, false)
		}
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\\n", lit.Value[i+1]) >= 0 {
				i++
				if c = lit.Value[i]; c == '\n' {
					continue
				}
			}
			b.WriteByte(c)
		}
	}
	return nil
}

// addEscaped adds the text of $'…'.
func addEscaped(b *strings.Builder, s string) error {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			i++
			at := -1
			if i < len(s) {
				at = strings.IndexByte(`ntr\'"`, s[i])
			}
			if at < 0 {
				return &refused{syntaxRule, `of the escapes in $'…' only \n \t \r \\ \' \" can be used here`,
					"write the character itself in single quotes"}
			}
			c = "\n\t\r\\'\""[at]
		}
		b.WriteByte(c)
	}
	return nil
}

// quote quotes a word for the shell, with single quotes: inside them, nothing is special.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func special(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:+@%", r)
	return !plain
}

// brief shows enough of a command to know which one is meant.
func brief(s string) string { return text.Shorten(strings.ToValidUTF8(s, "\uFFFD"), 300) }
