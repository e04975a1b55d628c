package text

import (
	"bytes"
	"cmp"
	"runtime"
	"slices"
	"sync"

	"hako/shell/command/internal/cli"
)

// sortWorkers runs parts of the work concurrently.
type sortWorkers struct {
	free chan struct{}
	all  sync.WaitGroup
}

func newSortWorkers() *sortWorkers {
	return &sortWorkers{free: make(chan struct{}, min(3, runtime.GOMAXPROCS(0)-1))}
}

// fork runs f concurrently if a worker is idle, and otherwise in the caller.
func (w *sortWorkers) fork(f func()) {
	select {
	case w.free <- struct{}{}:
		w.all.Go(func() {
			f()
			<-w.free
		})
	default:
		f()
	}
}

func (w *sortWorkers) wait() { w.all.Wait() }

const (
	forkSize  = 8 << 10 // minimum entries for another worker
	smallSize = 12      // groups up to this size are compared directly
)

// order sorts the entries: by the first eight bytes of the first key, groups with equal
// bytes by the next eight, and so on through the keys. Most lines are read only once and
// sequentially, which makes it fast.
func (s *sorter) order(entries []lineEntry) {
	s.byKey(entries, 0)
	s.workers.wait()
}

// byKey sorts by the keys from index i on.
func (s *sorter) byKey(e []lineEntry, i int) {
	switch {
	case len(e) < 2 || i > len(s.keys) || s.ctx.Err() != nil:
	case i == len(s.keys) && s.lastResort:
		s.byText(e, i, 0)
	case i == len(s.keys):
		s.byArrival(e)
	case len(e) <= smallSize:
		s.direct(e, i)
	case s.keys[i].plain() || s.keys[i].foldOnly():
		s.byText(e, i, 0)
	default:
		s.byNumber(e, i)
	}
}

// byArrival sorts by the order of the input, unless all lines are identical.
func (s *sorter) byArrival(e []lineEntry) {
	if !s.wholeLine {
		slices.SortFunc(e, func(a, b lineEntry) int { return cmp.Compare(a.off, b.off) })
	}
}

// direct sorts by comparing all keys from index i on.
func (s *sorter) direct(e []lineEntry, i int) {
	poll := cli.Poll{Ctx: s.ctx}
	stopped := false
	slices.SortFunc(e, func(a, b lineEntry) int {
		if stopped = stopped || poll.Err() != nil; stopped {
			return 0 // the result is not used
		}
		x, y := s.store.line(a), s.store.line(b)
		n := s.compareFrom(i, x, y)
		if n == 0 && s.lastResort {
			if n = bytes.Compare(x, y); s.global.reverse {
				n = -n
			}
		}
		if n == 0 {
			return cmp.Compare(a.off, b.off)
		}
		return n
	})
}

// byNumber sorts by a key that maps to an integer.
func (s *sorter) byNumber(e []lineEntry, i int) {
	k := &s.keys[i]
	s.inParts(e, func(part []lineEntry) {
		for j := range part {
			part[j].prefix = s.integer(k, k.extract(s.store.line(part[j]), s.sep))
		}
	})
	s.byPrefix(e, 64, func(group []lineEntry) {
		if k.decides(group[0].prefix) {
			s.byKey(group, i+1)
		} else {
			s.direct(group, i)
		}
	})
}

// integer maps a key to an integer of the same order.
func (s *sorter) integer(k *sortKey, text []byte) (v uint64) {
	switch k.kind() {
	case 'n':
		v = uint64(parseSortNumber(text).order64(14)) ^ 1<<63
	case 'h':
		v = uint64(parseSortNumber(text).sizeOrder64()) ^ 1<<63
	case 'g':
		v = floatOrder(text)
	case 'M':
		v = uint64(monthOf(text))
	case 'R':
		v = s.randomOrder(text)
	case 'V':
		v = 0
	default:
		v = k.foldedPrefix(text)
	}
	if k.reverse {
		v = ^v
	}
	return v
}

