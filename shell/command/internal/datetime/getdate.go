package datetime

import (
	"strconv"
	"strings"
	"time"

	"hako/internal/lazyregexp"
	"hako/shell/command/internal/cli"
)

// Parse parses the date of date -d and touch -d: absolute ("2024-01-01 12:00",
// "Jan 5 2024", "@1700000000", ISO 8601, RFC 5322) and relative ("yesterday",
// "2 days ago", "next monday", "+3 hours") parts in any order. Relative parts count from
// now, or from the absolute date if there is one.
func Parse(text string, now time.Time) (time.Time, bool) {
	p := &dateParser{now: now, loc: now.Location(), weekday: -1, hasTime: strings.TrimSpace(text) == ""}
	for p.rest = strings.TrimSpace(text); p.rest != ""; p.rest = strings.TrimLeft(p.rest, " \t\n,") {
		if !p.item() || p.bad {
			return time.Time{}, false
		}
	}
	return p.result()
}

type dateParser struct {
	rest string
	now  time.Time
	loc  *time.Location

	epoch               *time.Time
	year, month, day    int
	hasDate, hasTime    bool
	hour, minute, sec   int
	nanos               int
	weekday, weekdayOrd int
	add                 [3]int         // years, months, days
	seconds             int64          // to add; more than a Duration holds
	bad                 bool           // a date does not exist
	last                func(sign int) // applies the last relative item again, for "ago"
}

// item parses the next part of the text. It tries the longest forms first.
func (p *dateParser) item() bool {
	if p.rest[0] == '(' {
		_, after, ok := strings.Cut(p.rest, ")")
		p.rest = after
		return ok
	}
	for _, try := range []func() bool{p.epochSeconds, p.isoDate, p.slashDate, p.clock, p.namedDate, p.signedAmount, p.zone,
		p.word, p.bareNumber} {
		before := p.rest
		if try() {
			return true
		}
		p.rest = before
	}
	return false
}

func (p *dateParser) epochSeconds() bool {
	s, ok := strings.CutPrefix(p.rest, "@")
	if !ok || p.epoch != nil {
		return false
	}
	end := strings.IndexAny(s+" ", " \t")
	whole, frac, _ := strings.Cut(s[:end], ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	nanos, fine := fraction(frac)
	if err != nil || !fine || n > 1<<55 || n < -1<<55 {
		return false
	}
	t := time.Unix(n, int64(nanos))
	p.epoch, p.rest = &t, s[end:]
	return true
}

// fraction parses decimal places as nanoseconds.
func fraction(s string) (int, bool) {
	n, rest, _ := cli.CutNumber((s + "000000000")[:9], 9)
	return n, rest == "" && strings.Trim(s, "0123456789") == ""
}

func (p *dateParser) setDate(y, m, d int) bool {
	if p.hasDate || m < 1 || m > 12 || d < 1 || d > time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		p.bad = true
		return false
	}
	p.year, p.month, p.day, p.hasDate = y, m, d, true
	return true
}

// match matches a pattern at the start of the text, and returns the groups as numbers.
// A group that is missing is -1.
func (p *dateParser) match(pattern *lazyregexp.Regexp) (groups []int, rest string, ok bool) {
	m := pattern.Get().FindStringSubmatch(p.rest)
	if m == nil {
		return nil, "", false
	}
	for _, text := range m[1:] {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1
		}
		groups = append(groups, n)
	}
	return groups, p.rest[len(m[0]):], true
}

var (
	compactDate = lazyregexp.New(`^(\d{4})(\d\d)(\d\d)`)
	dashedDate  = lazyregexp.New(`^(\d{4})-(\d{1,2})-(\d{1,2})`)
	slashedDate = lazyregexp.New(`^(\d{1,4})/(\d{1,2})(?:/(\d{1,4}))?`)
	clockTime   = lazyregexp.New(`^(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?)?`)
	zoneOffset  = lazyregexp.New(`^[+-](?:(\d{3,4})|(\d{1,2})(?::(\d{1,2}))?)`)
)

