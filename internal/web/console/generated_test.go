package console

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/a-h/templ/generator"
	parser "github.com/a-h/templ/parser/v2"
)

// TestGenerated: the Go files are what the generator makes of the templates, and
// the templates are written the way it would write them.
func TestGenerated(t *testing.T) {
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) == 0 {
		t.Fatal("no templates", err)
	}
	for _, file := range files {
		parsed, err := parser.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		var b, text bytes.Buffer
		if _, err := generator.Generate(parsed, &b, generator.WithFileName(file),
			generator.WithVersion(templ.Version())); err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(strings.TrimSuffix(file, ".templ") + "_templ.go"); !bytes.Equal(got, want) {
			t.Errorf("%s has changed: go generate ./internal/web/console", file)
		}
		if parsed.Write(&text); !same(text.Bytes(), file) {
			t.Errorf("%s is not formatted: go tool templ fmt internal/web/console", file)
		}
	}
}

func same(text []byte, file string) bool {
	got, _ := os.ReadFile(file)
	return bytes.Equal(text, got)
}
