package mcpserver

import (
	"slices"

	"hako/internal/text"
)

// pick returns the sandboxes that fit, oldest first. fits is called with the server locked.
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

// short shortens a text to one line.
func short(s string) string { return text.Line(s, 60) }
