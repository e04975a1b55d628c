package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hako/shell/command/internal/cli"
)

// A hexUnit is one element of a hexdump format: count/size "text".
type hexUnit struct {
	count, size int
	fixed       bool // the count was given
	parts       []hexPart
}

// A hexPart is literal text, or one conversion.
type hexPart struct {
	text  string
	verb  byte // 0 text; d o u x c s f as in C; a A address; C _c; p; U _u
	radix int  // of an address
	upper bool
	flags string
	width int
	prec  int // -1 if not given
	size  int // bytes consumed
	mark  byte
}

// parseHexFormat reads one argument of -e. An error leaves it by [cli.Check].
func parseHexFormat(s string) (units []hexUnit) {
	for {
		s = strings.TrimLeft(s, " \t\n")
		if s == "" {
			return units
		}
		u := hexUnit{count: 1}
		u.count, s, u.fixed = leadingNumber(s, 1)
		if s = strings.TrimLeft(s, " \t"); strings.HasPrefix(s, "/") {
			u.size, s, _ = leadingNumber(strings.TrimLeft(s[1:], " \t"), 0)
		}
		s = strings.TrimLeft(s, " \t")
		end := closingQuote(s)
		if end < 0 || u.count > 1<<16 || u.size > 1<<16 {
			cli.Check(fmt.Errorf("bad format {%s}", s))
		}
		u.parts = parseHexParts(unescapeC(s[1:end]), u.size)
		units = append(units, u)
		s = s[end+1:]
	}
}

func leadingNumber(s string, otherwise int) (n int, rest string, given bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return otherwise, s, false
	}
	n, err := strconv.Atoi(s[:i])
	if err != nil {
		n = math.MaxInt32
	}
	return n, s[i:], true
}

