package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// sniffed is how much of an output is looked at, as it is of files.
const sniffed = 512

// Binary reports whether the output begins like something that is not text: it
// has a NUL, or more than 30 % does not print. Characters of UTF-8, Shift_JIS
// and EUC-JP print. The same rule decides which files may be opened.
func (b *HeadTail) Binary() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes.IndexByte(b.first, 0) >= 0 {
		return true
	}
	text, whole := b.first, len(b.first) < sniffed
	if !whole {
		text = text[:len(text)-unfinished(text)]
	}
	bad := unprinted(text)
	for _, set := range []encoding.Encoding{japanese.ShiftJIS, japanese.EUCJP} {
		// Nearly any byte fits somewhere into these, so that a single one
		// that does not is proof enough.
		if text := decoded(set, b.first, whole); !bytes.ContainsRune(text, utf8.RuneError) {
			bad = min(bad, unprinted(text))
		}
	}
	return bad*10 > len(b.first)*3
}

// decoded is p as UTF-8, with U+FFFD for what is no character. One that is cut
// by the end is left out, unless p is the whole.
func decoded(set encoding.Encoding, p []byte, whole bool) []byte {
	text := make([]byte, sniffed*utf8.UTFMax)
	n, _, _ := set.NewDecoder().Transform(text, p, whole)
	return text[:n]
}

// unprinted counts the control characters that texts do not have, and the bytes
// that belong to no character.
func unprinted(p []byte) (bad int) {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		wrong := r == utf8.RuneError && n == 1
		control := (r < ' ' || r == 0x7f) && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r)
		if wrong || control {
			bad++
		}
		p = p[n:]
	}
	return bad
}
