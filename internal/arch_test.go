// Package internal_test keeps the architecture: who may know whom, and who may
// touch the world. It reads the sources itself rather than ask "go list": the
// test cache notices the files a test opens, but not what a child process reads.
package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows lists, for each package, which others of ours it may import. A new
// arrow is a design decision; say why in the commit.
var arrows = map[string]string{
	// words
	"fault": "",
	"run":   "",
	// crafts: pure functions over bytes and text
	"redact":           "",
	"strftime":         "",
	"stream":           "",
	"pattern":          "",
	"regex":            "",
	"awk":              "regex stream strftime",
	"clip":             "",
	"listen":           "fault", // ports, on loopback unless somebody said otherwise
	"private":          "fault", // files that only their owner may read
	"protect":          "",      // names that programs outside of a sandbox believe
	"private/database": "fault private",
	// may it?
	"quota":        "fault private",
	"policy":       "fault protect",
	"audit":        "fault private redact",
	"audit/sqlite": "audit fault private/database",
	"gate":         "audit fault policy quota redact run",
	"worker":       "audit fault gate quota run", // others' scripts, in a process of their own
	// hands
	"vfs":                     "fault protect quota",
	"shell":                   "fault pattern quota regex run stream strftime vfs",
	"shell/builtin":           "awk fault pattern quota regex shell stream strftime vfs",
	"host":                    "fault host/cage private protect quota run shell stream vfs",
	"host/cage":               "fault",
	"host/player":             "fault",
	"editor":                  "fault",
	"container":               "clip container/clone container/deps container/disk container/egress container/engine container/guest container/lang container/seccomp editor fault private run",
	"container/clone":         "container/egress container/guest fault private redact",
	"container/deps":          "clip container/guest container/lang fault redact",
	"container/disk":          "fault",
	"container/egress":        "fault",
	"container/engine":        "fault",
	"container/guest":         "container/guest/wire fault run", // outside
	"container/guest/gauge":   "",
	"container/guest/nursery": "fault",
	"container/guest/server":  "container/egress container/guest container/guest/gauge container/guest/nursery container/guest/spool container/guest/wire editor fault", // inside
	"container/guest/spool":   "container/guest",
	"container/guest/wire":    "fault",
	"container/keeper":        "container/egress container/guest fault",
	"container/lang":          "fault",
	"container/seccomp":       "",
	"jobs":                    "fault private run",
	// world
	"llm":         "fault quota",
	"llm/wire":    "fault llm",
	"llm/openai":  "fault llm llm/wire quota",
	"llm/ollama":  "fault llm llm/wire quota",
	"llm/builtin": "fault llm quota",
	"llm/script":  "fault llm quota",
	"llm/price":   "fault quota",
	"llm/tokens":  "llm",
	"websearch":   "fault redact",
	"thread":      "fault llm private",
	"speech":      "fault private",
	// minds
	"tool":            "fault llm policy redact run shell websearch",
	"tool/call":       "fault run tool",
	"tool/remote":     "clip fault llm redact tool tool/call",
	"agent":           "audit fault llm quota redact tool",
	"fd":              "fault redact run stream tool vfs",
	"preset":          "fault",
	"plan":            "fault llm",
	"secretary":       "clip fault llm redact run secretary/loose",
	"secretary/loose": "fault",
	"secretary/store": "fault private/database",
	"work":            "agent audit clip fault llm quota redact secretary/loose tool work/tame",
	"work/forge":      "fault redact work/tame",
	"work/crew":       "fault redact tool tool/call work work/forge work/queue",
	"work/queue":      "fault private",
	"work/tame":       "",
	"work/store":      "fault private work",
	// what people see
	"health":       "fault health/tally listen redact",
	"health/tally": "",
	"markdown":     "",
	"progress":     "",
	// doors
	"server":            "fault listen redact server/pass server/source",
	"server/console":    "fault server/source",
	"server/mcp":        "clip editor fault gate listen policy redact run server/pass server/source tool",
	"server/mcp/scribe": "editor fault private run", // the editor of sandboxes without one
	"server/ledger":     "audit audit/sqlite fault policy quota server/source",
	"server/parlour":    "fault redact secretary secretary/store server/source",
	"server/works":      "container container/guest fault redact server/source work work/crew work/queue",
	"server/pass":       "fault private server/source",
	"server/source":     "",
	"approval":          "fault gate server/source", // questions that wait for a person
	"approval/hatch":    "fault gate private",       // the way there for other processes
	"config":            "fault private protect quota",
	"cli":               everything,
	// tests
	"run/runtest":       "fault run",
	"llm/wire/wiretest": "fault llm",
	"fakes":             "fault",
	"fakes/browser":     "",
	"fakes/forge":       "",
	"fakes/forge/show":  "fakes/forge",
	"fakes/serve":       "fakes",
}

const everything = "*"

