package clone

import (
	"strings"
	"time"

	"hako/internal/text"
)

const (
	maxLine          = 400
	maxRawLine       = 16 * maxLine // cut before it is cleaned: far enough away that no half of a secret is shown
	maxLines         = 20
	progressInterval = 200 * time.Millisecond // between two lines of progress
)

// gitOutput is what git says on its standard error: partly its own words, partly those of a server that may say
// anything. Lines are cleaned one by one; those that only tell how far it is are passed on, the others are kept.
type gitOutput struct {
	clean    func(string) string
	progress func(string)
	line     []byte
	lines    []string
	told     time.Time
}

// Write implements io.Writer; it never fails, because git must not mind.
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
	line := text.Line(s.clean(string(s.line)), maxLine)
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

// text returns the lines that were kept, as one.
func (s *gitOutput) text() string {
	s.end(false)
	return strings.Join(s.lines, "; ")
}
