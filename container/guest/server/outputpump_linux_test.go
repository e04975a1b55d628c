package server

import (
	"testing"
)

// TestBuffers lends what there is and no more.
func TestBuffers(t *testing.T) {
	b := newBuffers()
	var lent [][]byte
	for range fewBuffers {
		lent = append(lent, b.lend())
	}
	if b.lend() != nil || lent[0] == nil {
		t.Error("there are not as many as there should be")
	}
	b.free <- lent[0]
	if again := b.lend(); &again[0] != &lent[0][0] {
		t.Error("what was given back is not used again")
	}
}
