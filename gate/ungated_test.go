package gate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ways lists what makes a runner, by package. A name that ends in * stands for
// all that begin so.
var ways = map[string][]string{
	"hako/shell":        {"New", "Session"},
	"hako/host":         {"New*", "Runner"},
	"hako/host/sandbox": {"New", "Sandbox"},
	"hako/container":    {"New*", "Runner"},

	"hako/container/guest": {"Dial", "Runner"},
}

// allowed lists the files that may make one, and of which packages: the bill of
// materials, which puts a gate before each, and the runner that is made of
// others and is on the list itself. Drawing a new line here is a decision about
// security.
var allowed = map[string][]string{
	"internal/app/wire.go":    {"hako/shell", "hako/host", "hako/container"},
	"internal/setup/shell.go": {"hako/shell"}, // the closed shell of hako and llmsh; Open puts a gate before it
	"host/host.go":            {"hako/shell", "hako/host/sandbox"},

	"shell/command/internal/commandtest/transcript.go": {"hako/shell"}, // for tests: it needs a *testing.T

	// The container's runner is put behind Options.Gate where it is made, see
	// TestContainerGatesItsRunners; the others run what hako itself has to say.
	"container/execute.go":             {"hako/container/guest"},
	"container/guestconn.go":           {"hako/container/guest"},
	"container/inuse.go":               {"hako/container/guest"},
	"container/proxyproc/proxyproc.go": {"hako/container/guest"},

	"bench/containers/main.go": {"hako/container"}, // as the next

	"bench/sandbox.go": {"hako/host", "hako/host/sandbox"}, // it measures them, and runs what is written there
}

// TestMakersAreFound keeps the finder itself honest.
func TestMakersAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`var s = shell.New(shell.Options{})`:                           1,
		`var f = shell.New`:                                            1,
		`var s = &shell.Session{}`:                                     1,
		`var s = new(shell.Session)`:                                   1,
		`var s shell.Session`:                                          1,
		`var g = gate.New(shell.New(shell.Options{}), gate.Options{})`: 0,
		`var g = gate.New(r, gate.Options{Policy: x(shell.New(shell.Options{}))})`: 1,
		`var g = gate.New(wrap(shell.New(shell.Options{})), gate.Options{})`:       1,
		`var g = gate.New(shell.New, gate.Options{})`:                              1,
		`var g = other.New(shell.New(shell.Options{}), gate.Options{})`:            1,
		`var g = gate.Other(shell.New(shell.Options{}), gate.Options{})`:           1,
		`var c = shell.Command{Name: "x"}`:                                         0,
		`var c, err = sandbox.New(nil, sandbox.Plan{}, 1)`:                         1,
		`var r, err = host.New(nil, host.Options{})`:                               1,
		`func f(s *shell.Session) {}`:                                              0,
		`var c, err = guest.Dial(nil, "x")`:                                        1,
		`var r = guest.Runner{}`:                                                   1,
	} {
		file := filepath.Join(t.TempDir(), "x.go")
		src := "package x\nimport (\"hako/shell\"; \"hako/host\"; \"hako/host/sandbox\"; \"hako/container/guest\"; \"hako/gate\"; \"hako/internal/other\")\n" + body
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := makers(t, file); len(got) != want {
			t.Errorf("%s: found %d, want %d", body, len(got), want)
		}
	}
}

