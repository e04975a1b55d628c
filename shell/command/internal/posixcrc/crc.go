// Package posixcrc has the tables of the CRC that cksum and bzip2 use.
package posixcrc

import "sync"

// Tables[k][b] is the remainder of byte b followed by k zero bytes, so that
// eight bytes are taken in one step.
var Tables = sync.OnceValue(makeTables)

func makeTables() *[8][256]uint32 {
	t := new([8][256]uint32)
	for b := range 256 {
		crc := uint32(b) << 24
		for range 8 {
			if crc&(1<<31) != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
		t[0][b] = crc
	}
	for k := 1; k < 8; k++ {
		for b := range 256 {
			prev := t[k-1][b]
			t[k][b] = prev<<8 ^ t[0][prev>>24]
		}
	}
	return t
}