// powers lists the packages that reach the outside world, and which of ours may
// hold them.
var powers = map[string]string{
	"os":                       "approval/hatch container container/clone container/deps container/disk container/engine container/guest container/guest/gauge container/guest/nursery container/guest/server container/guest/spool container/keeper audit audit/sqlite cli config editor health host host/cage host/player jobs private private/database secretary/store speech thread vfs work/forge work/queue work/store worker fakes/browser fakes/forge fakes/serve tool/remote fakes/forge/show server/pass server/mcp/scribe " + flagsOnly,
	"os/exec":                  "container/clone container/disk host/player fakes/browser fakes/forge tool/remote fakes/forge/show",
	"os/signal":                "container/guest/nursery container/guest/server cli fakes/serve host/cage fakes/forge/show",
	"os/user":                  "",
	"io/ioutil":                "",
	"net":                      "worker approval/hatch container container/engine container/guest container/guest/server container/keeper container/egress llm/wire speech websearch work/forge work/queue health listen server server/mcp " + testsOnly,
	"net/http":                 "container/egress container/engine llm/wire llm/openai llm/ollama speech websearch work/forge health listen tool/remote server server/mcp server/console " + testsOnly,
	"net/rpc":                  "",
	"net/smtp":                 "",
	"net/textproto":            "",
	"crypto/tls":               "container/egress container/engine websearch work/forge server",
	"log":                      "",
	"log/slog":                 "health cli server",
	"log/syslog":               "",
	"plugin":                   "",
	"syscall":                  "worker container/clone container/guest container/guest/nursery container/guest/server container/keeper cli editor host host/cage host/player private vfs tool/remote fakes/forge/show",
	"golang.org/x/sys/unix":    "worker approval/hatch container/disk container/guest container/guest/gauge container/guest/nursery container/guest/server cli host host/cage vfs",
	"golang.org/x/sys/windows": "cli private",
	"golang.org/x/term":        "cli",
	"database/sql":             "private/database audit/sqlite secretary/store",
	"modernc.org/sqlite":       "private/database",
	"testing":                  "run/runtest " + testsOnly,
	"text/template":            "",
	"html/template":            "",
	"unsafe":                   "container/guest/nursery host/cage",
}

// testsOnly stands for what no command links: fake servers and replayed answers.
const testsOnly = "fakes fakes/browser fakes/forge fakes/serve llm/wire/wiretest"

// flagsOnly are those that need package os for its open flags and file modes.
// TestFlagsOnly sees to it that they use nothing else of it.
const flagsOnly = "fd quota shell shell/builtin"

// flagNames are what flagsOnly may use of package os.
var flagNames = []string{"FileMode", "FileInfo", "PathError", "ModePerm", "ModeDir", "ModeSymlink",
	"ErrNotExist", "ErrExist", "ErrPermission", "ErrInvalid", "ErrClosed", "ErrDeadlineExceeded"}

// A source is one file of ours that is not a test.
type source struct {
	name, pkg string
	*ast.File
	fset *token.FileSet
}

// imports yields the paths and the names by which a file imports them.
func (s source) imports(yield func(path, name string) bool) {
	for _, spec := range s.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if !yield(path, name) {
			return
		}
	}
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(file), filepath.ToSlash(filepath.Dir(file)), f, fset})
		return nil
	})
	if err != nil || len(all) < 50 {
		t.Fatalf("read %d files: %v", len(all), err)
	}
	return all
}

func holds(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// TestArrows checks who knows whom.
func TestArrows(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := arrows[s.pkg]
		if !known {
			t.Errorf("%s: package %s is not in the list of arrows", s.name, s.pkg)
		}
		for path := range s.imports {
			dep, ours := strings.CutPrefix(path, "hako/internal/")
			if ours && allowed != everything && !holds(allowed, dep) {
				t.Errorf("%s: no arrow from %s to %s", s.name, s.pkg, dep)
			}
		}
	}
}

// TestNobodyKnowsADoor checks that the list of arrows itself is sane: it has no
// circle, names only packages that are there, and leads to no door.
func TestNobodyKnowsADoor(t *testing.T) {
	there := map[string]bool{}
	for _, s := range sources(t) {
		there[s.pkg] = true
	}
	for pkg, list := range arrows {
		if !there[pkg] {
			t.Errorf("%s is in the list of arrows but not in the house", pkg)
		}
		for _, dep := range strings.Fields(list) {
			if dep == "cli" || dep == "run/runtest" {
				t.Errorf("%s may not know %s", pkg, dep)
			}
			if dep != everything && reaches(dep, pkg) {
				t.Errorf("the arrow from %s to %s makes a circle", pkg, dep)
			}
		}
	}
}

func reaches(from, to string) bool {
	return from == to || slices.ContainsFunc(strings.Fields(arrows[from]), func(dep string) bool {
		return dep != everything && reaches(dep, to)
	})
}

// TestPowers checks who touches the world.
func TestPowers(t *testing.T) {
	for _, s := range sources(t) {
		for path := range s.imports {
			if holders, power := powers[path]; power && !holds(holders, s.pkg) {
				t.Errorf("%s: %s may not import %s", s.name, s.pkg, path)
			}
		}
	}
}

// TestFlagsOnly checks that whoever imports os for its constants calls nothing
// of it: a builtin that opens a file by itself would see the real disk.
func TestFlagsOnly(t *testing.T) {
	for _, s := range sources(t) {
		if !holds(flagsOnly, s.pkg) {
			continue
		}
		for path, name := range s.imports {
			if path == "os" && name != "" {
				t.Errorf("%s: os must be imported by its own name, not %q", s.name, name)
			}
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && !isFlag(sel.Sel.Name) {
				t.Errorf("%s: %s may use the flags of package os, not os.%s", s.fset.Position(sel.Pos()), s.pkg, sel.Sel.Name)
			}
			return true
		})
	}
}

func isFlag(name string) bool {
	return strings.HasPrefix(name, "O_") || slices.Contains(flagNames, name)
}

// TestManners checks what makes a program readable from its main function: no
// init functions, no blank or dot imports, nothing linked in by name.
func TestManners(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.pkg] = documented[s.pkg] || s.Doc != nil
		for path, name := range s.imports {
			if name == "." || name == "_" && path != "embed" {
				t.Errorf("%s: import %s %q", s.name, name, path)
			}
		}
		for _, decl := range s.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: a package does nothing by itself; call it from somewhere", s.fset.Position(f.Pos()))
			}
		}
		for _, group := range s.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname") {
					t.Errorf("%s: go:linkname", s.fset.Position(c.Pos()))
				}
			}
		}
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}