// foldedPrefix is prefixAt of the bytes that count.
func (k *sortKey) foldedPrefix(text []byte) (v uint64) {
	for shift := 56; shift >= 0 && len(text) > 0; text = text[1:] {
		b := text[0]
		if !k.counts(b) {
			continue
		}
		if k.fold {
			b = upperASCII(b)
		}
		v |= uint64(b) << shift
		shift -= 8
	}
	return v
}

// decides reports whether keys with the same integer are equal.
func (k *sortKey) decides(v uint64) bool {
	if k.reverse {
		v = ^v
	}
	switch k.kind() {
	case 'n', 'h':
		return v&1 == 0
	case 'g', 'M', 'R':
		return true
	}
	return false
}

// text returns the bytes of key i, or the whole line for the last resort.
func (s *sorter) text(e lineEntry, i int) []byte {
	if s.wholeLine || i == len(s.keys) {
		return s.store.line(e)
	}
	return s.keys[i].extract(s.store.line(e), s.sep)
}

func (s *sorter) backwards(i int) bool {
	if i == len(s.keys) {
		return s.global.reverse
	}
	return s.keys[i].reverse
}

// byText sorts lines that are equal in key i up to depth.
func (s *sorter) byText(e []lineEntry, i, depth int) {
	if len(e) < 2 || s.ctx.Err() != nil {
		return
	}
	if len(e) <= smallSize {
		s.shortText(e, i, depth)
		return
	}
	if !(s.wholeLine && depth == 0) { // in that case index has set the prefixes
		s.fillPrefixes(e, i, depth)
	} else if s.backwards(i) {
		s.inParts(e, flipPrefixes)
	}
	if uniform(e) {
		if skip := s.commonLength(e, i, depth); skip >= 8 {
			s.byText(e, i, depth+skip)
			return
		}
	}
	s.byPrefix(e, 64, func(group []lineEntry) { s.textTies(group, i, depth) })
}

func flipPrefixes(e []lineEntry) {
	for j := range e {
		e[j].prefix = ^e[j].prefix
	}
}

func (s *sorter) fillPrefixes(e []lineEntry, i, depth int) {
	flip := uint64(0)
	if s.backwards(i) {
		flip = ^flip
	}
	fold := i < len(s.keys) && s.keys[i].fold
	s.inParts(e, func(part []lineEntry) {
		for j := range part {
			p := prefixAt(s.text(part[j], i), depth)
			if fold {
				p = upper8(p)
			}
			part[j].prefix = flip ^ p
		}
	})
}

// upper8 converts eight bytes to upper case at once.
func upper8(v uint64) uint64 {
	const ones = 0x0101010101010101
	low := v &^ (ones << 7)
	atLeastA := low + ones*(0x80-'a')
	overZ := low + ones*(0x80-'z'-1)
	letters := atLeastA &^ overZ &^ v & (ones << 7)
	return v - letters>>2
}

func uniform(e []lineEntry) bool {
	for _, x := range e[1:] {
		if x.prefix != e[0].prefix {
			return false
		}
	}
	return true
}

// commonLength returns how many bytes after depth all lines share. Skipping them avoids a
// pass for every eight bytes.
func (s *sorter) commonLength(e []lineEntry, i, depth int) int {
	first := s.text(e[0], i)
	first = first[min(depth, len(first)):]
	for _, x := range e[1:] {
		t := s.text(x, i)
		first = first[:commonPrefix(first, t[min(depth, len(t)):])]
		if len(first) < 8 {
			break
		}
	}
	return len(first)
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.Equal(a[:n], b[:n]) {
		return n
	}
	i := 0
	for prefixAt(a[i:n], 0) == prefixAt(b[i:n], 0) {
		i += 8
	}
	for a[i] == b[i] {
		i++
	}
	return i
}

