//go:build unix

package clone

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/internal/ownerfile"
)

func waitHeld(t *testing.T, f *os.File) {
	t.Helper()
	if err := ownerfile.Lock(f); err != nil {
		t.Fatal(err)
	}
}

func release(t *testing.T, f *os.File) {
	t.Helper()
	if err := ownerfile.Unlock(f); err != nil {
		t.Fatal(err)
	}
}

// redirectTo sends requests for a repository without the ending to the one with it.
func redirectTo(ending string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		path, rest, _ := strings.Cut(r.URL.Path, "/info/")
		if strings.HasSuffix(path, ending) || strings.Contains(path, ".git") {
			return false
		}
		http.Redirect(w, r, path+ending+"/info/"+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
		return true
	}
}

// readAgain puts back what was read of a body.
func readAgain(read []byte, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), rest), rest}
}

func writeFile(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
		t.Fatal(err)
	}
}
