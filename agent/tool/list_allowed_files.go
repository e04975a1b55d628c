package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"hako/llm"
)

//go:embed list_allowed_files.md
var listFilesText string

// ListFiles returns the tool that lists the files that a model may name. It calls files each time, since sizes change.
func ListFiles(files func() []llm.File) Tool {
	t := New("list_allowed_files", listFilesText, func(context.Context, struct{}) (string, error) {
		var list struct {
			Files []llm.File `json:"files"`
		}
		if list.Files = files(); list.Files == nil {
			list.Files = []llm.File{}
		}
		return compact(list)
	})
	// OpenAI refuses an object schema without properties.
	t.Schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	return t
}

// compact encodes a result for a model: on one line, without escapes for HTML.
func compact(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
