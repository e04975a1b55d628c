package speech

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestPiece is how many characters the engine gets at once. More take long
// and would have to be waited for before anything is heard.
const longestPiece = 200

// Speakable returns what of an answer can be read aloud: no code, no marks of
// markdown, of a link its text, of an address its host, no emoji. It is empty
// if nothing is left to say.
func Speakable(text string) string {
	var lines []string
	fence := "" // what ends the code block that we are in
	for line := range strings.Lines(strings.ToValidUTF8(text, "")) {
		line = strings.TrimSpace(line)
		mark := fenceOf(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == line {
				fence = ""
			}
		case mark != "":
			fence = mark
		default:
			lines = append(lines, speakLine(line))
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return !sayable(l) })
	return strings.Join(lines, "\n")
}

// sayable tells whether there is anything in a text that has a sound.
func sayable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// fenceOf returns the marks that begin or end a block of code, or nothing.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return line[:n]
		}
	}
	return ""
}

// speakLine makes one line speakable.
func speakLine(line string) string {
	line = unmark(line)
	if strings.HasPrefix(line, "|") {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '|' }), "、")
	}
	return strings.Join(strings.Fields(strings.Map(audible, inline(line))), " ")
}

// audible drops a character that cannot be read aloud.
func audible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(pictures, r) || !unicode.IsPrint(r):
		return -1
	}
	return r
}

// unmark takes off what makes a line a heading, a quotation or an item.
func unmark(line string) string {
	for {
		rest := strings.TrimLeft(line, ">")
		if bare := strings.TrimLeft(rest, "#"); strings.HasPrefix(bare, " ") {
			rest = bare
		}
		for _, mark := range []string{"- ", "* ", "+ ", "[ ] ", "[x] ", "[X] "} {
			rest = strings.TrimPrefix(rest, mark)
		}
		if rest = strings.TrimSpace(rest); rest == line {
			return line
		}
		line = rest
	}
}

// lookahead is how far the end of a mark is looked for, in bytes. Without a
// bound, a line full of beginnings would be read again for each of them.
const lookahead = 1000

// inline takes the marks out of a line.
func inline(line string) string {
	var out strings.Builder
	before := ' '
	for line != "" {
		said, used := token(line, before)
		out.WriteString(said)
		before, _ = utf8.DecodeLastRuneInString(line[:used])
		line = line[used:]
	}
	return out.String()
}

// token returns what is said of the beginning of a line, and how many bytes
// that was.
func token(line string, before rune) (said string, used int) {
	r, size := utf8.DecodeRuneInString(line)
	switch {
	case r == '`':
		return code(line)
	case r == '[' || strings.HasPrefix(line, "!["):
		if said, used = link(line); used > 0 {
			return said, used
		}
	case r == '<':
		if said, used = tag(line); used > 0 {
			return said, used
		}
	case r == 'h' && (before > unicode.MaxASCII || !isWord(before)):
		if said, used = bareURL(line); used > 0 {
			return said, used
		}
	case r == '\\' && len(line) > 1 && unicode.In(rune(line[1]), unicode.Punct, unicode.Symbol):
		return line[1:2], 2
	case r == '*' || r == '_' || strings.HasPrefix(line, "~~"):
		return emphasis(line, before)
	}
	return line[:size], size
}

// code reads a text between backquotes.
func code(line string) (string, int) {
	rest := strings.TrimLeft(line, "`")
	n := len(line) - len(rest)
	end := strings.Index(rest[:min(len(rest), lookahead)], line[:n])
	if end < 0 {
		return "", n
	}
	return rest[:end], n + end + n
}

// link reads [text](address), [text][name] and images; of a footnote's mark
// nothing is said. It uses nothing if there is none.
func link(line string) (string, int) {
	text, used := enclosed(strings.TrimPrefix(line, "!"), '[', ']')
	if used == 0 {
		return "", 0
	}
	used += len(line) - len(strings.TrimPrefix(line, "!"))
	if strings.HasPrefix(text, "^") {
		return "", used
	}
	for _, pair := range []string{"()", "[]"} {
		if _, more := enclosed(line[used:], pair[0], pair[1]); more > 0 {
			return inline(text), used + more
		}
	}
	return "", 0
}

