package datetime

import (
	"strconv"
	"strings"
	"time"

	"hako/shell/command/internal/cli"
)

// Parse reads a date as people write it for date -d and touch -d: absolute
// ("2024-01-01 12:00", "Jan 5 2024", "@1700000000", ISO 8601, RFC 5322) and
// relative ("yesterday", "2 days ago", "next monday", "+3 hours") parts in any
// order. Relative parts count from now, or from the absolute date if there is one.
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
	bad                 bool           // a date that does not exist was seen
	last                func(sign int) // undoes and redoes the last relative item, for "ago"
}

// item reads the next part of the text, trying the longest forms first.
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

// fraction reads decimal places as nanoseconds.
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

// isoDate reads 2024-01-31, 20240131 and the T before a time.
func (p *dateParser) isoDate() bool {
	y, rest, _ := cli.CutNumber(p.rest, 8)
	digits := len(p.rest) - len(rest)
	if digits == 8 && (rest == "" || !strings.ContainsRune(":.", rune(rest[0]))) {
		return p.setDate(y/10000, y/100%100, y%100) && p.afterDate(rest)
	}
	if digits != 4 || !strings.HasPrefix(rest, "-") {
		return false
	}
	m, rest, ok1 := cli.CutNumber(rest[1:], 2)
	if !ok1 || !strings.HasPrefix(rest, "-") {
		return false
	}
	d, rest, ok2 := cli.CutNumber(rest[1:], 2)
	return ok2 && p.setDate(y, m, d) && p.afterDate(rest)
}

func (p *dateParser) afterDate(rest string) bool {
	if len(rest) > 1 && (rest[0] == 'T' || rest[0] == 't') && cli.IsDigit(rest[1]) {
		rest = rest[1:]
	}
	p.rest = rest
	return true
}

// slashDate reads 1/31/2024, 1/31 and 2024/1/31.
func (p *dateParser) slashDate() bool {
	a, rest, ok := cli.CutNumber(p.rest, 4)
	if !ok || !strings.HasPrefix(rest, "/") {
		return false
	}
	b, rest, ok := cli.CutNumber(rest[1:], 2)
	if !ok {
		return false
	}
	third, has := p.now.Year(), false
	if s, found := strings.CutPrefix(rest, "/"); found {
		if third, rest, has = cli.CutNumber(s, 4); !has {
			return false
		}
	}
	p.rest = rest
	if a > 31 {
		return has && p.setDate(a, b, third)
	}
	if has && third < 69 {
		third += 2000
	} else if has && third < 100 {
		third += 1900
	}
	return p.setDate(third, a, b)
}

// clock reads 12:00, 12:00:30.5, 3pm, 3:30 pm, with a zone right behind it.
func (p *dateParser) clock() bool {
	h, rest, ok := cli.CutNumber(p.rest, 2)
	if !ok || p.hasTime {
		return false
	}
	m, s, nanos := 0, 0, 0
	colon := strings.HasPrefix(rest, ":")
	if colon {
		if m, rest, ok = cli.CutNumber(rest[1:], 2); !ok {
			return false
		}
		if strings.HasPrefix(rest, ":") {
			if s, nanos, rest, ok = cutSeconds(rest[1:]); !ok {
				return false
			}
		}
	}
	h, rest, half := meridian(h, rest)
	if !colon && !half || h > 24 || h < 0 || m > 59 || s > 60 {
		return false
	}
	p.hour, p.minute, p.sec, p.nanos, p.hasTime, p.rest = h, m, s, nanos, true, rest
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		return p.offset()
	}
	return true
}

func cutSeconds(text string) (s, nanos int, rest string, ok bool) {
	if s, rest, ok = cli.CutNumber(text, 2); !ok {
		return 0, 0, text, false
	}
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && cli.IsDigit(rest[1]) {
		end := 1
		for end < len(rest) && cli.IsDigit(rest[end]) {
			end++
		}
		nanos, _ = fraction(rest[1:end])
		rest = rest[end:]
	}
	return s, nanos, rest, true
}

// meridian applies a following am or pm; h is negative if it cannot.
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

// offset reads a numeric zone: +0900, +09:00, +9.
func (p *dateParser) offset() bool {
	s := p.rest
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	n, rest, ok := cli.CutNumber(s[1:], 4)
	digits := len(s) - 1 - len(rest)
	if !ok {
		return false
	}
	if digits <= 2 {
		n *= 100
		if strings.HasPrefix(rest, ":") {
			var m int
			if m, rest, ok = cli.CutNumber(rest[1:], 2); !ok {
				return false
			}
			n += m
		}
	}
	if n/100 > 24 || n%100 > 59 {
		return false
	}
	p.loc, p.rest = time.FixedZone("", sign*(n/100*3600+n%100*60)), rest
	return true
}

// zone reads a named zone: Z, UTC, GMT, JST and the American ones.
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

// cutWord takes letters (and dots, as in "a.m.") off the front, in lower case.
func cutWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && (cli.IsLetter(s[i]) || s[i] == '.' && i > 0) {
		i++
	}
	return strings.ToLower(s[:i]), s[i:]
}