func closingQuote(s string) int {
	if !strings.HasPrefix(s, `"`) {
		return -1
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

var cEscapes = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\t`, "\t", `\r`, "\r", `\a`, "\a", `\b`, "\b",
	`\f`, "\f", `\v`, "\v", `\0`, "\x00", `\"`, `"`)

func unescapeC(s string) string { return cEscapes.Replace(s) }

func parseHexParts(s string, size int) (parts []hexPart) {
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return append(parts, hexPart{text: s})
		}
		if strings.HasPrefix(s[i:], "%%") {
			parts, s = append(parts, hexPart{text: s[:i+1]}), s[i+2:]
			continue
		}
		if i > 0 {
			parts = append(parts, hexPart{text: s[:i]})
		}
		var p hexPart
		p, s = parseHexVerb(s[i+1:], size)
		parts = append(parts, p)
	}
	return parts
}

func badConversion(verb string) { cli.Check(fmt.Errorf("bad conversion character %%%s", verb)) }

func parseHexVerb(s string, size int) (p hexPart, rest string) {
	p.prec = -1
	n := len(s) - len(strings.TrimLeft(s, "-+ #0"))
	p.flags, s = s[:n], s[n:]
	p.width, s, _ = leadingNumber(s, 0)
	if strings.HasPrefix(s, ".") {
		p.prec, s, _ = leadingNumber(s[1:], 0)
	}
	if p.width > 1<<10 || p.prec > 1<<10 || s == "" {
		badConversion(s)
	}
	verb := s[0]
	p.mark, s = verb, s[1:]
	p.size = size
	switch verb {
	case 'd', 'i':
		p.verb, p.mark = 'd', 'd'
	case 'o', 'u', 'x':
		p.verb = verb
	case 'X':
		p.verb, p.upper = 'x', true
	case 'c':
		p.verb, p.size = 'c', 1
	case 's':
		p.verb = 's'
		if p.size = p.prec; p.prec < 0 {
			p.size = max(size, 1)
		}
	case 'e', 'E', 'f', 'g', 'G':
		p.verb = 'f'
	case '_':
		return p.special(s)
	default:
		badConversion(string(verb))
	}
	if p.size == 0 {
		p.size = 4
		if p.verb == 'f' {
			p.size = 8
		}
	}
	if p.verb != 's' && p.size != 1 && p.size != 2 && p.size != 4 && p.size != 8 || p.verb == 'f' && p.size < 4 {
		cli.Check(fmt.Errorf("bad byte count for conversion character %c", verb))
	}
	return p, s
}

// special reads what follows "%_".
func (p hexPart) special(s string) (hexPart, string) {
	if s == "" {
		badConversion("_")
	}
	p.size = 1
	switch s[0] {
	case 'a', 'A':
		p.verb, p.size = s[0], 0
		if len(s) < 2 {
			badConversion("_" + s)
		}
		if p.radix = map[byte]int{'d': 10, 'o': 8, 'x': 16}[s[1]]; p.radix == 0 {
			badConversion("_" + s[:2])
		}
		return p, s[2:]
	case 'c', 'u':
		p.verb = s[0] - 'a' + 'A'
	case 'p':
		p.verb = 'p'
	default:
		badConversion("_" + s[:1])
	}
	return p, s[1:]
}

// unitSize is how many bytes one iteration consumes.
func (u *hexUnit) unitSize() int {
	n := 0
	for _, p := range u.parts {
		n += p.size
	}
	return n
}

// atEnd reports whether the unit is printed only once, after the data.
func (u *hexUnit) atEnd() bool {
	return slices.ContainsFunc(u.parts, func(p hexPart) bool { return p.verb == 'A' })
}

func hexBlockSize(units []hexUnit) int {
	n := 0
	for i := range units {
		n += units[i].count * units[i].unitSize()
	}
	return n
}

// stretchLast repeats the last unit of a shorter string over the whole block,
// if it was given without a count.
func repeatLast(units []hexUnit, block int) {
	n := hexBlockSize(units)
	for i := len(units) - 1; i >= 0; i-- {
		u := &units[i]
		if s := u.unitSize(); s > 0 {
			if n < block && !u.fixed {
				u.count += (block - n) / s
			}
			return
		}
	}
}

// format appends the conversion of the bytes at position at, or blanks of the
// same width where the data has ended.
func (p *hexPart) format(b, data []byte, at int, address int64) []byte {
	var text string
	switch {
	case p.verb == 'a' || p.verb == 'A':
		text = p.number(strconv.FormatInt(address, p.radix))
	case p.verb == 'p' && at < len(data) && p.width <= 1:
		ch := data[at]
		if ch < ' ' || ch > '~' {
			ch = '.'
		}
		return append(b, ch)
	case p.verb == 'x' && p.size == 1 && at < len(data) && p.prec < 0 && p.width == 2 && p.flags == "0" && !p.upper:
		return append(b, cli.LowerHex[data[at]>>4], cli.LowerHex[data[at]&15])
	case at >= len(data):
		return append(b, strings.Repeat(" ", p.width)...)
	default:
		word := make([]byte, p.size)
		copy(word, data[at:])
		text = p.convert(word)
	}
	return append(b, p.pad(text)...)
}

func (p *hexPart) convert(word []byte) string {
	switch p.verb {
	case 'p':
		return string(dotted(word))
	case 'c':
		return string(rune(word[0]))
	case 'C':
		return string(appendCharName(nil, word[0]))
	case 'U':
		if word[0] < ' ' {
			return map[byte]string{'\n': "lf"}[word[0]] + strings.TrimPrefix(odNames(word[0]),
				map[bool]string{true: "nl"}[word[0] == '\n'])
		}
		return string(dotted(word))
	case 's':
		return string(word)
	case 'f':
		return p.float(word)
	}
	v := littleEndian(word)
	if p.verb == 'd' {
		shift := 64 - 8*len(word)
		return p.number(strconv.FormatInt(int64(v<<shift)>>shift, 10))
	}
	return p.number(strconv.FormatUint(v, map[byte]int{'o': 8, 'u': 10, 'x': 16}[p.verb]))
}

func (p *hexPart) float(word []byte) string {
	v := math.Float64frombits(littleEndian(word))
	if len(word) == 4 {
		v = float64(math.Float32frombits(uint32(littleEndian(word))))
	}
	prec := p.prec
	if prec < 0 {
		prec = 6
	}
	return strconv.FormatFloat(v, p.mark, prec, 64)
}

func littleEndian(word []byte) uint64 {
	var all [8]byte
	copy(all[:], word)
	return binary.LittleEndian.Uint64(all[:])
}

// number applies precision and case to the digits of an integer.
func (p *hexPart) number(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	want := p.prec
	if p.prec < 0 && strings.Contains(p.flags, "0") && !strings.Contains(p.flags, "-") {
		want = p.width - len(sign)
	}
	if n := want - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	if strings.Contains(p.flags, "#") && p.verb == 'x' {
		digits = "0x" + digits
	}
	if p.upper {
		digits = strings.ToUpper(digits)
	}
	return sign + digits
}

func (p *hexPart) pad(text string) string {
	n := p.width - len(text)
	if n <= 0 {
		return text
	}
	if strings.Contains(p.flags, "-") {
		return text + strings.Repeat(" ", n)
	}
	return strings.Repeat(" ", n) + text
}
