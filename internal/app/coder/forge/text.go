package forge

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/internal/app/coder/tame"
	"hako/internal/lazyregexp"
	"hako/internal/redact"
)

const (
	maxTitle = 1 << 10  // bytes of a title that came in
	maxBody  = 64 << 10 // bytes of a text that came in
	maxSaid  = 60_000   // characters of a text that goes out; GitHub takes 65 536
	maxName  = 250      // characters of a title that goes out; GitHub takes 256
)

// clean makes one harmless line of a stranger's text: no escape sequence, no
// line break, nothing invisible that a model would read and a person would not.
func clean(text string) string {
	return strings.Join(strings.Fields(strings.Map(visible, bounded(text, maxTitle))), " ")
}

func cleanAll(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, clean(text))
	}
	return out
}

// cleanLines does the same, keeps line breaks and tabs, and says what it cut.
func cleanLines(text string) string {
	kept := strings.Map(visibleLines, strings.ReplaceAll(bounded(text, maxBody), "\r\n", "\n"))
	if len(text) > maxBody {
		kept += fmt.Sprintf("\n\n(cut: the text has %d bytes)", len(text))
	}
	return kept
}

func visibleLines(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	return visible(r)
}

// visible drops what is not to be seen: bidirectional overrides, which show a
// command other than it is, and tag characters, in which whole sentences can be
// hidden. Joiners stay: emoji and several scripts need them.
func visible(r rune) rune {
	switch {
	case r == '\u200c' || r == '\u200d':
		return r
	case r == utf8.RuneError || unicode.IsControl(r) || unicode.IsSpace(r):
		return ' '
	case !unicode.IsGraphic(r):
		return -1
	}
	return r
}

// bounded keeps the beginning of a text, in whole characters.
func bounded(text string, most int) string {
	if len(text) > most {
		text = text[:most]
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(text); r == utf8.RuneError && size == 1 {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, " ")
}

// A speaker prepares what goes out.
type speaker struct {
	provider string
	secrets  *redact.Set
}

// text is a body: nothing invisible, no secret, nobody called, no markup that
// fetches or hides something (so no marker of ours but the one we put there), no
// order to the forge, no word that closes an issue, not too long.
func (s speaker) text(text string) string {
	text = tame.Inert(s.secrets.Text(tame.Visible(text)))
	if s.provider == GitLab {
		text = orders.Get().ReplaceAllString(text, `$1\/$2`)
	}
	return shorten(text, maxSaid)
}

// orders are GitLab's quick actions: a line "/merge" in a comment is carried
// out with the rights of whoever wrote it, so a model could be talked into it.
var orders = lazyregexp.New(`(?m)^([\s>*+\-]*)/([A-Za-z_]+(?:\s|$))`)

// pull is the title and the body of a pull request. What it closes is added here:
// in the body as it came, such words are broken.
func (s speaker) pull(p Pull) (title, body string) {
	body = s.text(p.Body)
	if p.Closes > 0 {
		body = strings.TrimSpace(fmt.Sprintf("%s\n\nCloses #%d", body, p.Closes))
	}
	return s.title(p.Title), body
}

// comment is a body with its mark before it.
func (s speaker) comment(mark Mark, text string) (string, error) { return mark.on(s.text(text)) }

// title is one line.
func (s speaker) title(text string) string {
	text = tame.Line(clean(s.secrets.Text(tame.Visible(text))))
	if all := []rune(text); len(all) > maxName {
		return string(all[:maxName-1]) + "…"
	}
	return text
}

// shorten cuts a text at a number of characters, and says so.
func shorten(text string, most int) string {
	all := utf8.RuneCountInString(text)
	if all <= most {
		return text
	}
	return string([]rune(text)[:most]) + fmt.Sprintf("\n\n… (cut: %d of %d characters)", most, all)
}
