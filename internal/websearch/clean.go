package websearch

import (
	"html"
	"net/url"
	"slices"
	"strings"

	"hako/internal/text"
)

// What is kept of a hit.
const (
	maxTitle   = 300  // characters
	maxSnippet = 1000 // characters
	maxAge     = 40   // characters
	maxLink    = 1000 // bytes; a longer address is of no use to anybody

	maxField = 16 << 10 // bytes of any of them that are looked at
)

// tidy makes hits fit to be shown: plain text on one line each, addresses of the web only, none twice.
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
			Title: text.Shorten(plain(h.Title), maxTitle), URL: addressOf(u),
			Snippet: text.Shorten(plain(h.Snippet), maxSnippet), Age: text.Shorten(plain(h.Age), maxAge),
		})
	}
	return list
}

// plain makes text of what an engine calls text: without tags, entities, controls and line breaks.
func plain(s string) string { return clean(html.UnescapeString(withoutTags(head(s)))) }

// addressOf is an address without characters that can't be seen; in a query they may stand as they are.
func addressOf(u *url.URL) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(u.String(), "\uFFFD") {
		if s := string(r); text.Visible(s) != s || r == '\n' || r == '\t' {
			b.WriteString(url.QueryEscape(s))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// tags are those that engines put into titles and snippets. Others stay: a page about Vec<T> is not found by Vec.
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

// clean puts a text on one line, without anything that a terminal obeys or a reader cannot see.
func clean(s string) string { return strings.Join(strings.Fields(text.Visible(s)), " ") }

// head is as much of a text from outside as is worth cleaning.
func head(s string) string { return text.Prefix(s, maxField) }
