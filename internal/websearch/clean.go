package websearch

import (
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is kept of a hit.
const (
	maxTitle   = 300  // characters
	maxSnippet = 1000 // characters
	maxAge     = 40   // characters
	maxLink    = 1000 // bytes; a longer address is of no use to anybody

	maxField = 16 << 10 // bytes of any of them that are looked at
)

// tidy makes hits fit to be shown: plain text on one line each, addresses of the
// web only, none twice.
func tidy(hits []Hit, most int) []Hit {
	var list []Hit
	seen := map[string]bool{}
	for _, h := range hits {
		if len(list) == most {
			break
		}
		if len(h.URL) > maxLink || seen[h.URL] {
			continue
		}
		u, err := url.Parse(h.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			continue
		}
		seen[h.URL] = true
		list = append(list, Hit{
			Title: cutRunes(plain(h.Title), maxTitle), URL: addressOf(u),
			Snippet: cutRunes(plain(h.Snippet), maxSnippet), Age: cutRunes(plain(h.Age), maxAge),
		})
	}
	return list
}

// plain makes text of what an engine calls text: without tags, entities,
// controls and line breaks.
func plain(s string) string { return clean(html.UnescapeString(withoutTags(head(s)))) }

// head is as much of a text from outside as is worth cleaning.
func head(s string) string {
	if len(s) <= maxField {
		return s
	}
	return strings.ToValidUTF8(s[:maxField], "")
}

// addressOf is an address without characters that can't be seen; in a query they
// may stand as they are.
func addressOf(u *url.URL) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(u.String(), "\uFFFD") {
		if unicode.IsControl(r) || hidden(r) {
			b.WriteString(url.QueryEscape(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// tags are those that engines put into titles and snippets. Others stay: a page
// about Vec<T> is not found by Vec.
var tags = []string{"b", "strong", "em", "i", "u", "mark", "span", "br", "wbr", "p", "a", "code", "sup", "sub"}

func withoutTags(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		end := strings.IndexAny(after, "<>") // no further than the next: what is looked at twice adds up
		if end < 0 || after[end] == '<' || !isTag(after[:end]) {
			b.WriteByte('<')
			s = after
			continue
		}
		s = after[end+1:]
	}
}

func isTag(inside string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(inside, "/"), " ")
	return slices.Contains(tags, strings.ToLower(strings.TrimSuffix(name, "/")))
}

// clean puts a text on one line, without anything that a terminal obeys or a
// reader can't see.
func clean(s string) string {
	return strings.Join(strings.Fields(visible(s, false)), " ")
}

// visible removes terminal escapes, control characters, invisible ones and
// those that turn the direction of writing: text that people can't see is how
// models are told things behind their backs. Bytes that are no UTF-8 become
// replacement characters. If lines is set, line breaks and tabs stay; otherwise
// they become blanks.
func visible(s string, lines bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' || r == '\t':
			if !lines {
				r = ' '
			}
			b.WriteRune(r)
		case r == '\x1b':
			n = escape(s[i:])
		case unicode.IsControl(r), hidden(r):
			if !lines {
				b.WriteByte(' ')
			}
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// hidden reports whether a character can't be seen and is of no use: all format
// characters but the joiners, which some scripts and emoji need, the tags that
// spell ASCII invisibly, and characters of private use.
func hidden(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == '\u200c' || r == '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Co) || r >= 0xE0000 && r < 0xE1000
}

// escape returns the length of the terminal escape at the start of s.
func escape(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s) && s[i] >= ' ' && s[i] <= '~'; i++ {
			if s[i] >= '@' {
				return i + 1
			}
		}
		return 2
	case ']', 'P', '^', '_', 'X':
		for i := 2; i < len(s) && s[i] != '\n'; i++ {
			switch {
			case s[i] == '\a':
				return i + 1
			case s[i] == '\x1b':
				return i + min(2, len(s)-i)
			}
		}
		return 2
	}
	return 1
}

// cutRunes cuts a text to so many characters.
func cutRunes(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	for i := range s {
		if most--; most < 1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}
