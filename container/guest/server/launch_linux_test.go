package server

import (
	"slices"
	"testing"
)

func TestMerged(t *testing.T) {
	got := merged([]string{"A=1", "B=2"}, []string{"C=3", "A=4", "C=5"})
	if !slices.Equal(got, []string{"A=4", "B=2", "C=5"}) {
		t.Error(got)
	}
}
