package secretary

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"hako/internal/redact"
	"hako/internal/text"
)

// cutMark replaces omitted output.
const cutMark = "…（%dバイト省略）…"

// A capture keeps the head and tail of one output stream. Secrets are redacted before anything is cut
// off: half a secret would not be recognized.
type capture struct {
	mu       sync.Mutex     // guards what follows; a command may have several writers
	redactor *redact.Writer // nil after end
	kept     text.HeadTail

	redactions int // number of redactions; complete after end
}

func (s *Secretary) capture() *capture {
	half := max(1, cmp.Or(s.Output, 8192)/2)
	c := &capture{kept: text.HeadTail{Head: half, Tail: half, Mark: cutMark}}
	c.redactor = redact.NewWriter(&c.kept, s.Secrets)
	return c
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.redactor == nil {
		return len(p), nil
	}
	return c.redactor.Write(p)
}

// end stops the capture and returns what was kept.
func (c *capture) end() *text.HeadTail {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.redactor != nil {
		_ = c.redactor.Close() // a buffer takes everything
		c.redactions = c.redactor.Places()
		c.redactor = nil
	}
	return &c.kept
}

// captured returns a captured stream as text that is safe to show.
func (s *Secretary) captured(c *capture) string {
	b := c.end()
	if b.Binary() {
		return fmt.Sprintf("(バイナリ %d バイト)", b.Total())
	}
	lines := strings.ReplaceAll(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\r", "\n")
	text, more := s.Secrets.Count(printable(lines))
	c.redactions += more
	return text
}
