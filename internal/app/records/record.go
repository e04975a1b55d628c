package records

import (
	"context"
	"sync"
	"time"

	"hako/audit"
	"hako/audit/sqlite"
	"hako/run/fault"
)

// Record searches, counts and verifies a record. It maintains an index beside it, see [sqlite.PathFor], in the
// background.
type Record struct {
	path  string
	alive context.Context
	stop  context.CancelFunc
	clock func() time.Time // nil means time.Now

	mu    sync.Mutex // guards the fields below
	index *sqlite.Index
	taken int64         // size of the record at the last update of the index
	ready chan struct{} // closed at the end of the current update; nil means that there is none
	fault error         // of the last update

	busy sync.WaitGroup // updates

	turn     chan struct{} // holds a token during a verification
	verifier audit.Verifier
}

// trust is how long a verified beginning of the record is not verified again.
const trust = 10 * time.Minute

// NewRecord opens the record in a file, which need not exist yet. The caller closes it.
func NewRecord(path string) *Record {
	r := &Record{path: path, turn: make(chan struct{}, 1), verifier: audit.Verifier{Path: path, Trust: trust}}
	r.alive, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin starts indexing, so that the first request need not wait.
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

// Close stops the background work and closes the index.
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

const (
	usualMost = 100    // default number of results
	mostFound = 10_000 // maximum number of results
)

// Search implements [hako/internal/web/api.Record]. A missing record has no events.
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

// drop closes a damaged index, so that it is rebuilt, and returns the error.
func (r *Record) drop(index *sqlite.Index, err error) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == index {
		r.index, r.taken = nil, 0
		_ = index.Close()
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

// opened returns the index, and opens it if necessary.
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

// fewBytes at the end of a record are read quickly without the index.
const fewBytes = 256 << 10

// freshen updates the index in the background, unless at most left bytes are new. The result is closed when that is
// done.
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
