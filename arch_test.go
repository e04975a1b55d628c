// Package hako_test keeps the architecture: who may know whom, and who may
// touch the world. It reads the sources itself rather than ask "go list": the
// test cache notices the files a test opens, but not what a child process reads.
package hako_test

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
	"run/fault": "",
	"run":       "",
	// crafts: pure functions over bytes and text
	"internal/lazyregexp":         "",
	"internal/redact":             "",
	"internal/text":               "",
	"internal/netlisten":          "run/fault", // ports, on loopback unless somebody said otherwise
	"internal/ownerfile":          "run/fault", // files that only their owner may read
	"internal/protect":            "",          // names that programs outside of a sandbox believe
	"internal/ownerfile/database": "internal/ownerfile run/fault",
	// may it?
	"quota":           "internal/ownerfile run/fault",
	"policy":          "internal/lazyregexp internal/protect run/fault shell/bashsyntax shell/spec",
	"audit":           "internal/ownerfile internal/redact internal/text run/fault",
	"audit/sqlite":    "audit internal/ownerfile/database run/fault",
	"gate":            "audit internal/redact internal/text policy quota run run/fault",
	"internal/worker": "audit gate quota run run/fault", // others' scripts, in a process of their own
	// hands
	"shell":                                "quota run run/fault shell/bashsyntax shell/pattern shell/regex shell/spec shell/stream shell/strftime shell/vfs",
	"shell/awk":                            "shell/regex shell/stream shell/strftime",
	"shell/command":                        "shell shell/command/archive shell/command/data shell/command/file shell/command/number shell/command/system shell/command/text",
	"shell/command/archive":                "quota run/fault shell shell/command/internal/cli shell/stream shell/vfs",
	"shell/command/data":                   "internal/lazyregexp run/fault shell shell/command/internal/cli shell/jq shell/stream shell/vfs",
	"shell/command/file":                   "run/fault shell shell/command/internal/cli shell/command/internal/datetime shell/strftime shell/vfs",
	"shell/command/internal/cli":           "run/fault shell shell/pattern shell/regex shell/spec shell/stream shell/vfs",
	"shell/command/internal/commandtest":   "internal/lazyregexp quota run shell shell/vfs",
	"shell/command/internal/datetime":      "internal/lazyregexp shell shell/command/internal/cli shell/strftime",
	"shell/command/number":                 "quota shell shell/command/internal/cli shell/regex",
	"shell/command/system":                 "run/fault shell shell/command/internal/cli shell/command/internal/datetime shell/stream shell/strftime shell/vfs",
	"shell/command/text":                   "internal/lazyregexp quota run/fault shell shell/awk shell/command/internal/cli shell/command/internal/datetime shell/regex shell/stream shell/strftime shell/vfs",
	"shell/bashsyntax":                     "",
	"shell/jq":                             "quota run/fault shell/stream",
	"shell/pattern":                        "",
	"shell/regex":                          "",
	"shell/spec":                           "",
	"shell/stream":                         "",
	"shell/strftime":                       "",
	"shell/vfs":                            "internal/protect quota run/fault",
	"host":                                 "host/sandbox internal/lazyregexp internal/ownerfile internal/protect quota run run/fault shell shell/stream shell/vfs",
	"host/sandbox":                         "run/fault",
	"internal/app/secretary/speech/player": "run/fault",
	"internal/editor":                      "internal/text run/fault",
	"container":                            "container/clone container/deps container/disk container/egress container/engine container/guest container/lang container/seccomp internal/editor internal/lazyregexp internal/ownerfile internal/text run run/fault docker",
	"container/clone":                      "container/egress container/guest internal/lazyregexp internal/ownerfile internal/redact internal/text run/fault",
	"container/deps":                       "container/guest container/lang internal/redact internal/text run/fault",
	"container/disk":                       "run/fault",
	"container/egress":                     "run/fault",
	"container/engine":                     "internal/lazyregexp internal/text run/fault",
	"container/guest":                      "container/guest/wire run run/fault", // outside
	"container/guest/usage":                "",
	"container/guest/procgroup":            "run/fault",
	"container/guest/server":               "container/egress container/guest container/guest/joblog container/guest/procgroup container/guest/usage container/guest/wire internal/editor run run/fault", // inside
	"container/guest/joblog":               "run",
	"container/guest/wire":                 "run/fault",
	"container/proxyproc":                  "container/egress container/guest run/fault",
	"container/lang":                       "internal/lazyregexp run/fault",
	"container/seccomp":                    "",
	"internal/app/jobs":                    "internal/ownerfile internal/text run run/fault",
	// world
	"llm":                           "quota run/fault",
	"llm/wire":                      "internal/text llm quota run/fault",
	"llm/openai":                    "llm llm/wire quota run/fault",
	"llm/ollama":                    "llm llm/wire quota",
	"llm/rules":                     "internal/lazyregexp internal/text llm run/fault",
	"llm/replay":                    "internal/text llm quota run/fault",
	"llm/price":                     "quota run/fault",
	"llm/tokens":                    "llm",
	"internal/websearch":            "internal/redact internal/text run/fault",
	"internal/app/ask/conversation": "internal/ownerfile llm run/fault",
	"internal/app/secretary/speech": "internal/ownerfile internal/text run/fault",
	// minds
	"agent/tool":                      "internal/redact internal/text internal/websearch llm policy run run/fault shell shell/spec",
	"agent/tool/gated":                "agent/tool run run/fault",
	"agent/tool/mcpclient":            "agent/tool agent/tool/gated internal/redact internal/text llm run/fault",
	"agent":                           "agent/tool audit internal/redact llm quota run/fault",
	"internal/app/llmcmd/descriptors": "agent/tool internal/redact run run/fault shell/stream shell/vfs",
	"internal/app/llmcmd/preset":      "run/fault",
	"internal/app/llmcmd/plan":        "internal/text llm run/fault",
	"internal/app/secretary":          "gate internal/app/jobs internal/app/secretary/speech internal/app/secretary/speech/player internal/app/secretary/store internal/lenientjson internal/redact internal/text llm run run/fault",
	"internal/lenientjson":            "run/fault",
	"internal/app/secretary/store":    "internal/ownerfile/database internal/text run/fault",
	"internal/app/coder":              "agent agent/tool audit internal/lazyregexp internal/lenientjson internal/redact internal/text llm quota run/fault",
	"internal/app/coder/forge":        "internal/lazyregexp internal/redact internal/text run/fault",
	"internal/app/coder/dispatch":     "agent/tool agent/tool/gated internal/app/coder internal/app/coder/forge internal/app/coder/queue internal/redact internal/text run/fault",
	"internal/app/coder/queue":        "internal/ownerfile run/fault",
	"internal/app/coder/store":        "internal/app/coder internal/ownerfile internal/text run/fault",
	// what people see
	"internal/health":   "internal/netlisten internal/promtext internal/redact internal/text run/fault",
	"internal/promtext": "",
	"internal/markdown": "internal/text",
	"internal/progress": "internal/text",
	"internal/term":     "gate internal/text run run/fault shell shell/stream",                                                 // questions, line editing, errors at a terminal
	"internal/setup":    "audit gate internal/config internal/redact policy quota run run/fault shell shell/command shell/vfs", // settings become a closed shell
	// doors
	"internal/web/api":                  "gate internal/app/access internal/app/coder/tasks internal/app/questions internal/app/records internal/app/sandboxes internal/app/secretary/sessions internal/netlisten internal/redact internal/text internal/web/auth run/fault",
	"internal/web/console":              "internal/app/access internal/app/coder/tasks internal/app/questions internal/app/records internal/app/sandboxes internal/app/secretary/sessions internal/web/api run/fault",
	"internal/app/mcpserver":            "agent/tool gate internal/app/records internal/app/sandboxes internal/editor internal/netlisten internal/redact internal/text internal/web/auth policy run run/fault",
	"internal/app/mcpserver/remoteedit": "internal/editor internal/ownerfile internal/text run run/fault", // the editor of sandboxes without one
	"internal/app/records":              "audit audit/sqlite policy quota run/fault",
	"internal/app/secretary/sessions":   "internal/app/access internal/app/secretary internal/app/secretary/store internal/redact run/fault",
	"internal/app/coder/tasks":          "internal/app/access internal/app/coder internal/app/coder/dispatch internal/app/coder/queue run/fault",
	"internal/app/sandboxes":            "container container/guest internal/app/access internal/redact run run/fault",
	"internal/app/access":               "run/fault", // who is logged in
	"internal/web/auth":                 "internal/app/access internal/ownerfile run/fault",
	"internal/app/questions":            "gate internal/app/access internal/text run/fault", // questions that wait for a person
	"internal/app/asksocket":            "gate internal/ownerfile internal/text run/fault",  // the way there for other processes
	"internal/config":                   "internal/lazyregexp internal/ownerfile internal/protect quota run/fault",
	"internal/app/llmcmd":               "agent audit internal/app internal/app/llmcmd/descriptors internal/app/llmcmd/plan internal/app/llmcmd/preset internal/config internal/redact internal/setup internal/term internal/text llm llm/replay llm/rules llm/tokens policy quota run/fault shell shell/vfs",
	"internal/app/ask":                  "agent agent/tool internal/app internal/app/ask/conversation internal/config internal/setup internal/websearch llm llm/tokens quota run/fault", // run and chat
	"internal/app": "agent agent/tool agent/tool/gated audit container container/clone container/deps container/engine container/lang container/proxyproc gate host host/sandbox " +
		"agent/tool/mcpclient internal/app/access internal/app/asksocket internal/app/coder internal/app/coder/dispatch internal/app/coder/forge internal/app/coder/queue internal/app/coder/store internal/app/coder/tasks internal/app/jobs internal/app/llmcmd/descriptors internal/app/mcpserver internal/app/mcpserver/remoteedit internal/app/questions internal/app/records internal/app/sandboxes internal/app/secretary internal/app/secretary/sessions internal/app/secretary/speech internal/app/secretary/speech/player internal/app/secretary/store " +
		"internal/config internal/health internal/lazyregexp internal/ownerfile internal/redact internal/setup internal/web/auth internal/websearch internal/worker " +
		"llm llm/ollama llm/openai llm/price llm/replay llm/rules policy quota run run/fault shell shell/vfs",
	"docker":    "",
	"cmd/hako":  everything,
	"cmd/llmsh": "internal/config internal/setup internal/term internal/text quota run run/fault",
	// tests
	"run/runtest":               "run run/fault",
	"llm/wire/wiretest":         "llm run/fault",
	"internal/testload":         "",
	"internal/fakes":            "run/fault",
	"internal/fakes/browser":    "",
	"internal/fakes/forge":      "",
	"internal/fakes/forge/show": "internal/fakes/forge",
	"internal/fakes/serve":      "internal/fakes",
}

