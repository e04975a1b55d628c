package coder

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"hako/internal/lazyregexp"
	"hako/internal/redact"
	"hako/internal/text"
	"hako/llm"
)

// truncateTokens cuts a text to about a number of tokens.
func truncateTokens(text string, tokens int64) string {
	if llm.Estimate(text) <= tokens {
		return text
	}
	quarters := int64(0)
	for i, r := range text {
		if quarters++; r >= 0x80 {
			quarters += 3
		}
		if quarters > 4*tokens {
			return text[:i] + " […]"
		}
	}
	return text
}

// safeUserName makes a name fit for prompts: other characters than those of user names
// could imitate something else.
func safeUserName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.[]", r)) {
			return r
		}
		return -1
	}, name)
	if name == "" {
		return "somebody"
	}
	return text.Shorten(name, 64)
}

// fenced puts text of others between marks that it cannot contain: they are derived
// from the text itself.
func fenced(kind, from, body string) string {
	body = escapeFences(text.Visible(body))
	sum := sha256.Sum256([]byte(kind + "\x00" + from + "\x00" + body))
	mark := hex.EncodeToString(sum[:8])
	return "<" + kind + " " + mark + " from=\"" + text.Line(strings.ReplaceAll(from, `"`, "'"), 100) + "\">\n" + body +
		"\n</" + kind + " " + mark + ">"
}

// fencePattern matches marks that only hako may write, in any form that a model could
// take for them: with invisible characters, other spaces, or as JSON.
var fencePattern = lazyregexp.New(`(?i)(?:<|\\u003c)(` + hidden + `/?` + spacedPattern("data") + `|` + hidden + `/?` +
	spacedPattern("instruction") + `)((?:[\s\x{85}\p{Z}\p{Cf}]|\\[nrtfv]|\\u[0-9a-f]{4})+[0-9a-f]{8})`)

// hidden matches invisible characters and spaces.
const hidden = `[\s\p{Z}\p{Cf}\p{Mn}]*`

// spacedPattern is a pattern for a word with such characters in it.
func spacedPattern(word string) string { return hidden + strings.Join(strings.Split(word, ""), hidden) }

// escapeFences escapes what looks like the beginning or the end of a fence, and nothing
// else: projects have tags of these names too.
func escapeFences(text string) string {
	if !strings.Contains(text, "<") && !strings.Contains(text, `\u003`) {
		return text
	}
	return fencePattern.Get().ReplaceAllString(text, "&lt;$1$2")
}

// data fences text that is not to be followed.
func data(from, text string) string { return fenced("data", from, text) }

// instruction fences text of a person who may give instructions.
func instruction(from, text string) string { return fenced("instruction", from, text) }

// Paths of the host, and URLs, which are distinguished.
var (
	unixPath = lazyregexp.New(
		`[a-z][a-z0-9+.-]*:/{2,3}[^\s"'<>)]*[\w/]|(^|[^\w./-])(/[\w.+@~-]+(?:/[\w.+@~-]+)+/?|/(?:root|home|etc|var|usr|opt|srv|mnt|run|tmp)\b/?)`)
	windowsPath = lazyregexp.New(`\b[A-Za-z]:\\[^\s"'<>|:]*|\\\\[\w.-]+\\[^\s"'<>|:]*`)
	webAddress  = lazyregexp.New(`^https?://`)
)

// withoutPaths removes paths of the host from a text. Those of the container and web
// addresses stay.
func withoutPaths(s string) string {
	s = windowsPath.Get().ReplaceAllString(text.Visible(s), "[path]")
	return unixPath.Get().ReplaceAllStringFunc(s, func(found string) string {
		if webAddress.Get().MatchString(found) {
			return found
		}
		at := max(strings.IndexByte(found, '/'), 0)
		if strings.Contains(found, "://") {
			at = 0
		}
		path := found[at:]
		if strings.HasPrefix(path, "/workspace/") && !strings.Contains(path, "..") {
			return found
		}
		return found[:at] + "[path]"
	})
}

// Fit makes text of models and strangers fit for a comment: it mentions nobody, loads
// no image, contains no secret, and cannot pretend to be a hidden mark.
func Fit(secrets *redact.Set, s string, limit int) string {
	return text.Shorten(text.Publishable(s, secrets.Text), limit)
}

// FitReason makes a block of the text of an error, without paths of this machine.
func FitReason(secrets *redact.Set, text string) string {
	return quoted(Fit(secrets, withoutPaths(text), 4000))
}

// titleLine is a line that is shown as it is, as titles are.
func titleLine(secrets *redact.Set, s string, most int) string {
	return text.Shorten(text.PublishableLine(s, secrets.Text), most)
}

// quoted makes a code block of a text, with a fence that the text does not contain.
func quoted(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// redactedTurn redacts a turn for the record. The provider's raw data is dropped with a
// secret: it may contain it.
func redactedTurn(s *redact.Set, turn *llm.Turn) *llm.Item {
	it := turn.Item()
	it.Text = s.Text(it.Text)
	it.Calls = slices.Clone(it.Calls)
	changed := it.Text != turn.Text
	for i := range it.Calls {
		if args := &it.Calls[i].Arguments; s.Text(*args) != *args {
			*args, changed = redactArguments(s, *args), true
		}
	}
	if changed {
		it.Raw = nil
	}
	return &it
}

// redactArguments redacts the strings of a JSON text one by one: redaction may break
// the JSON around a secret.
func redactArguments(s *redact.Set, text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return s.Text(text)
	}
	clean, err := json.Marshal(redactValue(s, v))
	if err != nil {
		return "{}"
	}
	return string(clean)
}

func redactValue(s *redact.Set, v any) any {
	switch v := v.(type) {
	case string:
		return s.Text(v)
	case []any:
		for i := range v {
			v[i] = redactValue(s, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = redactValue(s, v[k])
		}
	}
	return v
}
