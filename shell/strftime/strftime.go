// Package strftime writes times in the manner of strftime(3) and date(1).
// The one rule to keep: it reads no clock and no zone files; the time it is given
// is in the zone it is to be shown in.
package strftime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxPad bounds the width somebody may ask of one date field.
const maxPad = 1024

// Format writes t as date(1) does, with its flags and widths. What it does
// not know it copies.
func Format(t time.Time, format string) string {
	var b strings.Builder
	for format != "" {
		text, after, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			break
		}
		d, rest := parseDirective(after)
		field, ok := d.expand(t)
		if !ok {
			field = "%" + after[:len(after)-len(rest)]
		}
		b.WriteString(field)
		format = rest
	}
	return b.String()
}

// A directive is one %-field: flags, width, colons and the letter.
type directive struct {
	pad    byte // '0', '_', '-' or 0 for the field's own
	upper  bool
	swap   bool
	width  int
	colons int
	letter byte
}

func parseDirective(s string) (d directive, rest string) {
	i := 0
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-', '_', '0':
			d.pad = s[i]
		case '+':
			d.pad = '0'
		case '^':
			d.upper = true
		case '#':
			d.swap = true
		default:
			break flags
		}
	}
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		d.width = min(d.width*10+int(s[i]-'0'), maxPad)
	}
	for ; i < len(s) && s[i] == ':'; i++ {
		d.colons++
	}
	if i < len(s) && (s[i] == 'E' || s[i] == 'O') && i+1 < len(s) {
		i++ // alternative calendars do not exist here
	}
	if i < len(s) {
		d.letter = s[i]
		i++
	}
	return d, s[i:]
}

func (d directive) expand(t time.Time) (string, bool) {
	if d.letter == 'z' {
		return d.zone(t), true
	}
	if d.colons > 0 {
		return "", false
	}
	if n, width, pad, ok := numberField(t, d.letter); ok {
		return d.number(n, width, pad), true
	}
	if d.letter == 'N' {
		return d.nanos(t), true
	}
	s, ok := textField(t, d.letter)
	return d.text(s), ok
}

// numberField gives the value, usual width and usual padding of a numeric field.
func numberField(t time.Time, letter byte) (n int64, width int, pad byte, ok bool) {
	isoYear, isoWeek := t.ISOWeek()
	hour12 := (t.Hour()+11)%12 + 1
	f := func(n, width int, pad byte) (int64, int, byte, bool) { return int64(n), width, pad, true }
	switch letter {
	case 'Y':
		return f(t.Year(), 1, '0')
	case 'G':
		return f(isoYear, 1, '0')
	case 'g':
		return f(isoYear%100, 2, '0')
	case 'C':
		return f(t.Year()/100, 2, '0')
	case 'y':
		return f(t.Year()%100, 2, '0')
	case 'm':
		return f(int(t.Month()), 2, '0')
	case 'd':
		return f(t.Day(), 2, '0')
	case 'e':
		return f(t.Day(), 2, '_')
	case 'H':
		return f(t.Hour(), 2, '0')
	case 'k':
		return f(t.Hour(), 2, '_')
	case 'I':
		return f(hour12, 2, '0')
	case 'l':
		return f(hour12, 2, '_')
	case 'M':
		return f(t.Minute(), 2, '0')
	case 'S':
		return f(t.Second(), 2, '0')
	case 'j':
		return f(t.YearDay(), 3, '0')
	case 'U':
		return f((t.YearDay()+6-int(t.Weekday()))/7, 2, '0')
	case 'W':
		return f((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, '0')
	case 'V':
		return f(isoWeek, 2, '0')
	case 'u':
		return f((int(t.Weekday())+6)%7+1, 1, '0')
	case 'w':
		return f(int(t.Weekday()), 1, '0')
	case 'q':
		return f((int(t.Month())+2)/3, 1, '0')
	case 's':
		return t.Unix(), 1, '0', true
	}
	return 0, 0, 0, false
}

func (d directive) number(n int64, width int, pad byte) string {
	if d.pad != 0 {
		pad = d.pad
	}
	if d.width > 0 {
		width = d.width
	}
	digits := strconv.FormatInt(n, 10)
	if pad == '-' {
		return digits
	}
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	missing := max(0, width-len(sign)-len(digits))
	if pad == '_' {
		return strings.Repeat(" ", missing) + sign + digits
	}
	return sign + strings.Repeat("0", missing) + digits
}

// nanos writes the fraction of the second; a width is a number of digits.
func (d directive) nanos(t time.Time) string {
	s := fmt.Sprintf("%09d", t.Nanosecond())
	switch {
	case d.pad == '-' && d.width == 0:
		return strings.TrimRight(s[:8], "0") + strings.TrimRight(s[8:], "0")
	case d.width > 9:
		return s + strings.Repeat("0", d.width-9)
	case d.width > 0:
		return s[:d.width]
	}
	return s
}

func (d directive) text(s string) string {
	switch {
	case d.swap && d.letter == 'Z', d.swap && d.letter == 'p':
		s = strings.ToLower(s)
	case d.upper || d.swap:
		s = strings.ToUpper(s)
	}
	if missing := d.width - len(s); missing > 0 && d.pad != '-' {
		fill := " "
		if d.pad == '0' {
			fill = "0"
		}
		s = strings.Repeat(fill, missing) + s
	}
	return s
}

// compound holds the fields that stand for several others.
var compound = map[byte]string{
	'D': "%m/%d/%y", 'x': "%m/%d/%y", 'F': "%Y-%m-%d", 'T': "%H:%M:%S", 'X': "%H:%M:%S", 'R': "%H:%M",
	'r': "%I:%M:%S %p", 'c': "%a %b %e %H:%M:%S %Y", 'n': "\n", 't': "\t",
}

func textField(t time.Time, letter byte) (string, bool) {
	switch letter {
	case '%':
		return "%", true
	case 'a':
		return t.Format("Mon"), true
	case 'A':
		return t.Format("Monday"), true
	case 'b', 'h':
		return t.Format("Jan"), true
	case 'B':
		return t.Format("January"), true
	case 'p':
		return t.Format("PM"), true
	case 'P':
		return t.Format("pm"), true
	case 'Z':
		return zoneName(t), true
	}
	f, ok := compound[letter]
	return Format(t, f), ok
}

// zoneName is the abbreviation of t's zone; Go leaves it empty for zones that
// were only given as an offset.
func zoneName(t time.Time) string {
	name, _ := t.Zone()
	if name == "" {
		return t.Format("-07")
	}
	return name
}

// zone writes the offset: +hhmm, +hh:mm, +hh:mm:ss or as short as it gets.
func (d directive) zone(t time.Time) string {
	_, off := t.Zone()
	sign := "+"
	if off < 0 {
		sign, off = "-", -off
	}
	h, m, s := off/3600, off/60%60, off%60
	hours := fmt.Sprintf("%02d", h)
	if d.pad == '-' {
		hours = strconv.Itoa(h)
	}
	switch {
	case d.colons == 0:
		return fmt.Sprintf("%s%s%02d", sign, hours, m)
	case d.colons == 1:
		return fmt.Sprintf("%s%s:%02d", sign, hours, m)
	case d.colons == 2 || s != 0:
		return fmt.Sprintf("%s%s:%02d:%02d", sign, hours, m, s)
	case m != 0:
		return fmt.Sprintf("%s%s:%02d", sign, hours, m)
	}
	return sign + hours
}
