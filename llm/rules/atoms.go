package rules

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hako/llm"
)

// findAtoms puts marks for everything that is not to be read as words: first quoted texts, then files, dates, paths and
// numbers.
func (l *requestText) findAtoms(files []llm.File) {
	l.findQuotes()
	l.findFiles(files)
	for _, f := range atomForms() {
		l.findForm(f)
	}
	l.findKanjiNumbers()
}

// quotePairs lists the quotes that open a text and those that close it.
var quotePairs = map[rune]string{'"': `"`, '“': `”"`, '”': `”`, '„': `“”`, '「': `」`, '『': `』`, '`': "`", '\'': `'`,
	'‘': `'`, '«': `»`}

func (l *requestText) findQuotes() {
	for i := 0; i < len(l.cells); i++ {
		closers, ok := quotePairs[l.cells[i].r]
		if !ok || !l.opens(i) {
			continue
		}
		if end := l.closing(i, closers); end > 0 {
			inner := l.src[l.cells[i].to:l.cells[end].from]
			l.mark(quoteMark, i, end+1, atom{text: inner})
		}
	}
}

// opens reports whether the quote at i can open: an apostrophe inside a word does not.
func (l *requestText) opens(i int) bool {
	if r := l.cells[i].r; r != '\'' {
		return true
	}
	return !isWord(l.at(i-1)) && l.at(i+1) != ' '
}

// closing finds the quote that ends the text opened at i; 0 means none.
func (l *requestText) closing(i int, closers string) int {
	for j := i + 1; j < len(l.cells); j++ {
		r := l.cells[j].r
		if !strings.ContainsRune(closers, r) || r == '\'' && isWord(l.at(j+1)) {
			continue
		}
		return j
	}
	return 0
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
}

// A fileName is one name of a granted file.
type fileName struct {
	runes []rune
	name  string
}

// findFiles puts marks for granted files, called by their name, the end of their path, or a quoted text that is one of
// these.
func (l *requestText) findFiles(files []llm.File) {
	names := fileNames(files)
	for i := 0; i < len(l.cells); i++ {
		if l.cells[i].r == quoteMark {
			l.quotedFile(i, names)
			continue
		}
		for _, n := range names {
			if l.named(i, n.runes) {
				l.mark(fileMark, i, i+len(n.runes), atom{text: n.name})
				break
			}
		}
	}
}

func (l *requestText) quotedFile(i int, names []fileName) {
	quoted := foldedRunes(l.atoms[l.cells[i].atom].text)
	for _, n := range names {
		if slices.Equal(n.runes, quoted) {
			l.cells[i].r = fileMark
			l.atoms[l.cells[i].atom].text = n.name
			return
		}
	}
}

// fileNames lists the names of the files, the longest first, without those that two files share.
func fileNames(files []llm.File) (list []fileName) {
	owners := map[string][]string{}
	for _, f := range files {
		for _, way := range ways(f.Name) {
			key := string(foldedRunes(way))
			if !slices.Contains(owners[key], f.Name) {
				owners[key] = append(owners[key], f.Name)
			}
		}
	}
	for way, of := range owners {
		if exact := slices.Index(of, way); exact >= 0 {
			of = of[exact : exact+1]
		}
		if len(of) == 1 && way != "" {
			list = append(list, fileName{[]rune(way), of[0]})
		}
	}
	slices.SortFunc(list, func(a, b fileName) int {
		return cmp.Or(cmp.Compare(len(b.runes), len(a.runes)), slices.Compare(a.runes, b.runes))
	})
	return list
}

// ways lists the names of a file.
func ways(name string) []string {
	base := path.Base(name)
	list := []string{name, base}
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != base && stem != "" {
		list = append(list, stem+" file", stem+"ファイル", stem+"のファイル")
	}
	return list
}

func foldedRunes(s string) (list []rune) {
	for _, c := range foldText(s) {
		list = append(list, c.r)
	}
	return list
}

// named reports whether a name is at i, as a word of its own.
func (l *requestText) named(i int, name []rune) bool {
	for k, r := range name {
		if l.at(i+k) != r {
			return false
		}
	}
	end := i + len(name)
	if end > len(l.cells) {
		return false
	}
	return !(inName(name[0]) && inName(l.at(i-1))) && !(inName(name[len(name)-1]) && l.nameGoesOn(end))
}

