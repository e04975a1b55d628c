package engine

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxText = 64 << 10 // bytes of anything an engine says to people

// clean makes one harmless line of a stranger's text: no escape sequence, no
// line break, nothing that turns the direction of writing round.
func clean(text string) string {
	return strings.Join(strings.Fields(strings.Map(visible, bounded(text))), " ")
}

func cleanAll(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, clean(text))
	}
	return out
}

// cleanLines does the same and keeps line breaks and tabs.
func cleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return visible(r)
	}, strings.ReplaceAll(bounded(text), "\r\n", "\n"))
}

func visible(r rune) rune {
	if r == utf8.RuneError || !unicode.IsGraphic(r) {
		return ' '
	}
	return r
}

// bounded keeps the end of a text, where the reason stands.
func bounded(text string) string {
	if len(text) > maxText {
		text = text[len(text)-maxText:]
	}
	return strings.ToValidUTF8(text, " ")
}

// lowered begins a sentence like the rest of an error's text, unless its first word
// is a name such as OCI.
func lowered(text string) string {
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z' {
		return string(text[0]-'A'+'a') + text[1:]
	}
	return text
}

// bare takes off what net/http puts around an error: a method and an address
// that nobody but this package knows.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// dialing reports whether no connection came about.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
