package engine

import (
	"errors"
	"net"
	"net/url"

	"hako/internal/text"
)

const maxText = 64 << 10 // bytes of any text of an engine

// clean sanitizes a text of an engine to one line. It keeps the end of a long text, where the reason is.
func clean(s string) string { return text.Line(text.Suffix(s, maxText), maxText) }

// cleanLines sanitizes a text and keeps line breaks and tabs.
func cleanLines(s string) string { return text.Visible(text.Suffix(s, maxText)) }

func cleanAll(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}

// lowerFirst lowers the first letter, unless the first word is a name such as OCI.
func lowerFirst(text string) string {
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z' {
		return string(text[0]-'A'+'a') + text[1:]
	}
	return text
}

// unwrapURLError removes what net/http adds to an error: a method and an internal URL.
func unwrapURLError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// dialing reports whether no connection was made.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