// textTies sorts lines with the same eight bytes at depth: first those that end there,
// then the longer ones.
func (s *sorter) textTies(e []lineEntry, i, depth int) {
	if len(e) <= smallSize {
		s.shortText(e, i, depth)
		return
	}
	back := s.backwards(i)
	n := 0
	for j := range e {
		ends := len(s.text(e[j], i)) <= depth+8
		if ends != back {
			e[n], e[j] = e[j], e[n]
			n++
		}
	}
	ended, going := e[:n], e[n:]
	if back {
		ended, going = going, ended
	}
	s.endedTies(ended, i)
	s.byText(going, i, depth+8)
}

// endedTies sorts lines whose keys are equal except for zero bytes at the end.
func (s *sorter) endedTies(e []lineEntry, i int) {
	switch {
	case len(e) < 2:
	case s.zeros(e, i):
		s.direct(e, i)
	default:
		s.byKey(e, i+1)
	}
}

// zeros reports whether the keys differ in length.
func (s *sorter) zeros(e []lineEntry, i int) bool {
	n := len(s.text(e[0], i))
	for _, x := range e[1:] {
		if len(s.text(x, i)) != n {
			return true
		}
	}
	return false
}

// shortText sorts a few lines by key i from depth on, and by the following keys.
func (s *sorter) shortText(e []lineEntry, i, depth int) {
	if !s.wholeLine && i < len(s.keys) {
		s.direct(e, i)
		return
	}
	back := s.backwards(i)
	for j := 1; j < len(e); j++ {
		x := e[j]
		text := s.store.line(x)
		text = text[min(depth, len(text)):]
		p := j
		for p > 0 {
			t := s.store.line(e[p-1])
			n := bytes.Compare(t[min(depth, len(t)):], text)
			if n == 0 || n > 0 == back {
				break
			}
			e[p] = e[p-1]
			p--
		}
		e[p] = x
	}
}

// byPrefix sorts by prefix and calls ties for every group of equals. It partitions large
// slices around a pivot, so that workers can share them.
func (s *sorter) byPrefix(e []lineEntry, splits int, ties func([]lineEntry)) {
	for len(e) > forkSize && splits > 0 && s.ctx.Err() == nil {
		splits--
		less, more := partition(e, middle(e))
		low, same := e[:less], e[less:more]
		e = e[more:]
		left := splits
		s.workers.fork(func() { s.byPrefix(low, left, ties) })
		if len(same) > forkSize {
			s.workers.fork(func() { ties(same) })
		} else if len(same) > 1 {
			ties(same)
		}
	}
	slices.SortFunc(e, func(a, b lineEntry) int { return cmp.Compare(a.prefix, b.prefix) })
	for len(e) > 1 {
		n := 1
		for n < len(e) && e[n].prefix == e[0].prefix {
			n++
		}
		if n > 1 {
			ties(e[:n])
		}
		e = e[n:]
	}
}

// middle estimates the median from nine entries.
func middle(e []lineEntry) uint64 {
	var v [9]uint64
	for i := range v {
		v[i] = e[len(e)/9*i+len(e)/18].prefix
	}
	slices.Sort(v[:])
	return v[4]
}

// partition moves prefixes less than pivot to the front and greater ones to the end.
func partition(e []lineEntry, pivot uint64) (less, more int) {
	more = len(e)
	for i := 0; i < more; {
		switch p := e[i].prefix; {
		case p < pivot:
			e[less], e[i] = e[i], e[less]
			less++
			i++
		case p > pivot:
			more--
			e[more], e[i] = e[i], e[more]
		default:
			i++
		}
	}
	return less, more
}

// inParts calls f with parts of e, maybe concurrently, and waits for these calls.
func (s *sorter) inParts(e []lineEntry, f func([]lineEntry)) {
	if len(e) < 4*forkSize {
		f(e)
		return
	}
	var own sync.WaitGroup
	half := len(e) / 2
	own.Add(1)
	s.workers.fork(func() { f(e[:half]); own.Done() })
	f(e[half:])
	own.Wait()
}
