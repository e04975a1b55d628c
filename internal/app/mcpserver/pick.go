package mcpserver

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// pick returns the boxes that fit, the oldest first. fits is called with the
// door locked.
func (d *Server) pick(fits func(*managedSandbox) bool) (boxes []*managedSandbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.boxes {
		if fits(b) {
			boxes = append(boxes, b)
		}
	}
	slices.SortFunc(boxes, func(a, b *managedSandbox) int { return a.made.Compare(b.made) })
	return boxes
}

// brief is the beginning of a text that may be anything, on one line.
func brief(s string) string {
	cut := len(s) > 60
	if cut {
		s = s[:60]
		for !utf8.ValidString(s) && len(s) > 56 {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}
