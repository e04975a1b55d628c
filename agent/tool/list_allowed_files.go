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

// ListFiles returns the tool that tells a model which files it may name. It asks files at each call, since sizes
// change.
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
	// OpenAI refuses an object schema that does not say it has no properties.
	t.Schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	return t
}

// compact spells an answer for a model: one line, and < > & as they are.
func compact(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
