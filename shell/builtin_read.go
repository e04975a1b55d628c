package shell

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reading is what the options of read ask for.
type reading struct {
	raw    bool
	array  string
	delim  byte
	count  int // -n; -1: none
	exact  bool
	fd     int
	prompt string
	wait   time.Duration
	poll   bool // -t 0: only ask
}

func (p *proc) read(args []string) error {
	r := reading{delim: '\n', count: -1}
	names, err := r.parse(args)
	if err != nil {
		p.errorf("read: %v", err)
		if errors.Is(err, errNumber) {
			return Status(1)
		}
		return Status(2)
	}
	for _, name := range names {
		if base, _, _ := strings.Cut(name, "["); !isName(base) {
			p.errorf("read: `%s': not a valid identifier", name)
			return Status(1)
		}
	}
	if r.prompt != "" {
		_ = p.write(2, []byte(r.prompt))
	}
	d := p.fds.get(r.fd)
	if d == nil || d.r == nil {
		p.errorf("read: %d: invalid file descriptor: Bad file descriptor", r.fd)
		return Status(1)
	}
	if r.poll {
		return nil // there is always something to read, if only the end
	}
	text, complete := r.take(p, d)
	if p.bad != nil && stops(p.bad) {
		return p.bad
	}
	p.assignRead(&r, names, text)
	if p.bad != nil {
		err := p.bad
		p.bad = nil
		return err
	}
	return asStatus(int(truth(!complete)))
}

// parse reads the options and returns the names.
func (r *reading) parse(args []string) ([]string, error) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		word := args[0][1:]
		args = args[1:]
		if word == "-" {
			break
		}
		for i := 0; i < len(word); i++ {
			c := word[i]
			if strings.IndexByte("adnNptui", c) < 0 {
				switch c {
				case 'r':
					r.raw = true
				case 'e', 's':
				default:
					return nil, errors.New("-" + string(c) + ": invalid option")
				}
				continue
			}
			value := word[i+1:]
			if value == "" {
				if len(args) == 0 {
					return nil, errors.New("-" + string(c) + ": option requires an argument")
				}
				value, args = args[0], args[1:]
			}
			if err := r.option(c, value); err != nil {
				return nil, err
			}
			break
		}
	}
	return args, nil
}

