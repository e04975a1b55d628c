package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// startOnly are packages and files whose errors are only met by whoever starts hako
// with flags, never by a client of something that runs.
var startOnly = []string{"internal/app/ask/", "internal/app/llmcmd/", "internal/app/mcpaccess.go", "internal/config/",
	"llm/replay/", "internal/web/api/address.go", "internal/web/api/server.go", "cmd/", "bench/", "packaging/"}

// reachedByClients are the files of this package whose errors others meet.
var reachedByClients = []string{"cmd/hako/secretary.go"}

// TestHintsHaveNoFlags: a hint is read by models, by clients of MCP and on pages,
// where nobody can give a flag. What only the command line has goes into FlagHint.
func TestHintsHaveNoFlags(t *testing.T) {
	flags := ownFlags()
	files := token.NewFileSet()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(name, "internal/fakes/") {
			return err
		}
		if begins(name, startOnly) && !begins(name, reachedByClients) {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if isHint(n.Key) {
					checkHint(t, files, flags, n.Value)
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if isHint(left) && len(n.Lhs) == len(n.Rhs) {
						checkHint(t, files, flags, n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if isHint(name) && i < len(n.Values) {
						checkHint(t, files, flags, n.Values[i])
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func begins(name string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// isHint reports whether a variable or field has a hint for everybody.
func isHint(e ast.Expr) bool {
	name := strings.ToLower(exprName(e))
	return strings.HasSuffix(name, "hint") && !strings.HasSuffix(name, "flaghint")
}

func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

var flagName = regexp.MustCompile(`--([a-z][a-z-]*)`)

// checkHint looks at the texts in an expression.
func checkHint(t *testing.T, files *token.FileSet, flags map[string]bool, value ast.Expr) {
	ast.Inspect(value, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		for _, m := range flagName.FindAllStringSubmatch(text, -1) {
			if err == nil && flags[m[1]] {
				t.Errorf("%s: the hint %q has the flag --%s, which its readers may not be able to give; name a setting, and the flag in FlagHint", files.Position(lit.Pos()), text, m[1])
			}
		}
		return true
	})
}

// ownFlags are the flags of all commands.
func ownFlags() map[string]bool {
	all := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(Tree())
	delete(all, "help")
	return all
}
