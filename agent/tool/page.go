package tool

import "unicode/utf8"

// reach is the number of bytes of a UTF-8 character after its first.
const reach = utf8.UTFMax - 1

// maxOutput is the size of the largest output that is kept whole.
const maxOutput = 1 << 20

// A window is a writer that keeps only the page that was asked for, with what is needed at both ends to find the
// borders of characters, and optionally the whole stream up to maxOutput.
type window struct {
	start, size int64
	from        int64  // position of kept[0]
	kept        []byte // at most size plus three times reach
	total       int64

	record bool // keep the whole stream; unset once it is too large
	whole  []byte
}

// newWindow returns a window on size bytes from start.
func newWindow(start, size int64) *window {
	start = min(start, 1<<62) // far beyond any stream, and safe to add to
	return &window{start: start, size: size, from: max(0, start-reach)}
}

// Write implements [io.Writer]. It never fails.
func (w *window) Write(p []byte) (int, error) {
	switch {
	case !w.record:
	case len(w.whole)+len(p) > maxOutput:
		w.record, w.whole = false, nil
	default:
		w.whole = append(w.whole, p...)
	}
	at := w.total // position of p[0]
	w.total += int64(len(p))
	next := w.from + int64(len(w.kept))
	end := min(w.total, w.start+w.size+2*reach)
	if next < end && next < w.total {
		w.kept = append(w.kept, p[max(0, next-at):end-at]...)
	}
	return len(p), nil
}

// page returns the page and the start of the next one; last means that there is none. The page begins and ends between
// characters, and has at most size bytes but at least one character if there is any.
func (w *window) page() (page []byte, next int64, last bool) {
	begin := w.start
	for begin < w.total && w.inside(begin) {
		begin++
	}
	if begin >= w.total {
		return nil, w.total, true
	}
	end := min(begin+w.size, w.total)
	for end < w.total && w.inside(end) {
		end--
	}
	if end <= begin {
		for end = begin + 1; end < w.total && w.inside(end); {
			end++
		}
	}
	return w.kept[begin-w.from : end-w.from], end, end == w.total
}

// inside reports whether pos is in the middle of a character. A valid sequence can only begin with a byte that
// continues no other, so looking back a few bytes decides it; a byte that is in no valid sequence stands alone.
func (w *window) inside(pos int64) bool {
	for back := int64(1); back <= reach && pos-back >= w.from; back++ {
		if _, n := utf8.DecodeRune(w.kept[pos-back-w.from:]); int64(n) > back {
			return true
		}
	}
	return false
}

// validText makes valid UTF-8 of b: each byte that is part of no character becomes a replacement character.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}
