package shell

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hako/shell/strftime"
	"hako/shell/vfs"
)

func reason(err error) string { return vfs.Reason(err) }

func (p *proc) bracket(args []string) error {
	if len(args) == 0 || args[len(args)-1] != "]" {
		p.errorf("[: missing `]'")
		return Status(2)
	}
	return p.testCommand("[", args[:len(args)-1])
}

// echo prints its words.
func (p *proc) echo(args []string) error {
	newline, escapes := true, false
	for len(args) > 0 && isEchoFlag(args[0]) {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	out := p.scratch[:0]
	for i, s := range args {
		if i > 0 {
			out = append(out, ' ')
		}
		if !p.spend(len(s)+16) || !p.fits(3*(len(out)+len(s))) {
			return p.bad
		}
		if escapes {
			text, stop := unescapeC(s, escapesEcho)
			out = append(out, text...)
			if stop {
				newline = false
				break
			}
			continue
		}
		out = append(out, s...)
	}
	if newline {
		out = append(out, '\n')
	}
	if cap(out) < 1<<16 {
		p.scratch = out
	}
	return p.write(1, out)
}

func isEchoFlag(s string) bool {
	return len(s) > 1 && s[0] == '-' && strings.Trim(s[1:], "neE") == ""
}

// printf prints by a format.
func (p *proc) printf(args []string) error {
	name := ""
	if len(args) > 1 && args[0] == "-v" {
		name, args = args[1], args[2:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		p.errorf("printf: usage: printf [-v var] format [arguments]")
		return Status(2)
	}
	f := &formatter{p: p, args: args[1:]}
	f.run(args[0])
	if f.err != nil {
		return f.err
	}
	if name != "" {
		p.assignRef(p.referenceOf(name), string(f.out))
		return asStatus(f.status)
	}
	if err := p.write(1, f.out); err != nil {
		return err
	}
	return asStatus(f.status)
}

// formatter is one run of printf.
type formatter struct {
	p      *proc
	args   []string
	used   bool // a directive took an argument in this round
	out    []byte
	status int
	err    error // ends the script
	stop   bool  // \c was met
}

func (f *formatter) run(format string) {
	for round := 0; ; round++ {
		f.used = false
		f.round(format)
		if f.stop || f.err != nil || len(f.args) == 0 || !f.used {
			return
		}
		if round&255 == 255 && !f.p.tick() {
			return
		}
	}
}

func (f *formatter) round(s string) {
	for i := 0; i < len(s) && !f.stop && f.err == nil; {
		switch s[i] {
		case '\\':
			n := escapeLen(s[i:])
			text, stop := unescapeC(s[i:i+n], escapesC)
			if strings.HasPrefix(s[i:], `\c`) {
				text, stop = "", true
			}
			f.out = append(f.out, text...)
			f.stop = stop
			i += n
		case '%':
			i += f.directive(s[i:])
		default:
			j := i
			for j < len(s) && s[j] != '%' && s[j] != '\\' {
				j++
			}
			f.out = append(f.out, s[i:j]...)
			i = j
		}
		if f.grow(0); !f.p.spend(32) {
			f.err, f.p.bad = f.p.bad, nil
		}
	}
}

// grow checks that n more bytes of output fit.
func (f *formatter) grow(n int) bool {
	if total := len(f.out) + n; total > checkFrom {
		if err := f.p.ses.Limiter.Fits(int64(2 * total)); err != nil {
			f.err = err
			return false
		}
	}
	return true
}

// escapeLen returns how long the escape at the start of s is.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case 'x':
		_, n := digits(s[2:], 16, 2)
		return 2 + n
	case 'u':
		_, n := digits(s[2:], 16, 4)
		return 2 + n
	case 'U':
		_, n := digits(s[2:], 16, 8)
		return 2 + n
	}
	if _, n := digits(s[1:], 8, 3); n > 0 {
		return 1 + n
	}
	_, w := utf8.DecodeRuneInString(s[1:])
	return 1 + w
}

// A directive is one conversion of a format.
type directive struct {
	minus, plus, space, zero, alt bool
	width                         int
	prec                          int // -1: none
	verb                          byte
	layout                        string // of %(…)T
}

