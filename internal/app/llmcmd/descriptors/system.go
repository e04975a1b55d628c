package descriptors

import (
	_ "embed"
	"strings"
)

//go:embed system.md
var systemText string

// Instructions returns what a model that works with descriptors is told before
// everything else.
func Instructions() string { return strings.TrimSpace(systemText) }
