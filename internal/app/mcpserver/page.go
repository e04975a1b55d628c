package mcpserver

import "unicode/utf8"

// page returns at most size bytes of a text from start on, without splitting a character; a single character may be
// longer than size. next is the offset of the next page.
func page(b []byte, start, size int64) (part []byte, next int64) {
	from := min(start, int64(len(b)))
	for from < int64(len(b)) && inside(b, from) {
		from++
	}
	to := min(from+size, int64(len(b)))
	for to < int64(len(b)) && to > from && inside(b, to) {
		to--
	}
	if to == from && from < int64(len(b)) {
		for to++; to < int64(len(b)) && inside(b, to); {
			to++
		}
	}
	return b[from:to], to
}

// inside reports whether at is in the middle of a valid character.
func inside(b []byte, at int64) bool {
	for back := int64(1); back < utf8.UTFMax && back <= at; back++ {
		if _, n := utf8.DecodeRune(b[at-back:]); int64(n) > back {
			return true
		}
	}
	return false
}
