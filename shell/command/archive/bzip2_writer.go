package archive

import (
	"context"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"hako/shell/command/internal/cli"
)

// bzip2Writer writes the bzip2 format: run lengths, Burrows-Wheeler transform,
// move to front, Huffman codes.
type bzip2Writer struct {
	ctx    context.Context
	w      io.Writer
	bits   bzip2Bits
	level  int
	block  []byte // after the first run-length step
	crc    uint32 // of the block's plain bytes, with its bits reversed: hash/crc32 shifts the other way
	total  uint32
	last   int // the byte of the current run, -1 at the start
	run    int
	err    error
	begun  bool
	sorter bwtSorter
}

// bzip2Cost is the memory one writer needs: the block and five integers a byte.
func bzip2Cost(level int) int64 { return int64(level) * 100_000 * 24 }

func newBzip2Writer(ctx context.Context, w io.Writer, level int) *bzip2Writer {
	return &bzip2Writer{ctx: ctx, w: w, level: level, last: -1, crc: ^uint32(0), bits: bzip2Bits{w: w}}
}

// Write implements io.Writer.
func (b *bzip2Writer) Write(p []byte) (int, error) {
	room := b.level*100_000 - 19 // the format leaves a margin for the last run
	for _, ch := range p {
		if int(ch) != b.last || b.run == 255 {
			b.endRun()
			if len(b.block) >= room {
				b.endBlock()
			}
			b.last = int(ch)
		}
		b.run++
		b.crc = crc32.IEEETable[byte(b.crc)^bits.Reverse8(ch)] ^ b.crc>>8
	}
	return len(p), b.err
}

// endRun puts the current run into the block: four equal bytes are followed by
// a count.
func (b *bzip2Writer) endRun() {
	for range min(b.run, 4) {
		b.block = append(b.block, byte(b.last))
	}
	if b.run >= 4 {
		b.block = append(b.block, byte(b.run-4))
	}
	b.run = 0
}

func (b *bzip2Writer) header() {
	if !b.begun {
		b.begun = true
		b.bits.put('B', 8)
		b.bits.put('Z', 8)
		b.bits.put('h', 8)
		b.bits.put(uint64('0'+b.level), 8)
	}
}

// Close writes what is left and the trailer.
func (b *bzip2Writer) Close() error {
	b.endRun()
	if len(b.block) > 0 {
		b.endBlock()
	}
	b.header()
	b.bits.put(0x177245385090, 48)
	b.bits.put(uint64(b.total), 32)
	b.bits.flush()
	if b.err == nil {
		b.err = b.bits.err
	}
	return b.err
}

func (b *bzip2Writer) endBlock() {
	if b.err == nil && b.ctx.Err() != nil {
		b.err = context.Cause(b.ctx)
	}
	if b.err != nil {
		b.block = b.block[:0]
		return
	}
	crc := ^bits.Reverse32(b.crc)
	b.total = (b.total<<1 | b.total>>31) ^ crc
	b.header()
	b.bits.put(0x314159265359, 48)
	b.bits.put(uint64(crc), 32)
	b.bits.put(0, 1) // not randomised
	last, origin, err := b.sorter.transform(b.ctx, b.block)
	if err != nil {
		b.err = err
		return
	}
	b.bits.put(uint64(origin), 24)
	symbols, used := moveToFront(last)
	b.writeUsed(used)
	writeCoded(&b.bits, symbols)
	b.block, b.crc, b.last, b.run = b.block[:0], ^uint32(0), -1, 0
	b.err = b.bits.err
}

// writeUsed writes which bytes occur: a flag for each row of sixteen, then sixteen flags for each used row.
func (b *bzip2Writer) writeUsed(used [256]bool) {
	var rows uint64
	for ch, is := range used {
		if is {
			rows |= 1 << (15 - ch/16)
		}
	}
	b.bits.put(rows, 16)
	for row := range 16 {
		if rows>>(15-row)&1 == 0 {
			continue
		}
		for col := range 16 {
			b.bits.put(uint64(cli.BoolInt(used[row*16+col])), 1)
		}
	}
}

// moveToFront turns the transformed block into symbols: 0 and 1 encode runs of
// the front byte in bijective base 2, then positions, then the end.
func moveToFront(block []byte) (symbols []uint16, used [256]bool) {
	for _, ch := range block {
		used[ch] = true
	}
	var front []byte
	for ch, is := range used {
		if is {
			front = append(front, byte(ch))
		}
	}
	end := uint16(len(front) + 1)
	run := 0
	spell := func() {
		for ; run > 0; run = (run - 1) >> 1 {
			symbols = append(symbols, uint16(1-run&1))
		}
	}
	for _, ch := range block {
		if front[0] == ch {
			run++
			continue
		}
		spell()
		at := slices.Index(front, ch)
		copy(front[1:at+1], front[:at])
		front[0] = ch
		symbols = append(symbols, uint16(at+1))
	}
	spell()
	return append(symbols, end), used
}

// bzip2Bits writes bits, high ones first.
type bzip2Bits struct {
	w   io.Writer
	acc uint64
	n   uint
	buf []byte
	err error
}

func (b *bzip2Bits) put(v uint64, n uint) {
	if n > 32 {
		b.put(v>>32, n-32)
		v, n = v&(1<<32-1), 32
	}
	b.acc = b.acc<<n | v
	for b.n += n; b.n >= 8; b.n -= 8 {
		b.buf = append(b.buf, byte(b.acc>>(b.n-8)))
	}
	if len(b.buf) >= 1<<15 {
		b.drain()
	}
}

func (b *bzip2Bits) drain() {
	if b.err == nil {
		_, b.err = b.w.Write(b.buf)
	}
	b.buf = b.buf[:0]
}

func (b *bzip2Bits) flush() {
	if b.n > 0 {
		b.put(0, 8-b.n)
	}
	b.drain()
}
