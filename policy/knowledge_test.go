package policy

import (
	"io/fs"
	"strings"
	"testing"

	"hako/shell/spec"
)

// TestKnowFiles sees to it that every file can be read, that no name is there
// twice, and that what hako's own commands say is not said again.
func TestKnowFiles(t *testing.T) {
	files, _ := fs.Glob(knowFiles, "know/*.txt")
	seen := make(map[string]string)
	for _, name := range files {
		text, err := knowFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		specs, err := programForm().Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range specs {
			for _, n := range append(s.Also, s.Name) {
				if seen[n] != "" && name != listsFile {
					t.Errorf("%s: %s is in %s, too", name, n, seen[n])
				}
				seen[n] = name
				if got := namesIn("name: " + s.Name + "\nalso: " + strings.Join(s.Also, " ")); len(got) != 1+len(s.Also) {
					t.Errorf("%s: %q", name, got)
				}
			}
		}
		if name != listsFile {
			checkOwn(t, string(text))
		}
	}
}

// checkOwn finds specs that repeat what shell/spec has.
func checkOwn(t *testing.T, text string) {
	set := &programSet{texts: make(map[string]string)}
	set.index(text)
	for name, one := range set.texts {
		own := spec.Lookup(name)
		if own != nil && !own.OffHost && strings.Contains(one, "\noptions:") {
			t.Errorf("%s: its options are in shell/spec: write like: %s", name, name)
		}
		if prog := builtinPrograms().find(name); prog == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestListsAreThere looks for the lists that the code asks for.
func TestListsAreThere(t *testing.T) {
	for name := range wordLists().texts {
		if len(strings.Fields(wordList(name))) == 0 {
			t.Errorf("the list %s is empty", name)
		}
	}
	for _, name := range []string{"harmless-variables", "special-variables", "command-variables", "forbidden-variables",
		"exclude-options",
		"tool-value-options", "tool-flags", "value-options", "show-words", "unsteady-programs", "cmake-checkers",
		"order-prefixes",
		"compiler-loads", "compiler-files", "packed-suffixes", "git-paths", "git-hooks", "other-paths", "declaring-commands",
		"reading-commands", "checked-commands"} {
		if wordList(name) == "" {
			t.Errorf("there is no list %s", name)
		}
	}
}

func TestNamesWithSpacesAreNoPrograms(t *testing.T) {
	if p := (&Policy{}).known("git push"); p != nil {
		t.Error("the subcommand push of git is taken for a program")
	}
}
