package policy

import (
	"cmp"
	"strings"
)

// judgeSed refuses a script that runs commands, or reads or writes files outside of the root.
func (c *command) judgeSed(a *arguments) *finding {
	script, ok := sedScript(a)
	if !ok {
		if len(a.operands) == 0 {
			return nil
		}
		script = a.operands[0]
		a.operands = a.operands[1:]
	}
	if f := c.refuseBackup(a, "-i", "--in-place"); f != nil {
		return f
	}
	if script.loose {
		return &finding{effect: Deny, late: true, where: "sed: script",
			why: "part of the script is only known at run time, and a script can run commands", hint: "write the script out"}
	}
	// GNU sed and older ones disagree on a delimiter inside brackets, so the
	// script has to be harmless in both readings.
	return cmp.Or(c.readSed(script.text, true), c.readSed(script.text, false))
}

// sedScript joins the scripts given with -e.
func sedScript(a *arguments) (word, bool) {
	var all word
	var text strings.Builder
	found := false
	for _, o := range a.options {
		if o.name == "-e" || o.name == "--expression" {
			if found {
				text.WriteByte('\n')
			}
			text.WriteString(o.val.text)
			all.late, all.loose = all.late || o.val.late, all.loose || o.val.loose
			found = true
		}
	}
	all.text = text.String()
	return all, found
}

// A sedReader reads a sed script command by command.
type sedReader struct {
	c        *command
	s        string
	brackets bool
	broken   bool
}

func (c *command) readSed(script string, brackets bool) *finding {
	c.cost.spend(costSed * len(script))
	r := &sedReader{c: c, s: script, brackets: brackets}
	for {
		r.s = strings.TrimLeft(r.s, " \t\n\r;}{")
		if r.s == "" {
			return nil
		}
		f := r.command()
		if f != nil {
			return f
		}
		if r.broken {
			if !brackets {
				return nil // the other reading was fine and this one is none
			}
			return refusal("sed: script", "the script is not understood", "write it more simply, one command after the other")
		}
	}
}

func (r *sedReader) command() *finding {
	r.addresses()
	if r.broken || r.s == "" {
		r.broken = true
		return nil
	}
	cmd := r.s[0]
	r.s = r.s[1:]
	switch cmd {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	case '#':
		r.line()
	case 'a', 'i', 'c':
		r.text()
	case ':', 'b', 't', 'T', 'v': // v 4.2;e id: a version ends where a label does
		r.label()
	case 'l', 'L', 'q', 'Q':
		r.s = strings.TrimLeft(r.s, " \t0123456789")
	case 'e':
		if r.c.judgesNested() {
			return r.c.judgeSedCommand(r.line())
		}
		return r.c.refuseOption("e", "the sed command e runs programs", "use sed to change text only")
	case 'r', 'R':
		return r.file("r", false)
	case 'w', 'W':
		return r.file("w", true)
	case 's':
		return r.substitute()
	case 'y':
		r.delimited(2)
	default:
		r.broken = true
	}
	return nil
}

// addresses skips the addresses before a command.
func (r *sedReader) addresses() {
	for i := 0; i < 16; i++ {
		r.s = strings.TrimLeft(r.s, " \t")
		if r.s == "" {
			return
		}
		switch b := r.s[0]; {
		case b >= '0' && b <= '9' || strings.IndexByte("$,!~+", b) >= 0:
			r.s = strings.TrimLeft(r.s[1:], "0123456789")
		case b == '/':
			r.delimited(1)
			r.s = strings.TrimLeft(r.s, "IM")
		case b == '\\' && len(r.s) > 1:
			r.s = r.s[1:]
			r.delimited(1)
			r.s = strings.TrimLeft(r.s, "IM")
		default:
			return
		}
		if r.broken {
			return
		}
	}
	r.broken = true
}

// delimited skips a delimiter and n parts that each end with it.
func (r *sedReader) delimited(n int) {
	if r.s == "" || r.s[0] == '\n' || r.s[0] == '\\' {
		r.broken = true
		return
	}
	delim := r.s[0]
	i := 1
	for part := 0; part < n; part++ {
		i = r.endOfPart(i, delim, part == 0)
		if i < 0 {
			r.broken = true
			return
		}
	}
	r.s = r.s[i:]
}

