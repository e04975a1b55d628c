package text

import (
	"fmt"
	"strings"

	"hako/shell/regex"
)

// A sedCommand is one command of a script.
type sedCommand struct {
	from, to *sedAddress
	not      bool
	name     byte
	text     []byte // of a, i, c; file name of r and R
	label    string
	target   int // where to go on: for b, t, T, and for { that is passed over
	number   int // of q, Q, l
	subst    *sedSubst
	trans    map[rune]rune
	bytes    *[256]byte // trans, if it is about ASCII only
	out      *sedOutput // of w and W

	active, closed bool // whether a range is under way, or can not start again
	until          int  // the line it ends at
}

// A sedAddress selects lines.
type sedAddress struct {
	kind  byte // n a number, ~ a step, $ the last line, / a pattern, + lines more, m up to a multiple
	n     int
	step  int
	regex *sedRegex
}

// A sedRegex is a pattern; nil re is the one used last.
type sedRegex struct{ re *regex.Regexp }

// A sedScript is the text of the script and what it was parsed into.
type sedScript struct {
	parts    []sedPart
	given    strings.Builder // all parts
	src      string          // the same, once it is complete
	pos      int
	commands []sedCommand
	blocks   []int // open braces
	labels   map[string]int
	numbers  bool // line numbers matter
}

// A sedPart is one -e or -f.
type sedPart struct {
	start int
	file  string
}

func (p *sedScript) add(text, file string) {
	if len(p.parts) > 0 {
		p.given.WriteByte('\n')
	}
	p.parts = append(p.parts, sedPart{p.given.Len(), file})
	p.given.WriteString(text)
}

// fail makes an error that names the place before pos.
func (p *sedScript) fail(format string, args ...any) error { return p.failAt(p.pos, format, args...) }

func (p *sedScript) failAt(pos int, format string, args ...any) error {
	expression, part := 0, sedPart{}
	for _, q := range p.parts {
		if q.start > pos || q.start == pos && q.start > 0 {
			break
		}
		part = q
		if q.file == "" {
			expression++
		}
	}
	text := fmt.Sprintf(format, args...)
	if part.file != "" {
		line := 1 + strings.Count(p.src[part.start:min(pos, len(p.src))], "\n")
		return &errSed{1, fmt.Sprintf("file %s line %d: %s", part.file, line, text)}
	}
	return &errSed{1, fmt.Sprintf("-e expression #%d, char %d: %s", max(expression, 1), max(pos-part.start, 0), text)}
}

// next takes one byte; 0 is the end.
func (p *sedScript) next() byte {
	if p.pos >= len(p.src) {
		return 0
	}
	p.pos++
	return p.src[p.pos-1]
}

