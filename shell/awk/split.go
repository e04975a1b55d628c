package awk

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// split appends the fields of s to list.
func (m *machine) split(list []string, s string, by *splitter) []string {
	if s == "" {
		return list
	}
	switch by.kind {
	case bySpace:
		return m.splitSpace(list, s)
	case byChar:
		return m.splitChar(list, s, by.char, m.rs.paragraph && by == m.rec.by)
	case byRegex, bySet:
		return m.splitRegex(list, s, by.re, m.rs.paragraph && by == m.rec.by)
	case byRune:
		for i := 0; i < len(s); {
			_, n := utf8.DecodeRuneInString(s[i:])
			list = m.add(list, s[i:i+n])
			i += n
		}
		return list
	case byContent:
		return m.splitContent(list, nil, s, by.re)
	case byWidth:
		return splitWidths(list, s, by.widths)
	}
	return m.splitComma(list, s)
}

// add appends a field; a list that grows long is checked against the limits.
func (m *machine) add(list []string, field string) []string {
	if len(list)&4095 == 4095 {
		m.fits(len(list) * 40)
		m.look()
	}
	return append(list, field)
}

func (m *machine) splitSpace(list []string, s string) []string {
	for i := 0; ; {
		for i < len(s) && separates[s[i]] {
			i++
		}
		if i == len(s) {
			return list
		}
		start := i
		for i < len(s) && !separates[s[i]] {
			i++
		}
		list = m.add(list, s[start:i])
	}
}

func (m *machine) splitChar(list []string, s string, c byte, lines bool) []string {
	start := 0
	for i := range len(s) {
		if s[i] == c || lines && s[i] == '\n' {
			list = m.add(list, s[start:i])
			start = i + 1
		}
	}
	return append(list, s[start:])
}

// splitRegex cuts at every match that is not empty.
func (m *machine) splitRegex(list []string, s string, re *regex, lines bool) []string {
	b := m.bytes(s)
	start, from := 0, 0
	for from <= len(b) {
		m.tick()
		loc := re.find(b, from, m.loc)
		line := -1
		if lines {
			line = strings.IndexByte(s[from:], '\n')
		}
		if line >= 0 && (loc == nil || from+line < loc[0]) {
			list = m.add(list, s[start:from+line])
			start = from + line + 1
			from = start
			continue
		}
		if loc == nil {
			break
		}
		m.loc = loc
		if loc[0] == loc[1] {
			from = loc[1] + 1
			continue
		}
		list = m.add(list, s[start:loc[0]])
		start, from = loc[1], loc[1]
	}
	return append(list, s[start:])
}

// splitContent takes the matches for fields; what stands between them goes to
// seps, the part before the first first.
func (m *machine) splitContent(list []string, seps *[]string, s string, re *regex) []string {
	b := m.bytes(s)
	end := 0
	for from := 0; from <= len(b); {
		m.tick()
		loc := re.find(b, from, m.loc)
		if loc == nil {
			break
		}
		m.loc = loc
		if loc[0] == loc[1] && loc[0] == end && len(list) > 0 { // an empty match right behind a field
			from = loc[1] + 1
			continue
		}
		if seps != nil {
			*seps = m.add(*seps, s[end:loc[0]])
		}
		list = m.add(list, s[loc[0]:loc[1]])
		end = loc[1]
		from = max(loc[1], from+1)
		if loc[0] == loc[1] {
			from = loc[1] + 1
		}
	}
	if seps != nil {
		*seps = m.add(*seps, s[end:])
	}
	return list
}

func splitWidths(list []string, s string, widths []int) []string {
	for _, w := range widths {
		if s == "" {
			break
		}
		end := len(s)
		if w >= 0 {
			end = charOffset(s, w)
		}
		list = append(list, s[:end])
		s = s[end:]
	}
	return list
}

// charOffset returns where character n of s begins, or its end.
func charOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// splitComma reads one record of comma-separated values with quotes.
func (m *machine) splitComma(list []string, s string) []string {
	for {
		if s != "" && s[0] == '"' {
			var field string
			field, s = quotedField(s[1:])
			list = m.add(list, field)
			i := strings.IndexByte(s, ',')
			if i < 0 {
				return list
			}
			s = s[i+1:]
			continue
		}
		field, rest, more := strings.Cut(s, ",")
		list = m.add(list, field)
		if !more {
			return list
		}
		s = rest
	}
}

// quotedField reads up to the closing quote; two quotes stand for one.
func quotedField(s string) (field, rest string) {
	var b strings.Builder
	for {
		part, tail, closed := strings.Cut(s, `"`)
		b.WriteString(part)
		if !closed || !strings.HasPrefix(tail, `"`) {
			return b.String(), tail
		}
		b.WriteByte('"')
		s = tail[1:]
	}
}

// parseWidths reads FIELDWIDTHS: numbers, and * for the rest.
func parseWidths(s string) []int {
	var widths []int
	for word := range strings.FieldsSeq(s) {
		n, err := strconv.Atoi(word)
		if word == "*" {
			n = -1
		} else if err != nil || n < 0 {
			fail(0, "invalid FIELDWIDTHS value, for field %d, near `%s'", len(widths)+1, word)
		}
		widths = append(widths, n)
	}
	return widths
}
