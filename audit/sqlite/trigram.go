package sqlite

import "strings"

const (
	blockSize  = 512     // numbers of events that share a block
	blockBytes = 8 << 10 // of its bits
)

// trigramFilter tell of a block of events which texts cannot be in it: each three bytes
// that follow each other in one of its texts, in lower case, have set a bit. A
// bit that is not set is a proof; one that is may be that of three others.
type trigramFilter []byte

// add sets the bits of a text.
func (b trigramFilter) add(text string) {
	text = strings.ToLower(text)
	for i := 0; i+2 < len(text); i++ {
		n := trigramBit(text[i:])
		b[n/8] |= 1 << (n % 8)
	}
}

// mayContain reports whether a text in lower case can be part of one in the block. Of
// one with less than three bytes nothing is known.
func (b trigramFilter) mayContain(text string) bool {
	for i := 0; i+2 < len(text); i++ {
		if n := trigramBit(text[i:]); b[n/8]&(1<<(n%8)) == 0 {
			return false
		}
	}
	return true
}

// trigramBit is the bit of the first three bytes of a text.
func trigramBit(text string) uint32 {
	n := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16
	return n * 2654435761 >> 16 % (8 * blockBytes)
}
