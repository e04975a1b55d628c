package audit

import (
	"context"
	"io"
	"os"
	"time"
)

// A Verifier repeatedly checks one log and its side file. It is not safe for concurrent use.
type Verifier struct {
	Path string

	// Trust is for how long what was found whole is not read again, so that only
	// what came since is. Zero means not at all: who can change the log could
	// change what was checked.
	Trust time.Duration
	Now   func() time.Time // nil means time.Now

	done  verification   // what was found whole; zero means nothing
	since time.Time      // when its first line was checked
	file  os.FileInfo    // of the log at that time
	head  *chainPosition // and its side file
}

// Verify checks the log. The error is one of reading, or that of ctx.
func (v *Verifier) Verify(ctx context.Context) (Report, error) {
	f, err := OpenRead(v.Path)
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Report{}, err
	}
	head, err := openHead(v.Path)
	if err != nil {
		return Report{}, err
	}
	w, since := verification{chain: chain{at: chainStart}}, v.now()
	if v.mayResume(f, info, head) {
		w, since = v.done, v.since
	}
	v.done = verification{}
	report, err := w.run(contextReader{ctx, io.NewSectionReader(f, w.offset, 1<<62-w.offset)}, head)
	report.Path = v.Path
	if err == nil && report.OK() {
		v.done, v.since, v.file, v.head = w, since, info, head
	}
	return report, err
}

func (v *Verifier) now() time.Time {
	if v.Now == nil {
		return time.Now()
	}
	return v.Now()
}

// mayResume reports whether what was verified needs no second check: it was recent, the file is the same and not
// truncated, and the side file says nothing new about it.
func (v *Verifier) mayResume(log io.ReaderAt, now os.FileInfo, head *chainPosition) bool {
	if v.done.events == 0 || v.now().Sub(v.since) >= v.Trust || !os.SameFile(v.file, now) {
		return false
	}
	if now.Size() == v.file.Size() && !now.ModTime().Equal(v.file.ModTime()) {
		return false // written to, and not appended
	}
	return EndsWith(log, v.done.offset, v.done.at.hash) && v.headUnchanged(head)
}

// headUnchanged reports whether the side file has the position it had, that of the end of what was verified, or a
// later one.
func (v *Verifier) headUnchanged(head *chainPosition) bool {
	if head == nil || v.head == nil {
		return head == v.head
	}
	return *head == *v.head || *head == v.done.at || head.seq > v.done.at.seq
}

// A contextReader fails when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (u contextReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
