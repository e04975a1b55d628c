package tool

import (
	"testing"

	"hako/llm"
	"hako/run/fault"
)

func TestListFiles(t *testing.T) {
	var files []llm.File
	tool := ListFiles(func() []llm.File { return files })
	for _, want := range []string{`{"files":[]}`, `{"files":[{"name":"a&b.log","bytes":3},{"name":"売上.csv","bytes":0}]}`} {
		if got, err := tool.Call(t.Context(), "{}"); got != want || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
		files = []llm.File{{Name: "a&b.log", Bytes: 3}, {Name: "売上.csv"}}
	}
	if _, err := tool.Call(t.Context(), `{"dir":"/"}`); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an argument that is none: %v", err)
	}
}
