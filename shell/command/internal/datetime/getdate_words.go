package datetime

import (
	"slices"
	"strings"
	"time"

	"hako/shell/command/internal/cli"
)

var (
	monthNames = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"}
	dayNames = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	ordinals = map[string]int{"last": -1, "this": 0, "next": 1, "first": 1, "third": 3, "fourth": 4, "fifth": 5,
		"sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12}
)

// nameIndex returns the index of a month or day by its name or an abbreviation of three
// letters or more, or -1.
func nameIndex(names []string, word string) int {
	word = strings.TrimSuffix(word, ".")
	if len(word) < 3 {
		return -1
	}
	if word == "sept" || word == "tues" || word == "wednes" || word == "thur" || word == "thurs" {
		word = word[:3]
	}
	return slices.IndexFunc(names, func(n string) bool { return n == word || n[:3] == word })
}

// namedDate parses "Jan 5 2024", "Jan 5", "5 Jan 2024", "5-Jan-2024", "Jan 2024".
func (p *dateParser) namedDate() bool {
	day, rest, dayFirst := cli.CutNumber(p.rest, 2)
	if !dayFirst {
		rest = p.rest
	}
	word, rest := cutWord(strings.TrimLeft(rest, " -"))
	m := nameIndex(monthNames, word)
	if m < 0 {
		return false
	}
	if !dayFirst {
		n, after, ok := cli.CutNumber(strings.TrimLeft(rest, " -"), 2)
		if !ok || after != "" && (cli.IsDigit(after[0]) || after[0] == ':') {
			return false
		}
		day, rest = n, strings.TrimLeft(after, ",")
	}
	year := p.now.Year()
	if y, after, ok := cli.CutNumber(strings.TrimLeft(rest, " -,"), 4); ok && y > 31 && !strings.HasPrefix(after, ":") {
		year, rest = y, after
	}
	p.rest = rest
	return p.setDate(year, m+1, day)
}

// signedAmount parses "2 days", "+3 hours", "-1 week", and a plain offset after a time.
func (p *dateParser) signedAmount() bool {
	s, sign := p.rest, 1
	signed := s[0] == '+' || s[0] == '-'
	if s[0] == '-' {
		sign = -1
	}
	if signed {
		s = strings.TrimLeft(s[1:], " ")
	}
	n, after, ok := cli.CutNumber(s, 10)
	if !ok {
		return false
	}
	if word, rest := cutWord(strings.TrimLeft(after, " ")); p.relative(sign*n, word) {
		p.rest = rest
		return true
	}
	return signed && p.hasTime && p.offset()
}

// relative adds n units. It reports false if the word is not a unit.
func (p *dateParser) relative(n int, unit string) bool {
	unit = strings.TrimSuffix(unit, "s")
	var apply func(sign int)
	days := map[string]int{"day": 1, "week": 7, "fortnight": 14}[unit]
	seconds := map[string]int{"hour": 3600, "minute": 60, "min": 60, "second": 1, "sec": 1}[unit]
	switch {
	case unit == "year":
		apply = func(sign int) { p.add[0] += sign * n }
	case unit == "month":
		apply = func(sign int) { p.add[1] += sign * n }
	case days > 0:
		apply = func(sign int) { p.add[2] += sign * n * days }
	case seconds > 0:
		apply = func(sign int) { p.seconds += int64(sign * n * seconds) }
	default:
		return false
	}
	apply(1)
	p.last = apply
	return true
}

// word parses a word such as yesterday, noon or monday.
func (p *dateParser) word() bool {
	word, rest := cutWord(p.rest)
	if word == "" {
		return false
	}
	p.rest = rest
	if ord, ok := ordinals[word]; ok {
		return p.afterOrdinal(ord)
	}
	if d := nameIndex(dayNames, word); d >= 0 {
		p.weekday, p.weekdayOrd = d, 0
		return true
	}
	switch word {
	case "now", "today":
	case "yesterday":
		p.add[2]--
	case "tomorrow":
		p.add[2]++
	case "midnight":
		p.hasTime = true
	case "noon":
		p.hasTime, p.hour = true, 12
	case "ago":
		if p.last == nil {
			return false
		}
		p.last(-2)
		p.last = nil
	default:
		return p.relative(1, word)
	}
	return true
}

func (p *dateParser) afterOrdinal(ord int) bool {
	word, rest := cutWord(strings.TrimLeft(p.rest, " "))
	p.rest = rest
	if d := nameIndex(dayNames, word); d >= 0 {
		p.weekday, p.weekdayOrd = d, ord
		return true
	}
	return p.relative(ord, word)
}

// bareNumber parses the year that ends "Jan 5 12:00:00 2024", or an hour.
func (p *dateParser) bareNumber() bool {
	n, rest, ok := cli.CutNumber(p.rest, 4)
	digits := len(p.rest) - len(rest)
	if !ok || rest != "" && cli.IsDigit(rest[0]) {
		return false
	}
	switch {
	case p.hasDate && digits == 4 && p.hasTime:
		p.year = n
	case !p.hasTime && digits == 4:
		p.hour, p.minute, p.hasTime = n/100, n%100, true
	case !p.hasTime && digits <= 2:
		p.hour, p.hasTime = n, true
	default:
		return false
	}
	p.rest = rest
	return p.hour < 24 && p.minute < 60
}

// result combines the parts.
func (p *dateParser) result() (time.Time, bool) {
	if p.epoch != nil {
		t := p.epoch.In(p.now.Location()).AddDate(p.add[0], p.add[1], p.add[2])
		return p.later(t), !p.hasDate && !p.hasTime
	}
	now := p.now.In(p.loc)
	y, m, d := now.Date()
	if p.hasDate {
		y, m, d = p.year, time.Month(p.month), p.day
	}
	hour, minute, sec, nanos := p.hour, p.minute, p.sec, p.nanos
	if !p.hasTime && !p.hasDate && p.weekday < 0 {
		hour, minute, sec, nanos = now.Hour(), now.Minute(), now.Second(), now.Nanosecond()
	}
	t := time.Date(y+p.add[0], m+time.Month(p.add[1]), d+p.add[2], hour, minute, sec, nanos, p.loc)
	if p.weekday >= 0 && !p.hasDate {
		t = t.AddDate(0, 0, p.toWeekday(t))
	}
	return p.later(t), true
}

// later adds the relative seconds.
func (p *dateParser) later(t time.Time) time.Time {
	return time.Unix(t.Unix()+p.seconds, int64(t.Nanosecond())).In(p.now.Location())
}

// toWeekday returns the days until the given day of the week: "monday" is today or the
// next one, "next monday" is never today, "last monday" is before today.
func (p *dateParser) toWeekday(t time.Time) int {
	days := (p.weekday - int(t.Weekday()) + 7) % 7
	if p.weekdayOrd > 0 && days != 0 {
		return days + 7*(p.weekdayOrd-1)
	}
	return days + 7*p.weekdayOrd
}