const everything = "*"

// powers lists the packages that reach the outside world, and which of ours may
// hold them.
var powers = map[string]string{
	"os":                       "agent/tool/mcpclient audit audit/sqlite cmd/hako cmd/llmsh container container/clone container/deps container/disk container/engine container/guest container/guest/joblog container/guest/procgroup container/guest/server container/guest/usage container/proxyproc host host/sandbox internal/app internal/app/ask internal/app/ask/conversation internal/app/asksocket internal/app/coder/forge internal/app/coder/queue internal/app/coder/store internal/app/jobs internal/app/llmcmd internal/app/mcpserver/remoteedit internal/app/secretary/speech internal/app/secretary/speech/player internal/app/secretary/store internal/config internal/editor internal/fakes/browser internal/fakes/forge internal/fakes/forge/show internal/fakes/serve internal/health internal/ownerfile internal/ownerfile/database internal/setup internal/term internal/testload internal/web/auth internal/worker shell/command/internal/commandtest shell/vfs " + flagsOnly,
	"os/exec":                  "shell/command/internal/commandtest agent/tool/mcpclient container/clone container/disk internal/app/secretary/speech/player internal/fakes/browser internal/fakes/forge internal/fakes/forge/show",
	"os/signal":                "cmd/hako cmd/llmsh container/guest/procgroup container/guest/server host/sandbox internal/fakes/forge/show internal/fakes/serve internal/term",
	"os/user":                  "",
	"io/ioutil":                "",
	"net":                      "container container/egress container/engine container/guest container/guest/server container/proxyproc internal/app/asksocket internal/app/coder/forge internal/app/coder/queue internal/app/mcpserver internal/app/secretary/speech internal/health internal/netlisten internal/web/api internal/websearch internal/worker llm/wire " + testsOnly,
	"net/http":                 "agent/tool/mcpclient container/egress container/engine internal/app/coder/forge internal/app/mcpserver internal/app/secretary/speech internal/health internal/netlisten internal/web/api internal/web/console internal/websearch llm/ollama llm/openai llm/wire " + testsOnly,
	"net/rpc":                  "",
	"net/smtp":                 "",
	"net/textproto":            "",
	"crypto/tls":               "container/egress container/engine internal/app/coder/forge internal/web/api internal/websearch",
	"log":                      "",
	"log/slog":                 "cmd/hako internal/health internal/web/api",
	"log/syslog":               "",
	"plugin":                   "",
	"syscall":                  "agent/tool/mcpclient cmd/hako cmd/llmsh container/clone container/guest container/guest/procgroup container/guest/server container/proxyproc host host/sandbox internal/app internal/app/secretary/speech/player internal/editor internal/fakes/forge/show internal/ownerfile internal/setup internal/term internal/worker shell/vfs",
	"golang.org/x/sys/unix":    "cmd/hako container/disk container/guest container/guest/procgroup container/guest/server container/guest/usage host host/sandbox internal/app/asksocket internal/term internal/worker shell/vfs",
	"golang.org/x/sys/windows": "cmd/hako internal/ownerfile internal/term",
	"golang.org/x/term":        "cmd/hako internal/term",
	"database/sql":             "audit/sqlite internal/app/secretary/store internal/ownerfile/database",
	"modernc.org/sqlite":       "internal/ownerfile/database",
	"testing":                  "shell/command/internal/commandtest run/runtest " + testsOnly,
	"text/template":            "",
	"html/template":            "",
	"unsafe":                   "container/guest/procgroup host/sandbox",
}

