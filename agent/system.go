package agent

import (
	_ "embed"
	"strings"
)

//go:embed system.md
var systemText string

// System returns the system prompt of dialogs with tools.
func System() string { return strings.TrimSpace(systemText) }
