package speech

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPiece is the length of a piece in characters. A longer one would delay the sound.
const maxPiece = 200

// speakable returns the part of an answer that can be read aloud: without code, markdown and emoji, with the
// text of links and the host of URLs. It may be empty.
func speakable(text string) string {
	var lines []string
	fence := "" // end of the current code block
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
	lines = slices.DeleteFunc(lines, func(l string) bool { return !hasSound(l) })
	return strings.Join(lines, "\n")
}

// hasSound reports whether a text contains a letter or digit.
func hasSound(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// fenceOf returns the marks that begin or end a code block, or "".
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return line[:n]
		}
	}
	return ""
}

func speakLine(line string) string {
	line = stripBlockMarks(line)
	if strings.HasPrefix(line, "|") {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '|' }), "、")
	}
	return strings.Join(strings.Fields(strings.Map(audibleRune, stripInlineMarks(line))), " ")
}

// audibleRune drops characters that cannot be read aloud.
func audibleRune(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(pictures, r) || !unicode.IsPrint(r):
		return -1
	}
	return r
}

// stripBlockMarks removes the marks of headings, quotations and list items.
func stripBlockMarks(line string) string {
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

// lookahead bounds the search for the end of a mark, in bytes: otherwise a line full of beginnings would take
// quadratic time.
const lookahead = 1000

// stripInlineMarks removes the inline marks of a line.
func stripInlineMarks(line string) string {
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

// token returns what is read aloud for the beginning of a line, and its length in bytes.
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

// code parses a code span.
func code(line string) (string, int) {
	rest := strings.TrimLeft(line, "`")
	n := len(line) - len(rest)
	end := strings.Index(rest[:min(len(rest), lookahead)], line[:n])
	if end < 0 {
		return "", n
	}
	return rest[:end], n + end + n
}

// link parses [text](url), [text][name] and images; footnote marks are dropped. It uses nothing if there is no link.
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
			return stripInlineMarks(text), used + more
		}
	}
	return "", 0
}

// enclosed returns the text between a pair of brackets.
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

// tag parses <https://…> and HTML tags, which are dropped.
func tag(line string) (string, int) {
	end := strings.IndexByte(line[:min(len(line), lookahead)], '>')
	if end < 2 || !strings.ContainsRune("/!", rune(line[1])) && !isLatin(line[1]) {
		return "", 0
	}
	host, _ := bareURL(line[1:end])
	return host, end + 1
}

func isLatin(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// bareURL parses a URL and returns its host.
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
	host = host[strings.LastIndexByte(host, '@')+1:] // do not read a password aloud
	host, _, _ = strings.Cut(host, ":")
	host, _, _ = strings.Cut(host, "?")
	return host, len(line) - len(rest) + len(whole)
}

// emphasis drops emphasis marks and keeps literal ones: 3 * 4, snake_case.
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

// pictures are emoji, and the characters that join and vary them.
var pictures = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x200d, Hi: 0x200d, Stride: 1}, {Lo: 0x20e3, Hi: 0x20e3, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1},
		{Lo: 0x23e9, Hi: 0x23fa, Stride: 1}, {Lo: 0x25b6, Hi: 0x25b6, Stride: 1}, {Lo: 0x25c0, Hi: 0x25c0, Stride: 1},
		{Lo: 0x2600, Hi: 0x27bf, Stride: 1}, {Lo: 0x2b00, Hi: 0x2bff, Stride: 1}, {Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}, {Lo: 0xe0000, Hi: 0xe01ef, Stride: 1}},
}

// split cuts a text into pieces of at most so many characters, at sentence ends if possible.
func split(text string, most int) []string {
	var all []string
	piece, size := "", 0
	flush := func() {
		if hasSound(piece) {
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

// sentence returns the length in bytes of the first sentence, or of the part that fits.
func sentence(text string, most int) int {
	pause, count := 0, 0 // pause is the last place to cut
	for i, r := range text {
		if count == most {
			return cmp.Or(pause, i)
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

// ends reports whether a character ends a sentence. A dot in 3.14 or example.com does not.
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

// closing returns the length in bytes of the closing punctuation after a sentence.
func closing(rest string, most int) int {
	for i, r := range rest {
		if most == 0 || !strings.ContainsRune("。！？.!?」』）)]\"'”’", r) {
			return i
		}
		most--
	}
	return len(rest)
}
