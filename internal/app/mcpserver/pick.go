package mcpserver

import (
	"slices"

	"hako/internal/text"
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
func brief(s string) string { return text.Line(s, 60) }
