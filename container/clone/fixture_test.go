//go:build unix

package clone

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"hako/container/guest"
)

const token = "glpat-Zz9_secretsecret+/x1"

// A world is a server with one repository, a cache, and a container that is a
// directory.
type world struct {
	t       testing.TB
	dir     string // of all its files
	server  *httptest.Server
	work    string // where commits are made
	store   *Store
	steps   []string // what was told about the progress
	mu      sync.Mutex
	asked   []string                                          // requests, as method and path with query
	answer  func(w http.ResponseWriter, r *http.Request) bool // answers instead of git if it says so
	guests  int
	private bool // the server wants to see the token
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	w := &world{t: t, dir: t.TempDir(), private: true}
	w.work = filepath.Join(w.dir, "work")
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	w.store = &Store{Dir: filepath.Join(w.dir, "cache"), Keys: w.keys(token)}
	first.Do(func() { first.files = sow(t) })
	if err := os.CopyFS(w.dir, first.files); err != nil {
		t.Fatal(err)
	}
	return w
}

// first is what lies in the directory of every world at first. It is made once:
// seven runs of git for each test took longer than many tests.
var first struct {
	sync.Once
	files fstest.MapFS
}

// sow makes a repository with one commit and returns its files, and those of
// where the commit was made.
func sow(t testing.TB) fstest.MapFS {
	w := &world{t: t, dir: t.TempDir()}
	w.work = filepath.Join(w.dir, "work")
	w.git(w.dir, "init", "-q", "--bare", "-b", "main", filepath.Join("srv", "group", "project.git"))
	w.git(w.dir, "init", "-q", "-b", "main", w.work)
	w.git(w.bare(), "config", "uploadpack.allowAnySHA1InWant", "false")
	w.commit("README", "first\n")
	w.push("main")
	return inMemory(t, os.DirFS(w.dir))
}

// inMemory reads a tree, but not git's samples of hooks, which nobody runs.
func inMemory(t testing.TB, tree fs.FS) fstest.MapFS {
	files := fstest.MapFS{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(name, ".sample") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[name] = &fstest.MapFile{Mode: info.Mode()}
		if info.Mode().IsRegular() {
			files[name].Data, err = fs.ReadFile(tree, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (w *world) bare() string    { return filepath.Join(w.dir, "srv", "group", "project.git") }
func (w *world) address() string { return w.server.URL + "/group/project.git" }

// keys is a keyring for the server.
func (w *world) keys(token string) *Keyring {
	k, err := FromEnviron(func(name string) string {
		return map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": token, "GITLAB_API_URL": w.server.URL + "/api/v4"}[name]
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// git runs git for the test itself.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, "", args...)
	if err != nil {
		w.t.Fatal(err, out)
	}
	return strings.TrimSpace(out)
}

func (w *world) tryGit(dir, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// commit writes a file and commits it.
func (w *world) commit(name, text string) string {
	w.t.Helper()
	file := filepath.Join(w.work, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
	w.git(w.work, "add", "-A")
	w.git(w.work, "commit", "-q", "-m", "change "+strings.ReplaceAll(name, "\n", " "))
	return w.git(w.work, "rev-parse", "HEAD")
}

func (w *world) push(branch string) {
	w.t.Helper()
	w.git(w.work, "push", "-q", "--force", w.bare(), "HEAD:refs/heads/"+branch)
}

// forged makes a commit of a tree with the given entries, as "mode type sha\tname",
// which git itself would not make, and pushes it to main.
func (w *world) forged(entries string) {
	w.t.Helper()
	tree, err := w.tryGit(w.work, entries, "mktree", "-z", "--missing")
	if err != nil {
		w.t.Fatal(tree)
	}
	w.publish(strings.TrimSpace(tree))
}

func (w *world) publish(tree string) {
	w.t.Helper()
	commit := w.git(w.work, "commit-tree", "-m", "forged", tree)
	w.git(w.work, "push", "-q", "--force", w.bare(), commit+":refs/heads/main")
}

func (w *world) blob(text string) string {
	w.t.Helper()
	out, err := w.tryGit(w.work, text, "hash-object", "-w", "--stdin")
	if err != nil {
		w.t.Fatal(out)
	}
	return strings.TrimSpace(out)
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked = append(w.asked, r.Method+" "+r.URL.RequestURI())
	answer := w.answer
	w.mu.Unlock()
	if answer != nil && answer(rw, r) {
		return
	}
	_, password, _ := r.BasicAuth()
	if w.private && password != token {
		rw.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	(&cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Logger: log.New(io.Discard, "", 0),
		Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(w.dir, "srv"), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1",
			"HOME=" + w.dir,
			"GIT_PROTOCOL=" + r.Header.Get("Git-Protocol")}}).ServeHTTP(rw, r)
}

// behave has the server answer in another way; nil means as git does.
func (w *world) behave(answer func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

// count returns how many requests there were whose line has the text in it.
func (w *world) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.asked {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// A fakeGuest runs scripts on this machine, in a directory that stands for a
// container.
type fakeGuest struct {
	home  string
	stdin int64                     // bytes that were sent in
	said  string                    // all that commands were told
	fails func(guest.Command) error // instead of running; nil means never
}

func (g *fakeGuest) Exec(ctx context.Context, c guest.Command) (guest.Result, error) {
	if g.fails != nil {
		if err := g.fails(c); err != nil {
			return guest.Result{}, err
		}
	}
	g.said += strings.Join(append(append([]string{c.Script}, c.Args...), c.Env...), "\n")
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", c.Script, "sh"}, c.Args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdout, c.Stderr
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home}, c.Env...)
	cmd.Stdin = io.TeeReader(c.Stdin, writer(func(p []byte) { g.stdin += int64(len(p)) }))
	err := cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return guest.Result{Exit: failed.ExitCode()}, nil
	}
	return guest.Result{}, err
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// A landing is what a clone left behind.
type landing struct {
	Checkout
	w     *world
	dir   string // of the project
	guest *fakeGuest
}

// clone clones into a new container.
func (w *world) clone(src Source) (landing, error) {
	w.t.Helper()
	w.mu.Lock()
	w.guests++
	home := filepath.Join(w.dir, "box"+string(rune('a'+w.guests)))
	w.mu.Unlock()
	src.URL = cmp.Or(src.URL, w.address())
	l := landing{w: w, dir: filepath.Join(home, "workspace", "project"), guest: &fakeGuest{home: home}}
	if err := os.MkdirAll(home, 0o755); err != nil {
		w.t.Fatal(err)
	}
	var err error
	l.Checkout, err = w.store.Clone(w.t.Context(), src, l.guest, l.dir, w.tell)
	return l, err
}

func (w *world) tell(step string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, step)
}

func (w *world) mustClone(src Source) landing {
	w.t.Helper()
	l, err := w.clone(src)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (l landing) git(args ...string) string {
	l.w.t.Helper()
	return l.w.git(l.dir, args...)
}

func (l landing) read(name string) string {
	text, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// contains looks through all files below a directory, names included.
func contains(t testing.TB, dir string, secrets ...string) []string {
	t.Helper()
	var found []string
	err := filepath.Walk(dir, func(file string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		for _, s := range secrets {
			if bytes.Contains(text, []byte(s)) || strings.Contains(file, s) {
				found = append(found, file)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
