package clone

import (
	"strings"
	"time"

	"hako/internal/text"
)

const (
	maxLine          = 400
	maxRawLine       = 16 * maxLine // the cut before sanitizing is far enough away that no part of a secret is shown
	maxLines         = 20
	progressInterval = 200 * time.Millisecond // between two lines of progress
)

// gitOutput captures git's standard error, which may contain anything that a server sends. Each line is sanitized.
// Progress lines are reported, the others are kept.
type gitOutput struct {
	clean    func(string) string
	progress func(string)
	line     []byte
	lines    []string
	told     time.Time
}

// Write implements io.Writer. It never fails.
func (s *gitOutput) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n' || b == '\r':
			s.end(b == '\r')
		case len(s.line) < maxRawLine:
			s.line = append(s.line, b)
		}
	}
	return len(p), nil
}

func (s *gitOutput) end(transient bool) {
	// Twice: dropping control characters may put a secret together again.
	line := s.clean(text.Line(s.clean(string(s.line)), maxLine))
	s.line = s.line[:0]
	if line == "" {
		return
	}
	if !transient && !strings.HasSuffix(line, "done.") {
		if s.lines = append(s.lines, line); len(s.lines) > maxLines {
			s.lines = s.lines[1:]
		}
	}
	if s.progress != nil && strings.Contains(line, "%") && time.Since(s.told) >= progressInterval {
		s.told = time.Now()
		s.progress(line)
	}
}

// text returns the kept lines, joined.
func (s *gitOutput) text() string {
	s.end(false)
	return strings.Join(s.lines, "; ")
}