// testsOnly stands for what no command links: fake servers and replayed answers.
const testsOnly = "internal/fakes internal/fakes/browser internal/fakes/forge internal/fakes/serve llm/wire/wiretest"

// flagsOnly are those that need package os for its open flags and file modes.
// TestFlagsOnly sees to it that they use nothing else of it.
const flagsOnly = "internal/app/llmcmd/descriptors quota shell shell/command/archive shell/command/data shell/command/file shell/command/text"

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

// otherTrees are directories without packages of the program.
var otherTrees = []string{".git", "bench", "bin", "dist", "docs", "examples", "internal/fakes/clients", "packaging",
	"scripts"}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || slices.Contains(otherTrees, file)) {
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
			dep, ours := strings.CutPrefix(path, "hako/")
			if ours && allowed != everything && !holds(allowed, dep) {
				t.Errorf("%s: no arrow from %s to %s", s.name, s.pkg, dep)
			}
		}
	}
}

// TestNoUnusedArrows checks that every arrow that is listed is used.
func TestNoUnusedArrows(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		for path := range s.imports {
			used[s.pkg+" "+strings.TrimPrefix(path, "hako/")] = true
		}
	}
	for pkg, list := range arrows {
		for _, dep := range strings.Fields(list) {
			if dep != everything && !used[pkg+" "+dep] {
				t.Errorf("nobody uses the arrow from %s to %s", pkg, dep)
			}
		}
	}
}

