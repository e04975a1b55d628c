package text

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// A grepBlock is a block of lines and those that were selected.
type grepBlock struct {
	data     []byte
	selected []int // bounds, two each; a range may have several lines if output is plain
	count    int   // selected lines
	err      error // at the end of the input
	done     chan struct{}
	buf      []byte
}

// search searches one input.
func (g *grepper) search(ctx context.Context, in grepSource, name string) error {
	p := &grepPrinter{grepper: g, name: name, lastEnd: -1}
	err := g.blocks(ctx, in, p)
	if err != nil && !errors.Is(err, io.EOF) {
		if g.c.Limiter.Err() != nil || g.c.Stdout.Err() != nil || ctx.Err() != nil {
			return err
		}
		g.unusable(name, err)
	}
	if err := g.re.Err(); err != nil {
		return g.c.Fail(2, "%v", err)
	}
	p.summary()
	g.matched = g.matched || p.total > 0
	return g.c.Stdout.Err()
}

// parallelAfter is how many blocks are searched before workers are started.
const parallelAfter = 4

// blocks searches block by block until the input ends or no more is needed.
func (g *grepper) blocks(ctx context.Context, in grepSource, p *grepPrinter) error {
	var b grepBlock
	for i := 0; ; i++ {
		if i >= parallelAfter && g.parallel() {
			return g.blocksAtOnce(ctx, in, p)
		}
		if err := in.next(ctx, &b, false); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		g.selectLines(&b, g.wanted(p))
		if more := p.print(&b); !more || g.re.Err() != nil {
			g.giveBack(in, p, &b)
			return g.c.Stdout.Err()
		}
	}
}

// wanted returns how many more lines of this input to select; -1 means all.
func (g *grepper) wanted(p *grepPrinter) int {
	if g.quiet || g.list || g.listOthers {
		return 1
	}
	if g.limit < 0 {
		return -1
	}
	return g.limit - p.total
}

// giveBack leaves the text after the last selected line to the next reader.
func (g *grepper) giveBack(in grepSource, p *grepPrinter, b *grepBlock) {
	if s, ok := in.(*grepStream); ok && g.limit >= 0 && len(b.selected) > 0 && p.done > 0 {
		s.in.Unread(b.data, len(b.data)-p.done)
	}
}

// selectLines selects at most limit lines of the block.
func (g *grepper) selectLines(b *grepBlock, limit int) {
	b.selected, b.count = b.selected[:0], 0
	switch {
	case limit == 0:
	case g.end != '\n':
		g.selectRecords(b, limit)
	case g.invert:
		found := g.re.MatchingLines(b.data, b.selected, -1)
		b.selected = g.others(b.data, found, limit)
		b.count = countLines(b.data, b.selected)
	case g.count && limit < 0:
		b.count = g.re.CountLines(b.data)
	default:
		b.selected = g.re.MatchingLines(b.data, b.selected, limit)
		b.count = len(b.selected) / 2
	}
}

// plain reports whether lines are copied unchanged, so that adjacent ones need not be
// separated.
func (g *grepper) plain() bool {
	return !g.names.show && !g.numbers && !g.offsets && !g.only && !g.color && !g.tab &&
		g.limit < 0 && !g.context
}

// others returns the bounds of the lines that do not match.
func (g *grepper) others(data []byte, found []int, limit int) []int {
	var out []int
	one := !g.plain() || limit >= 0
	gap := func(lo, hi int) {
		for lo < hi && (limit < 0 || len(out) < 2*limit) {
			end := hi
			if one {
				end = lo + recordEnd(data[lo:hi], g.end)
			}
			out = append(out, lo, end)
			lo = end
		}
	}
	at := 0
	for i := 0; i < len(found); i += 2 {
		gap(at, found[i])
		at = found[i+1]
	}
	gap(at, len(data))
	return out
}

// recordEnd returns the length of the first record of b.
func recordEnd(b []byte, end byte) int {
	if i := bytes.IndexByte(b, end); i >= 0 {
		return i + 1
	}
	return len(b)
}

// countLines counts the lines within bounds.
func countLines(data []byte, bounds []int) (n int) {
	for i := 0; i < len(bounds); i += 2 {
		part := data[bounds[i]:bounds[i+1]]
		n += bytes.Count(part, []byte{'\n'})
		if part[len(part)-1] != '\n' {
			n++
		}
	}
	return n
}

// selectRecords is selectLines for records that may contain newlines.
func (g *grepper) selectRecords(b *grepBlock, limit int) {
	for at := 0; at < len(b.data) && b.count != limit && g.re.Err() == nil; {
		end := at + recordEnd(b.data[at:], g.end)
		record := bytes.TrimSuffix(b.data[at:end], []byte{g.end})
		if g.re.Match(record) != g.invert {
			b.selected = append(b.selected, at, end)
			b.count++
		}
		at = end
	}
}

// parallel reports whether blocks may be searched in any order: the whole input is needed
// and no context is printed.
func (g *grepper) parallel() bool {
	return g.limit < 0 && !g.quiet && !g.list && !g.listOthers && !g.context
}

// grepWorkers is the number of searching goroutines, grepQueue that of blocks in use.
const (
	grepWorkers = 2
	grepQueue   = 2 * grepWorkers
)

// untied keeps the input from flushing the output when it waits, because the workers read
// it while another goroutine prints.
func (g *grepper) untied(in grepSource) (tie func()) {
	s, ok := in.(*grepStream)
	if !ok {
		return func() {}
	}
	return s.in.OnWait(nil)
}

// blocksAtOnce searches with several workers and prints in order.
func (g *grepper) blocksAtOnce(ctx context.Context, in grepSource, p *grepPrinter) error {
	defer g.untied(in)()
	var (
		reading sync.Mutex
		workers sync.WaitGroup
		quit    = make(chan struct{})
		order   = make(chan *grepBlock, grepQueue)
		free    = make(chan *grepBlock, grepQueue)
	)
	for range grepQueue {
		free <- &grepBlock{done: make(chan struct{}, 1)}
	}
	next := func() *grepBlock {
		reading.Lock()
		defer reading.Unlock()
		var b *grepBlock
		select {
		case b = <-free:
		case <-quit:
			return nil
		}
		if b.err = in.next(ctx, b, true); b.err == nil && ctx.Err() != nil {
			b.err = context.Cause(ctx)
		}
		order <- b
		return b
	}
	for range grepWorkers {
		workers.Go(func() {
			for b := next(); b != nil && b.err == nil; b = next() {
				g.selectLines(b, -1)
				b.done <- struct{}{}
			}
		})
	}
	defer workers.Wait()
	defer close(quit)
	for b := range order {
		if b.err != nil {
			return b.err
		}
		<-b.done
		if !p.print(b) || g.re.Err() != nil {
			return g.c.Stdout.Err()
		}
		free <- b
		if len(order) == 0 { // selected lines must not wait for more input
			if err := g.c.Stdout.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
