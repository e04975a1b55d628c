package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// gap is put where something is broken. It shows nowhere, neither in prose nor in
// code, and the forges leave it where it is.
const gap = "\u200c"

// Publishable returns text of a model or a stranger fit for a page of a forge that shows Markdown: [Visible], without
// what redact takes out, and without anything the forge would act on: names that call people, words that close
// issues, HTML, comments and pictures. A nil redact changes nothing. Doing it twice is the same as once.
func Publishable(s string, redact func(string) string) string { return inert(redacted(s, redact)) }

// PublishableLine is Publishable for one line that is shown as it is: a title, or the first line of a commit.
func PublishableLine(s string, redact func(string) string) string {
	s = quiet(strings.Join(strings.Fields(redacted(s, redact)), " "))
	if rest, ok := strings.CutPrefix(s, "/"); ok { // GitLab takes such a line for a quick action
		return "/" + gap + rest
	}
	return s
}

func redacted(s string, redact func(string) string) string {
	s = Visible(strings.ReplaceAll(strings.ToValidUTF8(s, ""), string(utf8.RuneError), ""))
	if redact == nil {
		return s
	}
	return redact(s)
}

// quiet breaks what calls people, so that nobody is woken, and what closes issues
// when it is merged. It is for text that is shown as it is, as titles are.
// Addresses of mail stay as they are.
func quiet(text string) string { return unclose(unnamed(text)) }

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

// inert is quiet for text that is shown as Markdown: no HTML, comment or picture
// comes through.
func inert(text string) string {
	text = markup().ReplaceAllString(quiet(text), "<"+gap+"$1")
	return strings.ReplaceAll(text, "![", "!"+gap+"[")
}

var markup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([A-Za-z/!?])`) })
