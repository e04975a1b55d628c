package descriptors

import (
	_ "embed"
	"strings"
)

//go:embed system.md
var systemText string

// Instructions returns the system prompt for a model that works with descriptors.
func Instructions() string { return strings.TrimSpace(systemText) }