// nameGoesOn reports whether the character at i continues a name; a full stop may end the sentence.
func (l *requestText) nameGoesOn(i int) bool {
	if l.at(i) == '.' {
		return inName(l.at(i + 1))
	}
	return inName(l.at(i))
}

func inName(r rune) bool { return isWord(r) || strings.ContainsRune("-./\\", r) }

// An atomForm is a pattern that becomes a mark.
type atomForm struct {
	mark rune
	re   *regexp.Regexp // the group is what is marked
}

var atomForms = sync.OnceValue(func() (list []atomForm) {
	const begin, end = `(?:^|[^a-z0-9_.])`, `(?:[^a-z0-9_]|$)`
	for _, f := range []struct {
		mark    rune
		pattern string
	}{
		{dateMark, begin + `(\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[t ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:z|[-+]\d{2}:?\d{2})?)?)` + end},
		{dateMark, begin + `(\d{4}-\d{2})` + `(?:[^-a-z0-9_]|$)`},
		{dateMark, `(?:^|[^0-9])((?:\d+年)?\d+月(?:\d+日)?|\d+年|\d+日)(?:[^ご毎別単]|$)`},
		{dateMark, `(?:^|[^0-9])(\d+時(?:\d+分|台|頃|ごろ)|\d+時)(?:[^間ご毎別単]|$)`},
		{dateMark, begin + `(\d{1,2}:\d{2}(?::\d{2})?)` + end},
		{dateMark, begin + `(\d+(?:\.\d+){2,})` + end},
		{pathMark, `(?:^|[^a-z0-9_.)\]])(\.[a-z_][\w-]*(?:\[\d*\])*(?:\.[a-z_][\w-]*(?:\[\d*\])*)*)`},
		{numberMark, begin + `(\d{1,3}(?:,\d{3})+)` + end},
		{numberMark, `(?:^|[^a-z0-9_.]|\btop)(\d+(?:\.\d+)?)(?:[^a-z0-9_.]|\.(?:[^0-9]|$)|$|(?:st|nd|rd|th)\b)`},
	} {
		list = append(list, atomForm{f.mark, regexp.MustCompile(f.pattern)})
	}
	return list
})

func (l *requestText) findForm(f atomForm) {
	for start := 0; ; {
		s, index := l.view()
		begin, ok := slices.BinarySearch(index, start)
		if !ok {
			return
		}
		// The context before the group must be seen, so the search begins one character earlier.
		m := f.re.FindStringSubmatchIndex(s[begin:])
		if m == nil {
			return
		}
		from, to := index[begin+m[2]], index[begin+m[3]]
		text := l.original(from, to)
		l.mark(f.mark, from, to, atom{text: text, num: number(text)})
		start = from
	}
}

// number reads digits of any width; what is no number is 0.
func number(text string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(string(foldedRunes(text)), ",", ""), 64)
	if err != nil {
		return 0
	}
	return n
}

const (
	kanjiDigits = "〇一二三四五六七八九"
	counters    = "行件個つ列番位種回文"
)

// findKanjiNumbers puts marks for 五 in 五件 or 十 in 最初の十行; without a counter such a character is part of a word.
func (l *requestText) findKanjiNumbers() {
	for i := 0; i < len(l.cells); i++ {
		end := i
		for strings.ContainsRune(kanjiDigits+"十百", l.at(end)) && end < len(l.cells) {
			end++
		}
		if end == i || !l.counted(end) {
			i = max(i, end-1)
			continue
		}
		l.mark(numberMark, i, end, atom{text: l.original(i, end), num: kanjiNumber(l.cells[i:end])})
	}
}

func (l *requestText) counted(i int) bool {
	if l.at(i) == '番' {
		return l.at(i+1) == '目'
	}
	return strings.ContainsRune(counters, l.at(i)) && i < len(l.cells)
}

func kanjiNumber(cells []cell) float64 {
	total, digit := 0, -1
	for _, c := range cells {
		switch c.r {
		case '百':
			total, digit = total+100*abs1(digit), -1
		case '十':
			total, digit = total+10*abs1(digit), -1
		default:
			digit = max(digit, 0)*10 + slices.Index([]rune(kanjiDigits), c.r)
		}
	}
	return float64(total + max(digit, 0))
}

// abs1 is 1 for a digit that was not written: 十 is ten.
func abs1(n int) int {
	if n < 0 {
		return 1
	}
	return n
}
