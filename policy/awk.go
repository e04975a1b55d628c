package policy

import (
	"strings"

	"hako/internal/lazyregexp"
)

// awkForbidden is refused anywhere in a program, even in a string: implementations of awk disagree on where
// strings and regular expressions end.
var awkForbidden = lazyregexp.New(`\b(getline|ARGV|ARGC|SYMTAB|FUNCTAB)\b|\bsystem\b|@\s*(load|include|namespace)\b|@\s*[A-Za-z_]\w*\s*\(|\|&?\s*"|>\s*"(/[^d]|/d[^e]|\.\.)`)

// judgeAwk refuses a program that runs commands or opens files.
func (c *command) judgeAwk(a *arguments) *finding {
	if len(a.operands) == 0 {
		return nil
	}
	prog := a.operands[0]
	a.operands = a.operands[1:]
	if prog.loose {
		return &finding{effect: Deny, late: true, where: "awk: program",
			why:  "part of the program is only known at run time, and a program can run commands",
			hint: "write the program out; pass values with -v"}
	}
	c.cost.spend(costAwk * len(prog.text))
	// awk joins lines before it reads words: system\<newline>("x") is a call.
	prog.text = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(prog.text)
	if m := awkForbidden.Get().FindString(prog.text); m != "" {
		return refusal("awk: "+strings.TrimRight(m, "( "), "it runs commands or opens files from inside the program",
			"name the files as arguments and use pipes of the shell")
	}
	for _, r := range [...]awkReader{{}, {parenRule: true}, {brackets: true}, {parenRule: true, brackets: true}} {
		r.s = prog.text
		if f := c.readAwk(&r); f != nil {
			return f
		}
	}
	for _, w := range a.operands {
		if name, _, ok := strings.Cut(w.text, "="); ok && isName(name) {
			continue
		}
		if f := c.file(w, false); f != nil {
			return f
		}
	}
	return nil
}

// An awkReader splits an awk program into tokens.
type awkReader struct {
	s         string
	i         int
	operand   bool // the last token ends an operand: a slash divides
	printing  bool // inside a print statement, where > opens a file
	depth     int  // of parentheses
	last      byte // the last token's last byte; a line ends unless it is , & or |
	parenRule bool // a slash after ")" starts a regular expression
	brackets  bool // a slash inside [] does not end a regular expression

	str   string // the last string
	plain bool   // nothing was before it that it adds to
}

// readAwk refuses pipes and output files. Whether a slash after a closing parenthesis divides depends on the
// grammar, and whether one inside brackets ends the expression on the implementation: all readings must be
// harmless.
func (c *command) readAwk(r *awkReader) *finding {
	for r.i < len(r.s) {
		if f := r.token(c); f != nil {
			return f
		}
	}
	return nil
}

func (r *awkReader) token(c *command) *finding {
	b := r.s[r.i]
	switch {
	case b == ' ' || b == '\t' || b == '\r':
		r.i++
	case b == '\\':
		r.i += 2
	case b == '#':
		for r.i < len(r.s) && r.s[r.i] != '\n' {
			r.i++
		}
	case b == '"':
		start, alone := r.i, !r.operand
		r.skip('"')
		r.str, r.plain = strings.TrimSuffix(r.s[start+1:r.i], `"`), alone
		r.operand, r.last = true, b
	case b == '/' && !r.operand:
		r.regex()
		r.operand, r.last = true, b
	case isNameByte(b):
		r.name()
	case b == '|':
		if r.next() != '|' && c.judgesNested() {
			return r.pipe(c)
		}
		if r.next() != '|' {
			return refusal("awk: |", "the program runs a command through a pipe", "use a pipe of the shell")
		}
		r.i += 2
		r.operand, r.last = false, b
	case b == '>' && r.printing && r.depth == 0 && !c.judgesNested():
		return r.output(c)
	default:
		r.punctuation(b)
	}
	return nil
}

func (r *awkReader) next() byte {
	if r.i+1 < len(r.s) {
		return r.s[r.i+1]
	}
	return 0
}

// skip skips to after the next unescaped delimiter.
func (r *awkReader) skip(delim byte) {
	for r.i++; r.i < len(r.s); r.i++ {
		switch r.s[r.i] {
		case '\\':
			r.i++
		case delim:
			r.i++
			return
		}
	}
}

