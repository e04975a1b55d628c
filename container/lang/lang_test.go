package lang

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
)

func everything(t *testing.T) []Language {
	t.Helper()
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAll(t *testing.T) {
	var names []string
	for _, l := range everything(t) {
		names = append(names, l.Name)
		if want := "coding-agent-executor-" + l.Name + ":latest"; l.Image != want {
			t.Errorf("image of %s: %q, want %q", l.Name, l.Image, want)
		}
	}
	if want := []string{"python", "miniforge", "node", "java", "go"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestBases(t *testing.T) {
	for name, base := range map[string]string{
		"python": "python:3.11-slim-bookworm", "miniforge": "condaforge/miniforge3:latest", "node": "node:20-slim",
		"java": "eclipse-temurin:21-jdk",
	} {
		if l, _ := Find(name); l.Base != base {
			t.Errorf("base of %s: %q, want %q", name, l.Base, base)
		}
	}
	if l, _ := Find("go"); !strings.HasPrefix(l.Base, "golang:") || !strings.HasSuffix(l.Base, "-bookworm") {
		t.Errorf("base of go: %q", l.Base)
	}
}

func TestFind(t *testing.T) {
	if l, ok := Find("node"); !ok || l.Name != "node" {
		t.Errorf("got %q, %v", l.Name, ok)
	}
	for _, name := range []string{"", "ruby", "Python", "python\n", "../python", "python.yaml"} {
		if l, ok := Find(name); ok {
			t.Errorf("Find(%q) found %q", name, l.Name)
		}
	}
}

func TestOrderOfEqualsAndUnordered(t *testing.T) {
	list := []Language{{Name: "z"}, {Name: "a"}, {Name: "y", Order: 2}, {Name: "x", Order: 1}, {Name: "b", Order: 2}}
	slices.SortFunc(list, before)
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "x b y a z" {
		t.Errorf("got %q", got)
	}
}

// A project of two languages gets both, wherever the programs are there.
func TestStepsAreBorrowed(t *testing.T) {
	names := func(l Language) (list []string) {
		seen := map[string]bool{}
		for _, s := range l.Install {
			if seen[s.Name] {
				t.Errorf("%s has %q twice", l.Name, s.Name)
			}
			seen[s.Name] = true
			list = append(list, s.Name)
		}
		return list
	}
	python, _ := Find("python")
	if got := names(python); got[0] == "package.json" || !slices.Contains(got, "package.json") ||
		!slices.Contains(got, "go.mod") || slices.Contains(got, "environment.yml") {
		t.Errorf("python has %q", got)
	}
	miniforge, _ := Find("miniforge")
	if got := names(miniforge); got[0] != "environment.yml" || slices.Contains(got, "setup.py") {
		t.Errorf("miniforge has %q", got)
	}
	other, err := Unlisted("own", "own:1")
	if got := names(other); err != nil || !slices.Contains(got, "requirements.txt") || !slices.Contains(got, "pom.xml") {
		t.Errorf("one that is not listed has %q, %v", got, err)
	}
	if other.Image != "own:1" || other.stepsProblem() != "" {
		t.Errorf("got %+v", other)
	}
}

func TestStepsWithoutGroupAreBorrowedByName(t *testing.T) {
	from := []Language{{Install: []Step{{Name: "a"}, {Name: "b", Group: "g"}}},
		{Install: []Step{{Name: "c"}, {Name: "d", Group: "g"}}}}
	var got []string
	for _, s := range borrow([]Step{{Name: "a", Command: "own"}}, from) {
		got = append(got, s.Name+s.Command)
	}
	if strings.Join(got, " ") != "aown b c" {
		t.Errorf("got %q", got)
	}
}

// Every way of G7 to declare dependencies leads somewhere.
func TestDependencyFilesAreKnown(t *testing.T) {
	known := map[string]bool{}
	for _, l := range everything(t) {
		for _, s := range l.Install {
			for _, f := range s.When {
				known[f] = true
			}
		}
	}
	for _, f := range []string{"package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "requirements.txt",
		"pyproject.toml",
		"environment.yml", "condaenv.yaml", "Gemfile", "pom.xml", "build.gradle", "go.mod"} {
		if !known[f] {
			t.Errorf("nothing is done about %s", f)
		}
	}
}

// A kept result must not outlive a change of the files that called for it.
func TestKeysHaveWhatStepsLookFor(t *testing.T) {
	for _, l := range everything(t) {
		for _, s := range l.Install {
			for _, f := range s.When {
				if len(s.Keep) > 0 && !slices.Contains(s.Key, f) && f != "gradlew" {
					t.Errorf("%s, %s: %s is not in the key", l.Name, s.Name, f)
				}
			}
		}
	}
}

const good = `name: zig
image: registry.example:5000/team/zig:0.13
base: debian:bookworm
dockerfile: Dockerfile-executor-zig
description: Zig
use: Zig programs
packages: zig fetch
env: {ZIG_LOCAL: "1"}
path: [/opt/zig]
install:
  - name: build.zig.zon
    when: build.zig.zon
    needs: zig
    key: [build.zig.zon, "deps/*.zon"]
    keep: [.home/.cache/zig]
    command: zig build --fetch
    timeout: 90s
`

func TestRead(t *testing.T) {
	l, err := read("zig.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	s := l.Install[0]
	if !slices.Equal(l.Use, []string{"Zig programs"}) || !slices.Equal(s.Needs, []string{"zig"}) ||
		s.Timeout.Seconds() != 90 || len(s.Key) != 2 {
		t.Errorf("got %+v", l)
	}
}

func TestReadRefuses(t *testing.T) {
	for what, c := range map[string]struct{ old, new, why string }{
		"unknown key":           {"packages:", "package:", "field package not found"},
		"unknown key of a step": {"    needs:", "    need:", "field need not found"},
		"key twice":             {"path:", "env: {}\npath:", "already defined"},
		"other name":            {"name: zig\n", "name: zag\n", "not that of the file"},
		"no name":               {"name: zig\n", "", "not that of the file"},
		"no image":              {"image: registry.example:5000/team/zig:0.13\n", "", "image"},
		"image with option":     {"image: registry", "image: --privileged registry", "image"},
		"no base":               {"base: debian:bookworm\n", "", "base"},
		"dockerfile elsewhere":  {"dockerfile: ", "dockerfile: ../", "dockerfile"},
		"no description":        {"description: Zig\n", "", "description"},
		"no use":                {"use: Zig programs\n", "", "use"},
		"no packages":           {"packages: zig fetch\n", "", "packages"},
		"order below zero":      {"use:", "order: -1\nuse:", "order"},
		"bad variable":          {"ZIG_LOCAL", "ZIG-LOCAL", "variable"},
		"long variable":         {`"1"`, `"1\n2"`, "one line"},
		"variable of ours":      {"ZIG_LOCAL", "HTTPS_PROXY", "all environments"},
		"relative path":         {"/opt/zig", "opt/zig", "path"},
		"two paths in one":      {"/opt/zig", `"/opt/zig:/tmp"`, "path"},
		"no files":              {"    when: build.zig.zon\n", "", "when"},
		"file outside":          {"when: build.zig.zon", "when: ../build.zig.zon", "when"},
		"file like an option":   {"when: build.zig.zon", "when: -build.zig.zon", "when"},
		"keep outside":          {".home/.cache/zig", "/etc", "keep"},
		"keep upwards":          {".home/.cache/zig", ".home/../project", "keep"},
		"keep all of home":      {".home/.cache/zig", ".home", "keep"},
		"keep all of project":   {".home/.cache/zig", "project", "keep"},
		"keep by any name":      {".home/.cache/zig", `"project/*"`, "keep"},
		"keep hooks below":      {".home/.cache/zig", `"project/*/.git"`, "keep"},
		"keep hooks":            {".home/.cache/zig", "project/.git/hooks", "keep"},
		"keep without key":      {`    key: [build.zig.zon, "deps/*.zon"]` + "\n", "", "key"},
		"program with words":    {"needs: zig", "needs: zig -v", "needs"},
		"no command":            {"command: zig build --fetch", `command: ""`, "command"},
		"negative time":         {"timeout: 90s", "timeout: -1s", "timeout"},
		"not a time":            {"timeout: 90s", "timeout: soon", "cannot unmarshal"},
		"two documents":         {"timeout: 90s\n", "timeout: 90s\n---\nname: zig\n", "more than one document"},
		"not a mapping":         {good, "- zig", "cannot unmarshal"},
		"nothing":               {good, "", "EOF"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%s: the case changes nothing", what)
		}
		_, err := read("zig.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.why) || fault.KindOf(err) != fault.Invalid ||
			fault.Hint(err) == "" {
			t.Errorf("%s: got %v, want something about %q", what, err, c.why)
		}
	}
	twice := good + good[strings.Index(good, "  - name"):]
	if _, err := read("zig.yaml", []byte(twice)); err == nil || !strings.Contains(err.Error(), "two steps") {
		t.Errorf("two steps of one name: %v", err)
	}
}

// Whatever a file says, what comes of it stays within the form.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good))
	paths, _ := filepath.Glob("*.yaml")
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := read("zig.yaml", text)
		if err != nil {
			return
		}
		for _, s := range l.Install {
			for _, k := range s.Keep {
				if !filepath.IsLocal(k) || !strings.Contains(k, "/") {
					t.Errorf("keeps %q", k)
				}
			}
		}
		for _, pair := range l.Environ(ContainerSettings{Proxy: true, CA: true}) {
			if strings.ContainsAny(pair, "\x00\n") || !strings.Contains(pair, "=") {
				t.Errorf("has %q", pair)
			}
		}
	})
}
