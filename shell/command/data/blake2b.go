package data

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// blake2b is BLAKE2b-512 without a key, as RFC 7693 describes it.
type blake2b struct {
	h      [8]uint64
	length uint64
	buf    [128]byte
	filled int
}

var blakeIV = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

// blakeSigma says in which order each round takes the words of a block; rounds
// ten and eleven repeat the first two.
var blakeSigma = [10][16]uint8{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

func newBlake2b() hash.Hash {
	b := new(blake2b)
	b.Reset()
	return b
}

func (b *blake2b) Reset() {
	*b = blake2b{h: blakeIV}
	b.h[0] ^= 0x01010000 ^ 64
}

func (b *blake2b) Size() int      { return 64 }
func (b *blake2b) BlockSize() int { return 128 }

// Write keeps the last block back: only Sum knows that it is the last.
func (b *blake2b) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if b.filled == len(b.buf) {
			b.length += 128
			b.block(false)
			b.filled = 0
		}
		m := copy(b.buf[b.filled:], p)
		b.filled += m
		p = p[m:]
	}
	return n, nil
}

func (b *blake2b) Sum(prefix []byte) []byte {
	end := *b
	end.length += uint64(end.filled)
	clear(end.buf[end.filled:])
	end.block(true)
	for _, w := range end.h {
		prefix = binary.LittleEndian.AppendUint64(prefix, w)
	}
	return prefix
}

func (b *blake2b) block(last bool) {
	var m, v [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(b.buf[8*i:])
	}
	copy(v[:8], b.h[:])
	copy(v[8:], blakeIV[:])
	v[12] ^= b.length
	if last {
		v[14] = ^v[14]
	}
	for round := range 12 {
		s := &blakeSigma[round%10]
		for i := range 4 {
			blakeMix(&v, i, 4+i, 8+i, 12+i, m[s[2*i]], m[s[2*i+1]])
		}
		for i := range 4 {
			blakeMix(&v, i, 4+(i+1)%4, 8+(i+2)%4, 12+(i+3)%4, m[s[8+2*i]], m[s[9+2*i]])
		}
	}
	for i := range b.h {
		b.h[i] ^= v[i] ^ v[i+8]
	}
}

func blakeMix(v *[16]uint64, a, b, c, d int, x, y uint64) {
	v[a] += v[b] + x
	v[d] = bits.RotateLeft64(v[d]^v[a], -32)
	v[c] += v[d]
	v[b] = bits.RotateLeft64(v[b]^v[c], -24)
	v[a] += v[b] + y
	v[d] = bits.RotateLeft64(v[d]^v[a], -16)
	v[c] += v[d]
	v[b] = bits.RotateLeft64(v[b]^v[c], -63)
}