// regex skips a regular expression. In /[/"]/ the quote opens no string for an awk that knows brackets.
func (r *awkReader) regex() {
	if !r.brackets {
		r.skip('/')
		return
	}
	inside := &sedReader{s: r.s, brackets: true}
	if end := inside.endOfPart(r.i+1, '/', true); end >= 0 {
		r.i = end
		return
	}
	r.i = len(r.s)
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

func (r *awkReader) name() {
	start := r.i
	for r.i < len(r.s) && (isNameByte(r.s[r.i]) || r.s[r.i] == '.') {
		r.i++
	}
	r.operand, r.last = true, 'a'
	switch r.s[start:r.i] {
	case "print", "printf":
		r.printing, r.depth, r.operand = true, 0, false
	case "return", "in", "else", "do", "case", "delete", "exit", "next", "nextfile":
		r.operand = false
	}
}

func (r *awkReader) punctuation(b byte) {
	if b == '\n' && strings.IndexByte(",&|", r.last) >= 0 {
		r.i++ // the statement goes on
		return
	}
	r.last = b
	switch b {
	case '(', '[':
		r.depth++
		r.operand = false
	case ')', ']':
		r.depth--
		r.operand = b == ']' || !r.parenRule
	case ';', '}', '\n', '{':
		r.printing, r.depth, r.operand = false, 0, false
	case '+', '-':
		if r.next() == b {
			r.i++ // ++ and -- leave an operand an operand
			break
		}
		r.operand = false
	default:
		r.operand = false
	}
	r.i++
}

// output judges print > "file": only a literal name can be checked.
func (r *awkReader) output(c *command) *finding {
	if c.readOnly {
		return refusal("awk: >", "the program writes a file", "print to the standard output")
	}
	rest := strings.TrimLeft(strings.TrimLeft(r.s[r.i:], ">"), " \t")
	if len(rest) > 1 && rest[0] == '"' {
		name, after, ok := strings.Cut(rest[1:], `"`)
		after = strings.TrimLeft(after, " \t\r")
		if ok && !strings.Contains(name, `\`) && (after == "" || strings.IndexByte(";}\n", after[0]) >= 0) {
			r.printing = false
			r.i = len(r.s) - len(after)
			if f := c.file(literal(name), true); f != nil {
				f.where = "awk: >"
				return f
			}
			return nil
		}
	}
	return refusal("awk: >", "the program writes a file whose name is not plain",
		`write to a plain name in quotes, or use a redirection of the shell`)
}

// awkCall matches calls of system, and the text in them if it is a literal.
var awkCall = lazyregexp.New(`\bsystem\s*\((\s*"((?:[^"\\]|\\.)*)"\s*\))?`)

var awkHidden = lazyregexp.New(`@\s*load\b|@\s*[A-Za-z_]\w*\s*\(`)

// nestedInAwk judges the commands in an awk program.
func (c *command) nestedInAwk(args []word) *finding {
	a := parseLoosely(c.p.find("awk").takes, args)
	var texts []string
	file := a.has("-f", "--file", "-E", "--exec")
	for _, o := range a.options {
		if o.name == "-e" || o.name == "--source" {
			texts = append(texts, o.val.text)
			file = true
		}
	}
	if !file && len(a.operands) > 0 {
		texts = append(texts, a.operands[0].text)
	}
	for _, text := range texts {
		c.cost.spend(costAwk * len(text))
		if f := c.judgeAwkText(strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)); f != nil {
			return f
		}
	}
	return nil
}

func (c *command) judgeAwkText(text string) *finding {
	if m := awkHidden.Get().FindString(text); m != "" {
		return refusal("awk: "+strings.TrimRight(m, "( "), "it calls what was not judged", "write the function's name out")
	}
	for _, m := range awkCall.Get().FindAllStringSubmatch(text, -1) {
		if f := c.judgeAwkCommand("system", m[2], m[1] != ""); f != nil {
			return f
		}
	}
	for _, r := range [...]awkReader{{}, {parenRule: true}, {brackets: true}, {parenRule: true, brackets: true}} {
		r.s = text
		if f := c.readAwk(&r); f != nil {
			return f
		}
	}
	return nil
}

// judgeAwkCommand judges a command that an awk program runs, if it is a literal.
func (c *command) judgeAwkCommand(how, text string, plain bool) *finding {
	if !plain {
		return refusal("awk: "+how, "the command it runs is put together at run time",
			"write the command as one string, or use a pipe of the shell")
	}
	f := c.nestedScript(literal(ansiC(strings.ReplaceAll(text, `\/`, "/"))))
	if f != nil {
		f.where = "awk: " + how + " (" + f.where + ")"
	}
	return f
}

// pipe judges print | "command" and "command" | getline.
func (r *awkReader) pipe(c *command) *finding {
	rest := strings.TrimLeft(strings.TrimPrefix(r.s[r.i+1:], "&"), " \t\n")
	if strings.HasPrefix(rest, "getline") {
		r.i = len(r.s) - len(rest)
		return c.judgeAwkCommand("| getline", r.str, r.plain && r.last == '"')
	}
	to := awkReader{s: rest}
	if !strings.HasPrefix(rest, `"`) {
		return c.judgeAwkCommand("|", "", false)
	}
	to.skip('"')
	after := strings.TrimLeft(rest[to.i:], " \t\r")
	ends := after == "" || strings.IndexByte(";}\n#)", after[0]) >= 0
	r.i = len(r.s) - len(rest) + to.i
	r.operand, r.last = true, '"'
	return c.judgeAwkCommand("|", strings.TrimSuffix(rest[1:to.i], `"`), ends)
}