// directive handles the % at the start of s and returns how long it is.
func (f *formatter) directive(s string) int {
	sp := directive{prec: -1}
	i := 1
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			sp.minus = true
		case '+':
			sp.plus = true
		case ' ':
			sp.space = true
		case '0':
			sp.zero = true
		case '#':
			sp.alt = true
		case '\'':
		default:
			break flags
		}
	}
	sp.width, i = f.count(s, i)
	if sp.width < 0 {
		sp.minus, sp.width = true, -sp.width
	}
	if i < len(s) && s[i] == '.' {
		sp.prec, i = f.count(s, i+1)
	}
	for i < len(s) && strings.IndexByte("hlLqjzt", s[i]) >= 0 && (s[i] != 'q') {
		i++
	}
	if i < len(s) && s[i] == '(' {
		if end := strings.Index(s[i:], ")T"); end > 0 {
			sp.layout, sp.verb = s[i+1:i+end], 'T'
			i += end + 2
			f.apply(sp, s[:i])
			return i
		}
	}
	if i >= len(s) {
		f.out = append(f.out, s...)
		return len(s)
	}
	sp.verb = s[i]
	f.apply(sp, s[:i+1])
	return i + 1
}

// maxWidth keeps widths and precisions from overflowing; the limiter decides
// what really fits.
const maxWidth = math.MaxInt32

// count reads a width or precision: digits or *.
func (f *formatter) count(s string, i int) (int, int) {
	if i < len(s) && s[i] == '*' {
		n := f.integer(f.next(), true)
		return int(max(min(n, maxWidth), -maxWidth)), i + 1
	}
	n := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = min(n*10+int(s[i]-'0'), maxWidth)
	}
	return n, i
}

func (f *formatter) next() string {
	f.used = true
	if len(f.args) == 0 {
		return ""
	}
	s := f.args[0]
	f.args = f.args[1:]
	return s
}

// apply prints one argument.
func (f *formatter) apply(sp directive, text string) {
	if !f.grow(max(sp.width, sp.prec)) {
		return
	}
	switch sp.verb {
	case '%':
		f.out = append(f.out, '%')
	case 's':
		f.text(sp, f.next())
	case 'b':
		s := f.next()
		if !f.grow(3 * len(s)) {
			return
		}
		s, stop := unescapeC(s, escapesB)
		f.text(sp, s)
		f.stop = stop
	case 'q':
		f.text(sp, f.p.backslashQuote(f.next()))
	case 'c':
		s := f.next()
		s = (s + "\x00")[:1]
		sp.prec = -1
		f.text(sp, s)
	case 'd', 'i', 'u', 'o', 'x', 'X':
		f.number(sp)
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		f.float(sp)
	case 'T':
		f.time(sp)
	default:
		f.p.errorf("printf: `%s': invalid format character", text)
		f.status, f.stop = 1, true
	}
}

// text prints a string; widths count bytes, as in bash.
func (f *formatter) text(sp directive, s string) {
	if sp.prec >= 0 && sp.prec < len(s) {
		s = s[:sp.prec]
	}
	f.pad(sp, s, ' ')
}

func (f *formatter) pad(sp directive, s string, fill byte) {
	n := sp.width - len(s)
	if !f.grow(max(n, 0) + len(s)) {
		return
	}
	if !sp.minus {
		f.fill(n, fill)
	}
	f.out = append(f.out, s...)
	if sp.minus {
		f.fill(n, ' ')
	}
}

func (f *formatter) fill(n int, c byte) {
	if n > 0 {
		f.out = append(f.out, bytes.Repeat([]byte{c}, n)...)
	}
}

func (f *formatter) number(sp directive) {
	n := f.integer(f.next(), sp.verb == 'd' || sp.verb == 'i')
	var s, sign string
	switch sp.verb {
	case 'd', 'i':
		s = strconv.FormatUint(magnitude(n), 10)
		sign = signOf(sp, n < 0)
	case 'u':
		s = strconv.FormatUint(uint64(n), 10)
	case 'o':
		s = strconv.FormatUint(uint64(n), 8)
		if sp.alt && s != "0" {
			s = "0" + s
		}
	default:
		s = strconv.FormatUint(uint64(n), 16)
		if sp.alt && n != 0 {
			sign = "0x"
		}
		if sp.verb == 'X' {
			s, sign = strings.ToUpper(s), strings.ToUpper(sign)
		}
	}
	if sp.prec == 0 && n == 0 && !(sp.alt && sp.verb == 'o') {
		s = ""
	}
	if sp.prec > len(s) {
		s = strings.Repeat("0", sp.prec-len(s)) + s
	}
	if sp.zero && !sp.minus && sp.prec < 0 && sp.width > len(s)+len(sign) {
		s = strings.Repeat("0", sp.width-len(s)-len(sign)) + s
	}
	f.pad(sp, sign+s, ' ')
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}

