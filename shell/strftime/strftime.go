// Package strftime formats times as strftime(3) and date(1) do, and reads time zones as
// TZ spells them. It reads no clock; a time is formatted in its own location.
package strftime

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxPad limits the width of one field.
const maxPad = 1024

// Format formats t as date(1) does, with its flags and widths. Unknown fields are
// copied.
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
	if f, ok := numberFields[d.letter]; ok {
		return d.number(f.value(t), f.width, f.pad), true
	}
	if d.letter == 'N' {
		return d.nanos(t), true
	}
	s, ok := textField(t, d.letter)
	return d.text(s), ok
}

// A numberField is a numeric field with its default width and padding.
type numberField struct {
	value func(t time.Time) int
	width int
	pad   byte
}

var numberFields = map[byte]numberField{
	'Y': {time.Time.Year, 1, '0'},
	'G': {isoYear, 1, '0'},
	'g': {func(t time.Time) int { return isoYear(t) % 100 }, 2, '0'},
	'C': {func(t time.Time) int { return t.Year() / 100 }, 2, '0'},
	'y': {func(t time.Time) int { return t.Year() % 100 }, 2, '0'},
	'm': {func(t time.Time) int { return int(t.Month()) }, 2, '0'},
	'd': {time.Time.Day, 2, '0'}, 'e': {time.Time.Day, 2, '_'},
	'H': {time.Time.Hour, 2, '0'}, 'k': {time.Time.Hour, 2, '_'},
	'I': {hour12, 2, '0'}, 'l': {hour12, 2, '_'},
	'M': {time.Time.Minute, 2, '0'}, 'S': {time.Time.Second, 2, '0'}, 'j': {time.Time.YearDay, 3, '0'},
	'U': {func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }, 2, '0'},
	'W': {func(t time.Time) int { return (t.YearDay() + 7 - isoWeekday(t)) / 7 }, 2, '0'},
	'V': {func(t time.Time) int { _, week := t.ISOWeek(); return week }, 2, '0'},
	'u': {isoWeekday, 1, '0'},
	'w': {func(t time.Time) int { return int(t.Weekday()) }, 1, '0'},
	'q': {func(t time.Time) int { return (int(t.Month()) + 2) / 3 }, 1, '0'},
	's': {func(t time.Time) int { return int(t.Unix()) }, 1, '0'},
}

func isoYear(t time.Time) int { year, _ := t.ISOWeek(); return year }

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

// isoWeekday is 1 on Monday and 7 on Sunday.
func isoWeekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

func (d directive) number(n, width int, pad byte) string {
	pad, width = cmp.Or(d.pad, pad), cmp.Or(d.width, width)
	digits := strconv.Itoa(n)
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

// compound are the fields that combine several others.
var compound = map[byte]string{
	'D': "%m/%d/%y", 'x': "%m/%d/%y", 'F': "%Y-%m-%d", 'T': "%H:%M:%S", 'X': "%H:%M:%S", 'R': "%H:%M",
	'r': "%I:%M:%S %p", 'c': "%a %b %e %H:%M:%S %Y", 'n': "\n", 't': "\t",
}

// layouts are the fields that package time formats.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'p': "PM", 'P': "pm",
}

func textField(t time.Time, letter byte) (string, bool) {
	if layout, ok := layouts[letter]; ok {
		return t.Format(layout), true
	}
	switch letter {
	case '%':
		return "%", true
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
