package rules

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Marks replace parts of a request, so that a rule can match "a quoted text" or "a file". They are characters of
// private use, which are removed from requests.
const (
	quoteMark  = '\uE000' // a text in quotes
	fileMark   = '\uE001' // the name of a granted file
	numberMark = '\uE002' // a number
	dateMark   = '\uE003' // a date, a time, an address: digits that are no number
	pathMark   = '\uE004' // a path into JSON: .a.b
	hole       = '\uE005' // what a rule has consumed already
)

// A cell is one folded character of a request, and its position.
type cell struct {
	r        rune
	from, to int // bytes of the request
	atom     int // index of what a mark replaces
}

// foldText returns the cells of a request: one width, one case, no runs of spaces.
func foldText(s string) []cell {
	cells := make([]cell, 0, len(s))
	for i, r := range s {
		r = foldRune(r)
		last := len(cells) - 1
		if last >= 0 {
			cells[last].to = i
			if joined, ok := voiced(cells[last].r, r); ok {
				cells[last].r = joined
				continue
			}
			if r == ' ' && cells[last].r == ' ' {
				continue
			}
		}
		cells = append(cells, cell{r: r, from: i, to: len(s)})
	}
	if last := len(cells) - 1; last >= 0 {
		cells[last].to = len(s)
	}
	return cells
}

// foldRune maps equivalent characters to one.
func foldRune(r rune) rune {
	if r >= 0xE000 && r <= 0xF8FF {
		return unicode.ReplacementChar
	}
	r = cmp.Or(width.LookupRune(r).Folded(), r)
	switch {
	case unicode.IsSpace(r):
		return ' '
	case strings.ContainsRune("‐‑‒–—―−", r):
		return '-'
	case r == '〜' || r == '∼':
		return '~'
	case r == '’' || r == 'ʼ':
		return '\''
	}
	return unicode.ToLower(r)
}

// voiced joins a kana with a voicing mark that follows it.
func voiced(r, mark rune) (rune, bool) {
	if mark != '\u3099' && mark != '\u309A' {
		return 0, false
	}
	joined := []rune(norm.NFC.String(string([]rune{r, mark})))
	return joined[0], len(joined) == 1
}

// narrow replaces full-width ASCII by ASCII.
func narrow(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xFF01 && r <= 0xFF5E {
			return r - 0xFEE0
		}
		return r
	}, s)
}
