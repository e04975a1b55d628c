package audit

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"time"

	"hako/run/fault"
)

const (
	followEvery = 100 * time.Millisecond
	followBlock = 64 << 10
)

// Follow calls do for the newest events of a log, oldest first, and for each event that is appended, until ctx
// ends or do fails.
func Follow(ctx context.Context, path string, newest int, do func(Event) error) error {
	w, err := openFollower(path, newest)
	if err != nil {
		return err
	}
	defer w.Close()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if _, err := w.Read(do); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// A Follower reads what any process appends to a log. The log may be moved, replaced or truncated meanwhile.
type Follower struct {
	path   string
	newest int

	f       *os.File // nil as long as there is no log
	at      int64    // up to where it was read
	pending []byte   // the piece of a line that was read last
	mark    []byte   // the bytes before that place
	seen    []string // the hashes of the last events
}

// openFollower starts with the newest events of a log; zero means with what is appended from now on. A missing
// log is [fault.NotFound].
func openFollower(path string, newest int) (*Follower, error) {
	w := &Follower{path: path, newest: newest}
	return w, w.open()
}

// AwaitFollower returns a follower that starts with the newest events of a log; zero means with what is appended
// from now on. The log need not exist yet.
func AwaitFollower(path string, newest int) (*Follower, error) {
	w, err := openFollower(path, newest)
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	return w, err
}

// Close closes the log.
func (w *Follower) Close() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
	}
}

// open opens the log and seeks to its newest events.
func (w *Follower) open() error {
	f, err := OpenRead(w.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		w.at, err = before(f, info.Size(), w.newest)
	}
	if err != nil {
		f.Close()
		return err
	}
	w.Close()
	w.f, w.pending, w.mark = f, nil, nil
	return nil
}

// before returns where the last n complete lines of a log begin.
func before(r io.ReaderAt, size int64, n int) (at int64, err error) {
	at = size
	err = backwards(context.Background(), r, 0, size, func(line []byte) bool {
		if line[len(line)-1] == '\n' {
			if n--; n < 0 {
				return false
			}
		}
		at -= int64(len(line))
		return true
	})
	return at, err
}

// Read calls do for the events that were appended since the last call. anew reports whether the log was replaced,
// so that sequence numbers begin again; events that were read before are omitted.
func (w *Follower) Read(do func(Event) error) (anew bool, err error) {
	moved, cut, err := w.changed()
	if err != nil {
		return false, err
	}
	if moved {
		_ = w.readAppended(do, false) // the rest of the one that was moved away counts, too
	}
	if moved || cut || w.f == nil {
		if err := w.open(); err != nil {
			return false, w.ignoreMissing(err)
		}
		anew = true
	}
	return anew, w.readAppended(do, anew)
}

// ignoreMissing ignores a missing log, which may be created later.
func (w *Follower) ignoreMissing(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// changed reports whether the log was replaced, or truncated or rewritten. A log that was moved without a
// replacement is read as before.
func (w *Follower) changed() (moved, cut bool, err error) {
	if w.f == nil {
		return false, false, nil
	}
	now, err := os.Stat(w.path)
	if os.IsNotExist(err) {
		return false, false, nil
	}
	was, ferr := w.f.Stat()
	if err = cmp.Or(err, ferr); err != nil {
		return false, false, &fault.Error{Kind: fault.Unavailable, Op: "read audit log", Subject: w.path, Err: err}
	}
	if !os.SameFile(now, was) {
		return true, false, nil
	}
	return false, now.Size() < w.at || now.Size() > w.at && !w.unchanged(), nil
}

// unchanged reports whether the bytes that were read last are still there.
func (w *Follower) unchanged() bool {
	now := make([]byte, len(w.mark))
	_, err := w.f.ReadAt(now, w.at-int64(len(now)))
	return err == nil && bytes.Equal(now, w.mark)
}

// EndsWith reports whether the line that ends at an offset has the given hash.
func EndsWith(log io.ReaderAt, offset int64, hash string) bool {
	want := hash + "\"}\n"
	got := make([]byte, len(want))
	_, err := log.ReadAt(got, offset-int64(len(want)))
	return (err == nil || err == io.EOF) && string(got) == want
}

// maxSeen is how many events are remembered.
const maxSeen = 512

// readAppended reads to the end of the open log. again omits events that were read before.
func (w *Follower) readAppended(do func(Event) error, again bool) error {
	rest := io.NewSectionReader(w.f, w.at, 1<<62-w.at)
	pending, err := follow(rest, w.pending, func(e Event) error {
		if again && slices.Contains(w.seen, e.Hash) {
			return nil
		}
		if w.seen = append(w.seen, e.Hash); len(w.seen) >= 2*maxSeen {
			w.seen = append(w.seen[:0], w.seen[maxSeen:]...)
		}
		return do(e)
	})
	read, _ := rest.Seek(0, io.SeekCurrent)
	w.at, w.pending = w.at+read, pending
	if read > 0 {
		w.mark = make([]byte, min(w.at, markSize))
		_, _ = w.f.ReadAt(w.mark, w.at-int64(len(w.mark))) // if it fails, the log is not what it was
	}
	return err
}

// markSize is enough to tell two positions of a log apart: the end of a hash.
const markSize = 32

// follow reads to the end of r in parts and returns the incomplete line there.
func follow(r io.Reader, pending []byte, do func(Event) error) ([]byte, error) {
	for {
		before := len(pending)
		pending = slices.Grow(pending, followBlock)
		n, err := r.Read(pending[before : before+followBlock])
		pending = pending[:before+n]
		if whole := before + bytes.LastIndexByte(pending[before:], '\n') + 1; whole > before {
			if _, err := scan(bytes.NewReader(pending[:whole]), do); err != nil {
				return nil, err
			}
			pending = append(pending[:0], pending[whole:]...)
		}
		if len(pending) > maxLine {
			pending = pending[:0] // no event: what comes of it yet will not be one either
		}
		if err == io.EOF {
			return pending, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
