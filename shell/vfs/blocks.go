package vfs

import (
	"io"
	"sync/atomic"

	"hako/quota"
)

const (
	blockSize = 256 << 10
	slotSize  = 8 // what an empty slot costs
)

// block is a piece of a file. Forks share blocks; whoever writes to a shared
// one makes a copy. Its capacity is charged for as long as anybody refers to it.
type block struct {
	refs atomic.Int32
	b    []byte
}

// data is the contents of a memory file: a slot for every blockSize bytes, nil
// for a hole. A block may be shorter than its share; the rest reads as zeros.
type data struct {
	size   int64
	blocks []*block
	paid   int64 // slots that were charged; those of a fork were not
}

func (d *data) readAt(p []byte, off int64) (int, error) {
	if off >= d.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), d.size-off)]
	for done := 0; done < len(p); {
		at := (off + int64(done)) % blockSize
		part := p[done:min(len(p), done+int(blockSize-at))]
		n := 0
		if b := d.blocks[(off+int64(done))/blockSize]; b != nil && at < int64(len(b.b)) {
			n = copy(part, b.b[at:])
		}
		clear(part[n:])
		done += len(part)
	}
	return len(p), nil
}

func (d *data) writeAt(g *quota.Limiter, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := d.slots(g, off+int64(len(p))); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) {
		pos := off + int64(done)
		at := pos % blockSize
		part := p[done:min(len(p), done+int(blockSize-at))]
		b, err := d.own(g, pos/blockSize, int(at), int(at)+len(part))
		if err != nil {
			return done, err
		}
		copy(b.b[at:], part)
		done += len(part)
		d.size = max(d.size, off+int64(done))
	}
	return done, nil
}

// slots makes room in the table for a file of the given size.
func (d *data) slots(g *quota.Limiter, size int64) error {
	more := (size+blockSize-1)/blockSize - int64(len(d.blocks))
	if more <= 0 {
		return nil
	}
	if err := g.Hold(more * slotSize); err != nil {
		return err
	}
	d.blocks = append(d.blocks, make([]*block, more)...)
	d.paid += more
	return nil
}

// refund gives back what was charged for slots but the first keep.
func (d *data) refund(g *quota.Limiter, keep int64) {
	if d.paid > keep {
		g.Hold(-slotSize * (d.paid - keep))
		d.paid = keep
	}
}

// own returns block i, unshared and at least need bytes long. Bytes from at on
// are about to be overwritten, so they need not be cleared.
func (d *data) own(g *quota.Limiter, i int64, at, need int) (*block, error) {
	old := d.blocks[i]
	if old != nil && old.refs.Load() == 1 && need <= cap(old.b) {
		if have := len(old.b); have < need {
			old.b = old.b[:need]
			clear(old.b[have:max(have, at)])
		}
		return old, nil
	}
	var was []byte
	if old != nil {
		was = old.b
	}
	size := blockCap(i, need, cap(was))
	if err := g.Hold(int64(size)); err != nil {
		return nil, err
	}
	b := &block{b: make([]byte, max(need, len(was)), size)}
	b.refs.Store(1)
	copy(b.b, was)
	d.blocks[i] = b
	old.drop(g)
	return b, nil
}

// blockCap lets the first block of a file grow with it and makes the others
// whole at once, so that small files are small and long ones are not copied.
func blockCap(i int64, need, have int) int {
	if i > 0 {
		return blockSize
	}
	return min(blockSize, max(need, 2*have, 64))
}

func (b *block) drop(g *quota.Limiter) {
	if b != nil && b.refs.Add(-1) == 0 {
		g.Hold(-int64(cap(b.b)))
	}
}

func (d *data) truncate(g *quota.Limiter, size int64) error {
	if size >= d.size {
		err := d.slots(g, size)
		if err == nil {
			d.size = size
		}
		return err
	}
	keep := (size + blockSize - 1) / blockSize
	if rest := int(size % blockSize); rest > 0 && d.blocks[keep-1] != nil && len(d.blocks[keep-1].b) > rest {
		b, err := d.own(g, keep-1, 0, 0)
		if err != nil {
			return err
		}
		b.b = b.b[:rest]
	}
	for _, b := range d.blocks[keep:] {
		b.drop(g)
	}
	d.refund(g, keep)
	clear(d.blocks[keep:])
	d.blocks, d.size = d.blocks[:keep], size
	return nil
}

// free gives everything back. It cannot fail, unlike truncate.
func (d *data) free(g *quota.Limiter) {
	for _, b := range d.blocks {
		b.drop(g)
	}
	d.refund(g, 0)
	*d = data{}
}

// share returns a copy that refers to the same blocks.
func (d *data) share() data {
	for _, b := range d.blocks {
		if b != nil {
			b.refs.Add(1)
		}
	}
	return data{size: d.size, blocks: append([]*block(nil), d.blocks...)}
}
