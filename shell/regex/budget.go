package regex

// A budget is the work that one call may still do.
type budget struct {
	left    int // until the next look at done
	reserve int // after that
	looked  int // bytes looked at since the last look at done
	done    <-chan struct{}
}

// The work between two looks at done: about a millisecond of it.
const (
	budgetSlice = 256 << 10
	budgetBytes = 1 << 20
)

func (b *budget) reset(n int, done <-chan struct{}) {
	b.left, b.reserve, b.done = 0, n, done
}

// over reports whether the call must end: its work is used up, or nobody waits
// for its result any more.
func (b *budget) over() bool { return b.left < 0 && !b.refill() }

func (b *budget) refill() bool {
	if b.reserve <= 0 || b.stopped() {
		b.exhaust()
		return false
	}
	n := min(b.reserve, budgetSlice-b.left)
	b.left += n
	b.reserve -= n
	return b.left >= 0
}

func (b *budget) exhaust() { b.left, b.reserve = -1, 0 }

func (b *budget) exhausted() bool { return b.left < 0 && b.reserve <= 0 }

// look counts bytes that cost no work otherwise.
func (b *budget) look(n int) {
	if b.looked += n; b.looked > budgetBytes {
		b.looked = 0
		if b.stopped() {
			b.exhaust()
		}
	}
}

func (b *budget) stopped() bool { return isDone(b.done) }

func isDone(done <-chan struct{}) bool {
	select {
	case <-done: // a nil channel is never ready
		return true
	default:
		return false
	}
}
