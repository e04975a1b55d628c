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

	mu         sync.Mutex // guards the fields below
	index      *sqlite.Index
	indexed    int64         // size of the record at the last update of the index
	updateDone chan struct{} // closed at the end of the current update; nil means that there is none
	updateErr  error         // of the last update

	updates sync.WaitGroup // updates

	verifying chan struct{} // holds a token during a verification
	verifier  audit.Verifier
}

// trustTime is how long a verified beginning of the record is not verified again.
const trustTime = 10 * time.Minute

// NewRecord opens the record in a file, which need not exist yet. The caller closes it.
func NewRecord(path string) *Record {
	r := &Record{path: path, verifying: make(chan struct{}, 1), verifier: audit.Verifier{Path: path, Trust: trustTime}}
	r.alive, r.stop = context.WithCancel(context.Background())
	return r
}

// Begin starts indexing, so that the first request need not wait.
func (r *Record) Begin() {
	r.updates.Go(func() {
		size, err := r.size()
		if err != nil {
			return
		}
		if _, err := r.opened(); err == nil {
			r.updateIndex(size, minUpdate)
		}
	})
}

// Close stops the background work and closes the index.
func (r *Record) Close() error {
	r.stop()
	r.updates.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		return nil
	}
	return r.index.Close()
}

const (
	defaultLimit = 100    // default number of results
	maxLimit     = 10_000 // maximum number of results
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
	r.updateIndex(info.Size(), minUpdate)
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
		r.index, r.indexed = nil, 0
		_ = index.Close()
	}
	return err
}

func filter(q Query) audit.Filter {
	f := audit.Filter{Text: q.Text, Actor: q.Actor, What: q.What, Command: q.Command, Since: q.Since, Until: q.Until,
		Before: q.Before}
	if f.Limit = min(q.Most, maxLimit); f.Limit <= 0 {
		f.Limit = defaultLimit
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

// minUpdate at the end of a record are read quickly without the index.
const minUpdate = 256 << 10

// updateIndex updates the index in the background, unless at most left bytes are new. The result is closed when that
// is done.
func (r *Record) updateIndex(size, left int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.updateDone != nil {
		return r.updateDone
	}
	done := make(chan struct{})
	if grown := size - r.indexed; r.index == nil || r.alive.Err() != nil || grown >= 0 && grown <= left {
		close(done)
		return done
	}
	r.updateDone = done
	index := r.index
	r.updates.Go(func() {
		err := r.drop(index, index.Update(r.alive, r.path))
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.updateErr = err; err == nil {
			r.indexed = size
		}
		r.updateDone = nil
		close(done)
	})
	return done
}
