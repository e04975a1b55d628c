package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// joinerMark is inserted to break a word. It is invisible in prose and code, and forges keep it.
const joinerMark = "\u200c"

// Publishable returns text of a model or a stranger for a Markdown page of a forge: [Visible], redacted, and without
// anything that the forge acts on: mentions, keywords that close issues, HTML, comments and images. A nil redact
// changes nothing. It is idempotent.
func Publishable(s string, redact func(string) string) string {
	return withoutMarkup(redacted(s, redact))
}

// PublishableLine is Publishable for one line of plain text, as a title or the first line of a commit.
func PublishableLine(s string, redact func(string) string) string {
	s = withoutMentions(strings.Join(strings.Fields(redacted(s, redact)), " "))
	if rest, ok := strings.CutPrefix(s, "/"); ok { // GitLab would execute it as a quick action
		return "/" + joinerMark + rest
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

// withoutMentions breaks mentions and keywords that close issues. It is for plain text, such as titles. Email addresses
// stay.
func withoutMentions(text string) string { return breakKeywords(breakMentions(text)) }

// breakMentions breaks mentions.
func breakMentions(text string) string {
	text = atEntity().ReplaceAllString(text, "@")
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	before := byte(' ')
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] == '@' && !isNameByte(before) && i+1 < len(text) && text[i+1] > ' ' {
			b.WriteString(joinerMark)
		}
		before = text[i]
	}
	return b.String()
}

// atEntity matches HTML entities for @, which forges decode before they look for mentions.
var atEntity = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&(?:#0*64|#[xX]0*40|commat);`) })

// isNameByte reports whether @ after this byte is part of a word and so no mention.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// withoutMarkup is withoutMentions for Markdown: it also breaks HTML, comments and images.
func withoutMarkup(text string) string {
	text = tagStart().ReplaceAllString(withoutMentions(text), "<"+joinerMark+"$1")
	return strings.ReplaceAll(text, "![", "!"+joinerMark+"[")
}

var tagStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([A-Za-z/!?])`) })
