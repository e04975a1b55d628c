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

// Every block of refusals.txt is about a known program, and its expression compiles.
func TestRefusalsFile(t *testing.T) {
	text, err := ruleFiles.ReadFile(refusalsFile)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := parseRefusals(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range rules {
		prog := builtin(name)
		if prog == nil {
			t.Errorf("%s: nothing is known about it", name)
			continue
		}
		for _, r := range list {
			if r.pattern != nil {
				r.pattern.Get()
			}
			for _, o := range append(r.options, r.with...) {
				if _, ok := prog.options[strings.TrimLeft(o, "-")]; !ok {
					t.Errorf("%s has no option %s", name, o)
				}
			}
		}
	}
	for _, bad := range []string{"program: x\nwhy: y\nhint: z", "program: x\noption: -a\nwhy: y", "program: x\nnonesuch: y"} {
		if _, err := parseRefusals(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// Every line of alternatives.txt is a command and a hint.
func TestAlternativesFile(t *testing.T) {
	text, err := ruleFiles.ReadFile("rules/alternatives.txt")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines-1 != len(alternatives()) {
		t.Errorf("%d lines, %d hints", lines-1, len(alternatives()))
	}
}
