// Package joblog keeps the end of a job's output in an unnamed file.
//
// The rule to keep: a [Log] accepts everything and never fails, because a job must not block or break because of its
// output.
package joblog

import (
	"os"
	"sync"
	"unicode/utf8"

	"hako/run"
)

// A Log keeps the end of an output on disk.
type Log struct {
	Dir   string // directory of its file
	Limit int64  // bytes to keep

	mu         sync.Mutex // guards what follows
	file       *os.File   // a ring of Limit bytes; nil before the first byte
	start, end int64      // range of the output that is kept
	total      int64      // bytes printed
	why        string     // why nothing is kept after end; empty means that it is
	gone       bool       // it was dropped
}

// Write implements [io.Writer]. It never fails.
func (s *Log) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(p))
	if s.why == "" && !s.gone {
		if err := s.keep(p); err != nil {
			s.why = "it cannot be written: " + cause(err).Error()
		}
	}
	return len(p), nil
}

// keep overwrites the oldest bytes.
func (s *Log) keep(p []byte) error {
	if s.file == nil {
		f, err := unnamedFile(s.Dir)
		if err != nil {
			return err
		}
		s.file = f
	}
	if over := int64(len(p)) - s.Limit; over > 0 {
		p, s.end = p[over:], s.end+over
	}
	s.start = max(s.start, s.end+int64(len(p))-s.Limit)
	for len(p) > 0 {
		at := s.end % s.Limit
		n, err := s.file.WriteAt(p[:min(int64(len(p)), s.Limit-at)], at)
		s.end += int64(n)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// unnamedFile creates a file that nobody else can open and that vanishes with the process.
func unnamedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	return f, nil
}

// cause strips the path from an error.
func cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// Drop closes the file.
func (s *Log) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.file != nil {
		_ = s.file.Close()
	}
}

// Count returns how many bytes were printed and how many of them are kept, and why not the last ones.
func (s *Log) Count() (total, kept int64, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.end - s.start, s.why
}

// Page returns a part of the output, without splitting a UTF-8 character. The caller determines ended before, so that
// the last output is not missed.
func (s *Log) Page(offset int64, limit int, ended bool) (run.JobPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return run.JobPage{}, os.ErrClosed
	}
	p := run.JobPage{Offset: max(offset, s.start), Total: s.total, Start: s.start, Ended: ended}
	text, err := s.read(p.Offset, max(limit, utf8.UTFMax))
	if err != nil {
		return run.JobPage{}, err
	}
	if p.Offset > offset {
		n := leftover(text)
		p.Offset, text = p.Offset+int64(n), text[n:]
	}
	if p.Offset+int64(len(text)) < s.end || !ended {
		text = text[:len(text)-unfinished(text)]
	}
	p.Data, p.Next = text, p.Offset+int64(len(text))
	p.More = p.Next < s.end-int64(s.waiting(ended))
	return p, nil
}

// waiting is the number of bytes at the end that are withheld until their character is complete.
func (s *Log) waiting(ended bool) int {
	if ended {
		return 0
	}
	text, err := s.read(max(s.start, s.end-utf8.UTFMax), utf8.UTFMax)
	if err != nil {
		return 0
	}
	return unfinished(text)
}

// read returns kept bytes from an offset on. The caller holds the lock.
func (s *Log) read(from int64, limit int) ([]byte, error) {
	b := make([]byte, max(min(int64(limit), s.end-from), 0))
	for done := 0; done < len(b); {
		at := (from + int64(done)) % s.Limit
		part := min(int64(len(b)-done), s.Limit-at)
		n, err := s.file.ReadAt(b[done:done+int(part)], at)
		done += n
		if n < int(part) {
			return nil, cause(err)
		}
	}
	return b, nil
}

// unfinished returns the length of an incomplete character at the end.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// leftover returns the length of an incomplete character at the beginning.
func leftover(text []byte) int {
	n := 0
	for n < len(text) && n < utf8.UTFMax-1 && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}
