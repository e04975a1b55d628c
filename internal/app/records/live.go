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
	pollInterval = 100 * time.Millisecond
	firstEvents  = 200    // events at the start
	maxBacklog   = 10_000 // events that a slow reader still gets
	keptEvents   = 1_000  // latest events kept in memory
)

// Live follows a record, whichever process writes it. One goroutine polls it for all watchers.
type Live struct {
	path string

	mu       sync.Mutex // guards the fields below
	from     *audit.Follower
	last     []*Entry // oldest first, at most twice kept
	watchers map[*watcher]bool
	stop     context.CancelFunc // stops polling; nil means that nobody polls
}

// NewLive follows a file, which need not exist yet.
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
	w.queue(missed)
	l.watchers[w] = true
	out := make(chan Entry)
	go func() {
		defer close(out)
		w.forward(ctx, out)
		l.unwatch(w)
	}()
	return out, nil
}

// begin reads the record and starts polling. The caller holds mu.
func (l *Live) begin() error {
	if l.from != nil {
		return l.poll()
	}
	from, err := audit.AwaitFollower(l.path, firstEvents)
	if err != nil {
		return err
	}
	l.from, l.last = from, nil
	if err := l.poll(); err != nil {
		l.end()
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.pollUntil(ctx)
	return nil
}

// end stops polling if nobody watches any more. The caller holds mu.
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

func (l *Live) unwatch(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, w)
	l.end()
}

// pollUntil polls until ctx ends. Errors may be temporary.
func (l *Live) pollUntil(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		if ctx.Err() == nil {
			_ = l.poll()
		}
		l.mu.Unlock()
	}
}

// poll distributes new events. The caller holds mu.
func (l *Live) poll() error {
	var fresh []*Entry
	anew, err := l.from.Read(func(e audit.Event) error {
		one := entryOf(&e)
		fresh = append(fresh, &one)
		return nil
	})
	if anew {
		l.last = nil // the record was replaced
	}
	if l.last = append(l.last, fresh...); len(l.last) > 2*keptEvents {
		l.last = append([]*Entry(nil), l.last[len(l.last)-keptEvents:]...)
	}
	for w := range l.watchers {
		w.queue(fresh)
	}
	return err
}

// missed returns the events after a number, or the latest ones if it is zero or of another record. The caller holds
// mu.
func (l *Live) missed(after int64) ([]*Entry, error) {
	n := len(l.last)
	if n == 0 {
		return nil, nil
	}
	first, last := l.last[0].Seq, l.last[n-1].Seq
	switch {
	case after <= 0 || after > last:
		return l.last[max(0, n-firstEvents):], nil
	case after < first-1:
		return l.readBack(after, last)
	}
	at, _ := slices.BinarySearchFunc(l.last, after+1, func(e *Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return l.last[at:], nil
}

// readBack reads older events from the file.
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
	events, err := audit.Tail(f, info.Size(), int(min(last-after, maxBacklog)))
	var out []*Entry
	for i := range events {
		if e := &events[i]; e.Seq > after && e.Seq <= last { // newer ones come through look
			one := entryOf(e)
			out = append(out, &one)
		}
	}
	return out, err
}

// A watcher is a reader with its own pace.
type watcher struct {
	mu     sync.Mutex
	queued []*Entry
	wake   chan struct{}
}

// queue queues events. If there are too many, the oldest are dropped.
func (w *watcher) queue(events []*Entry) {
	if len(events) == 0 {
		return
	}
	w.mu.Lock()
	w.queued = append(w.queued, events...)
	if over := len(w.queued) - maxBacklog; over > 0 {
		w.queued = append([]*Entry(nil), w.queued[over:]...)
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
	all := w.queued
	w.queued = nil
	return all
}

// forward sends queued events until ctx ends.
func (w *watcher) forward(ctx context.Context, out chan<- Entry) {
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