func (p *sedScript) peek() byte {
	if p.pos >= len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

func (p *sedScript) spaces() {
	for c := p.peek(); c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; c = p.peek() {
		p.pos++
	}
}

// finish parses the script.
func (p *sedScript) finish(s *sedRun) error {
	p.src = p.given.String()
	p.labels = map[string]int{}
	if len(p.parts) > 0 && (p.src == "#n" || strings.HasPrefix(p.src, "#n\n")) {
		s.quiet = true
	}
	for {
		for c := p.peek(); c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '\r'; c = p.peek() {
			p.pos++
		}
		if p.pos >= len(p.src) {
			break
		}
		if err := p.command(s); err != nil {
			return err
		}
	}
	if len(p.blocks) > 0 {
		return p.failAt(0, "unmatched `{'")
	}
	return p.link()
}

// link finds the targets of jumps.
func (p *sedScript) link() error {
	for i := range p.commands {
		cmd := &p.commands[i]
		if strings.IndexByte("btT", cmd.name) < 0 {
			continue
		}
		target, ok := p.labels[cmd.label]
		switch {
		case cmd.label == "":
			target = len(p.commands)
		case !ok:
			return &errSed{4, "can't find label for jump to `" + cmd.label + "'"}
		}
		cmd.target = target
	}
	return nil
}

// command parses one command with its addresses.
func (p *sedScript) command(s *sedRun) error {
	var cmd sedCommand
	if err := p.addresses(s, &cmd); err != nil {
		return err
	}
	p.spaces()
	for p.peek() == '!' {
		if cmd.not {
			p.pos++
			return p.fail("multiple `!'s")
		}
		p.pos++
		cmd.not = true
		p.spaces()
	}
	cmd.name = p.next()
	if cmd.name == 0 || cmd.name == '\n' || cmd.name == ';' {
		return p.fail("missing command")
	}
	if cmd.name == '}' {
		return p.closeBlock(&cmd)
	}
	p.commands = append(p.commands, cmd)
	i := len(p.commands) - 1
	return p.body(s, &p.commands[i], i)
}

func (p *sedScript) closeBlock(cmd *sedCommand) error {
	if cmd.from != nil {
		return p.fail("} doesn't want any addresses")
	}
	if len(p.blocks) == 0 {
		return p.fail("unexpected `}'")
	}
	open := p.blocks[len(p.blocks)-1]
	p.blocks = p.blocks[:len(p.blocks)-1]
	p.commands[open].target = len(p.commands)
	return p.endOfCommand()
}

// body parses what follows the name of a command.
func (p *sedScript) body(s *sedRun, cmd *sedCommand, i int) error {
	switch cmd.name {
	case '#':
		p.commands = p.commands[:i]
		if cmd.from != nil {
			return p.fail("comments don't accept any addresses")
		}
		p.restOfLine()
		return nil
	case '{':
		p.blocks = append(p.blocks, i)
		return nil
	case ':':
		return p.defineLabel(cmd, i)
	case 'b', 't', 'T':
		p.spaces()
		cmd.label = p.word()
		return p.endOfCommand()
	case 'a', 'i', 'c':
		return p.text(cmd)
	case 'r', 'R', 'w', 'W':
		return p.fileName(s, cmd)
	case 's':
		return p.substitution(s, cmd)
	case 'y':
		return p.transliteration(cmd)
	case 'q', 'Q', 'l', 'L':
		if cmd.to != nil && cmd.name != 'l' {
			return p.fail("command only uses one address")
		}
		p.spaces()
		cmd.number = p.integer(-1)
		return p.endOfCommand()
	case 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', '=', 'F':
		p.numbers = p.numbers || cmd.name == '='
		return p.endOfCommand()
	case 'v':
		p.word()
		return p.endOfCommand()
	case 'e':
		return p.fail("e command refused: there are no programs to run in this shell")
	}
	return p.fail("unknown command: `%c'", cmd.name)
}

func (p *sedScript) restOfLine() string {
	rest, _, _ := strings.Cut(p.src[p.pos:], "\n")
	p.pos += len(rest)
	return rest
}

// word takes a label, up to a space, a semicolon or a brace.
func (p *sedScript) word() string {
	start := p.pos
	for c := p.peek(); c != 0 && strings.IndexByte(" \t\r\n;}", c) < 0; c = p.peek() {
		p.pos++
	}
	return p.src[start:p.pos]
}

func (p *sedScript) defineLabel(cmd *sedCommand, i int) error {
	p.commands = p.commands[:i]
	if cmd.from != nil {
		return p.fail(": doesn't want any addresses")
	}
	p.spaces()
	label := p.word()
	if label == "" {
		return p.fail("\":\" lacks a label")
	}
	p.labels[label] = i
	return nil
}

// integer takes a number; none is what it returns if there is none.
func (p *sedScript) integer(none int) int {
	n, any := 0, false
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		n, any = min(n*10+int(c-'0'), 1<<40), true
		p.pos++
	}
	if !any {
		return none
	}
	return n
}

// endOfCommand makes sure that nothing follows.
func (p *sedScript) endOfCommand() error {
	p.spaces()
	switch p.peek() {
	case 0, '\n', ';':
		p.pos = min(p.pos+1, len(p.src))
		return nil
	case '}', '#':
		return nil
	}
	p.pos++
	return p.fail("extra characters after command")
}

// text takes the text of a, i and c in its classic and its one-line form.
func (p *sedScript) text(cmd *sedCommand) error {
	p.spaces()
	if p.peek() == 0 || p.peek() == '\n' {
		return p.fail("expected \\ after `a', `c' or `i'")
	}
	if p.peek() == '\\' {
		p.pos++
		mark := p.pos
		p.spaces()
		if p.peek() == '\n' {
			p.pos++
		} else {
			p.pos = mark // one line, with its spaces
		}
		if p.pos >= len(p.src) {
			return nil // no text: all it does is end a line that lacks its newline
		}
	}
	var out []byte
	for p.pos < len(p.src) {
		c := p.next()
		if c == '\n' {
			break
		}
		if c == '\\' && p.pos < len(p.src) {
			escaped, n := charEscape(p.src[p.pos:])
			if c = escaped; n == 0 {
				c, n = p.src[p.pos], 1
			}
			p.pos += n
		}
		out = append(out, c)
	}
	cmd.text = append(out, '\n')
	return nil
}

// fileName takes the name that r, R, w and W have to the end of the line.
func (p *sedScript) fileName(s *sedRun, cmd *sedCommand) (err error) {
	if s.sandbox {
		return p.fail("e/r/w commands disabled in sandbox mode")
	}
	p.spaces()
	name := p.restOfLine()
	if name == "" {
		return p.fail("missing filename in r/R/w/W commands")
	}
	if cmd.name == 'w' || cmd.name == 'W' {
		cmd.out, err = s.outputFile(name)
		return err
	}
	cmd.text = []byte(name)
	return nil
}
