package text

import (
	"bytes"

	"hako/quota"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

// A tailBuffer keeps the end of a stream in blocks, for the commands that know
// only at the end what to print. Its memory is charged to the session.
type tailBuffer struct {
	gauge  *quota.Limiter
	end    byte
	blocks []bufferBlock
	lines  int64 // terminators in all blocks
	size   int64 // bytes in all blocks
}

type bufferBlock struct {
	data  []byte
	lines int64
}

// fill pushes all of a stream and calls settle after every chunk, to let go
// of what is not needed any more.
func (l *tailBuffer) fill(in *stream.Reader, settle func() error) error {
	for {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		if err := l.push(b); err != nil {
			return err
		}
		if err := settle(); err != nil {
			return err
		}
	}
}

// push copies a chunk to the end.
func (l *tailBuffer) push(chunk []byte) error {
	for len(chunk) > 0 {
		if err := l.room(); err != nil {
			return err
		}
		b := &l.blocks[len(l.blocks)-1]
		n := min(len(chunk), cap(b.data)-len(b.data))
		count := int64(bytes.Count(chunk[:n], []byte{l.end}))
		b.data = append(b.data, chunk[:n]...)
		b.lines += count
		l.lines += count
		l.size += int64(n)
		chunk = chunk[n:]
	}
	return nil
}

// room makes sure that the last block has some.
func (l *tailBuffer) room() error {
	if n := len(l.blocks); n > 0 && len(l.blocks[n-1].data) < cap(l.blocks[n-1].data) {
		return nil
	}
	if err := l.gauge.Hold(stream.Size); err != nil {
		return err
	}
	l.blocks = append(l.blocks, bufferBlock{data: stream.Get()})
	return nil
}

// drop forgets the first block.
func (l *tailBuffer) drop() {
	b := l.blocks[0]
	l.lines -= b.lines
	l.size -= int64(len(b.data))
	l.blocks[0].data = nil
	l.blocks = l.blocks[1:]
	stream.Put(b.data)
	l.gauge.Hold(-stream.Size)
}

// trimLines drops leading blocks while at least keep lines remain complete.
func (l *tailBuffer) trimLines(keep int64) {
	for len(l.blocks) > 1 && l.lines-l.blocks[0].lines > keep {
		l.drop()
	}
}

// trimBytes drops leading blocks while at least keep bytes remain.
func (l *tailBuffer) trimBytes(keep int64) {
	for len(l.blocks) > 1 && l.size-int64(len(l.blocks[0].data)) >= keep {
		l.drop()
	}
}

// total is the number of lines, a last one without terminator included.
func (l *tailBuffer) total() int64 {
	if n := len(l.blocks); n > 0 {
		if last := l.blocks[n-1].data; len(last) > 0 && last[len(last)-1] != l.end {
			return l.lines + 1
		}
	}
	return l.lines
}

// writeFrom prints everything after the first skip lines.
func (l *tailBuffer) writeFrom(w *stream.Writer, skip int64) error {
	for _, b := range l.blocks {
		if skip > b.lines {
			skip -= b.lines
			continue
		}
		w.Write(b.data[afterLines(b.data, l.end, skip):])
		skip = 0
	}
	return w.Err()
}

// writeLines prints the first n lines.
func (l *tailBuffer) writeLines(w *stream.Writer, n int64) error {
	for _, b := range l.blocks {
		if n <= 0 {
			break
		}
		if n > b.lines {
			w.Write(b.data)
		} else {
			w.Write(b.data[:afterLines(b.data, l.end, n)])
		}
		n -= b.lines
	}
	return w.Err()
}

// writeBytes prints n bytes after the first skip.
func (l *tailBuffer) writeBytes(w *stream.Writer, skip, n int64) error {
	for _, b := range l.blocks {
		data := b.data[min(skip, int64(len(b.data))):]
		skip -= int64(len(b.data) - len(data))
		data = data[:min(n, int64(len(data)))]
		n -= int64(len(data))
		w.Write(data)
	}
	return w.Err()
}

// free gives everything back.
func (l *tailBuffer) free() {
	for len(l.blocks) > 0 {
		l.drop()
	}
}

// afterLines is the position after the first n terminators of b; the end if
// there are fewer.
func afterLines(b []byte, end byte, n int64) int {
	pos := 0
	for ; n > 0; n-- {
		i := bytes.IndexByte(b[pos:], end)
		if i < 0 {
			return len(b)
		}
		pos += i + 1
	}
	return pos
}
