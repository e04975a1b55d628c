package records

import (
	"context"
	"sync"
	"time"

	"hako/audit"
	"hako/audit/sqlite"
	"hako/run/fault"
)

// Record searches a record, counts and checks it. It keeps an index beside it, see
// [sqlite.PathFor], and takes in what is appended now and then, in the background.
type Record struct {
	path  string
	alive context.Context
	stop  context.CancelFunc
	clock func() time.Time // nil means that of the system

	mu    sync.Mutex // guards what follows
	index *sqlite.Index
	taken int64         // how long the record was when all of it was taken in
	ready chan struct{} // closed when what is going on is done; nil means that nothing is
	fault error         // what came of it

	busy sync.WaitGroup // who takes in

	turn     chan struct{} // is full while somebody checks
	verifier audit.Verifier
}

// trust is how long a record that was found whole is not checked from its first
// line again.
const trust = 10 * time.Minute

// NewRecord shows the record in a file, which need not be there yet. The caller
// closes it.
func NewRecord(path string) *Record {
	r := &Record{path: path, turn: make(chan struct{}, 1), verifier: audit.Verifier{Path: path, Trust: trust}}
	r.alive, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin takes in, in the background, what is in the record already, so that the
// first who looks need not wait. What goes wrong is told to who looks.
func (r *Record) Begin() {
	r.busy.Go(func() {
		size, err := r.size()
		if err != nil {
			return
		}
		if _, err := r.opened(); err == nil {
			r.freshen(size, fewBytes)
		}
	})
}

// Close ends what goes on in the background and lets the index go.
func (r *Record) Close() error {
	r.stop()
	r.busy.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		return nil
	}
	return r.index.Close()
}

// usualMost is how many events a search finds if nobody says.
const usualMost = 100

// mostFound is as many as it ever does.
const mostFound = 10_000

// Search implements [hako/internal/web/api.Record]. A record that is not there has no events.
func (r *Record) Search(ctx context.Context, q Query) ([]Entry, error) {
	f, err := audit.OpenRead(r.path)
	if err != nil {
		return nil, unlessMissing(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	index, err := r.opened()
	if err != nil {
		return nil, err
	}
	r.freshen(info.Size(), fewBytes)
	found, err := index.Search(ctx, f, info.Size(), filter(q))
	out := make([]Entry, len(found))
	for i := range found {
		out[i] = entryOf(&found[i])
	}
	return out, r.drop(index, err)
}

// drop lets an index go that is broken, so that one that was removed is made anew,
// and returns the error.
func (r *Record) drop(index *sqlite.Index, err error) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == index {
		r.index, r.taken = nil, 0
		_ = index.Close() // it is broken: there is nothing to lose
	}
	return err
}

func filter(q Query) audit.Filter {
	f := audit.Filter{Text: q.Text, Actor: q.Actor, What: q.What, Command: q.Command, Since: q.Since, Until: q.Until,
		Before: q.Before}
	if f.Limit = min(q.Most, mostFound); f.Limit <= 0 {
		f.Limit = usualMost
	}
	return f
}

func unlessMissing(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// opened returns the index and opens it if need be.
func (r *Record) opened() (*sqlite.Index, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alive.Err() != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "read index", Why: "the record is closed"}
	}
	if r.index != nil {
		return r.index, nil
	}
	index, err := sqlite.Open(sqlite.PathFor(r.path))
	if err == nil {
		r.index = index
	}
	return index, err
}

// fewBytes of the end of a record are read as fast without the index.
const fewBytes = 256 << 10

// freshen takes in what was appended, in the background, unless that is no more
// than what may be left. It returns what is closed when that is done.
func (r *Record) freshen(size, left int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready != nil {
		return r.ready
	}
	done := make(chan struct{})
	if grown := size - r.taken; r.index == nil || r.alive.Err() != nil || grown >= 0 && grown <= left {
		close(done)
		return done
	}
	r.ready = done
	index := r.index
	r.busy.Go(func() {
		err := r.drop(index, index.Update(r.alive, r.path))
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.fault = err; err == nil {
			r.taken = size
		}
		r.ready = nil
		close(done)
	})
	return done
}
