package rules

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTranslations checks that every text of an answer has a translation with the same values, and that no translation
// is left over.
func TestTranslations(t *testing.T) {
	used := map[string]bool{}
	for _, text := range answerTexts(t) {
		used[text] = true
		translated, ok := translations()[text]
		if !ok {
			t.Errorf("answers.po has no %q", text)
		}
		if got, want := verbs(translated), verbs(text); slices.ContainsFunc(got, func(v string) bool { return !slices.Contains(want, v) }) {
			t.Errorf("%q: the translation uses %q instead of %q", text, got, want)
		}
	}
	for text := range translations() {
		if !used[text] {
			t.Errorf("nothing says %q", text)
		}
	}
}

var verb = regexp.MustCompile(`%(\[\d\])?([a-z])`)

// verbs lists the values of a text, each with its number.
func verbs(text string) (list []string) {
	for i, m := range verb.FindAllStringSubmatch(text, -1) {
		number := m[1]
		if number == "" {
			number = "[" + strconv.Itoa(i+1) + "]"
		}
		list = append(list, number+strings.Replace(m[2], "q", "s", 1))
	}
	return list
}

// answerTexts lists the strings that the package hands to say and several, directly or by a name.
func answerTexts(t *testing.T) (list []string) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := goparser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				list = append(list, textOf(call)...)
			}
			return true
		})
	}
	for _, u := range unitNames {
		list = append(list, u.name)
	}
	for _, name := range totalNames {
		list = append(list, name)
	}
	return append(list, indirectTexts...)
}

// indirectTexts are handed on by a variable.
var indirectTexts = []string{"empty", "not empty", "ignoring case", "as a whole word", "different line",
	"kinds|different value", "%s of %s are no numbers and left out, for example %s",
	"%s of %s is no number and left out, for example %s"}

func textOf(call *ast.CallExpr) []string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	arg := call.Args[0]
	switch {
	case f.Sel.Name == "several":
		arg = call.Args[1]
	case f.Sel.Name != "say":
		return nil
	}
	if text, ok := constant(arg); ok {
		return []string{text}
	}
	return nil
}

// constant is the value of a string, or of a sum of strings.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, ok2 := constant(e.Y)
		return a + b, ok && ok2
	}
	return "", false
}

// TestFeatureNames checks that the names are those of the constants.
func TestFeatureNames(t *testing.T) {
	names := strings.Fields(featureNames)
	for want, f := range map[string]feature{"show": show, "sorted": sorted, "level": level, "which": which, "status": status} {
		if at := slices.Index(names, want); at < 0 || f != 1<<at {
			t.Errorf("%s is feature %d", want, at)
		}
	}
	if status != 1<<(len(names)-1) {
		t.Errorf("there are %d names", len(names))
	}
}
