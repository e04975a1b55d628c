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
	mu    sync.Mutex     // guards what follows; a command may have several writers
	clean *redact.Writer // nil after end
	kept  text.HeadTail

	places int // number of redactions; complete after end
}

func (s *Secretary) capture() *capture {
	half := max(1, cmp.Or(s.Output, 8192)/2)
	c := &capture{kept: text.HeadTail{Head: half, Tail: half, Mark: cutMark}}
	c.clean = redact.NewWriter(&c.kept, s.Secrets)
	return c
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clean == nil {
		return len(p), nil
	}
	return c.clean.Write(p)
}

// end stops the capture and returns what was kept.
func (c *capture) end() *text.HeadTail {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clean != nil {
		_ = c.clean.Close() // a buffer takes everything
		c.places = c.clean.Places()
		c.clean = nil
	}
	return &c.kept
}

// shown returns a captured stream as text that is safe to show.
func (s *Secretary) shown(c *capture) string {
	b := c.end()
	if b.Binary() {
		return fmt.Sprintf("(バイナリ %d バイト)", b.Total())
	}
	lines := strings.ReplaceAll(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\r", "\n")
	text, more := s.Secrets.Count(harmless(lines))
	c.places += more
	return text
}
