package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hako/shell/spec"
)

// TestSpecs keeps specs and code in step: every command has a spec, every option
// that code binds or switches on is in the spec of a command of that file, and every option
// of a spec is named in the code, unless the command takes it without effect.
func TestSpecs(t *testing.T) {
	sources := optionSources(t)
	for name := range All() {
		s := spec.Lookup(name)
		if s == nil {
			t.Errorf("%s has no spec: write shell/spec/%s.txt", name, name)
			continue
		}
		named := map[string]bool{}
		for _, src := range sources {
			if src.commands[name] {
				for text := range src.literals {
					named[text] = true
				}
			}
		}
		for _, o := range s.Options {
			known := slices.ContainsFunc(o.Names, func(n string) bool { return named[n] })
			if !o.HostOnly && !known && !ignored(name, o.Names[0]) {
				t.Errorf("%s: nothing names the option %s of its spec", name, o.Names[0])
			}
		}
	}
	for _, src := range sources {
		for _, option := range src.cases {
			if !slices.ContainsFunc(src.names(), func(name string) bool { return hasFirst(spec.Lookup(name), option) }) {
				t.Errorf("%s binds the option %q, which no spec of %v has as its first name", src.file, option, src.names())
			}
		}
	}
}

func hasFirst(s *spec.Spec, name string) bool {
	o := s.Find(name)
	return o != nil && o.Names[0] == name
}

// An optionSource is a file, the commands that it is part of, and the options in it.
type optionSource struct {
	file     string
	commands map[string]bool
	literals map[string]bool // all strings and characters
	cases    []string        // keys of cli.Flags, and cases of switches over the name of an option
}

func (s optionSource) names() (list []string) {
	for name := range s.commands {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// sharedFiles are files that serve other commands than their name says.
var sharedFiles = map[string]string{
	"file/cp.go": "cp mv", "file/copytree.go": "cp mv",
	"archive/gzip.go": "gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat",
	"archive/pack.go": "gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat",
	"text/expand.go":  "expand unexpand", "text/grep.go": "grep egrep fgrep", "text/sort.go": "sort shuf",
	"text/awk.go":    "awk gawk mawk",
	"data/digest.go": "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum", "data/base64.go": "base64 base32",
}

func optionSources(t *testing.T) (all []optionSource) {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		src := optionSource{filepath.ToSlash(file), map[string]bool{}, map[string]bool{}, nil}
		base, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".go"), "_")
		for _, name := range append(strings.Fields(sharedFiles[src.file]), base) {
			if _, ok := All()[name]; ok {
				src.commands[name] = true
			}
		}
		if len(src.commands) > 0 {
			ast.Inspect(f, src.look)
			all = append(all, src)
		}
	}
	return all
}

func (s *optionSource) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(n.Value); err == nil {
			s.literals[text] = true
		}
	case *ast.CompositeLit:
		if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Flags" {
			s.addBindings(n)
		}
	case *ast.SwitchStmt:
		if sel, ok := n.Tag.(*ast.SelectorExpr); ok && sel.Sel.Name == "Name" {
			s.addCases(n)
		}
	}
	return true
}

// addBindings adds the keys of a cli.Flags.
func (s *optionSource) addBindings(n *ast.CompositeLit) {
	for _, e := range n.Elts {
		key, _ := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
		for name := range strings.FieldsSeq(key) {
			s.literals[name] = true
			s.cases = append(s.cases, name)
		}
	}
}

func (s *optionSource) addCases(n *ast.SwitchStmt) {
	if x, ok := n.Tag.(*ast.SelectorExpr).X.(*ast.Ident); !ok || x.Name != "o" {
		return // the name of something else
	}
	for _, clause := range n.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if lit, ok := e.(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(lit.Value)
				s.cases = append(s.cases, text)
			}
		}
	}
}

func ignored(name, option string) bool {
	return slices.Contains(strings.Fields(withoutEffect[name]), option)
}

// withoutEffect lists the options that a command takes and ignores, or does not
// need to name because it has no others.
var withoutEffect = map[string]string{
	"awk":      "W b c r P n N O s M lint",
	"bc":       "q w",
	"bunzip2":  "N e T s",
	"bzcat":    "N e T s",
	"bzip2":    "N e T s",
	"cat":      "u",
	"chmod":    "preserve-root no-preserve-root",
	"column":   "e E T W",
	"cp":       "strip-trailing-slashes x sparse reflink",
	"cut":      "n",
	"date":     "debug",
	"df":       "k a P i l",
	"diff":     "H t no-dereference color horizon-lines ignore-file-name-case",
	"dirname":  "z",
	"du":       "P D H x",
	"egrep":    "line-buffered U u D 1 2 3 4 5 6 7 8",
	"env":      "v",
	"expand":   "t",
	"fgrep":    "line-buffered U u D 1 2 3 4 5 6 7 8",
	"file":     "k s n r E p",
	"gawk":     "W b c r P n N O s M lint",
	"grep":     "line-buffered U u D 1 2 3 4 5 6 7 8",
	"gunzip":   "N e T s",
	"gzip":     "N e T s",
	"help":     "m",
	"hostname": "s f a i d all-ip-addresses",
	"iconv":    "s",
	"id":       "r z a",
	"jq":       "args",
	"ln":       "L P d F",
	"ls":       "q c u k T color show-control-chars author",
	"man":      "f",
	"mawk":     "W b c r P n N O s M lint",
	"mv":       "strip-trailing-slashes",
	"nproc":    "all ignore",
	"patch":    "backup-if-mismatch verbose binary posix reject-format read-only Z T",
	"printenv": "0",
	"readlink": "q s",
	"realpath": "L P",
	"rm":       "one-file-system preserve-root no-preserve-root",
	"sed":      "posix debug follow-symlinks",
	"shuf":     "random-source",
	"sort":     "random-source S T parallel batch-size debug",
	"split":    "u",
	"stat":     "cached",
	"strings":  "a",
	"sum":      "r",
	"tail":     "n q v z retry s pid",
	"tar":      "no-wildcards sort format H no-same-owner o same-owner no-same-permissions m overwrite U full-time anchored no-anchored posix",
	"tee":      "i p output-error",
	"timeout":  "s k foreground",
	"touch":    "f",
	"tree":     "n C N q x U v A S",
	"truncate": "o",
	"tty":      "s",
	"unxz":     "N e T s",
	"unzip":    "a b C L X K U",
	"uudecode": "o",
	"which":    "a",
	"xargs":    "o show-limits process-slot-var",
	"xz":       "N e T s",
	"xzcat":    "N e T s",
	"yq":       "P C M v",
	"zcat":     "N e T s",
	"zip":      "u v X T",
}
