package sqlite

import "strings"

const (
	blockSize  = 512     // numbers of events that share a block
	blockBytes = 8 << 10 // of its bits
)

// A trigramFilter is a Bloom filter of a block of events: each three consecutive bytes of a text, in lower case,
// set a bit. An unset bit proves that a text is not in the block.
type trigramFilter []byte

// add adds a text.
func (b trigramFilter) add(text string) {
	text = strings.ToLower(text)
	for i := 0; i+2 < len(text); i++ {
		n := trigramBit(text[i:])
		b[n/8] |= 1 << (n % 8)
	}
}

// mayContain reports whether a text in lower case may be part of one in the block. It is always true for less
// than three bytes.
func (b trigramFilter) mayContain(text string) bool {
	for i := 0; i+2 < len(text); i++ {
		if n := trigramBit(text[i:]); b[n/8]&(1<<(n%8)) == 0 {
			return false
		}
	}
	return true
}

// trigramBit returns the bit of the first three bytes of a text.
func trigramBit(text string) uint32 {
	n := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16
	return n * 2654435761 >> 16 % (8 * blockBytes)
}
