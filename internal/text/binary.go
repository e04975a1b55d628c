package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// sniffLen is how much of an output is inspected, as for files.
const sniffLen = 512

// Binary reports whether the output is not text: it has a NUL byte, or more than 30 % of its beginning is not printable
// in UTF-8, Shift_JIS and EUC-JP. The same rule applies to files.
func (b *HeadTail) Binary() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes.IndexByte(b.first, 0) >= 0 {
		return true
	}
	text, whole := b.first, len(b.first) < sniffLen
	if !whole {
		text = text[:len(text)-unfinished(text)]
	}
	bad := countUnprintable(text)
	for _, set := range []encoding.Encoding{japanese.ShiftJIS, japanese.EUCJP} {
		// Nearly any byte fits somewhere into these, so that a single one
		// that does not is proof enough.
		if text := decoded(set, b.first, whole); !bytes.ContainsRune(text, utf8.RuneError) {
			bad = min(bad, countUnprintable(text))
		}
	}
	return bad*10 > len(b.first)*3
}

// decoded converts p to UTF-8, with U+FFFD for invalid bytes. An incomplete last character is dropped, unless p is
// whole.
func decoded(set encoding.Encoding, p []byte, whole bool) []byte {
	text := make([]byte, sniffLen*utf8.UTFMax)
	n, _, _ := set.NewDecoder().Transform(text, p, whole)
	return text[:n]
}

// countUnprintable counts unusual control characters and invalid bytes.
func countUnprintable(p []byte) (bad int) {
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
