package websearch

import (
	"html"
	"net/url"
	"slices"
	"strings"

	"hako/internal/text"
)

// Limits of a hit.
const (
	maxTitle   = 300  // characters
	maxSnippet = 1000 // characters
	maxAge     = 40   // characters
	maxLink    = 1000 // bytes of a URL

	maxField = 16 << 10 // bytes of a field that are processed
)

// tidy cleans hits: plain text on one line each, only URLs of the web, no duplicates.
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

// plain makes plain text of a field: without tags, entities, control characters and line breaks.
func plain(s string) string { return clean(html.UnescapeString(withoutTags(head(s)))) }

// addressOf is a URL with invisible characters escaped; Go leaves them as they are in a query.
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

// tags are those that engines put into titles and snippets. Others stay, such as Vec<T>.
var tags = []string{"b", "strong", "em", "i", "u", "mark", "span", "br", "wbr", "p", "a", "code", "sup", "sub"}

func withoutTags(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		end := strings.IndexAny(after, "<>") // no further than the next one, or it takes quadratic time
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

// clean puts a text on one line, without control and invisible characters.
func clean(s string) string { return strings.Join(strings.Fields(text.Visible(s)), " ") }

// head is the part of a field that is processed.
func head(s string) string { return text.Prefix(s, maxField) }