// endOfPart returns the index behind the next delimiter, or -1.
func (r *sedReader) endOfPart(i int, delim byte, pattern bool) int {
	bracket := false
	var unclosed [256]bool
	for ; i < len(r.s); i++ {
		switch b := r.s[i]; {
		case b == '\\' && !bracket:
			i++
		case b == delim && !bracket:
			return i + 1
		case b == '[' && pattern && r.brackets && !bracket:
			bracket = true
			if i+1 < len(r.s) && r.s[i+1] == '^' {
				i++
			}
			if i+1 < len(r.s) && r.s[i+1] == ']' {
				i++
			}
		case b == '[' && bracket && i+1 < len(r.s) && strings.IndexByte(":.=", r.s[i+1]) >= 0:
			if unclosed[r.s[i+1]] {
				continue // looking for its end again would take the square of the length
			}
			if end := strings.Index(r.s[i+2:], r.s[i+1:i+2]+"]"); end >= 0 {
				i += end + 3
			} else {
				unclosed[r.s[i+1]] = true
			}
		case b == ']' && bracket:
			bracket = false
		}
	}
	return -1
}

func (r *sedReader) substitute() *finding {
	r.delimited(2)
	if r.broken {
		return nil
	}
	for r.s != "" {
		switch b := r.s[0]; {
		case b == 'e':
			return r.c.refuseOption("s///e", "the flag e runs what was substituted", "leave the flag out")
		case b == 'w':
			r.s = r.s[1:]
			return r.file("s///w", true)
		case b >= '0' && b <= '9' || strings.IndexByte("gpiImM", b) >= 0:
			r.s = r.s[1:]
		case strings.IndexByte(" \t\n\r;}#", b) >= 0:
			return nil
		default:
			r.broken = true
			return nil
		}
	}
	return nil
}

// file judges the file name up to the end of the line.
func (r *sedReader) file(cmd string, written bool) *finding {
	name := strings.TrimSpace(r.line())
	if written && r.c.readOnly {
		return refusal("sed: "+cmd, "the script writes a file", "print instead")
	}
	f := r.c.file(literal(name), written)
	if f != nil {
		f.where = "sed: " + cmd
	}
	return f
}

func (r *sedReader) line() string {
	line, rest, _ := strings.Cut(r.s, "\n")
	r.s = rest
	return line
}

// text skips the text of a, i and c, which a backslash continues. Two backslashes are refused: some seds end the
// text there, so that 'a foo\\<newline>e touch x' would hide the e.
func (r *sedReader) text() {
	for {
		line, rest, more := strings.Cut(r.s, "\n")
		r.s = rest
		r.broken = r.broken || more && strings.HasSuffix(line, "\\\\")
		if !more || r.broken || !strings.HasSuffix(line, "\\") {
			return
		}
	}
}

func (r *sedReader) label() {
	r.s = strings.TrimLeft(r.s, " \t")
	if i := strings.IndexAny(r.s, ";\n \t"); i >= 0 {
		r.s = r.s[i:]
		return
	}
	r.s = ""
}

// nestedInSed judges the commands in a sed script.
func (c *command) nestedInSed(args []word) *finding {
	a := parseLoosely(c.p.find("sed").takes, args)
	script, ok := sedScript(a)
	if _, file := a.get("-f", "--file"); !ok && (file || len(a.operands) == 0) {
		return nil // a file of the project is its own
	}
	if !ok {
		script = a.operands[0]
	}
	for _, brackets := range [...]bool{true, false} {
		f := c.readSed(script.text, brackets)
		if f != nil && (f.where != "sed: script" || !script.late) {
			return f
		}
	}
	return nil
}

// judgeSedCommand judges the command of e; without one, sed runs its input.
func (c *command) judgeSedCommand(text string) *finding {
	if strings.TrimSpace(text) == "" {
		return refusal("sed: e", "it runs what sed has read, which was not judged", "use sed to change text only")
	}
	f := c.nestedScript(literal(text))
	if f != nil {
		f.where = "sed: e (" + f.where + ")"
	}
	return f
}
