// Longtests prints the arguments of "go test" for the tests that "go test -short" skips
// or shortens: a -run flag with the tests that call testing.Short, also through a
// helper, and their packages.
//
//	go test $(go run ./scripts/longtests)
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	args, err := longTests(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "longtests:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(args, " "))
}

// longTests returns the arguments for the module in root.
func longTests(root string) ([]string, error) {
	packages, err := testFunctions(root)
	if err != nil {
		return nil, err
	}
	var dirs []string
	names := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		long := longOf(packages[dir])
		for _, name := range long {
			names[name] = true
		}
		if len(long) > 0 {
			dirs = append(dirs, "./"+dir)
		}
	}
	run := "-run=^(" + strings.Join(slices.Sorted(maps.Keys(names)), "|") + ")$"
	return append([]string{run}, dirs...), nil
}

// browserPackage starts a browser, which it skips in short tests.
const browserPackage = "browser"

// A function is a function of a test file.
type function struct {
	asks  bool // calls testing.Short
	calls map[string]bool
}

// testFunctions parses all test files, by directory and function. Directories with a
// go.mod are other modules.
func testFunctions(root string) (map[string]map[string]*function, error) {
	all := map[string]map[string]*function{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (other == nil || d.Name() == "testdata" || d.Name() == ".git") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if all[dir] == nil {
			all[dir] = map[string]*function{}
		}
		return readFunctions(path, all[dir])
	})
	return all, err
}

func readFunctions(path string, into map[string]*function) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			into[f.Name.Name] = readCalls(f.Body)
		}
	}
	return nil
}

func readCalls(body *ast.BlockStmt) *function {
	f := &function{calls: map[string]bool{}}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			f.asks = f.asks || ok && (x.Name == "testing" && n.Sel.Name == "Short" || x.Name == browserPackage)
			f.calls[n.Sel.Name] = true
		case *ast.Ident:
			f.calls[n.Name] = true
		}
		return true
	})
	return f
}

// longOf returns the tests that call testing.Short, directly or not.
func longOf(functions map[string]*function) (tests []string) {
	for changed := true; changed; {
		changed = false
		for _, f := range functions {
			for name := range f.calls {
				if g := functions[name]; g != nil && g.asks && !f.asks {
					f.asks, changed = true, true
				}
			}
		}
	}
	for name, f := range functions {
		if f.asks && strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	return tests
}
