package rules

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

var japaneseFillers = sync.OnceValue(func() *regexp.Regexp {
	words := strings.Fields(strings.Join(dataLines("japanese_fillers.txt"), " "))
	return regexp.MustCompile(`^(?:` + strings.Join(words, "|") + `)`)
})

// japaneseRest lists what no rule consumed and what is no filler.
func japaneseRest(l *requestText) (list []unknownWords) {
	filler := japaneseFillers()
	for i := 0; i < len(l.cells); {
		r := l.cells[i].r
		if r == hole || r == fileMark {
			i++
			continue
		}
		if isAtom(r) {
			list, i = l.addUnknown(list, i, i+1), i+1
			continue
		}
		if end := l.latinEnd(i); end > i {
			if !latinFillers(l.folded(i, end)) {
				list = l.addUnknown(list, i, end)
			}
			i = end
			continue
		}
		if n := l.fillerAt(filler, i); n > 0 && !l.insideWord(i, n) {
			i += n
			continue
		}
		end := l.unknownEnd(filler, i)
		list, i = l.addUnknown(list, i, end), end
	}
	return list
}

// latinEnd returns where a word in Latin letters ends that begins at i.
func (l *requestText) latinEnd(i int) int {
	end := i
	for end < len(l.cells) && (isWord(l.cells[end].r) || end > i && l.nameGoesOn(end)) {
		end++
	}
	return end
}

// fillerAt returns how many cells of filler begin at i.
func (l *requestText) fillerAt(filler *regexp.Regexp, i int) int {
	end := i
	for end < len(l.cells) && !isAtom(l.cells[end].r) && l.cells[end].r != hole && end < i+20 {
		end++
	}
	return len([]rune(filler.FindString(l.spelled(i, end))))
}

// insideWord reports whether a filler ends in the middle of a word of the same script: 中 in 中央, or data in database.
func (l *requestText) insideWord(i, n int) bool {
	last, next := l.cells[i+n-1].r, l.at(i+n)
	return script(last) != 0 && script(last) == script(next) || i > 0 && script(l.cells[i].r) != 0 &&
		script(l.cells[i].r) == script(l.at(i-1))
}

// script tells kanji, katakana and Latin letters apart; 0 is everything else.
func script(r rune) int {
	switch {
	case unicode.Is(unicode.Han, r):
		return 1
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return 2
	case isWord(r):
		return 3
	}
	return 0
}

// unknownEnd returns where an unknown word that begins at i ends.
func (l *requestText) unknownEnd(filler *regexp.Regexp, i int) int {
	end := i + 1
	for end < len(l.cells) {
		r := l.cells[end].r
		if isAtom(r) || r == hole || isWord(r) {
			break
		}
		if n := l.fillerAt(filler, end); n > 0 && !l.insideWord(end, n) {
			break
		}
		end++
	}
	return end
}
