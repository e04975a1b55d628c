package rules

import (
	"strings"
	"unicode"
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
	atom     int // index of what a mark stands for
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
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // full-width ASCII
		r -= 0xFEE0
	case r >= 0xFF66 && r <= 0xFF9D: // half-width katakana
		return []rune(wideKana)[r-0xFF66]
	case r >= 0xE000 && r <= 0xF8FF:
		return unicode.ReplacementChar
	case unicode.IsSpace(r) || r == 0x3000:
		return ' '
	}
	switch r {
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '〜', '∼':
		return '~'
	case '’', 'ʼ':
		return '\''
	case '｡':
		return '。'
	case '､':
		return '、'
	}
	return unicode.ToLower(r)
}

// wideKana are the katakana in the order of their half-width forms.
const wideKana = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン"

// voiced joins a letter with a voicing mark that follows it.
func voiced(r, mark rune) (rune, bool) {
	switch mark {
	case 'ﾞ', '\u3099':
		if r == 'ウ' {
			return 'ヴ', true
		}
		if canVoice(r) {
			return r + 1, true
		}
	case 'ﾟ', '\u309A':
		if r >= 'ハ' && r <= 'ホ' && (r-'ハ')%3 == 0 || r >= 'は' && r <= 'ほ' && (r-'は')%3 == 0 {
			return r + 2, true
		}
	}
	return 0, false
}

// canVoice reports whether the next code is the voiced form of a kana.
func canVoice(r rune) bool {
	if r >= 'ぁ' && r <= 'ゖ' {
		r += 'ァ' - 'ぁ'
	}
	switch {
	case r >= 'カ' && r <= 'チ':
		return (r-'カ')%2 == 0
	case r >= 'ツ' && r <= 'ト':
		return (r-'ツ')%2 == 0
	case r >= 'ハ' && r <= 'ホ':
		return (r-'ハ')%3 == 0
	}
	return false
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
