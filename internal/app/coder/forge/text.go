package forge

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hako/internal/lazyregexp"
	"hako/internal/redact"
	"hako/internal/text"
)

const (
	maxTitle = 1 << 10  // characters of a title that came in
	maxBody  = 64 << 10 // bytes of a text that came in
	maxSaid  = 60_000   // characters of a text that goes out; GitHub takes 65 536
	maxName  = 250      // characters of a title that goes out; GitHub takes 256
)

// clean makes one line of a stranger's text.
func clean(s string) string { return text.Line(s, maxTitle) }

func cleanAll(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}

// cleanLines keeps line breaks and tabs, and says what it cut.
func cleanLines(s string) string {
	kept := text.Visible(text.Prefix(s, maxBody))
	if len(s) > maxBody {
		kept += fmt.Sprintf("\n\n(cut: the text has %d bytes)", len(s))
	}
	return kept
}

// outgoingText prepares what goes out.
type outgoingText struct {
	provider string
	secrets  *redact.Set
}

// text is a body: nothing invisible, no secret, nobody called, no markup that
// fetches or hides something (so no marker of ours but the one we put there), no
// order to the forge, no word that closes an issue, not too long.
func (s outgoingText) text(body string) string {
	body = text.Publishable(body, s.secrets.Text)
	if s.provider == GitLab {
		body = orders.Get().ReplaceAllString(body, `$1\/$2`)
	}
	return shorten(body, maxSaid)
}

// orders are GitLab's quick actions: a line "/merge" in a comment is carried
// out with the rights of whoever wrote it, so a model could be talked into it.
var orders = lazyregexp.New(`(?m)^([\s>*+\-]*)/([A-Za-z_]+(?:\s|$))`)

// pull is the title and the body of a pull request. What it closes is added here:
// in the body as it came, such words are broken.
func (s outgoingText) pull(p Pull) (title, body string) {
	body = s.text(p.Body)
	if p.Closes > 0 {
		body = strings.TrimSpace(fmt.Sprintf("%s\n\nCloses #%d", body, p.Closes))
	}
	return s.title(p.Title), body
}

// comment is a body with its mark before it.
func (s outgoingText) comment(mark Mark, text string) (string, error) { return mark.on(s.text(text)) }

// title is one line.
func (s outgoingText) title(title string) string {
	return text.Shorten(text.PublishableLine(title, s.secrets.Text), maxName)
}

// shorten cuts a text at a number of characters, and says so.
func shorten(text string, most int) string {
	all := utf8.RuneCountInString(text)
	if all <= most {
		return text
	}
	return string([]rune(text)[:most]) + fmt.Sprintf("\n\n… (cut: %d of %d characters)", most, all)
}
