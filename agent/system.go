package agent

import (
	_ "embed"
	"strings"
)

//go:embed system.md
var systemText string

// System returns the instructions that stand before every dialog with tools.
func System() string { return strings.TrimSpace(systemText) }
