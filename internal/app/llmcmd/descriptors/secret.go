package descriptors

import (
	"strings"
	"unicode/utf8"

	"hako/internal/redact"
)

// ahead is how much must be known after a position before it is shown: more than the longest secret that is
// recognized by its form.
const ahead = 20 << 10

// cut returns the first n bytes of buf with secrets redacted, and how many bytes that are. It moves the end if a
// secret crosses it: reading in small pieces reveals no secret.
func cut(secrets *redact.Set, buf []byte, n int) (text string, used int) {
	known := string(buf[:min(len(buf), n+ahead)])
	clean := secrets.Text(known)
	if clean == known {
		return valid(known[:n]), n
	}
	for _, at := range borders(known, n) {
		if left := secrets.Text(known[:at]); left+secrets.Text(known[at:]) == clean {
			return valid(left), at
		}
	}
	return valid(clean), len(known)
}

// borders lists possible ends, best first: n, words and lines before it, lines after it.
func borders(text string, n int) []int {
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

// valid replaces each invalid byte by U+FFFD.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
