package text

import (
	"bytes"

	"hako/quota"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

// A unit is what a command counts: bytes, or lines with a terminator.
type unit struct {
	bytes bool
	end   byte // of a line
}

// count returns how many units b has. An unterminated line does not count.
func (u unit) count(b []byte) int64 {
	if u.bytes {
		return int64(len(b))
	}
	return int64(bytes.Count(b, []byte{u.end}))
}

// after returns the position after the first n units of b; the end if there are fewer.
func (u unit) after(b []byte, n int64) int {
	if u.bytes {
		return int(min(n, int64(len(b))))
	}
	pos := 0
	for ; n > 0; n-- {
		i := bytes.IndexByte(b[pos:], u.end)
		if i < 0 {
			return len(b)
		}
		pos += i + 1
	}
	return pos
}

// A tailBuffer keeps the end of a stream in blocks, for commands that know only at its
// end what to print. Its memory is charged to the session.
type tailBuffer struct {
	unit
	limiter *quota.Limiter
	blocks  []bufferBlock
	units   int64 // in all blocks
}

type bufferBlock struct {
	data  []byte
	units int64
}

// fill reads all of a stream. After every chunk it calls trim, which may drop blocks.
func (l *tailBuffer) fill(in *stream.Reader, trim func() error) error {
	for {
		chunk, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		for len(chunk) > 0 {
			if err := l.makeRoom(); err != nil {
				return err
			}
			b := &l.blocks[len(l.blocks)-1]
			n := min(len(chunk), cap(b.data)-len(b.data))
			count := l.count(chunk[:n])
			b.data = append(b.data, chunk[:n]...)
			b.units += count
			l.units += count
			chunk = chunk[n:]
		}
		if err := trim(); err != nil {
			return err
		}
	}
}

// makeRoom adds a block if the last one is full.
func (l *tailBuffer) makeRoom() error {
	if n := len(l.blocks); n > 0 && len(l.blocks[n-1].data) < cap(l.blocks[n-1].data) {
		return nil
	}
	if err := l.limiter.Hold(stream.Size); err != nil {
		return err
	}
	l.blocks = append(l.blocks, bufferBlock{data: stream.Get()})
	return nil
}

// drop removes the first block.
func (l *tailBuffer) drop() {
	b := l.blocks[0]
	l.units -= b.units
	l.blocks[0].data = nil
	l.blocks = l.blocks[1:]
	stream.Put(b.data)
	l.limiter.Hold(-stream.Size)
}

// total returns the number of units. An unterminated last line counts.
func (l *tailBuffer) total() int64 {
	if n := len(l.blocks); n > 0 && !l.bytes {
		if last := l.blocks[n-1].data; len(last) > 0 && last[len(last)-1] != l.end {
			return l.units + 1
		}
	}
	return l.units
}

// writeFrom prints everything after the first skip units.
func (l *tailBuffer) writeFrom(w *stream.Writer, skip int64) error {
	for _, b := range l.blocks {
		if skip > b.units {
			skip -= b.units
			continue
		}
		w.Write(b.data[l.after(b.data, skip):])
		skip = 0
	}
	return w.Err()
}

// writeFirst prints the first n units.
func (l *tailBuffer) writeFirst(w *stream.Writer, n int64) error {
	for _, b := range l.blocks {
		if n <= 0 {
			break
		}
		w.Write(b.data[:l.after(b.data, n)])
		n -= b.units
	}
	return w.Err()
}

// free releases all blocks.
func (l *tailBuffer) free() {
	for len(l.blocks) > 0 {
		l.drop()
	}
}