// isoDate parses 2024-01-31, 20240131 and the T before a time.
func (p *dateParser) isoDate() bool {
	d, rest, ok := p.match(compactDate)
	if !ok || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, ".") {
		d, rest, ok = p.match(dashedDate)
	}
	return ok && p.setDate(d[0], d[1], d[2]) && p.afterDate(rest)
}

func (p *dateParser) afterDate(rest string) bool {
	if len(rest) > 1 && (rest[0] == 'T' || rest[0] == 't') && cli.IsDigit(rest[1]) {
		rest = rest[1:]
	}
	p.rest = rest
	return true
}

// slashDate parses 1/31/2024, 1/31 and 2024/1/31.
func (p *dateParser) slashDate() bool {
	d, rest, ok := p.match(slashedDate)
	if !ok {
		return false
	}
	p.rest = rest
	year := d[2]
	switch {
	case d[0] > 31:
		return year >= 0 && p.setDate(d[0], d[1], year)
	case year < 0:
		year = p.now.Year()
	case year < 69:
		year += 2000
	case year < 100:
		year += 1900
	}
	return p.setDate(year, d[0], d[1])
}

// clock parses 12:00, 12:00:30.5, 3pm, 3:30 pm, with a zone right after it.
func (p *dateParser) clock() bool {
	t, rest, ok := p.match(clockTime)
	if !ok || p.hasTime {
		return false
	}
	nanos := 0
	if t[2] >= 0 && len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && cli.IsDigit(rest[1]) {
		after := strings.TrimLeft(rest[1:], "0123456789")
		nanos, _ = fraction(rest[1 : len(rest)-len(after)])
		rest = after
	}
	h, rest, half := meridian(t[0], rest)
	m, sec := max(t[1], 0), max(t[2], 0)
	if t[1] < 0 && !half || h > 24 || h < 0 || m > 59 || sec > 60 {
		return false
	}
	p.hour, p.minute, p.sec, p.nanos, p.hasTime, p.rest = h, m, sec, nanos, true, rest
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		return p.offset()
	}
	return true
}

// meridian applies a following am or pm. h is negative if that is invalid.
func meridian(h int, rest string) (int, string, bool) {
	word, after := cutWord(strings.TrimLeft(rest, " "))
	switch strings.ReplaceAll(word, ".", "") {
	case "am", "pm":
		if h < 1 || h > 12 {
			return -1, rest, true
		}
		h %= 12
		if word[0] == 'p' {
			h += 12
		}
		return h, after, true
	}
	return h, rest, false
}

// offset parses a numeric zone: +0900, +09:00, +9.
func (p *dateParser) offset() bool {
	z, rest, ok := p.match(zoneOffset)
	if !ok {
		return false
	}
	n := z[0]
	if n < 0 {
		n = z[1]*100 + max(z[2], 0)
	}
	if n/100 > 24 || n%100 > 59 {
		return false
	}
	seconds := n/100*3600 + n%100*60
	if p.rest[0] == '-' {
		seconds = -seconds
	}
	p.loc, p.rest = time.FixedZone("", seconds), rest
	return true
}

// zone parses a named zone: Z, UTC, GMT, JST and the American ones.
func (p *dateParser) zone() bool {
	word, rest := cutWord(p.rest)
	hours, ok := zoneHours[word]
	if !ok || word == "" {
		return false
	}
	p.loc, p.rest = time.FixedZone(strings.ToUpper(word), int(hours*3600)), rest
	if hours == 0 && rest != "" && (rest[0] == '+' || rest[0] == '-') {
		return p.offset()
	}
	return true
}

var zoneHours = map[string]float64{
	"z": 0, "utc": 0, "gmt": 0, "ut": 0, "jst": 9, "ist": 5.5, "cet": 1, "cest": 2, "bst": 1, "msk": 3,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}

// cutWord cuts letters, and dots as in "a.m.", off the start. word is in lower case.
func cutWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && (cli.IsLetter(s[i]) || s[i] == '.' && i > 0) {
		i++
	}
	return strings.ToLower(s[:i]), s[i:]
}
