package text

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// defaultSize is how much of each end is kept by default.
const defaultSize = 512 << 10

// defaultMark is the default of Mark.
const defaultMark = "… %d bytes left out …"

// A HeadTail is a writer that keeps the first and the last bytes of what is
// written to it. Writing never fails. The zero value is ready for use; the
// fields must not be changed once something was written. It is safe for
// concurrent use.
type HeadTail struct {
	Head int // how many bytes of the beginning are kept; zero means 512 KB, less than zero none
	Tail int // and of the end

	// Mark is the line that String puts where something was left out, with
	// %d for the number of bytes. Empty means "… %d bytes left out …".
	Mark string

	mu    sync.Mutex // guards what follows
	first []byte     // the first bytes for Binary, independent of Head
	head  []byte
	tail  ring
	total int64
}

// Write implements [io.Writer].
func (b *HeadTail) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += int64(len(p))
	b.first = append(b.first, p[:min(len(p), sniffLen-len(b.first))]...)
	n := min(len(p), size(b.Head)-len(b.head))
	b.head = append(grow(b.head, n, size(b.Head)), p[:n]...)
	b.tail.write(p[n:], size(b.Tail))
	return len(p), nil
}

func size(n int) int {
	if n == 0 {
		return defaultSize
	}
	return max(n, 0)
}

// Total returns how many bytes were written.
func (b *HeadTail) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Bytes returns what is kept and how many bytes between were left out. If none
// were, head is everything and tail is empty. The slices are the caller's.
func (b *HeadTail) Bytes() (head, tail []byte, cut int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	head, tail = append([]byte(nil), b.head...), b.tail.bytes()
	if int64(len(head)+len(tail)) == b.total {
		return append(head, tail...), nil, 0
	}
	head, tail = head[:len(head)-unfinished(head)], tail[continuation(tail):]
	return head, tail, b.total - int64(len(head)+len(tail))
}

// String returns what is kept as one text, with Mark on a line of its own where
// something was left out.
func (b *HeadTail) String() string {
	head, tail, cut := b.Bytes()
	if cut == 0 {
		return string(head)
	}
	mark := b.Mark
	if mark == "" {
		mark = defaultMark
	}
	mark = strings.ReplaceAll(mark, "%d", strconv.FormatInt(cut, 10)) + "\n"
	if len(head) > 0 && head[len(head)-1] != '\n' {
		mark = "\n" + mark
	}
	return string(head) + mark + string(tail)
}

// unfinished returns how many bytes at the end are the beginning of a character.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// continuation returns how many bytes at the beginning are the end of a character.
func continuation(p []byte) int {
	n := 0
	for n < len(p) && n < utf8.UTFMax-1 && !utf8.RuneStart(p[n]) {
		n++
	}
	return n
}

// A ring keeps the last bytes of what is written to it.
type ring struct {
	data []byte
	next int // where the oldest byte is, and the next one goes, once data is full
}

// write keeps at most limit bytes, which is the same every time.
func (r *ring) write(p []byte, limit int) {
	if len(p) >= limit {
		r.data, r.next = append(r.data[:0], p[len(p)-limit:]...), 0
		return
	}
	n := min(len(p), limit-len(r.data))
	r.data = append(grow(r.data, n, limit), p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(r.data[r.next:], p)
		r.next = (r.next + n) % limit
	}
}

// bytes returns a copy in the order of writing.
func (r *ring) bytes() []byte {
	return append(append([]byte(nil), r.data[r.next:]...), r.data[:r.next]...)
}

// grow makes room for n more bytes, doubling, but never for more than the limit.
func grow(p []byte, n, limit int) []byte {
	need := len(p) + n
	if need <= cap(p) {
		return p
	}
	return append(make([]byte, 0, min(limit, max(need, 2*cap(p)))), p...)
}
