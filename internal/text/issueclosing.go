package text

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Forges close issues when a pull request or commit is merged whose text has a keyword before a reference: "closes #7",
// "Fixes: owner/repo#7", "resolves https://…/issues/7". The keyword is broken, so that the reference still works. The
// text is matched as a forge may read it: without markup, with entities decoded, in one width of letters.

// keywords are those of GitHub, GitLab and Gitea.
const keywords = `clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|reopen(?:s|ed|ing)?`

// between matches what may be between a keyword and a reference: punctuation, a few words, and other references,
// because GitLab accepts lists.
const between = `(?:[\s\p{P}\p{S}\p{Z}\p{M}\p{C}]|issues?|bugs?|tickets?|incidents?|work|items?|pull|merge|requests?|prs?|mrs?|and|[a-z][a-z0-9]+-\p{Nd}+)*`

var (
	// closing matches references to issues, pull and merge requests of a forge.
	closing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^a-z0-9])((?:` + keywords + `)[^(a-z0-9])` + between +
			`(?:\S*[#!&]\p{Nd}|gh-\p{Nd}|(?:issue|work_?item|epic|merge_?request):\S*\p{Nd}|\S*/(?:issues?|pulls?|merge_?requests?|work_?items?|epics?)/(?:incident/)?\p{Nd})`)
	})
	// closingTracker matches references to issues of an external tracker, as PROJECT-7.
	closingTracker = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^A-Za-z0-9])((?i:` + keywords +
			`)[^(A-Za-z0-9])(?:\s|\p{P}|(?i:issues?|and))*([A-Z][A-Z0-9]+)-\p{Nd}`)
	})
)

// noTracker are names of standards that look like issues of a tracker.
var noTracker = []string{"UTF", "UCS", "SHA", "MD", "AES", "RSA", "DES", "ISO", "IEC", "IEEE", "RFC", "CVE", "CWE",
	"HTTP", "TLS", "TCP", "IPV", "BASE", "WIN", "LATIN", "GB", "EUC", "KOI", "CP"}

// breakKeywords breaks keywords that would close an issue.
func breakKeywords(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '&' || unicode.IsDigit(r) }) {
		return text // no reference is possible
	}
	read := readAsForge(text)
	var at []int
	for _, m := range closing().FindAllSubmatchIndex(read.text, -1) {
		at = append(at, read.after(m[2]))
	}
	for _, m := range closingTracker().FindAllSubmatchIndex(read.text, -1) {
		if !slices.Contains(noTracker, string(read.text[m[4]:m[5]])) {
			at = append(at, read.after(m[2]))
		}
	}
	slices.Sort(at)
	var b strings.Builder
	from := 0
	for _, i := range slices.Compact(at) {
		if strings.HasSuffix(text[:i], joinerMark) {
			continue // already broken
		}
		b.WriteString(text[from:i] + joinerMark)
		from = i
	}
	return b.String() + text[from:]
}

// A forgeText is a text as a forge may read it, with the position of each byte in the original.
type forgeText struct {
	text []byte
	from []int
	all  int // length of the original
}

// after returns the original position of the character after the one at i.
func (r *forgeText) after(i int) int {
	for j := i + 1; j < len(r.from); j++ {
		if r.from[j] > r.from[i] {
			return r.from[j]
		}
	}
	return r.all
}

func (r *forgeText) add(letter rune, from int) {
	if letter = plainLetter(letter); letter < 0 {
		return
	}
	before := len(r.text)
	r.text = utf8.AppendRune(r.text, letter)
	for range len(r.text) - before {
		r.from = append(r.from, from)
	}
}

// plainLetter returns a letter in its normal width, or -1 for formatting characters.
func plainLetter(r rune) rune {
	switch {
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	case r == 'ſ': // matches s case-insensitively
		return 's'
	case strings.ContainsRune("*_~`", r),
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point), unicode.Is(unicode.Cf, r),
		unicode.Is(unicode.Mn, r):
		return -1
	}
	return r
}

// maxMarkup limits the length of a tag, an entity or a link target that is skipped.
const maxMarkup = 2000

func readAsForge(text string) *forgeText {
	r := &forgeText{all: len(text)}
	for i := 0; i < len(text); {
		if n := invisible(text[i:]); n > 0 {
			i += n
			continue
		}
		if decoded, n := entity(text[i:]); n > 0 {
			for _, letter := range decoded {
				r.add(letter, i)
			}
			i += n
			continue
		}
		letter, n := utf8.DecodeRuneInString(text[i:])
		r.add(letter, i)
		i += n
	}
	return r
}

// invisible returns the length of what Markdown does not show: a comment, a tag, a link target, a backslash before
// punctuation.
func invisible(text string) int {
	end := func(close string, after int) int {
		if i := strings.Index(text[after:min(len(text), maxMarkup)], close); i >= 0 {
			return after + i + len(close)
		}
		return 0
	}
	switch {
	case strings.HasPrefix(text, "<!--"):
		return end("-->", len("<!--"))
	case len(text) > 1 && text[0] == '<' && (text[1] == '/' || text[1] == '!' || text[1] == '?' || isLetter(text[1])) &&
		!strings.HasPrefix(text, "<http"):
		return end(">", 1)
	case strings.HasPrefix(text, "]("):
		if n := end(")", 2); n > 0 && !reference().MatchString(text[:n]) {
			return n
		}
	case len(text) > 1 && text[0] == '\\' && text[1] > ' ' && text[1] < 0x7f && !isLetter(text[1]):
		return 1
	}
	return 0
}

// reference matches the URL of an issue, which also counts as a link target.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)/(?:issues?|pulls?|merge_requests|work_items|epics)/`)
})

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// maxEntity limits the length of an HTML entity.
const maxEntity = 40

// entity decodes the HTML entity at the start of text.
func entity(text string) (decoded string, n int) {
	if text[0] != '&' {
		return "", 0
	}
	end := strings.IndexByte(text[:min(len(text), maxEntity)], ';')
	if end < 0 {
		return "", 0
	}
	if decoded = html.UnescapeString(text[:end+1]); decoded == text[:end+1] {
		return "", 0
	}
	return decoded, end + 1
}
