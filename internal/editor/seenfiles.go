package editor

// seenFiles is what an editor knows of the files it has seen, by their place below
// the root. It is bounded: what was not used for longest is forgotten first.
type seenFiles struct {
	files map[string]*record
	clock uint64 // counts uses
	bytes int64  // what all steps take
}

// A record is what is known of one file.
type record struct {
	seen  bool   // whether sum means something
	sum   digest // of the file as it was last viewed or edited
	set   *charset
	steps []step // what can be undone, the last edit last
	used  uint64
}

// A step is an edit that can be undone.
type step struct {
	before, after digest
	created       bool     // the edit made the file, and undoing removes it
	dirs          []string // the directories it made for that, outermost first
	undo          splice   // otherwise
	clock         uint64
}

// mostFiles is how many files are remembered.
const mostFiles = 4096

// overhead is about what a step takes besides its bytes.
const overhead = 256

func (s step) size() int64 { return int64(len(s.undo.bytes)) + overhead }

// charset returns how a file is written, if it is still the one that was seen,
// and nil otherwise: a guess would change when an edit removes the last
// character that told.
func (m *seenFiles) charset(rel string, sum digest) *charset {
	if r := m.files[rel]; r != nil && r.seen && r.sum == sum {
		return r.set
	}
	return nil
}

// differs reports whether a file is not what was last seen of it. Of a file
// that was never seen nothing can differ.
func (m *seenFiles) differs(rel string, sum digest) bool {
	r := m.files[rel]
	return r != nil && r.seen && r.sum != sum
}

// saw remembers what a file is.
func (m *seenFiles) saw(rel string, sum digest, set *charset) {
	r := m.record(rel)
	r.seen, r.sum, r.set = true, sum, set
}

// did remembers an edit so that it can be undone.
func (m *seenFiles) did(rel string, s step, most int, bytes int64) {
	r := m.record(rel)
	s.clock = m.clock
	r.steps = append(r.steps, s)
	m.bytes += s.size()
	for len(r.steps) > max(most, 0) {
		m.drop(r)
	}
	for m.bytes > max(bytes, 0) {
		m.drop(m.oldestStep())
	}
}

// last returns the edit that undoing would undo.
func (m *seenFiles) last(rel string) (step, bool) {
	r := m.files[rel]
	if r == nil || len(r.steps) == 0 {
		return step{}, false
	}
	return r.steps[len(r.steps)-1], true
}

// undone forgets the last edit.
func (m *seenFiles) undone(rel string) {
	r := m.files[rel]
	s := r.steps[len(r.steps)-1]
	r.steps = r.steps[:len(r.steps)-1]
	m.bytes -= s.size()
	r.seen, r.sum = !s.created, s.before
}

func (m *seenFiles) record(rel string) *record {
	if m.files == nil {
		m.files = map[string]*record{}
	}
	r := m.files[rel]
	if r == nil {
		if len(m.files) >= mostFiles {
			m.forget()
		}
		r = &record{}
		m.files[rel] = r
	}
	m.clock++
	r.used = m.clock
	return r
}

// forget drops the file that was not used for longest.
func (m *seenFiles) forget() {
	oldest, rel := (*record)(nil), ""
	for name, r := range m.files {
		if oldest == nil || r.used < oldest.used {
			oldest, rel = r, name
		}
	}
	for len(oldest.steps) > 0 {
		m.drop(oldest)
	}
	delete(m.files, rel)
}

// drop forgets the first edit of a file.
func (m *seenFiles) drop(r *record) {
	m.bytes -= r.steps[0].size()
	r.steps = append([]step(nil), r.steps[1:]...) // so that its bytes are really gone
}

func (m *seenFiles) oldestStep() *record {
	var oldest *record
	for _, r := range m.files {
		if len(r.steps) > 0 && (oldest == nil || r.steps[0].clock < oldest.steps[0].clock) {
			oldest = r
		}
	}
	return oldest
}
