package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name or id that is kept, in bytes.
const maxName = 200

// Name makes a name or an id that a server sent fit to be shown, logged and
// sent again: characters that steer a terminal or turn the direction of a text
// would let it pass for another one, and a huge one would fill every list that
// it stands in.
func Name(text string) string {
	text = text[:min(len(text), 8*maxName)] // the rest cannot matter, and may be megabytes
	text = strings.Map(visible, text)
	if len(text) <= maxName {
		return text
	}
	end := maxName
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// visible drops a character that cannot be seen, and what was no UTF-8.
func visible(r rune) rune {
	if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
		return -1
	}
	return r
}
