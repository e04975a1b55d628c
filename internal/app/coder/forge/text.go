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
	maxTitle         = 1 << 10  // characters of an incoming title
	maxBody          = 64 << 10 // bytes of an incoming text
	maxOutgoing      = 60_000   // characters of an outgoing text; GitHub accepts 65 536
	maxOutgoingTitle = 250      // characters of an outgoing title; GitHub accepts 256
)

// clean makes one line of a stranger's text.
func clean(s string) string { return text.Line(s, maxTitle) }

func cleanAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = clean(s)
	}
	return out
}

// cleanText keeps line breaks and tabs, and notes what it cut.
func cleanText(s string) string {
	kept := text.Visible(text.Prefix(s, maxBody))
	if len(s) > maxBody {
		kept += fmt.Sprintf("\n\n(cut: the text has %d bytes)", len(s))
	}
	return kept
}

// outgoing sanitizes outgoing text.
type outgoing struct {
	provider string
	secrets  *redact.Set
}

// body removes invisible characters and secrets, and defuses mentions, markup that
// fetches or hides something (so that the only marker is the one that hako adds),
// quick actions and words that close an issue.
func (o outgoing) body(body string) string {
	body = text.Publishable(body, o.secrets.Text)
	if o.provider == GitLab {
		body = quickActions.Get().ReplaceAllString(body, `$1\/$2`)
	}
	n := utf8.RuneCountInString(body)
	if n <= maxOutgoing {
		return body
	}
	return string([]rune(body)[:maxOutgoing]) + fmt.Sprintf("\n\n… (cut: %d of %d characters)", maxOutgoing, n)
}

// quickActions are GitLab's: a line "/merge" in a comment is carried out with the
// rights of its author, so an injected prompt could make the model merge.
var quickActions = lazyregexp.New(`(?m)^([\s>*+\-]*)/([A-Za-z_]+(?:\s|$))`)

// pullRequest returns the title and the body. The issue to be closed is added here:
// in the body as it came, such words are defused.
func (o outgoing) pullRequest(d Draft) (title, body string) {
	body = o.body(d.Body)
	if d.Closes > 0 {
		body = strings.TrimSpace(fmt.Sprintf("%s\n\nCloses #%d", body, d.Closes))
	}
	return o.title(d.Title), body
}

func (o outgoing) comment(mark Mark, text string) (string, error) { return mark.prepend(o.body(text)) }

func (o outgoing) title(title string) string {
	return text.Shorten(text.PublishableLine(title, o.secrets.Text), maxOutgoingTitle)
}
