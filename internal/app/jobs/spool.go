package jobs

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// A file holds an output. Closing it also removes it.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// A spool is what a job printed, on disk, up to a limit. It takes everything:
// a job must not stand still, or fail, because of what happens to its output.
type spool struct {
	create func() (file, error)
	limit  int64

	mu    sync.Mutex // guards what follows
	file  file       // nil before the first byte, and when there is none to be had
	size  int64      // bytes in the file
	total int64      // bytes printed
	why   string     // why the rest is dropped; empty means that nothing was
	gone  bool       // nobody can ask for it any more
}

// Write implements [io.Writer]. It never fails.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(p))
	if s.why == "" && !s.gone && len(p) > 0 {
		s.keep(p)
	}
	return len(p), nil
}

// keep writes as much to the file as the limit and the disk allow. After the
// first loss nothing more is kept: an output with holes would mislead.
func (s *spool) keep(p []byte) {
	if s.file == nil {
		f, err := s.create()
		if err != nil {
			s.why = "it cannot be written: " + cause(err).Error()
			return
		}
		s.file = f
	}
	room := min(int64(len(p)), s.limit-s.size)
	n, err := s.file.Write(p[:room])
	s.size += int64(n)
	switch {
	case err != nil:
		s.why = "it cannot be written: " + cause(err).Error()
	case room < int64(len(p)):
		s.why = fmt.Sprintf("it is over the limit of %d bytes", s.limit)
	}
}

// count tells how many bytes were printed, and how many of them are not kept
// and why.
func (s *spool) count() (total, dropped int64, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.total - s.size, s.why
}

// drop gives the file up.
func (s *spool) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// read fills p from a place on, as far as there is something. The spool is locked.
func (s *spool) read(p []byte, from int64) ([]byte, error) {
	if s.gone {
		return nil, os.ErrClosed
	}
	p = p[:max(min(int64(len(p)), s.size-from), 0)]
	if len(p) == 0 {
		return p, nil
	}
	if n, err := s.file.ReadAt(p, from); n < len(p) {
		return nil, err
	}
	return p, nil
}

// createFile makes a file of the list's own. Its name is taken away at once
// where the system permits that: nobody else can open it, and it is gone with
// the process, however that ends.
func (d *List) createFile() (file, error) {
	f, err := os.CreateTemp(d.dir.Path, "")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	return unnamed{f}, nil
}

// unnamed is a file that has, or should have, no name.
type unnamed struct{ *os.File }

// Close closes and removes the file.
func (u unnamed) Close() error {
	err := u.File.Close()
	_ = os.Remove(u.Name()) // where an open file has to keep its name
	return err
}
