package hako_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns is how long a line of a document may be.
const mostColumns = 120

// pages returns the documents by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range append(names, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	if len(all) < 20 {
		t.Fatalf("found %d pages", len(all))
	}
	return all
}

// TestPageWidth checks that documents can be read in a terminal and in a diff.
// Rows of tables and what is typed or printed cannot be broken.
func TestPageWidth(t *testing.T) {
	for name, text := range pages(t) {
		n, fenced := 0, false
		for line := range strings.Lines(text) {
			n++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			w := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
			if w > mostColumns && !fenced && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s:%d: the line has %d columns, the limit is %d", name, n, w, mostColumns)
			}
		}
	}
	if n := strings.Count(pages(t)["README.md"], "\n"); n > 250 {
		t.Errorf("README.md has %d lines, the limit is 250", n)
	}
}

var (
	pageLink   = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	sourceName = regexp.MustCompile("`([a-z][a-z0-9]*(?:/[A-Za-z0-9._-]+)+/?)`")
)

// TestPageFiles checks that links lead somewhere, and that the files of this
// repository that are named in documents exist.
func TestPageFiles(t *testing.T) {
	rooms := topLevel(t)
	for name, text := range pages(t) {
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			if !exists(path.Join(path.Dir(name), m[1])) {
				t.Errorf("%s: the link to %s leads nowhere", name, m[1])
			}
		}
		for _, m := range sourceName.FindAllStringSubmatch(text, -1) {
			if room, _, _ := strings.Cut(m[1], "/"); rooms[room] && !strings.Contains(m[1], "NAME") && !exists(m[1]) {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
	}
}

// topLevel returns the directories of the repository that hold sources or documents.
func topLevel(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, e := range entries {
		all[e.Name()] = e.IsDir() && e.Name() != "bin" && e.Name() != "dist"
	}
	return all
}

func exists(name string) bool {
	_, err := fs.Stat(os.DirFS("."), path.Clean(name))
	return err == nil
}
