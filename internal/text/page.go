package text

import "unicode/utf8"

// Page returns at most size bytes of b from start on, without splitting a character of UTF-8; a single character
// may be longer than size. next is the offset of the next page.
func Page(b []byte, start, size int64) (part []byte, next int64) {
	end := int64(len(b))
	from := min(start, end)
	for from < end && insideCharacter(b, from) {
		from++
	}
	to := end
	if size < end-from {
		to = from + size
	}
	for to < end && to > from && insideCharacter(b, to) {
		to--
	}
	if to == from && from < end {
		for to++; to < end && insideCharacter(b, to); {
			to++
		}
	}
	return b[from:to], to
}

// insideCharacter reports whether at is in the middle of a valid character.
func insideCharacter(b []byte, at int64) bool {
	for back := int64(1); back < utf8.UTFMax && back <= at; back++ {
		if _, n := utf8.DecodeRune(b[at-back:]); int64(n) > back {
			return true
		}
	}
	return false
}

// Incomplete returns how many bytes at the end of b are the beginning of a character.
func Incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
