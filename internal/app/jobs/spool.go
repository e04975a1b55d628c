package jobs

import (
	"fmt"
	"io"
	"os"
	"sync"

	"hako/run/fault"
)

// A file holds an output. Close also removes it.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// A outputFile keeps the beginning of an output on disk. Write never fails: a job must not stop because of its output.
type outputFile struct {
	create func() (file, error)
	limit  int64

	mu      sync.Mutex // guards the fields below
	file    file       // nil before the first byte, or after an error
	size    int64      // bytes in the file
	total   int64      // bytes printed
	why     string     // why the rest is dropped; empty means that it is not
	dropped bool       // the job was forgotten
}

func (s *outputFile) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(p))
	if s.why == "" && !s.dropped && len(p) > 0 {
		s.keep(p)
	}
	return len(p), nil
}

// keep writes as much as limit and disk allow. After the first loss it keeps nothing: an output with holes would
// mislead.
func (s *outputFile) keep(p []byte) {
	if s.file == nil {
		f, err := s.create()
		if err != nil {
			s.why = "it cannot be written: " + fault.Reason(err).Error()
			return
		}
		s.file = f
	}
	room := min(int64(len(p)), s.limit-s.size)
	n, err := s.file.Write(p[:room])
	s.size += int64(n)
	switch {
	case err != nil:
		s.why = "it cannot be written: " + fault.Reason(err).Error()
	case room < int64(len(p)):
		s.why = fmt.Sprintf("it is over the limit of %d bytes", s.limit)
	}
}

// count returns how many bytes were printed, how many of them were dropped, and why.
func (s *outputFile) count() (total, dropped int64, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.total - s.size, s.why
}

// drop removes the file.
func (s *outputFile) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// read fills p from an offset on. The caller holds mu.
func (s *outputFile) read(p []byte, from int64) ([]byte, error) {
	if s.dropped {
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

// createFile makes a file and removes its name at once if the system permits: nobody else can open it, and it
// disappears with the process.
func (d *List) createFile() (file, error) {
	f, err := os.CreateTemp(d.dir.Path, "")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	return unnamed{f}, nil
}

// unnamed is a file without a name.
type unnamed struct{ *os.File }

// Close closes and removes the file.
func (u unnamed) Close() error {
	err := u.File.Close()
	_ = os.Remove(u.Name()) // where an open file has to keep its name
	return err
}
