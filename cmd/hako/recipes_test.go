package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hako/internal/fakes"
)

// recipePage is read and carried out: what it shows is what happens.
const recipePage = "../../docs/llmcmd.md"

// mostRecipe is how long one command of the page may take.
const mostRecipe = time.Minute

// A recipe is a part of the page that shows commands. Its other fences with a
// name are files.
type recipe struct {
	name     string
	files    map[string]string
	sessions []session
}

// A session is a command and what it prints, on either stream.
type session struct {
	line           int // of the page
	command, print string
}

// TestRecipes types every command of docs/llmcmd.md into a shell, in a directory
// with the files that are shown beside it, and wants to see what the page shows.
// A model that nobody names plays turns.jsonl, where there is one.
func TestRecipes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the page is written for sh")
	}
	pipesAsUsual(t)
	page := readRecipes(t)
	dozen := 0
	for _, r := range page {
		if regexp.MustCompile(`^\d+\. `).MatchString(r.name) {
			dozen++
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.cook(t)
		})
	}
	if dozen < 12 {
		t.Errorf("there are %d recipes, which is no dozen", dozen)
	}
}

// pipesAsUsual undoes for what is typed in here what a test that called Main did
// to this process: it had it ignore the signal.
func pipesAsUsual(t *testing.T) {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	t.Cleanup(func() { signal.Stop(pipes) })
}

// cook carries out one recipe.
func (r *recipe) cook(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, ".home")
	model := "builtin"
	for name, text := range r.files {
		if name == "turns.jsonl" {
			model = "script:" + name
		}
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(".home", rest)
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := recipeEnv(home, "HAKO_MODEL="+model)
	for _, s := range r.sessions {
		s.check(t, dir, env)
	}
}

// recipeEnv is the environment of a user who has set nothing.
func recipeEnv(home string, more ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"TMPDIR=" + os.TempDir(), "TZ=UTC", "LC_ALL=C.UTF-8", "OLLAMA_HOST=127.0.0.1:1", raceSetting + "=" + raceValue}
	return append(env, more...)
}

// check types a command and compares. An ellipsis on the page stands for
// whatever is on that line.
func (s *session) check(t *testing.T, dir string, env []string) {
	t.Helper()
	got := typeIn(t, dir, env, s.command)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(s.print), "…", ".*")
	if !regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got) {
		t.Errorf("%s:%d: %s\nprints\n%s\nthe page says\n%s", recipePage, s.line, s.command, got, s.print)
	}
}

// typeIn runs a line of a shell and returns what it prints on both streams.
func typeIn(t *testing.T, dir string, env []string, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mostRecipe)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed || ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// readRecipes reads the page. A part begins at a heading; parts without a command
// are left out.
func readRecipes(t *testing.T) []*recipe {
	text, err := os.ReadFile(recipePage)
	if err != nil {
		t.Fatal(err)
	}
	all := []*recipe{{files: map[string]string{}}}
	fence, name, begin := "", "", 0
	var body strings.Builder
	for i, line := range strings.Split(string(text), "\n") {
		here := all[len(all)-1]
		switch {
		case fence != "" && line == fence:
			if err := here.add(name, body.String(), begin); err != nil {
				t.Fatalf("%s:%d: %v", recipePage, begin, err)
			}
			fence = ""
		case fence != "":
			body.WriteString(line + "\n")
		case strings.HasPrefix(line, "```"):
			name = strings.TrimLeft(line, "`")
			fence, begin = strings.TrimSuffix(line, name), i+1
			body.Reset()
		case strings.HasPrefix(line, "#"):
			all = append(all, &recipe{name: strings.TrimLeft(line, "# "), files: map[string]string{}})
		}
	}
	if fence != "" {
		t.Fatalf("%s:%d: the fence is not closed", recipePage, begin)
	}
	return slices.DeleteFunc(all, func(r *recipe) bool { return r.sessions == nil })
}

// add takes in what stands in one fence: a session, a file, or something else.
func (r *recipe) add(info, body string, line int) error {
	kind, name, _ := strings.Cut(info, " ")
	switch {
	case kind == "console":
		return r.addSessions(body, line)
	case name == "":
		return nil
	case r.files[name] != "":
		return fmt.Errorf("%s is there twice", name)
	}
	r.files[name] = body
	return nil
}

