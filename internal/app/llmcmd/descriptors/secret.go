package descriptors

import (
	"strings"
	"unicode/utf8"

	"hako/internal/redact"
)

// ahead is how much must be known behind a place before it is shown up to
// there: more than the longest secret that is told by its spelling.
const ahead = 20 << 10

// cut returns the first n bytes of buf as the model may see them, and how many
// bytes that are. Where a secret lies across the border it moves: no reading in
// small pieces can get at what is not shown in one.
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

// borders lists where a text could be cut, the best first: at n, at words and
// then at lines before it, at lines behind it.
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

// valid makes UTF-8 of s: each byte that is part of no character becomes a
// replacement character.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
