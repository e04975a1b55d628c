package text

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

// An invalid byte is represented by a lone surrogate, which valid text does not contain.
const rawByte = 0xdc00

func isRawByte(r rune) bool { return r >= rawByte+0x80 && r <= rawByte+0xff }

func byteRune(b byte) rune {
	if b < utf8.RuneSelf {
		return rune(b)
	}
	return rawByte + rune(b)
}

// trSetMax is the maximum repeat count.
const trSetMax = 1 << 20

// trLongest is the maximum length of the text of a set, in bytes.
const trLongest = 32 << 10

// A trSet is the set of an operand, in order.
type trSet struct {
	runes      []rune
	open       int  // index of [x*], which may grow, or -1
	openRune   rune // its x
	otherClass bool // a class besides upper and lower
}

// fill extends the set to n characters if it has an open repeat.
func (s trSet) fill(n int) []rune {
	if s.open < 0 || len(s.runes) >= n {
		return s.runes
	}
	more := slices.Repeat([]rune{s.openRune}, n-len(s.runes))
	return slices.Insert(slices.Clone(s.runes), s.open, more...)
}

// A trChar is one character and whether it was escaped.
type trChar struct {
	r       rune
	escaped bool
}

func trChars(text string) []trChar {
	var out []trChar
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, trChar{byteRune(text[0]), false})
		case r == '\\' && len(text) > 1:
			var c rune
			c, n = trEscape(text)
			out = append(out, trChar{c, true})
		default:
			out = append(out, trChar{r, false})
		}
		text = text[n:]
	}
	return out
}

func trEscape(text string) (r rune, n int) {
	if i := strings.IndexByte("abfnrtv", text[1]); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i]), 2
	}
	n = 1
	v := 0
	for n < len(text) && n < 4 && text[n] >= '0' && text[n] <= '7' && v*8+int(text[n]-'0') < 256 {
		v = v*8 + int(text[n]-'0')
		n++
	}
	if n > 1 {
		return byteRune(byte(v)), n
	}
	r, size := utf8.DecodeRuneInString(text[1:])
	return r, 1 + size
}

func parseTrSet(text string) (trSet, error) {
	s := trSet{open: -1}
	if len(text) > trLongest {
		return s, fmt.Errorf("the set is longer than %d KB", trLongest>>10)
	}
	chars := trChars(text)
	for len(chars) > 0 {
		n, err := s.bracket(chars)
		if err != nil {
			return s, err
		}
		if n == 0 {
			if n, err = s.single(chars); err != nil {
				return s, err
			}
		}
		chars = chars[n:]
	}
	return s, nil
}

// single adds a character or a range.
func (s *trSet) single(chars []trChar) (int, error) {
	from := chars[0].r
	if len(chars) < 3 || chars[1] != (trChar{'-', false}) {
		s.runes = append(s.runes, from)
		return 1, nil
	}
	to := chars[2].r
	if to < from {
		return 0, fmt.Errorf("range-endpoints of '%s-%s' are in reverse collating sequence order", trSpell(from), trSpell(to))
	}
	if len(s.runes)+int(to-from) > 2*trSetMax {
		return 0, errors.New("the set is too large")
	}
	for r := from; r <= to; r++ {
		s.runes = append(s.runes, r)
	}
	return 3, nil
}

func trSpell(r rune) string {
	switch {
	case isRawByte(r):
		return fmt.Sprintf("\\%03o", byte(r))
	case r < ' ' || r == 0x7f:
		if i := strings.IndexByte("\a\b\f\n\r\t\v", byte(r)); i >= 0 {
			return "\\" + "abfnrtv"[i:i+1]
		}
		return fmt.Sprintf("\\%03o", r)
	}
	return string(r)
}

// bracket adds a class, an equivalence or a repeat. It returns 0 for an ordinary bracket.
func (s *trSet) bracket(chars []trChar) (int, error) {
	if len(chars) < 4 || chars[0] != (trChar{'[', false}) {
		return 0, nil
	}
	if kind := chars[1]; !kind.escaped && (kind.r == ':' || kind.r == '=') {
		for i := 3; i < len(chars); i++ {
			if chars[i] == (trChar{']', false}) && chars[i-1] == kind {
				return i + 1, s.named(kind.r, chars[2:i-1])
			}
		}
	}
	if chars[2] == (trChar{'*', false}) {
		return s.repeat(chars)
	}
	return 0, nil
}

