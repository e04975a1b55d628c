package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPages types the consoles of pages into a shell, in a directory with the
// examples, and wants to see what the pages show. A fence without a name is not
// typed: what it shows differs from machine to machine.
func TestPages(t *testing.T) {
	pipesAsUsual(t)
	for _, page := range []string{"README.md", "docs/tour.md", "docs/limits.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			at := newReader(t)
			for _, c := range consoles(t, filepath.Join("../..", page)) {
				t.Run(firstLine(c[0].command), func(t *testing.T) { at.follow(t, page, c) })
			}
		})
	}
}

// A pageReader is somebody who has just got hako, with its examples.
type pageReader struct {
	dir   string
	env   []string
	place *strings.Replacer // from the places of the page to those of the test
}

func newReader(t *testing.T) *pageReader {
	at := t.TempDir()
	dir := filepath.Join(at, "hako")
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	return &pageReader{dir, recipeEnv(filepath.Join(at, "home")), strings.NewReplacer("/tmp/", at+"/", "/home/me/hako",
		dir)}
}

// mark is printed after each command; the status stays for the next one to see.
const mark = "s=$?; printf '\\001'; (exit $s)\n"

// follow types a console, all of it into one shell.
func (r *pageReader) follow(t *testing.T, page string, c []session) {
	var script strings.Builder
	for _, s := range c {
		script.WriteString(s.command + mark)
	}
	line := r.place.Replace(script.String())
	if strings.Contains(line, "hako host exec") && !strings.HasPrefix(typeIn(t, r.dir, r.env, "hako host status"),
		"sandbox:     full") {
		missing(t, "programs cannot be confined here as the page has it")
	}
	printed := strings.Split(typeIn(t, r.dir, r.env, line), "\x01")
	if len(printed) != len(c)+1 {
		t.Fatalf("%s:%d: %d of %d commands came to an end", page, c[0].line, len(printed)-1, len(c))
	}
	for i, s := range c {
		if got, want := ruleLine.ReplaceAllString(printed[i], "$1"), ruleLine.ReplaceAllString(r.place.Replace(s.print),
			"$1"); got != want {
			t.Errorf("%s:%d: %sprints\n%s\nthe page says\n%s", page, s.line, s.command, got, want)
		}
	}
}

// ruleLine is where hako's own rules stand, which moves with every new one.
var ruleLine = regexp.MustCompile(`((?:host|virtual|container)\.policy):\d+`)

var consoleFence = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// consoles reads what a page wants typed.
func consoles(t *testing.T, page string) (all [][]session) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range consoleFence.FindAllSubmatchIndex(text, -1) {
		var r recipe
		if err := r.addSessions(string(text[at[2]:at[3]]), strings.Count(string(text[:at[2]]), "\n")); err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		all = append(all, r.sessions)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no console", page)
	}
	return all
}
