package editor

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed text_editor.md
var toolText string

//go:embed text_editor.json
var toolSchema []byte

// A Tool describes the editor to models.
type Tool struct {
	Name, Text string
	Schema     json.RawMessage // of the arguments
}

// Definition returns the description. The schema is compact, because models pay for it.
func Definition() Tool {
	var compact bytes.Buffer
	if err := json.Compact(&compact, toolSchema); err != nil {
		panic("text_editor.json: " + err.Error())
	}
	return Tool{"text_editor", strings.TrimSpace(toolText), compact.Bytes()}
}
