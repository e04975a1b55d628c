// Package joblog keeps what jobs print: the end of each output, in a file that has no name.
//
// Deliberately not inside: who prints, and who may read. The one rule to keep: a [Log] takes everything and never
// fails, because a job must not stand still, or break, because of what happens to its output.
package joblog

import (
	"os"
	"sync"
	"unicode/utf8"

	"hako/run"
)

// A Log keeps the end of an output on disk.
type Log struct {
	Dir   string // where its file is made
	Limit int64  // how many bytes are kept

	mu         sync.Mutex // guards what follows
	file       *os.File   // a ring of limit bytes; nil before the first byte
	start, end int64      // which bytes of the output are in it
	total      int64      // bytes printed
	why        string     // why nothing is kept after end; empty means that it is
	gone       bool       // nobody can ask for it any more
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

// keep writes p over the oldest bytes.
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

// unnamedFile makes a file that nobody else can open and that is gone with the process, however that ends.
func unnamedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	return f, nil
}

// cause strips the name of a file that has none any more.
func cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// Drop gives the file up.
func (s *Log) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.file != nil {
		_ = s.file.Close()
	}
}

// Count tells how many bytes were printed, how many of them are kept, and why not the last ones.
func (s *Log) Count() (total, kept int64, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.end - s.start, s.why
}

// Page cuts a page out of the output, without cutting a character of UTF-8. Whether the job has ended must have been
// asked before, so that what was printed last is not missed.
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

// waiting is how many bytes at the end are not shown yet, because the rest of the character is still to come.
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

// read returns what is kept from a place on. The spool is locked.
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

// unfinished returns how many bytes at the end are the beginning of a character.
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

// leftover returns how many bytes at the beginning are the end of a character.
func leftover(text []byte) int {
	n := 0
	for n < len(text) && n < utf8.UTFMax-1 && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}
