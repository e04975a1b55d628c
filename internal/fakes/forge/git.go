package forge

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SetGitRoot sets the directory of the repositories of [Server.Seed].
func (s *Server) SetGitRoot(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gitRoot = dir
}

// Seed creates the files of a repository, in one commit on its default branch.
func (s *Server) Seed(path string, files map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[path]
	work, err := os.MkdirTemp(s.gitRoot, "seed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for name, text := range files {
		file := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	dir := filepath.Join(s.gitRoot, filepath.FromSlash(path)+".git")
	for _, args := range [][]string{
		{"init", "-q", "-b", r.main, "."}, {"add", "-A", "."}, {"-c", "user.name=seed", "-c", "user.email=seed@example.com",
			"commit", "-q", "-m", "first"},
		{"clone", "-q", "--bare", ".", dir}, {"-C", dir, "config", "http.receivepack", "true"},
		{"-C", dir, "config", "uploadpack.allowAnySHA1InWant", "true"}, // as the real ones
	} {
		if _, err := git(work, args...); err != nil {
			return err
		}
	}
	r.git = dir
	return nil
}

// git runs git without the settings of the user.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// Head returns the commit of a branch; empty means that there is none.
func (s *Server) Head(path, branch string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shaOf(s.repos[path], branch)
}

// File returns a file of a branch.
func (s *Server) File(path, branch, name string) (string, error) {
	return git(s.gitDir(path), "show", branch+":"+name)
}

func (s *Server) gitDir(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[path].git
}

func (s *Server) shaOf(r *repo, branch string) string {
	if r == nil || r.git == "" {
		return ""
	}
	sha, err := git(r.git, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return sha
}

func (s *Server) hasBranch(r *repo, branch string) bool { return s.shaOf(r, branch) != "" }

// serveGit passes the smart protocol to git's own server, if the token permits it.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	path, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	push := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	s.mu.Lock()
	repo := s.repos[path]
	login, _ := s.loginOf(r)
	status := gitStatus(repo, login, push)
	fault := s.takeFault(r)
	if fault.Status != 0 {
		status = fault.Status
	}
	s.requests = append(s.requests, Request{r.Method, r.URL.RequestURI(), login, status})
	root := s.gitRoot
	s.mu.Unlock()
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	backend(root, login).ServeHTTP(w, r)
}

// gitStatus asks for credentials before it says whether a repository exists.
func gitStatus(r *repo, login string, push bool) int {
	switch {
	case login == "" && (r == nil || r.private || push):
		return http.StatusUnauthorized
	case r == nil || r.git == "" || !r.can(login, "read"):
		return http.StatusNotFound
	case push && !r.can(login, "write"):
		return http.StatusForbidden
	}
	return http.StatusOK
}

func backend(root, login string) http.Handler {
	core, err := git(root, "--exec-path")
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	return &cgi.Handler{Path: filepath.Join(core, "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + login, "GIT_CONFIG_NOSYSTEM=1"}}
}
