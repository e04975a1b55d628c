package guest

import (
	"os"
	"sync"
	"unicode/utf8"
)

// A spool keeps the end of an output on disk: as much as the limit says. It
// takes everything, because a job must not stand still, or fail, because of what
// happens to its output.
type spool struct {
	dir   string
	limit int64

	mu         sync.Mutex // guards what follows
	file       *os.File   // a ring of limit bytes; nil before the first byte
	start, end int64      // which bytes of the output are in it
	total      int64      // bytes printed
	why        string     // why nothing is kept after end; empty means that it is
	gone       bool       // nobody can ask for it any more
}

// Write implements [io.Writer]. It never fails.
func (s *spool) Write(p []byte) (int, error) {
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
func (s *spool) keep(p []byte) error {
	if s.file == nil {
		f, err := unnamedFile(s.dir)
		if err != nil {
			return err
		}
		s.file = f
	}
	if over := int64(len(p)) - s.limit; over > 0 {
		p, s.end = p[over:], s.end+over
	}
	s.start = max(s.start, s.end+int64(len(p))-s.limit)
	for len(p) > 0 {
		at := s.end % s.limit
		n, err := s.file.WriteAt(p[:min(int64(len(p)), s.limit-at)], at)
		s.end += int64(n)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// unnamedFile makes a file that nobody else can open and that is gone with the
// process, however that ends.
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

// drop gives the file up.
func (s *spool) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.file != nil {
		_ = s.file.Close()
	}
}

// count tells how many bytes were printed, how many of them are kept, and why
// not the last ones.
func (s *spool) count() (total, kept int64, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.end - s.start, s.why
}

// A Page is a part of the output of a job. The next one begins at Next; the
// output is over when Ended is true and More is not.
type Page struct {
	Data   []byte `json:"-"`
	Offset int64  `json:"offset"` // where Data begins: the offset asked for, or the first byte after it that is kept
	Next   int64  `json:"next"`
	Total  int64  `json:"total"` // bytes printed so far
	Start  int64  `json:"start"` // how many of them, from the beginning, are no longer kept
	More   bool   `json:"more"`  // there is something at Next already
	Ended  bool   `json:"ended"` // the job has ended: nothing will be added
}

// page cuts a page out of the output, without cutting a character of UTF-8.
// Whether the job has ended must have been asked before, so that what was
// printed last is not missed.
func (s *spool) page(offset int64, limit int, ended bool) (Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return Page{}, os.ErrClosed
	}
	p := Page{Offset: max(offset, s.start), Total: s.total, Start: s.start, Ended: ended}
	text, err := s.read(p.Offset, max(limit, utf8.UTFMax))
	if err != nil {
		return Page{}, err
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

// waiting is how many bytes at the end are not shown yet, because the rest of
// the character is still to come.
func (s *spool) waiting(ended bool) int {
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
func (s *spool) read(from int64, limit int) ([]byte, error) {
	b := make([]byte, max(min(int64(limit), s.end-from), 0))
	for done := 0; done < len(b); {
		at := (from + int64(done)) % s.limit
		part := min(int64(len(b)-done), s.limit-at)
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
