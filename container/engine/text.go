package engine

import (
	"errors"
	"net"
	"net/url"

	"hako/internal/text"
)

const maxText = 64 << 10 // bytes of anything an engine says to people

// clean makes one line of what an engine says. The end of a long text is kept, where the reason is.
func clean(s string) string { return text.Line(text.Suffix(s, maxText), maxText) }

// cleanLines does the same and keeps line breaks and tabs.
func cleanLines(s string) string { return text.Visible(text.Suffix(s, maxText)) }

func cleanAll(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}

// lowerFirst begins a sentence like the rest of an error's text, unless its first word is a name such as OCI.
func lowerFirst(text string) string {
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z' {
		return string(text[0]-'A'+'a') + text[1:]
	}
	return text
}

// unwrapURLError takes off what net/http puts around an error: a method and an address
// that nobody but this package knows.
func unwrapURLError(err error) error {
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