// TestNoUngatedPath finds every place in the program that makes a runner; examples
// are programs of their own. If
// this test fails, do not add the file to the list: take the runner from app.
func TestNoUngatedPath(t *testing.T) {
	root := ".."
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (d.Name() == "testdata" || d.Name() == "examples" ||
			strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		rel, _ := filepath.Rel(root, file)
		for _, m := range makers(t, file) {
			if !slices.Contains(allowed[filepath.ToSlash(rel)], m.pkg) {
				t.Errorf("%s makes a runner without a gate", m.where)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A maker is a place where a runner of a package is made.
type maker struct{ where, pkg string }

// makers returns the places of a file where it makes a runner.
func makers(t *testing.T, file string) (found []maker) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string) // as the file calls them
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imp)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." && ways[imp] != nil {
			found = append(found, maker{fset.Position(spec.Pos()).String(), imp})
		}
		names[name] = imp
	}
	gated := make(map[ast.Node]bool)
	ast.Inspect(f, func(n ast.Node) bool {
		var made ast.Expr
		if gated[n] {
			return true
		}
		switch n := n.(type) {
		case *ast.SelectorExpr: // called, or kept to be called later
			if strings.HasPrefix(n.Sel.Name, "New") || n.Sel.Name == "Build" || n.Sel.Name == "Dial" {
				made = n
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" && len(n.Args) == 1 {
				made = n.Args[0]
			}
			gated[behind(names, n)] = true
		case *ast.CompositeLit:
			made = n.Type
		case *ast.ValueSpec:
			made = n.Type
		}
		if sel, ok := made.(*ast.SelectorExpr); ok && makes(names, sel) {
			found = append(found, maker{fset.Position(n.Pos()).String(), names[sel.X.(*ast.Ident).Name]})
		}
		return true
	})
	return found
}

// behind returns the function of a runner that is made right where a gate takes
// it, gate.New(shell.New(…), …): nobody else can get hold of that one.
func behind(names map[string]string, call *ast.CallExpr) ast.Node {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "New" || len(call.Args) != 2 {
		return nil
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || names[pkg.Name] != "hako/gate" {
		return nil
	}
	if made, ok := call.Args[0].(*ast.CallExpr); ok {
		return made.Fun
	}
	return nil
}

func makes(names map[string]string, sel *ast.SelectorExpr) bool {
	pkg, ok := sel.X.(*ast.Ident)
	return ok && slices.ContainsFunc(ways[names[pkg.Name]], func(way string) bool {
		start, open := strings.CutSuffix(way, "*")
		return sel.Sel.Name == way || open && strings.HasPrefix(sel.Sel.Name, start)
	})
}

// TestContainerGatesItsRunners finds the runners of package container by their
// method Run, and every place where one is made: each is handed to Options.Gate
// right there, and what it is made of is used inside of it alone.
func TestContainerGatesItsRunners(t *testing.T) {
	files := containerFiles(t)
	runners := runnerTypes(files)
	if len(runners) == 0 {
		t.Fatal("package container has no runner")
	}
	made := 0
	for _, f := range files {
		gated := make(map[ast.Node]bool)
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Gate" {
					for _, arg := range n.Args {
						gated[arg] = true
					}
				}
			case *ast.CompositeLit:
				id, ok := n.Type.(*ast.Ident)
				if !ok || !runners[id.Name] {
					break
				}
				made++
				if !gated[n] {
					t.Errorf("%s: a %s is made without Options.Gate", f.fset.Position(n.Pos()), id.Name)
				}
			}
			return true
		})
		for _, at := range guestRunners(f, runners) {
			t.Errorf("%s: a runner of the guest is used outside of one that is gated", at)
		}
	}
	if made == 0 {
		t.Error("package container makes no runner")
	}
}

type sourceFile struct {
	fset *token.FileSet
	tree *ast.File
}

func containerFiles(t *testing.T) (out []sourceFile) {
	names, err := filepath.Glob(filepath.Join("..", "container", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sourceFile{fset, tree})
	}
	return out
}

// runnerTypes are the types with a method Run that takes a request.
func runnerTypes(files []sourceFile) map[string]bool {
	out := make(map[string]bool)
	for _, f := range files {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "Run" && fn.Recv != nil {
				out[receiver(fn)] = true
			}
		}
	}
	return out
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, _ := typ.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}

// guestRunners are the places outside of the runners' own methods that make a
// guest.Runner.
func guestRunners(f sourceFile, runners map[string]bool) (out []string) {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && runners[receiver(fn)] {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Runner" {
				out = append(out, f.fset.Position(n.Pos()).String())
			}
			return true
		})
	}
	return out
}
