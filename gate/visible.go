package gate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// plain shows a script so that it cannot pass for anything else: its lines are
// set off, and it is spelled out.
func plain(script string) string { return strings.ReplaceAll(visible(script), "\n", "\n    ") }

// visible writes out what would move the cursor, turn the direction of the text,
// not be seen at all, look like something else, or move the rest out of sight.
func visible(script string) string {
	text := []rune(strings.TrimRight(script, "\n"))
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\n':
			n := runOf(text[i:], func(r rune) bool { return r == c })
			b.WriteString(gap(c, n))
			i += n
		case unicode.IsLetter(c):
			n := runOf(text[i:], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) })
			b.WriteString(letters(text[i : i+n]))
			i += n
		default:
			b.WriteString(shownAs(c, false))
			i++
		}
	}
	return b.String()
}

// visibleName spells the name of a file, in one line: two that look the same must
// not be taken for one.
func visibleName(name string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(visible(name))
}

// What is shown as it is of what cannot be seen.
const (
	mostSpaces   = 40
	mostNewlines = 4
	mostMarks    = 2 // on one letter
)

// gap shows spaces or line ends: very many are counted.
func gap(c rune, n int) string {
	switch {
	case c == ' ' && n > mostSpaces:
		return fmt.Sprintf(" [%d spaces] ", n)
	case c == '\n' && n > mostNewlines:
		return fmt.Sprintf("\n[%d empty lines]\n", n-1)
	}
	return strings.Repeat(string(c), n)
}

func runOf(text []rune, same func(rune) bool) (n int) {
	for n < len(text) && same(text[n]) {
		n++
	}
	return n
}

// letters shows a word. One that mixes the Latin letters with those of another
// alphabet that look the same, or has nothing but such, has these spelled out:
// who approves must not take one name for another.
func letters(word []rune) string {
	foreign := imitates(word)
	var b strings.Builder
	for i, c := range word {
		marks := 0
		for i-marks >= 0 && unicode.IsMark(word[i-marks]) {
			marks++
		}
		onASCII := marks > 0 && i >= marks && word[i-marks] <= unicode.MaxASCII
		b.WriteString(shownAs(c, foreign && imitable(c) || marks > mostMarks || onASCII))
	}
	return b.String()
}

// imitates reports whether a word may be meant to be taken for another.
func imitates(word []rune) bool {
	latin, lookalike, other := false, false, false
	for _, c := range word {
		switch {
		case unicode.Is(unicode.Latin, c):
			latin = true
		case imitable(c):
			lookalike, other = true, other || !strings.ContainsRune(lookalikes, c)
		}
	}
	return lookalike && (latin || !other)
}

// imitable reports whether a letter is of an alphabet that shares shapes with the
// Latin one.
func imitable(c rune) bool {
	return unicode.In(c, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

// lookalikes are letters of these that look like Latin ones in most fonts.
const lookalikes = "аеорсухіјѕһԁԛԝӏьвмнткгпАВЕКМНОРСТУХІЈЅԌԚԜӀ" + "οαινυρκτχγβηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "օսոհցզԼՍՕ"

// shownAs is a character, or what it is called.
func shownAs(c rune, spell bool) string {
	if !spell && (c == '\n' || c == '\t' || unicode.IsPrint(c) && !blind(c) && !disguised(c)) {
		return string(c)
	}
	q := strconv.QuoteRuneToASCII(c)
	return q[1 : len(q)-1]
}

// opaque reports whether a character that counts as printable leaves nothing on
// the screen.
func blind(c rune) bool {
	return c == '\u2800' || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// disguised reports whether a character looks like one of ASCII that means
// something to a shell or in a path, or is a letter of ASCII in another font.
func disguised(c rune) bool {
	switch {
	case 0x1D400 <= c && c <= 0x1D7FF, // mathematical letters
		0x2010 <= c && c <= 0x2013, // hyphens
		0x2170 <= c && c <= 0x217F: // small Roman numerals
		return true
	}
	return strings.ContainsRune("\u02d7\u2212\u2024\u2044\u2215\u2223\u2236\u037e\u0589\ua789\u29f8"+
		"\u2216\u29f5\u29f9\u02f8\u01c0\u02c8\u2039\u203a\u276f\u2217\u204e\u02dc\u223c\u1680", c)
}