// enclosed reads what stands between a pair of brackets.
func enclosed(line string, open, shut byte) (string, int) {
	line = line[:min(len(line), lookahead)]
	if line == "" || line[0] != open || strings.IndexByte(line, shut) < 0 {
		return "", 0
	}
	depth := 0
	for i := range len(line) {
		switch line[i] {
		case open:
			depth++
		case shut:
			depth--
		}
		if depth == 0 {
			return line[1:i], i + 1
		}
	}
	return "", 0
}

// tag reads <https://…> and what looks like HTML, of which nothing is said.
func tag(line string) (string, int) {
	end := strings.IndexByte(line[:min(len(line), lookahead)], '>')
	if end < 2 || !strings.ContainsRune("/!", rune(line[1])) && !isLatin(line[1]) {
		return "", 0
	}
	host, _ := bareURL(line[1:end])
	return host, end + 1
}

func isLatin(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// bareURL reads an address and says its host.
func bareURL(line string) (string, int) {
	rest, ok := strings.CutPrefix(line, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(line, "http://"); !ok {
			return "", 0
		}
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>\"`|", r) })
	if end < 0 {
		end = len(rest)
	}
	whole := strings.TrimRight(rest[:end], ".,:;!?)]*_'")
	host, _, _ := strings.Cut(whole, "/")
	host = host[strings.LastIndexByte(host, '@')+1:] // a password is not said aloud
	host, _, _ = strings.Cut(host, ":")
	host, _, _ = strings.Cut(host, "?")
	return host, len(line) - len(rest) + len(whole)
}

// emphasis drops marks that stand at a word, and keeps what is a character of
// its own: 3 * 4, snake_case.
func emphasis(line string, before rune) (string, int) {
	rest := strings.TrimLeft(line, line[:1])
	marks := line[:len(line)-len(rest)]
	next, _ := utf8.DecodeRuneInString(rest)
	alone := unicode.IsSpace(before) && (rest == "" || unicode.IsSpace(next))
	inside := marks[0] == '_' && isWord(before) && isWord(next) || marks[0] == '*' && unicode.IsNumber(before) &&
		unicode.IsNumber(next)
	if alone || inside {
		return marks, len(marks)
	}
	return "", len(marks)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// pictures are the characters that are shown as pictures, and what joins and
// varies them.
var pictures = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x200d, Hi: 0x200d, Stride: 1}, {Lo: 0x20e3, Hi: 0x20e3, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1},
		{Lo: 0x23e9, Hi: 0x23fa, Stride: 1}, {Lo: 0x25b6, Hi: 0x25b6, Stride: 1}, {Lo: 0x25c0, Hi: 0x25c0, Stride: 1},
		{Lo: 0x2600, Hi: 0x27bf, Stride: 1}, {Lo: 0x2b00, Hi: 0x2bff, Stride: 1}, {Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}, {Lo: 0xe0000, Hi: 0xe01ef, Stride: 1}},
}

// split cuts a text into pieces of at most so many characters, at the ends of
// sentences where that is possible.
func split(text string, most int) []string {
	var all []string
	piece, size := "", 0
	flush := func() {
		if sayable(piece) {
			all = append(all, strings.TrimSpace(piece))
		}
		piece, size = "", 0
	}
	for text != "" {
		end := sentence(text, most)
		n := utf8.RuneCountInString(text[:end])
		if size+n > most {
			flush()
		}
		piece, size, text = piece+text[:end], size+n, text[end:]
	}
	flush()
	return all
}

// sentence returns how many bytes the first sentence of a text has, or as much
// of it as fits.
func sentence(text string, most int) int {
	pause, count := 0, 0 // where a reader could breathe
	for i, r := range text {
		if count == most {
			return orElse(pause, i)
		}
		count++
		next := i + utf8.RuneLen(r)
		switch {
		case ends(r, text[next:]):
			return next + closing(text[next:], most-count)
		case strings.ContainsRune("、，,;； 　", r):
			pause = next
		}
	}
	return len(text)
}

func orElse(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// ends tells whether a character is the last of a sentence. A dot is not one in
// 3.14 and example.com.
func ends(r rune, rest string) bool {
	switch r {
	case '。', '！', '？', '\n':
		return true
	case '.', '!', '?':
		next, _ := utf8.DecodeRuneInString(rest)
		return rest == "" || unicode.IsSpace(next) || next > unicode.MaxASCII
	}
	return false
}

// closing returns how many bytes of what follows a sentence still belong to it.
func closing(rest string, most int) int {
	for i, r := range rest {
		if most == 0 || !strings.ContainsRune("。！？.!?」』）)]\"'”’", r) {
			return i
		}
		most--
	}
	return len(rest)
}
