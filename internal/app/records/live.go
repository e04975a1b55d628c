package records

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"hako/audit"
)

const (
	lookEvery = 100 * time.Millisecond
	newest    = 200    // events to begin with
	mostLate  = 10_000 // events that somebody may have missed and still gets
	kept      = 1_000  // of the last events, so that not everybody who comes reads the file
)

// Live tells what is written to a record, by whichever process. The record is
// looked at ten times a second while somebody watches, by one for all of them.
type Live struct {
	path string

	mu       sync.Mutex // guards what follows
	from     *audit.Follower
	last     []*Entry // the newest last, at most twice as many as are kept
	watchers map[*watcher]bool
	stop     context.CancelFunc // ends looking; nil means that nobody looks
}

// NewLive watches the record in a file, which need not be there yet.
func NewLive(path string) *Live { return &Live{path: path, watchers: make(map[*watcher]bool)} }

// Watch implements [hako/internal/web/api.Live]. The channel is closed when ctx ends.
func (l *Live) Watch(ctx context.Context, after int64) (<-chan Entry, error) {
	w := &watcher{wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return nil, err
	}
	missed, err := l.missed(after)
	if err != nil {
		l.end()
		return nil, err
	}
	w.put(missed)
	l.watchers[w] = true
	out := make(chan Entry)
	go func() {
		defer close(out)
		w.pass(ctx, out)
		l.leave(w)
	}()
	return out, nil
}

// begin looks at the record as it is now, and from now on. The caller holds mu.
func (l *Live) begin() error {
	if l.from != nil {
		return l.look()
	}
	from, err := audit.AwaitFollower(l.path, newest)
	if err != nil {
		return err
	}
	l.from, l.last = from, nil
	if err := l.look(); err != nil {
		l.end()
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.keepLooking(ctx)
	return nil
}

// end lets the record go if nobody watches any more. The caller holds mu.
func (l *Live) end() {
	if len(l.watchers) > 0 || l.from == nil {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.from.Close()
	l.from, l.last, l.stop = nil, nil, nil
}

func (l *Live) leave(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, w)
	l.end()
}

// keepLooking looks until it is told to stop. A record that cannot be read now
// may be readable the next time.
func (l *Live) keepLooking(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		if ctx.Err() == nil {
			_ = l.look()
		}
		l.mu.Unlock()
	}
}

// poll tells everybody what came since the last time. The caller holds mu.
func (l *Live) look() error {
	var fresh []*Entry
	anew, err := l.from.Read(func(e audit.Event) error {
		one := entryOf(&e)
		fresh = append(fresh, &one)
		return nil
	})
	if anew {
		l.last = nil // numbers begin anew
	}
	if l.last = append(l.last, fresh...); len(l.last) > 2*kept {
		l.last = append([]*Entry(nil), l.last[len(l.last)-kept:]...)
	}
	for w := range l.watchers {
		w.put(fresh)
	}
	return err
}

// missed returns the events after a number, and the newest few if it is zero or
// one of an earlier record. The caller holds mu.
func (l *Live) missed(after int64) ([]*Entry, error) {
	n := len(l.last)
	if n == 0 {
		return nil, nil
	}
	first, last := l.last[0].Seq, l.last[n-1].Seq
	switch {
	case after <= 0 || after > last:
		return l.last[max(0, n-newest):], nil
	case after < first-1:
		return l.readBack(after, last)
	}
	at, _ := slices.BinarySearchFunc(l.last, after+1, func(e *Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return l.last[at:], nil
}

// readBack reads from the file what is not kept any more.
func (l *Live) readBack(after, last int64) ([]*Entry, error) {
	f, err := audit.OpenRead(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	events, err := audit.Tail(f, info.Size(), int(min(last-after, mostLate)))
	var out []*Entry
	for i := range events {
		if e := &events[i]; e.Seq > after && e.Seq <= last { // what is newer is told with the rest
			one := entryOf(e)
			out = append(out, &one)
		}
	}
	return out, err
}

// A watcher is one who reads, at its own pace.
type watcher struct {
	mu      sync.Mutex
	waiting []*Entry
	wake    chan struct{}
}

// put adds events. If too many wait already, the oldest are dropped.
func (w *watcher) put(events []*Entry) {
	if len(events) == 0 {
		return
	}
	w.mu.Lock()
	w.waiting = append(w.waiting, events...)
	if over := len(w.waiting) - mostLate; over > 0 {
		w.waiting = append([]*Entry(nil), w.waiting[over:]...)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []*Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.waiting
	w.waiting = nil
	return all
}

// pass hands events on until ctx ends.
func (w *watcher) pass(ctx context.Context, out chan<- Entry) {
	for {
		for _, e := range w.take() {
			select {
			case out <- *e:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
	}
}
