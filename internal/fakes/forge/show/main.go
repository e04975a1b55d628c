// Command show runs a program against a fake forge, and prints what people would see
// there afterwards:
//
//	go run ./internal/fakes/forge/show github python ./bin/hako agent once
//
// The program finds a repository with a failing test, an issue about it with the label
// "coding agent", and in $TURNS the answers of a model for it. Settings of the user are
// not used, and nothing is left behind. The output is what the forge has, not what the
// program says that it did.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hako/internal/fakes/forge"
)

//go:embed projects
var projects embed.FS

const repository = "acme/hello"

func main() {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // the program receives it too
	status, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "show:", err)
		status = 2
	}
	os.Exit(status)
}

func run(args []string, out io.Writer) (int, error) {
	if len(args) < 3 || args[0] != forge.GitHub && args[0] != forge.GitLab {
		return 2, fmt.Errorf("usage: show github|gitlab python|node PROGRAM [WORD…]")
	}
	dir, err := os.MkdirTemp("", "hk")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(dir)
	w := &world{Server: forge.Start(args[0]), provider: args[0], project: args[1], dir: dir}
	defer w.Close()
	if err := w.furnish(); err != nil {
		return 2, err
	}
	status, err := w.work(args[2:], out)
	if err != nil {
		return status, err
	}
	for _, v := range w.Violations() {
		return 1, fmt.Errorf("the forge was asked wrongly: %s", v)
	}
	return status, w.Print(out, repository)
}

// A world is a forge with one project.
type world struct {
	*forge.Server
	provider, project, dir string
	token                  string
}

// furnish creates the repository and the issue.
func (w *world) furnish() error {
	files, err := w.files()
	if err != nil {
		return fmt.Errorf("there is no project %s; there are python and node", w.project)
	}
	w.SetGitRoot(filepath.Join(w.dir, "git"))
	if err := os.Mkdir(filepath.Join(w.dir, "git"), 0o700); err != nil {
		return err
	}
	w.token = w.User("hako-bot")
	w.User("alice")
	w.Repo(repository)
	w.Private(repository)
	w.Member(repository, "hako-bot", "write")
	w.Member(repository, "alice", "write")
	if err := w.Seed(repository, files); err != nil {
		return err
	}
	text, err := projects.ReadFile(path.Join("projects", w.project, "issue.md"))
	if err != nil {
		return err
	}
	title, body, _ := strings.Cut(string(text), "\n")
	w.Add(repository, forge.Item{Kind: forge.Issue, Title: title, Body: strings.TrimSpace(body), Author: "alice",
		Labels: []string{"coding agent"}})
	return nil
}

func (w *world) files() (map[string]string, error) {
	root := path.Join("projects", w.project, "files")
	files := map[string]string{}
	err := fs.WalkDir(projects, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := projects.ReadFile(name)
		// go.mod and the like may not be embedded by their names
		files[strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".txt")] = string(text)
		return err
	})
	return files, err
}

// work runs the program.
func (w *world) work(words []string, out io.Writer) (int, error) {
	turns := filepath.Join(w.dir, "turns.jsonl")
	text, err := projects.ReadFile(path.Join("projects", w.project, "turns.jsonl"))
	if err == nil {
		err = os.WriteFile(turns, text, 0o600)
	}
	if err != nil {
		return 2, err
	}
	name := strings.ToUpper(w.provider)
	cmd := exec.Command(words[0], words[1:]...)
	lines := &clock{out: out, began: time.Now()}
	cmd.Stdout, cmd.Stderr = lines, lines
	cmd.Env = append(slices.DeleteFunc(os.Environ(), foreign), name+"_API_URL="+w.API(), name+"_PERSONAL_ACCESS_TOKEN="+
		w.token,
		"HAKO_"+name+"_REPOSITORIES="+repository, "TURNS="+turns, "HAKO_MODEL=script:"+turns,
		"XDG_STATE_HOME="+filepath.Join(w.dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(w.dir, "config"))
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return 2, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// A clock prefixes lines with the elapsed seconds.
type clock struct {
	out   io.Writer
	began time.Time
	half  bool // the last line is not at its end yet
}

// Write implements [io.Writer].
func (c *clock) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if !c.half {
			fmt.Fprintf(c.out, "%6.2f  ", time.Since(c.began).Seconds())
		}
		c.half = !strings.HasSuffix(line, "\n")
		if _, err := io.WriteString(c.out, line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// foreign are settings that lead to real services.
func foreign(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return strings.HasPrefix(name, "GITHUB_") || strings.HasPrefix(name, "GITLAB_") ||
		strings.HasPrefix(name, "OPENAI_") || strings.HasPrefix(name, "HAKO_")
}
