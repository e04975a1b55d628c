package gate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// indented makes a script visible and indents its lines, so that it cannot pass for anything else.
func indented(script string) string { return strings.ReplaceAll(visible(script), "\n", "\n    ") }

// visible escapes what would move the cursor, change the direction of the text, be invisible or look like
// something else, and counts long runs of blanks, which could move the rest out of sight.
func visible(script string) string {
	text := []rune(strings.TrimRight(script, "\n"))
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\n':
			n := runLength(text[i:], func(r rune) bool { return r == c })
			b.WriteString(showBlanks(c, n))
			i += n
		case unicode.IsLetter(c):
			n := runLength(text[i:], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) })
			b.WriteString(showLetters(text[i : i+n]))
			i += n
		default:
			b.WriteString(showRune(c, false))
			i++
		}
	}
	return b.String()
}

// visibleName makes a file name visible in one line.
func visibleName(name string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(visible(name))
}

// How many blanks, empty lines and combining marks are shown as they are.
const (
	maxSpaces   = 40
	maxNewlines = 4
	maxMarks    = 2 // on one letter
)

// showBlanks shows spaces or line ends; very many are counted.
func showBlanks(c rune, n int) string {
	switch {
	case c == ' ' && n > maxSpaces:
		return fmt.Sprintf(" [%d spaces] ", n)
	case c == '\n' && n > maxNewlines:
		return fmt.Sprintf("\n[%d empty lines]\n", n-1)
	}
	return strings.Repeat(string(c), n)
}

func runLength(text []rune, same func(rune) bool) (n int) {
	for n < len(text) && same(text[n]) {
		n++
	}
	return n
}

// showLetters shows a word. Letters that imitate Latin ones are escaped, so that an approver does not take one
// name for another.
func showLetters(word []rune) string {
	foreign := mayImitate(word)
	var b strings.Builder
	for i, c := range word {
		marks := 0
		for i-marks >= 0 && unicode.IsMark(word[i-marks]) {
			marks++
		}
		onASCII := marks > 0 && i >= marks && word[i-marks] <= unicode.MaxASCII
		b.WriteString(showRune(c, foreign && isConfusable(c) || marks > maxMarks || onASCII))
	}
	return b.String()
}

// mayImitate reports whether a word mixes Latin letters with similar ones, or consists of similar ones.
func mayImitate(word []rune) bool {
	latin, lookalike, other := false, false, false
	for _, c := range word {
		switch {
		case unicode.Is(unicode.Latin, c):
			latin = true
		case isConfusable(c):
			lookalike, other = true, other || !strings.ContainsRune(lookalikes, c)
		}
	}
	return lookalike && (latin || !other)
}

// isConfusable reports whether a letter is of a script that shares shapes with Latin.
func isConfusable(c rune) bool {
	return unicode.In(c, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

// lookalikes are letters of these scripts that look like Latin ones in most fonts.
const lookalikes = "аеорсухіјѕһԁԛԝӏьвмнткгпАВЕКМНОРСТУХІЈЅԌԚԜӀ" + "οαινυρκτχγβηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "օսոհցզԼՍՕ"

// showRune returns a character or its escape.
func showRune(c rune, spell bool) string {
	if !spell && (c == '\n' || c == '\t' || unicode.IsPrint(c) && !isInvisible(c) && !looksLikeASCII(c)) {
		return string(c)
	}
	q := strconv.QuoteRuneToASCII(c)
	return q[1 : len(q)-1]
}

// isInvisible reports whether a printable character leaves nothing on the screen.
func isInvisible(c rune) bool {
	return c == '\u2800' || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// looksLikeASCII reports whether a character looks like an ASCII character that is special in a shell or a path,
// or is an ASCII letter in another font.
func looksLikeASCII(c rune) bool {
	switch {
	case 0x1D400 <= c && c <= 0x1D7FF, // mathematical letters
		0x2010 <= c && c <= 0x2013, // hyphens
		0x2170 <= c && c <= 0x217F: // small Roman numerals
		return true
	}
	return strings.ContainsRune("\u02d7\u2212\u2024\u2044\u2215\u2223\u2236\u037e\u0589\ua789\u29f8"+
		"\u2216\u29f5\u29f9\u02f8\u01c0\u02c8\u2039\u203a\u276f\u2217\u204e\u02dc\u223c\u1680", c)
}
