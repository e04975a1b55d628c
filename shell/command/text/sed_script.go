package text

import (
	"fmt"
	"strconv"
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
	target   int // the next command: after b, t, T, and after a { that is skipped
	number   int // of q, Q, l
	subst    *sedSubst
	trans    map[rune]rune
	bytes    *[256]byte // trans, if it has only ASCII
	out      *sedOutput // of w and W

	active, closed bool // whether the range has begun, or cannot begin again
	until          int  // the line at which it ends
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

// A sedScript is the text of the script and the parsed commands.
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

// fail aborts with a message that names the place before pos.
func (p *sedScript) fail(format string, args ...any) { p.failAt(p.pos, format, args...) }

func (p *sedScript) failAt(pos int, format string, args ...any) {
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
		fail(1, "file %s line %d: %s", part.file, line, text)
	}
	fail(1, "-e expression #%d, char %d: %s", max(expression, 1), max(pos-part.start, 0), text)
}

// next returns the next byte and advances; 0 is the end.
func (p *sedScript) next() byte {
	c := p.peek()
	p.pos = min(p.pos+1, len(p.src))
	return c
}

func (p *sedScript) peek() byte {
	if p.pos >= len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

// skip skips the characters in set.
func (p *sedScript) skip(set string) {
	p.pos = len(p.src) - len(strings.TrimLeft(p.src[p.pos:], set))
}

func (p *sedScript) spaces() { p.skip(" \t\r\v\f") }

// parse parses the script.
func (p *sedScript) parse(s *sedRun) {
	p.src = p.given.String()
	p.labels = map[string]int{}
	if len(p.parts) > 0 && (p.src == "#n" || strings.HasPrefix(p.src, "#n\n")) {
		s.quiet = true
	}
	for p.skip(" \t\n;\r"); p.pos < len(p.src); p.skip(" \t\n;\r") {
		p.command(s)
	}
	if len(p.blocks) > 0 {
		p.failAt(0, "unmatched `{'")
	}
	p.link()
}

// link finds the targets of jumps.
func (p *sedScript) link() {
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
			fail(4, "can't find label for jump to `%s'", cmd.label)
		}
		cmd.target = target
	}
}

// command parses one command with its addresses.
func (p *sedScript) command(s *sedRun) {
	var cmd sedCommand
	p.addresses(s, &cmd)
	p.spaces()
	for p.peek() == '!' {
		p.pos++
		if cmd.not {
			p.fail("multiple `!'s")
		}
		cmd.not = true
		p.spaces()
	}
	cmd.name = p.next()
	switch cmd.name {
	case 0, '\n', ';':
		p.fail("missing command")
	case '}':
		p.closeBlock(&cmd)
	default:
		p.commands = append(p.commands, cmd)
		p.body(s, &p.commands[len(p.commands)-1])
	}
}

func (p *sedScript) closeBlock(cmd *sedCommand) {
	last := len(p.blocks) - 1
	switch {
	case cmd.from != nil:
		p.fail("} doesn't want any addresses")
	case last < 0:
		p.fail("unexpected `}'")
	}
	p.commands[p.blocks[last]].target = len(p.commands)
	p.blocks = p.blocks[:last]
	p.endOfCommand()
}

// body parses what follows the name of a command, which is the last of the list.
func (p *sedScript) body(s *sedRun, cmd *sedCommand) {
	last := len(p.commands) - 1
	switch cmd.name {
	case '#':
		p.commands = p.commands[:last]
		if cmd.from != nil {
			p.fail("comments don't accept any addresses")
		}
		p.restOfLine()
	case '{':
		p.blocks = append(p.blocks, last)
	case ':':
		p.commands = p.commands[:last]
		p.defineLabel(cmd)
	case 'b', 't', 'T':
		p.spaces()
		cmd.label = p.word()
		p.endOfCommand()
	case 'a', 'i', 'c':
		p.text(cmd)
	case 'r', 'R':
		cmd.text = []byte(p.fileName(s))
	case 'w', 'W':
		cmd.out = s.outputFile(p.fileName(s))
	case 's':
		p.substitution(s, cmd)
	case 'y':
		p.transliteration(cmd)
	case 'q', 'Q', 'l', 'L':
		if cmd.to != nil && cmd.name != 'l' {
			p.fail("command only uses one address")
		}
		p.spaces()
		cmd.number = p.integer(-1)
		p.endOfCommand()
	case 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', '=', 'F':
		p.numbers = p.numbers || cmd.name == '='
		p.endOfCommand()
	case 'v':
		p.word()
		p.endOfCommand()
	case 'e':
		p.fail("e command refused: there are no programs to run in this shell")
	default:
		p.fail("unknown command: `%c'", cmd.name)
	}
}

func (p *sedScript) restOfLine() string {
	rest, _, _ := strings.Cut(p.src[p.pos:], "\n")
	p.pos += len(rest)
	return rest
}

// word returns a label: the text up to a space, a semicolon or a brace.
func (p *sedScript) word() string {
	rest := p.src[p.pos:]
	if end := strings.IndexAny(rest, "\x00 \t\r\n;}"); end >= 0 {
		rest = rest[:end]
	}
	p.pos += len(rest)
	return rest
}

func (p *sedScript) defineLabel(cmd *sedCommand) {
	if cmd.from != nil {
		p.fail(": doesn't want any addresses")
	}
	p.spaces()
	label := p.word()
	if label == "" {
		p.fail("\":\" lacks a label")
	}
	p.labels[label] = len(p.commands)
}

// integer returns the number at this place, or none.
func (p *sedScript) integer(none int) int {
	start := p.pos
	p.skip("0123456789")
	if p.pos == start {
		return none
	}
	n, err := strconv.Atoi(p.src[start:p.pos])
	if err != nil {
		return 1 << 40
	}
	return min(n, 1<<40)
}

// endOfCommand checks that nothing follows.
func (p *sedScript) endOfCommand() {
	p.spaces()
	switch p.peek() {
	case '}', '#':
	default:
		if c := p.next(); c != 0 && c != '\n' && c != ';' {
			p.fail("extra characters after command")
		}
	}
}

// text parses the text of a, i and c in its classic and its one-line form.
func (p *sedScript) text(cmd *sedCommand) {
	p.spaces()
	if p.peek() == 0 || p.peek() == '\n' {
		p.fail("expected \\ after `a', `c' or `i'")
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
			return // no text: the command only ends a line that lacks its newline
		}
	}
	var out []byte
	for p.pos < len(p.src) {
		c := p.next()
		if c == '\n' {
			break
		}
		if c == '\\' && p.pos < len(p.src) {
			var n int
			c, n = escapedChar(p.src[p.pos:])
			p.pos += n
		}
		out = append(out, c)
	}
	cmd.text = append(out, '\n')
}

// fileName returns the name that follows r, R, w and W, up to the end of the line.
func (p *sedScript) fileName(s *sedRun) string {
	if s.sandbox {
		p.fail("e/r/w commands disabled in sandbox mode")
	}
	p.spaces()
	name := p.restOfLine()
	if name == "" {
		p.fail("missing filename in r/R/w/W commands")
	}
	return name
}
