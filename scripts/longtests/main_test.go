package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLongTests(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":          "package a\nfunc TestLong(t *testing.T) { if testing.Short() { t.Skip() } }\nfunc TestQuick(t *testing.T) {}\n",
		"b/b_test.go":          "package b\nfunc TestHelped(t *testing.T) { x := slow(t); _ = x }\nfunc TestMain(m *testing.M) { slow(nil) }\n",
		"b/help_test.go":       "package b\nfunc slow(t *testing.T) int { return w{}.wait() }\nfunc (w) wait() int { testing.Short(); return 1 }\ntype w struct{}\n",
		"c/c_test.go":          "package c\nfunc TestQuick(t *testing.T) {}\n",
		"other/go.mod":         "module other\n",
		"other/o_test.go":      "package other\nfunc TestOther(t *testing.T) { testing.Short() }\n",
		"a/testdata/d_test.go": "package d\nfunc TestData(t *testing.T) { testing.Short() }\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	got, err := longTests(".")
	if want := []string{"-run=^(TestHelped|TestLong)$", "./a", "./b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
