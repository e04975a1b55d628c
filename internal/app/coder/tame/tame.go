// Package tame makes text that models and strangers wrote fit to be published.
//
// Inside is what a page of a forge would act on: signs that nobody sees, names
// that call people, words that close issues, markup that fetches or hides something. What is secret is
// not: that is package redact's. The one rule to keep: [Visible] comes first,
// then redaction, then the rest; a sign that is taken out later makes whole again
// what was broken before.
package tame

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// gap is put where something is broken. It shows nowhere, neither in prose nor in
// code, and the forges leave it where it is.
const gap = "\u200c"

// Visible takes out what is not to be seen: control characters, soft hyphens,
// marks that turn the direction of writing, tags in which whole sentences can be
// hidden. Lines and tabs stay. What is done twice is the same as once.
func Visible(text string) string {
	before := ' '
	return strings.Map(func(r rune) rune {
		if r = visible(before, r); r >= 0 {
			before = r
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), ""))
}

func visible(before, r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case unicode.IsSpace(r):
		return ' '
	case joins(r) && before > unicode.MaxASCII:
		return r // emoji and several scripts need it; in what is secret, or a name, it would hide that
	case joins(r), !unicode.IsGraphic(r), r == unicode.ReplacementChar:
		return -1
	}
	return r
}

// joins reports whether a sign only changes how its neighbours look.
func joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Quiet breaks what calls people, so that nobody is woken, and what closes issues
// when it is merged. It is for text that is shown as it is, as titles are.
// Addresses of mail stay as they are.
func Quiet(text string) string { return unclose(unnamed(text)) }

// unnamed breaks what calls people.
func unnamed(text string) string {
	text = at().ReplaceAllString(text, "@")
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	before := byte(' ')
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] == '@' && !ofName(before) && i+1 < len(text) && text[i+1] > ' ' {
			b.WriteString(gap)
		}
		before = text[i]
	}
	return b.String()
}

// at are other spellings of the sign that calls people: names are looked for in
// what they are shown as.
var at = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&(?:#0*64|#[xX]0*40|commat);`) })

// ofName reports whether what follows goes on with a name. The line below is not
// of it: it may be markup.
func ofName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Inert is Quiet for text that is shown as Markdown: no HTML, comment or picture
// comes through.
func Inert(text string) string {
	text = markup().ReplaceAllString(Quiet(text), "<"+gap+"$1")
	return strings.ReplaceAll(text, "![", "!"+gap+"[")
}

var markup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([A-Za-z/!?])`) })
