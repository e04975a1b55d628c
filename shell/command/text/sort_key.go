package text

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A sortKey is a part of a line and the way to compare it.
type sortKey struct {
	startField, startChar int // from 1
	endField, endChar     int // endField 0: to the end of the line; endChar 0: to the end of the field
	blankStart, blankEnd  bool

	kinds                         string // at most one of n g h M V R in a valid key; empty: text
	reverse, fold, dict, printing bool
}

// letter applies an ordering option to the whole key.
func (k *sortKey) letter(l byte) {
	k.option(l)
	if l == 'b' {
		k.blankEnd = true
	}
}

func (k *sortKey) option(l byte) bool {
	switch l {
	case 'b':
		k.blankStart = true
	case 'd':
		k.dict = true
	case 'f':
		k.fold = true
	case 'i':
		k.printing = true
	case 'r':
		k.reverse = true
	case 'n', 'g', 'h', 'M', 'V', 'R':
		if strings.IndexByte(k.kinds, l) < 0 {
			k.kinds += string(l)
		}
	default:
		return false
	}
	return true
}

// inherit applies the global options if the key has none of its own.
func (k *sortKey) inherit(g sortKey) {
	if k.blankStart || k.blankEnd || k.kinds != "" || k.reverse || k.fold || k.dict || k.printing {
		return
	}
	k.blankStart, k.blankEnd, k.kinds = g.blankStart, g.blankEnd, g.kinds
	k.reverse, k.fold, k.dict, k.printing = g.reverse, g.fold, g.dict, g.printing
}

func (k sortKey) kind() byte {
	if k.kinds == "" {
		return 0
	}
	return k.kinds[0]
}

// wholeText reports whether the key is the line itself.
func (k sortKey) wholeText() bool {
	return k.startField == 1 && k.startChar == 1 && k.endField == 0 && !k.blankStart
}

// plain reports whether keys are compared bytewise.
func (k sortKey) plain() bool { return k.kinds == "" && !k.fold && !k.dict && !k.printing }

// foldOnly reports whether keys are compared bytewise except for case.
func (k sortKey) foldOnly() bool { return k.kinds == "" && k.fold && !k.dict && !k.printing }

func (k sortKey) plainLine() bool { return k.wholeText() && k.plain() }

// parseSortKey reads F[.C][OPTS][,F[.C][OPTS]].
func parseSortKey(text string) (k sortKey, err error) {
	k.startChar = 1
	bad := func(what string) (sortKey, error) {
		return k, fmt.Errorf("%s: invalid field specification ‘%s’", what, text)
	}
	rest, err := keyNumber(text, "at field start", &k.startField)
	if err != nil {
		return k, err
	}
	if k.startField == 0 {
		return bad("field number is zero")
	}
	if after, dot := strings.CutPrefix(rest, "."); dot {
		if rest, err = keyNumber(after, "after '.'", &k.startChar); err != nil {
			return k, err
		}
		if k.startChar == 0 {
			return bad("character offset is zero")
		}
	}
	for rest != "" && k.option(rest[0]) {
		rest = rest[1:]
	}
	if after, comma := strings.CutPrefix(rest, ","); comma {
		if rest, err = keyNumber(after, "after ','", &k.endField); err != nil {
			return k, err
		}
		if k.endField == 0 {
			return bad("field number is zero")
		}
		if after, dot := strings.CutPrefix(rest, "."); dot {
			if rest, err = keyNumber(after, "after '.'", &k.endChar); err != nil {
				return k, err
			}
		}
		rest = k.endOptions(rest)
	}
	if rest != "" {
		return bad("stray character in field spec")
	}
	return k, nil
}

// endOptions parses the options after the end position, where b applies to the end only.
func (k *sortKey) endOptions(rest string) string {
	for rest != "" {
		if rest[0] == 'b' {
			k.blankEnd = true
		} else if !k.option(rest[0]) {
			break
		}
		rest = rest[1:]
	}
	return rest
}

// keyNumber reads the number at the start of text. One that is too large becomes the
// largest.
func keyNumber(text, where string, n *int) (rest string, err error) {
	rest = strings.TrimLeft(text, "0123456789")
	if rest == text {
		return "", fmt.Errorf("invalid number %s: invalid count at start of ‘%s’", where, text)
	}
	v, _ := strconv.ParseInt(text[:len(text)-len(rest)], 10, 32)
	*n = int(v)
	return rest, nil
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// extract returns the bytes of the line that the key covers.
func (k *sortKey) extract(line []byte, sep int) []byte {
	if k.wholeText() {
		return line
	}
	from := skipFields(line, sep, k.startField-1)
	if k.blankStart {
		from += leadingBlanks(line[from:])
	}
	from = min(len(line), from+k.startChar-1)
	if k.endField == 0 {
		return line[from:]
	}
	to := k.limit(line, sep)
	return line[from:max(from, to)]
}

// limit returns where the key ends.
func (k *sortKey) limit(line []byte, sep int) int {
	if k.endChar > 0 {
		to := skipFields(line, sep, k.endField-1)
		if k.blankEnd {
			to += leadingBlanks(line[to:])
		}
		return min(len(line), to+k.endChar)
	}
	if sep < 0 {
		return skipFields(line, sep, k.endField)
	}
	to := skipFields(line, sep, k.endField-1)
	if i := bytes.IndexByte(line[to:], byte(sep)); i >= 0 {
		return to + i
	}
	return len(line)
}

// skipFields returns where field n begins, from 0. Without a separator, a field includes
// the blanks before it.
func skipFields(line []byte, sep, n int) int {
	pos := 0
	for ; n > 0 && pos < len(line); n-- {
		if sep >= 0 {
			i := bytes.IndexByte(line[pos:], byte(sep))
			if i < 0 {
				return len(line)
			}
			pos += i + 1
			continue
		}
		pos += leadingBlanks(line[pos:])
		for pos < len(line) && !isBlank(line[pos]) {
			pos++
		}
	}
	return pos
}

func leadingBlanks(b []byte) int {
	n := 0
	for n < len(b) && isBlank(b[n]) {
		n++
	}
	return n
}