// TestLayers checks the order of the rooms: commands know app and web, those know
// the public packages, and nobody knows a command. Only commands know cobra.
func TestLayers(t *testing.T) {
	for _, s := range sources(t) {
		public, web := !strings.HasPrefix(s.pkg, "internal/") && !below(s.pkg, "cmd"), below(s.pkg, "internal/web")
		for path := range s.imports {
			dep, ours := strings.CutPrefix(path, "hako/")
			switch {
			case strings.HasPrefix(path, "github.com/spf13/cobra"):
				if !below(s.pkg, "cmd") {
					t.Errorf("%s: only commands know cobra", s.name)
				}
			case !ours:
			case below(dep, "cmd") && !below(s.pkg, "cmd"):
				t.Errorf("%s: %s knows the command %s", s.name, s.pkg, dep)
			case public && (below(dep, "internal/app") || below(dep, "internal/web")):
				t.Errorf("%s: the public package %s knows %s", s.name, s.pkg, dep)
			case web && (below(dep, "container") || below(dep, "host")):
				t.Errorf("%s: a page knows the runner %s", s.name, dep)
			}
		}
	}
}

// below reports whether a package is a room or inside of it.
func below(pkg, room string) bool { return pkg == room || strings.HasPrefix(pkg, room+"/") }

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
			if dep == "cmd/hako" || dep == "run/runtest" || dep == "shell/command/internal/commandtest" {
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

// TestLlmshIsSmall checks that the shell that is started for every line of a script
// links nothing that it does not use: no doors, no models, no servers.
func TestLlmshIsSmall(t *testing.T) {
	for _, far := range []string{"internal/app", "internal/web/api", "internal/worker", "agent", "llm", "host",
		"container", "cmd/hako"} {
		if reaches("cmd/llmsh", far) {
			t.Errorf("llmsh must not reach %s", far)
		}
	}
	for _, s := range sources(t) {
		for path := range s.imports {
			if reaches("cmd/llmsh", s.pkg) && holds("net net/http crypto/tls database/sql os/exec github.com/spf13/cobra",
				path) {
				t.Errorf("%s: llmsh must not link %s", s.name, path)
			}
		}
	}
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
			if name == "." || name == "_" && path != "embed" && path != "time/tzdata" {
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
