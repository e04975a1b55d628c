package markdown

import (
	"html"
	"strings"

	"hako/internal/text"
)

// entityText returns the text of an entity such as amp or #38; empty if there is none of that name. An entity may hide
// a control character from the filter, so it is filtered here.
func entityText(name string) []byte {
	encoded := "&" + name + ";"
	s := html.UnescapeString(encoded)
	if s == encoded || strings.HasSuffix(s, ";") && name != "semi" { // &ampx; is &amp and x;
		return nil
	}
	return []byte(text.ForTerminal(strings.NewReplacer("\n", " ", "\t", " ").Replace(s)))
}

// unescape resolves entities and backslashes in an address.
func unescape(s []byte) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
			i++
			out = append(out, s[i])
		case c == '&':
			text, n := entityAt(s[i:])
			out = append(out, text...)
			i += n - 1
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// entityAt returns the text of the beginning of s, and its length there.
func entityAt(s []byte) ([]byte, int) {
	name, _, ok := strings.Cut(string(s[1:min(len(s), 34)]), ";")
	if text := entityText(name); ok && text != nil {
		return text, len(name) + 2
	}
	return s[:1], 1
}