func signOf(sp directive, neg bool) string {
	switch {
	case neg:
		return "-"
	case sp.plus:
		return "+"
	case sp.space:
		return " "
	}
	return ""
}

// integer reads an argument as C does: decimal, octal, hexadecimal, or the
// code of a character behind a quote.
func (f *formatter) integer(s string, signed bool) int64 {
	t := strings.TrimSpace(s)
	if t == "" {
		return 0
	}
	if t[0] == '\'' || t[0] == '"' {
		r, _ := utf8.DecodeRuneInString(t[1:])
		return int64(r)
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(t, "+"), 0, 64)
	if err == nil && !strings.Contains(t, "_") {
		return n
	}
	if u, err := strconv.ParseUint(t, 0, 64); err == nil && !signed {
		return int64(u)
	}
	if isRange(err) {
		f.p.errorf("printf: warning: %s: Numerical result out of range", s)
		return n
	}
	f.p.errorf("printf: %s: invalid number", s)
	f.status = 1
	i := 0
	for i < len(t) && (t[i] >= '0' && t[i] <= '9' || i == 0 && (t[i] == '-' || t[i] == '+')) {
		i++
	}
	n, _ = strconv.ParseInt(t[:i], 10, 64)
	return n
}

func (f *formatter) float(sp directive) {
	s := strings.TrimSpace(f.next())
	x, err := parseFloat(s)
	if err != nil && s != "" && !isRange(err) {
		if s[0] == '\'' || s[0] == '"' {
			x = float64(f.integer(s, true))
		} else {
			f.p.errorf("printf: %s: invalid number", s)
			f.status = 1
		}
	}
	if sp.prec > 1<<20 {
		f.err = f.p.ses.Limiter.Fits(math.MaxInt32)
		return
	}
	format := "%"
	for _, c := range []struct {
		on   bool
		text string
	}{{sp.plus, "+"}, {sp.space, " "}, {sp.alt, "#"}} {
		if c.on {
			format += c.text
		}
	}
	if sp.prec >= 0 {
		format += "." + strconv.Itoa(sp.prec)
	} else if sp.verb != 'a' && sp.verb != 'A' {
		format += ".6"
	}
	verb := string(sp.verb)
	if sp.verb == 'a' {
		verb = "x"
	} else if sp.verb == 'A' {
		verb = "X"
	}
	out := fixFloat(fmt.Sprintf(format+verb, x))
	if sp.zero && !sp.minus && len(out) < sp.width && !math.IsInf(x, 0) && !math.IsNaN(x) {
		sign := ""
		if out != "" && strings.IndexByte("+- ", out[0]) >= 0 {
			sign, out = out[:1], out[1:]
		}
		out = sign + strings.Repeat("0", sp.width-len(out)-len(sign)) + out
	}
	f.pad(sp, out, ' ')
}

// parseFloat reads a number as C does: 0x1f needs no exponent.
func parseFloat(s string) (float64, error) {
	if lower := strings.ToLower(s); strings.Contains(lower, "0x") && !strings.Contains(lower, "p") {
		s += "p0"
	}
	return strconv.ParseFloat(s, 64)
}

func isRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

// fixFloat spells infinities and %g as C does.
func fixFloat(s string) string {
	s = strings.Replace(strings.Replace(s, "+Inf", "inf", 1), "-Inf", "-inf", 1)
	return strings.Replace(s, "NaN", "nan", 1)
}

// time prints %(layout)T.
func (f *formatter) time(sp directive) {
	t := f.p.ses.Now()
	if len(f.args) > 0 {
		if n := f.integer(f.next(), true); n >= 0 {
			t = time.Unix(n, 0)
		}
	} else {
		f.used = true
	}
	layout := sp.layout
	if layout == "" {
		layout = "%X"
	}
	f.text(sp, strftime.Format(t.In(f.p.zone()), layout))
}

// zone returns the time zone of the script; one that does not exist is UTC, as for the C library.
func (p *proc) zone() *time.Location {
	tz, _ := p.get("TZ")
	loc, err := strftime.Zone(tz)
	if err != nil {
		return time.UTC
	}
	return loc
}
