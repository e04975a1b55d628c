//go:build unix

package clone

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hako/run/fault"
)

// plant makes a directory look like a repository whose settings send whatever
// git asks for to a thief, and have git write a file.
func plant(t *testing.T, dir, thief, written string) {
	t.Helper()
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/x\n", "objects/x": "", "refs/x": "",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[http]\n\tproxy = " + thief +
			"\n\tcookieFile = " + written + "\n\tsaveCookies = true\n[credential]\n\thelper = \"!touch " + written + "; :\"\n",
	} {
		writeFile(t, dir, name, []byte(text))
	}
}

// TestPlantedSettings are those of a repository that somebody makes where git
// would look for one: of the directory for temporary files, which belongs to
// root but where everybody may write, or of one above the cache.
func TestPlantedSettings(t *testing.T) {
	for name, where := range map[string]func(w *world) string{
		"temporary": func(w *world) string { return filepath.Join(w.dir, "tmp") },
		"above":     func(w *world) string { return w.dir },
		"hidden":    func(w *world) string { return filepath.Join(w.dir, ".git") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var asked atomic.Int64
			thief := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				rw.Header().Set("Set-Cookie", "root=1")
				rw.WriteHeader(http.StatusUnauthorized)
			}))
			defer thief.Close()
			written := filepath.Join(w.dir, "written")
			plant(t, where(w), thief.URL, written)
			if err := os.MkdirAll(filepath.Join(w.dir, "tmp"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", filepath.Join(w.dir, "tmp"))
			if err := w.store.Reach(t.Context(), Source{URL: w.address()}); err != nil {
				t.Error(err)
			}
			if _, err := w.store.Folder(t.Context(), Source{URL: w.address()}, "x", nil); err != nil {
				t.Error(err)
			}
			if l, err := w.clone(Source{}); err != nil || l.Commit == "" {
				t.Error(err)
			}
			if asked.Load() > 0 {
				t.Error("the thief was asked")
			}
			if _, err := os.Lstat(written); err == nil {
				t.Error("a file was written")
			}
		})
	}
}

// TestNoRepository has git tell where it believes to be: a git that is not given
// a repository is in a place of its own, and finds none.
func TestNoRepository(t *testing.T) {
	w := newWorld(t)
	j, err := w.store.newJob(opClone, Source{URL: w.address()}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	out := &limitedBuffer{limit: 1000}
	if err := j.git.run(t.Context(), call{args: []string{"rev-parse", "--git-dir"}, stdout: out}); err == nil {
		t.Errorf("it found %q", out)
	}
	j.git.program = filepath.Join(w.dir, "where")
	writeFile(t, w.dir, "where", []byte("#!/bin/sh\npwd; ls -A; ls -ld .; env\n"))
	if err := os.Chmod(j.git.program, 0o755); err != nil {
		t.Fatal(err)
	}
	out = &limitedBuffer{limit: 20_000}
	if err := j.git.run(t.Context(), call{args: []string{"x"}, stdout: out}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[0], w.store.Dir+"/") || !strings.HasPrefix(lines[1], "drwx------") {
		t.Errorf("it is in %q, where there is %q", lines[0], lines[1])
	}
	for _, want := range []string{"GIT_CEILING_DIRECTORIES=" + w.store.Dir, "=safe.bareRepository"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestSharedCache is one where others could put a repository for git to obey, or
// an authority for it to believe.
func TestSharedCache(t *testing.T) {
	w := newWorld(t)
	for _, mode := range []os.FileMode{0o777 | os.ModeSticky, 0o777, 0o770} {
		if err := os.MkdirAll(w.store.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(w.store.Dir, mode); err != nil {
			t.Fatal(err)
		}
		w.expect(Source{}, fault.Unavailable, "others may write", "chmod go-w")
		w.expectUnasked()
	}
	if err := os.Chmod(w.store.Dir, 0o755); err != nil { // others may see that there is something
		t.Fatal(err)
	}
	w.mustClone(Source{})
}

// TestForeignHome is a link, or a directory of somebody else, in the place where
// git is run.
func TestForeignHome(t *testing.T) {
	w := newWorld(t)
	home := filepath.Join(w.store.Dir, "home")
	elsewhere := filepath.Join(w.dir, "elsewhere")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(w.store.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, home); err != nil {
		t.Fatal(err)
	}
	w.expect(Source{}, fault.Unavailable, "not a directory of its own")
	w.expectUnasked()
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	if err := os.Remove(home); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	w.expect(Source{}, fault.Unavailable, "belongs to somebody else")
	w.expectUnasked()
}

func (w *world) expectUnasked() {
	w.t.Helper()
	if n := w.count(""); n > 0 {
		w.t.Errorf("the server was asked %d times", n)
	}
}