func (s *trSet) named(kind rune, chars []trChar) error {
	var name strings.Builder
	for _, c := range chars {
		name.WriteRune(c.r)
	}
	if kind == '=' {
		if len(chars) != 1 {
			return fmt.Errorf("%s: equivalence class operand must be a single character", name.String())
		}
		s.runes = append(s.runes, chars[0].r)
		return nil
	}
	in, ok := trClasses[name.String()]
	if !ok {
		return fmt.Errorf("invalid character class %s", cli.QuoteCurly(name.String()))
	}
	s.otherClass = s.otherClass || name.String() != "upper" && name.String() != "lower"
	for b := range 128 {
		if in(byte(b)) {
			s.runes = append(s.runes, rune(b))
		}
	}
	return nil
}

// repeat adds [x*n], or stores [x*] for fill.
func (s *trSet) repeat(chars []trChar) (int, error) {
	end := slices.Index(chars, trChar{']', false})
	if end < 3 {
		return 0, nil
	}
	var digits strings.Builder
	for _, c := range chars[3:end] {
		if c.r < '0' || c.r > '9' {
			return 0, nil
		}
		digits.WriteRune(c.r)
	}
	base := 10
	if strings.HasPrefix(digits.String(), "0") {
		base = 8
	}
	n, err := strconv.ParseInt("0"+digits.String(), base, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid repeat count %s in [c*n] construct", cli.QuoteCurly(digits.String()))
	}
	if n == 0 {
		if s.open >= 0 {
			return 0, errors.New("only one [c*] repeat construct may appear in string2")
		}
		s.open, s.openRune = len(s.runes), chars[1].r
		return end + 1, nil
	}
	if len(s.runes) > 2*trSetMax {
		return 0, errors.New("the set is too large")
	}
	s.runes = append(s.runes, slices.Repeat([]rune{chars[1].r}, int(min(n, trSetMax)))...)
	return end + 1, nil
}

var trClasses = map[string]func(byte) bool{
	"alnum":  cli.IsAlnum,
	"alpha":  func(b byte) bool { return cli.IsAlnum(b) && !cli.IsDigit(b) },
	"blank":  isBlank,
	"cntrl":  func(b byte) bool { return b < ' ' || b == 0x7f },
	"digit":  cli.IsDigit,
	"graph":  func(b byte) bool { return b > ' ' && b < 0x7f },
	"lower":  func(b byte) bool { return b >= 'a' && b <= 'z' },
	"print":  func(b byte) bool { return b >= ' ' && b < 0x7f },
	"punct":  func(b byte) bool { return b > ' ' && b < 0x7f && !cli.IsAlnum(b) },
	"space":  func(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' },
	"upper":  func(b byte) bool { return b >= 'A' && b <= 'Z' },
	"xdigit": func(b byte) bool { return cli.IsDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' },
}

// runes translates characters.
func (t *translator) runes(in *stream.Reader) error {
	to := make(map[rune]rune, len(t.set1))
	for i, r := range t.set1 {
		to[r] = r
		if len(t.set2) > 0 && !t.remove {
			to[r] = t.set2[min(i, len(t.set2)-1)]
		}
	}
	squeezed := make(map[rune]bool)
	for _, r := range t.set2 {
		squeezed[r] = true
	}
	var part []byte
	for {
		b, err := in.Chunk()
		if err == io.EOF {
			t.translateRunes(part, to, squeezed, true)
			return t.out.Err()
		}
		if err != nil {
			return err
		}
		if len(part) > 0 {
			b = append(part, b...)
		}
		part = append([]byte(nil), t.translateRunes(b, to, squeezed, false)...)
		if err := t.out.Err(); err != nil {
			return err
		}
	}
}

// translateRunes returns the incomplete character at the end of b, unless final.
func (t *translator) translateRunes(b []byte, to map[rune]rune, squeezed map[rune]bool, final bool) []byte {
	for len(b) > 0 {
		r, size, whole := decodePart(b)
		if !whole && !final {
			return b
		}
		if r == utf8.RuneError && size == 1 {
			r = byteRune(b[0])
		}
		b = b[size:]
		t.one(r, to, squeezed)
	}
	return nil
}

func (t *translator) one(r rune, to map[rune]rune, squeezed map[rune]bool) {
	target, chosen := to[r]
	if t.complement {
		chosen, target = !chosen, r
		if chosen && len(t.set2) > 0 && !t.remove {
			target = t.set2[len(t.set2)-1]
		}
	}
	switch {
	case chosen && t.remove:
		return
	case chosen:
		r = target
	}
	if t.squeeze && int(r) == t.last && (squeezed[r] || len(t.set2) == 0 && chosen) {
		return
	}
	t.last = int(r)
	if isRawByte(r) {
		t.out.WriteByte(byte(r))
		return
	}
	var buf [utf8.UTFMax]byte
	t.out.Write(utf8.AppendRune(buf[:0], r))
}