// addSessions divides a console into commands, "$ …" with more lines of "> …",
// and what each of them prints.
func (r *recipe) addSessions(body string, line int) error {
	before := len(r.sessions)
	for text := range strings.Lines(body) {
		line++
		command, ok := strings.CutPrefix(text, "$ ")
		if ok {
			r.sessions = append(r.sessions, session{line: line, command: command})
			continue
		}
		if len(r.sessions) == before {
			return fmt.Errorf("something is printed before the first command")
		}
		s := &r.sessions[len(r.sessions)-1]
		if more, ok := strings.CutPrefix(text, "> "); ok && s.print == "" {
			s.command += more
			continue
		}
		s.print += text
	}
	return nil
}

// TestRecipesLeaveNothingOut looks on the page for everything that there is: flags,
// settings with their variables, and tools.
func TestRecipesLeaveNothingOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the page is written for sh")
	}
	text, err := os.ReadFile(recipePage)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wrong.rc"), []byte("no.such.name=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := recipeEnv(dir)
	var names []string
	for _, source := range []struct{ command, name string }{
		{"hako cmd --help", `(?m)^ +(?:-\w, )?(--[a-z-]+)`},
		{"hako cmd -c wrong.rc x", `\b[a-z]+_[a-z_]+\b`},
	} {
		found := regexp.MustCompile(source.name).FindAllStringSubmatch(typeIn(t, dir, env, source.command), -1)
		if len(found) < 15 {
			t.Errorf("%s names %q and no more", source.command, found)
		}
		for _, match := range found {
			names = append(names, match[len(match)-1])
		}
	}
	example := typeIn(t, dir, env, "hako config init all.yaml && cat all.yaml")
	names = append(names, regexp.MustCompile(`LLMCMD_[A-Z_]+`).FindAllString(example, -1)...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "--help" && !bytes.Contains(text, []byte("`"+name)) {
			t.Errorf("%s does not say what %s is", recipePage, name)
		}
	}
}

// everyAnswer is a scenario in which tools answer in every way they can.
const everyAnswer = `
key: sk-test-0123456789abcdef
steps:
- on: responses
  calls:
  - {name: read, arguments: {fd: 3, lines: 1}}
  - {name: help, arguments: {keys: [status, quota, fds]}}
  - {name: read, arguments: {fd: 99}}
  usage: {input: 1000, output: 50}
- on: responses
  calls:
  - {name: spawn, arguments: {script: "sort a.csv > /tmp/a"}}
  usage: {input: 1200, cached: 1000, output: 30}
- on: responses
  calls:
  - {name: close, arguments: {fd: 10}}
- on: responses
  calls:
  - {name: open, arguments: {path: /tmp/a}}
- on: responses
  calls:
  - {name: spawn, arguments: {script: "join -t, - b.csv", stdin_fd: 13}}
- on: responses
  calls:
  - {name: spawn, arguments: {script: cat, stdin_fd: 14, stdout_fd: 1}}
  - {name: read, arguments: {fd: 16}}
- on: responses
  calls:
  - {name: exit, arguments: {code: 0, message: ""}}
`

// TestRecipesSendTheSame works twice with the same input and settings: the
// provider gets the same bytes.
func TestRecipesSendTheSame(t *testing.T) {
	var first []fakes.Request
	for range 2 {
		sc, err := fakes.Parse(everyAnswer)
		if err != nil {
			t.Fatal(err)
		}
		got := onceOver(t, sc)
		if first == nil {
			first = got
			continue
		}
		if len(got) != len(first) {
			t.Fatalf("%d requests, then %d", len(first), len(got))
		}
		for i := range got {
			if !bytes.Equal(got[i].Body, first[i].Body) {
				t.Errorf("request %d was\n%s\nand then\n%s", i+1, first[i].Body, got[i].Body)
			}
		}
	}
}

// onceOver has hako cmd work with a provider and returns what was sent.
func onceOver(t *testing.T, sc *fakes.Scenario) []fakes.Request {
	t.Helper()
	s := fakes.Start(sc)
	defer s.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "b,2\na,1\n", "b.csv": "a,x\nb,y\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "hako", "cmd", "--model", "gpt-4.1-mini", "-i", "a.csv", "-i", "b.csv", "結合する")
	cmd.Dir, cmd.Env = dir, recipeEnv(dir, s.Env()...)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "a,1,x\nb,2,y\n" {
		t.Fatalf("%v: %s", err, out)
	}
	for _, violation := range s.Finish() {
		t.Error(violation)
	}
	return s.Requests()
}
