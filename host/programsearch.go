package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// systemPath is the search path. It never contains the root: a program that a model wrote is not run by its name.
var systemPath = []string{"/usr/local/go/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin",
	"/bin"}

type programSearch struct {
	root string
	path []string

	mu    sync.Mutex // guards found
	found map[string]string
	all   func() []string
}

func newSearch(root string, more []string) *programSearch {
	s := &programSearch{root: root, found: map[string]string{}}
	for _, dir := range slices.Concat(more, systemPath) {
		if real, err := realPath(dir); err == nil && !below(root, real) && !slices.Contains(s.path, dir) {
			s.path = append(s.path, dir)
		}
	}
	s.all = sync.OnceValue(s.list)
	return s
}

func below(root, path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// program returns the absolute path of a program, or "".
func (s *programSearch) program(name string) string {
	if name == "" || strings.ContainsRune(name, filepath.Separator) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if path, ok := s.found[name]; ok {
		return path
	}
	for _, dir := range s.path {
		path := filepath.Join(dir, name)
		if s.usable(path) {
			s.found[name] = path
			return path
		}
	}
	return "" // not cached: it may be installed later
}

func (s *programSearch) usable(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && !below(s.root, real)
}

// names lists all programs, for hints.
func (s *programSearch) names() []string { return s.all() }

func (s *programSearch) list() []string {
	var all []string
	for _, dir := range s.path {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			all = append(all, e.Name())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hint explains a name that is not a program.
func (s *programSearch) hint(name string) string {
	if strings.Contains(name, "/") {
		return "programs of the workspace are not run by name; give a script to its interpreter, as in: sh " + name +
			", or python3 " + name
	}
	return "it is not installed in " + strings.Join(s.path, ":")
}