func (r *reading) option(c byte, value string) error {
	var err error
	switch c {
	case 'a':
		r.array = value
	case 'd':
		r.delim = 0
		if value != "" {
			r.delim = value[0]
		}
	case 'n', 'N':
		r.count, err = strconv.Atoi(value)
		r.exact = c == 'N'
	case 'p':
		r.prompt = value
	case 't':
		var sec float64
		sec, err = strconv.ParseFloat(value, 64)
		r.wait = time.Duration(sec * float64(time.Second))
		r.poll = sec == 0
	case 'u':
		r.fd, err = strconv.Atoi(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", value, errNumber)
	}
	return nil
}

var errNumber = errors.New("invalid number")

// take reads one record. A backslash takes the meaning from the character
// behind it unless -r is given; such characters come back behind a \x01 mark
// that assignRead removes.
func (r *reading) take(p *proc, d *desc) (string, bool) {
	if r.count < 0 && r.raw {
		line, err := d.r.Record(r.delim)
		if err != nil && err != io.EOF {
			p.bad = err
		}
		n := len(line)
		if n > 0 && line[n-1] == r.delim {
			return markRaw(string(line[:n-1])), true
		}
		return markRaw(string(line)), false
	}
	return r.takeBytes(p, d)
}

var rawMarks = strings.NewReplacer("\x00", "", string(rune(escapeMark)), strings.Repeat(string(rune(escapeMark)), 2))

// markRaw drops NULs, which no value can hold, and marks what looks like a mark.
func markRaw(s string) string {
	if strings.IndexByte(s, 0) < 0 && strings.IndexByte(s, escapeMark) < 0 {
		return s
	}
	return rawMarks.Replace(s)
}

func (r *reading) takeBytes(p *proc, d *desc) (string, bool) {
	var out []byte
	chars := 0
	for r.count < 0 || chars < r.count {
		if !p.spend(8) {
			return "", false
		}
		c, err := d.r.ReadByte()
		if err != nil {
			if err != io.EOF {
				p.bad = err
			}
			return string(out), false
		}
		if c == r.delim && !r.exact {
			return string(out), true
		}
		if c == '\\' && !r.raw {
			if c, err = d.r.ReadByte(); err != nil {
				return string(out), false
			}
			if c == '\n' {
				continue
			}
			out = append(out, escapeMark)
		} else if c == escapeMark {
			out = append(out, escapeMark)
		}
		if c == 0 {
			continue
		}
		out = append(out, c)
		if len(out) > checkFrom && len(out) == cap(out) {
			if err := p.ses.Limiter.Fits(int64(3 * len(out))); err != nil {
				p.bad = err
				return "", false
			}
		}
		if c < utf8.RuneSelf || utf8.FullRune(tailRune(out)) {
			chars++
		}
	}
	return string(out), true
}

// escapeMark stands before a character that was escaped while reading.
const escapeMark = 1

// tailRune returns the bytes of the last, perhaps unfinished, character.
func tailRune(b []byte) []byte {
	i := len(b) - 1
	for i > 0 && i > len(b)-utf8.UTFMax && !utf8.RuneStart(b[i]) {
		i--
	}
	return b[i:]
}

// assignRead distributes what was read over the names.
func (p *proc) assignRead(r *reading, names []string, text string) {
	if r.exact {
		p.assign(firstOr(names, "REPLY"), unmark(text))
		return
	}
	if r.array != "" {
		var elems []newElem
		rest := text
		for {
			var f string
			var ok bool
			if f, rest, ok = p.cutField(rest, false); !ok {
				break
			}
			elems = append(elems, newElem{value: f})
			if !p.spend(len(f)+64) || !p.fits(96*len(elems)) {
				return
			}
		}
		v := p.vars.own(r.array)
		v.clear()
		v.kind, v.set = indexed, true
		p.fillArray(v, elems)
		return
	}
	if len(names) == 0 {
		p.assign("REPLY", unmark(text))
		return
	}
	rest := text
	for i, name := range names {
		f, more, _ := p.cutField(rest, i == len(names)-1)
		rest = more
		p.assignRef(p.referenceOf(name), f)
	}
}

func firstOr(names []string, otherwise string) string {
	if len(names) > 0 {
		return names[0]
	}
	return otherwise
}

// unmark removes the marks of escaped characters.
func unmark(s string) string {
	if strings.IndexByte(s, escapeMark) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == escapeMark && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// cutField takes the next field by IFS; the last name gets all that is left.
func (p *proc) cutField(s string, last bool) (field, rest string, ok bool) {
	ifs := p.ifs()
	i := 0
	for i < len(s) && ifs[s[i]] == softSep {
		i++
	}
	s = s[i:]
	if s == "" {
		return "", "", false
	}
	if last {
		return unmark(p.trimLast(s, ifs)), "", true
	}
	end := fieldEnd(s, ifs)
	field = s[:end]
	i = end
	hard := false
	for i < len(s) && (ifs[s[i]] == softSep || ifs[s[i]] == hardSep && !hard) {
		hard = hard || ifs[s[i]] == hardSep
		i++
	}
	return unmark(field), s[i:], true
}

func fieldEnd(s string, ifs *[256]uint8) int {
	i := 0
	for i < len(s) && ifs[s[i]] == 0 {
		if s[i] == escapeMark {
			i++
		}
		i++
	}
	return min(i, len(s))
}

// trimLast removes trailing white space, and one trailing separator if nothing
// else is left behind the last field.
func (p *proc) trimLast(s string, ifs *[256]uint8) string {
	t := strings.TrimRightFunc(s, func(r rune) bool { return r < 256 && ifs[r] == softSep })
	if n := len(t); n > 0 && ifs[t[n-1]] == hardSep {
		head := strings.TrimRightFunc(t[:n-1], func(r rune) bool { return r < 256 && ifs[r] == softSep })
		if fieldEnd(head, ifs) == len(head) {
			return head
		}
	}
	return t
}

// readLine reads one line from a descriptor.
func (p *proc) readLine(fd int, delim byte, trim bool) (string, bool) {
	d := p.fds.get(fd)
	if d == nil || d.r == nil {
		return "", false
	}
	line, err := d.r.Record(delim)
	if err != nil {
		return "", false
	}
	s := string(line)
	if trim {
		s = strings.TrimSuffix(s, string(delim))
	}
	return s, true
}
