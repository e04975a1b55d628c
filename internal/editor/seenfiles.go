package editor

// seenFiles is what an editor knows of files, by their path below the root. The least recently used are forgotten
// first.
type seenFiles struct {
	files map[string]*record
	clock uint64 // counts uses
	bytes int64  // size of all steps
}

// A record is what is known of one file.
type record struct {
	seen  bool   // sum is valid
	sum   digest // of the file when it was last viewed or edited
	set   *charset
	steps []step // edits that can be undone, the last one last
	used  uint64
}

// A step is an edit that can be undone.
type step struct {
	before, after digest
	created       bool     // the edit created the file
	dirs          []string // the directories it created, outermost first
	undo          splice   // otherwise
	clock         uint64
}

// maxFiles is how many files are remembered.
const maxFiles = 4096

// overhead is about the size of a step without its bytes.
const overhead = 256

func (s step) size() int64 { return int64(len(s.undo.bytes)) + overhead }

// charset returns the known encoding of an unchanged file, or nil: detecting it again could give another result after
// an edit removed the last character that decides.
func (m *seenFiles) charset(rel string, sum digest) *charset {
	if r := m.files[rel]; r != nil && r.seen && r.sum == sum {
		return r.set
	}
	return nil
}

// changed reports whether a file changed since it was last seen.
func (m *seenFiles) changed(rel string, sum digest) bool {
	r := m.files[rel]
	return r != nil && r.seen && r.sum != sum
}

// setSeen remembers the content of a file.
func (m *seenFiles) setSeen(rel string, sum digest, set *charset) {
	r := m.record(rel)
	r.seen, r.sum, r.set = true, sum, set
}

// addStep remembers an edit for undo.
func (m *seenFiles) addStep(rel string, s step, most int, bytes int64) {
	r := m.record(rel)
	s.clock = m.clock
	r.steps = append(r.steps, s)
	m.bytes += s.size()
	for len(r.steps) > max(most, 0) {
		m.dropStep(r)
	}
	for m.bytes > max(bytes, 0) {
		m.dropStep(m.oldestStep())
	}
}

// last returns the last edit.
func (m *seenFiles) last(rel string) (step, bool) {
	r := m.files[rel]
	if r == nil || len(r.steps) == 0 {
		return step{}, false
	}
	return r.steps[len(r.steps)-1], true
}

// removeStep forgets the last edit.
func (m *seenFiles) removeStep(rel string) {
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
		if len(m.files) >= maxFiles {
			m.forget()
		}
		r = &record{}
		m.files[rel] = r
	}
	m.clock++
	r.used = m.clock
	return r
}

// forget drops the least recently used file.
func (m *seenFiles) forget() {
	oldest, rel := (*record)(nil), ""
	for name, r := range m.files {
		if oldest == nil || r.used < oldest.used {
			oldest, rel = r, name
		}
	}
	for len(oldest.steps) > 0 {
		m.dropStep(oldest)
	}
	delete(m.files, rel)
}

// dropStep forgets the first edit of a file.
func (m *seenFiles) dropStep(r *record) {
	m.bytes -= r.steps[0].size()
	r.steps = append([]step(nil), r.steps[1:]...) // a new slice, to release the memory
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
