package descriptors

import (
	"strings"
	"unicode/utf8"

	"hako/internal/redact"
)

// redactLookahead is how much must be known after a position before it is shown: more than the longest secret that is
// recognized by its form.
const redactLookahead = 20 << 10

// redactPrefix returns the first n bytes of buf with secrets redacted, and how many bytes that are. It moves the end
// if a secret crosses it: reading in small pieces reveals no secret.
func redactPrefix(secrets *redact.Set, buf []byte, n int) (text string, used int) {
	known := string(buf[:min(len(buf), n+redactLookahead)])
	clean := secrets.Text(known)
	if clean == known {
		return validUTF8(known[:n]), n
	}
	for _, at := range cutPoints(known, n) {
		if left := secrets.Text(known[:at]); left+secrets.Text(known[at:]) == clean {
			return validUTF8(left), at
		}
	}
	return validUTF8(clean), len(known)
}

// cutPoints lists possible ends, best first: n, words and lines before it, lines after it.
func cutPoints(text string, n int) []int {
	list := []int{n}
	for _, breaks := range []string{" \t\n\r,;&\"'", "\n"} {
		for at, tries := n, 64; tries > 0 && at > 1; tries-- {
			if at = strings.LastIndexAny(text[:at-1], breaks) + 1; at > 0 {
				list = append(list, at)
			}
		}
	}
	for at, tries := n, 256; tries > 0; tries-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
		list = append(list, at)
	}
	return list
}

// validUTF8 replaces each invalid byte by U+FFFD.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
