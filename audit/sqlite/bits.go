package sqlite

import "strings"

const (
	blockSize  = 512     // numbers of events that share a block
	blockBytes = 8 << 10 // of its bits
)

// fieldBuilder tell of a block of events which texts cannot be in it: each three bytes
// that follow each other in one of its texts, in lower case, have set a bit. A
// bit that is not set is a proof; one that is may be that of three others.
type fieldBuilder []byte

// add sets the bits of a text.
func (b fieldBuilder) add(text string) {
	text = strings.ToLower(text)
	for i := 0; i+2 < len(text); i++ {
		n := place3(text[i:])
		b[n/8] |= 1 << (n % 8)
	}
}

// may reports whether a text in lower case can be part of one in the block. Of
// one with less than three bytes nothing is known.
func (b fieldBuilder) may(text string) bool {
	for i := 0; i+2 < len(text); i++ {
		if n := place3(text[i:]); b[n/8]&(1<<(n%8)) == 0 {
			return false
		}
	}
	return true
}

// place3 is the bit of the first three bytes of a text.
func place3(text string) uint32 {
	n := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16
	return n * 2654435761 >> 16 % (8 * blockBytes)
}
