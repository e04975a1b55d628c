package hako_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// An export is an exported package-level name.
type export struct {
	name  string
	group *ast.GenDecl // constants of one declaration belong together; nil otherwise
}

// TestExportsAreUsed checks that a package exports only what another package, an
// example, a document or the signature of another export uses.
func TestExportsAreUsed(t *testing.T) {
	used := selectors(t)
	documents := codeWords(t)
	for pkg, files := range packages(t) {
		name := files[0].Name.Name
		if name == "main" {
			continue
		}
		mentioned := signatureWords(files)
		usedGroups := map[*ast.GenDecl]bool{}
		isUsed := func(e export) bool {
			return used[pkg+"."+e.name] || mentioned[e.name] || documents[name+"."+e.name] ||
				e.group != nil && usedGroups[e.group]
		}
		all := exports(files)
		for _, e := range all {
			if e.group != nil && isUsed(e) {
				usedGroups[e.group] = true
			}
		}
		for _, e := range all {
			if !isUsed(e) {
				t.Errorf("%s: nobody uses the exported name %s", pkg, e.name)
			}
		}
	}
}

// packages returns the files of each package that others can import.
func packages(t *testing.T) map[string][]source {
	t.Helper()
	all := map[string][]source{}
	for _, s := range sources(t) {
		all[s.pkg] = append(all[s.pkg], s)
	}
	return all
}

// exports returns the exported package-level names of a package.
func exports(files []source) (all []export) {
	for _, s := range files {
		for _, decl := range s.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					all = append(all, export{name: d.Name.Name})
				}
			case *ast.GenDecl:
				all = append(all, exportsOf(d)...)
			}
		}
	}
	return all
}

func exportsOf(d *ast.GenDecl) (all []export) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				all = append(all, export{name: s.Name.Name})
			}
		case *ast.ValueSpec:
			e := export{}
			if d.Tok == token.CONST {
				e.group = d
			}
			for _, id := range s.Names {
				if e.name = id.Name; id.IsExported() {
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// signatureWords returns the identifiers in the signatures of exported functions and
// methods, and in exported types.
func signatureWords(files []source) map[string]bool {
	words := map[string]bool{}
	add := func(self string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name != self {
				words[id.Name] = true
			}
			return true
		})
	}
	for _, s := range files {
		for _, decl := range s.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() {
					add("", d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
						add(s.Name.Name, s)
					}
					if s, ok := spec.(*ast.ValueSpec); ok && s.Type != nil && s.Names[0].IsExported() {
						add("", s.Type)
					}
				}
			}
		}
	}
	return words
}

// selectors returns what all files, tests and other modules included, select from
// our packages: "audit.Open" for a package hako/audit under whatever name.
func selectors(t *testing.T) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // testdata may be wrong on purpose
		}
		addSelectors(used, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func addSelectors(used map[string]bool, f *ast.File) {
	ours := map[string]string{}
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if pkg, ok := strings.CutPrefix(path, "hako/"); ok {
			name := filepath.Base(pkg)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			ours[name] = pkg
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && ours[x.Name] != "" {
				used[ours[x.Name]+"."+sel.Sel.Name] = true
			}
		}
		return true
	})
}

var (
	codeWord   = regexp.MustCompile(`[a-z]+\.[A-Z]\w*`)
	schemaName = regexp.MustCompile(`(?m)^    ([A-Z]\w*):$`)
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codeWords returns the names such as audit.Open in documents and in templates of pages,
// and the schemas of the HTTP API, which are named like the types behind them.
func codeWords(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for _, name := range schemaName.FindAllStringSubmatch(readFile(t, "internal/web/api/openapi.yaml"), -1) {
		words["api."+name[1]] = true
	}
	for _, pattern := range []string{"docs/*.md", "*.md", "internal/web/console/*.templ"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			for _, word := range codeWord.FindAllString(readFile(t, file), -1) {
				words[word] = true
			}
		}
	}
	return words
}
