//go:build unix

package clone

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run/fault"
)

// expect clones and wants it to go wrong in a way that teaches.
func (w *world) expect(src Source, kind fault.Kind, words ...string) {
	w.t.Helper()
	_, err := w.clone(src)
	text := ""
	if err != nil {
		text = err.Error() + " / " + fault.Hint(err)
	}
	if fault.KindOf(err) != kind || fault.Hint(err) == "" || strings.ContainsAny(text, "\n\x1b") {
		w.t.Errorf("%s: %q", fault.KindOf(err), text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("%q is missing in %q", word, text)
		}
	}
	for _, secret := range w.store.Keys.Secrets() {
		if strings.Contains(text, secret) {
			w.t.Errorf("the token shows in %q", text)
		}
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		return true
	}
}

func TestServerSaysNo(t *testing.T) {
	w := newWorld(t)
	right := w.store.Keys
	w.store.Keys = w.keys("wrong-token-wrong")
	w.expect(Source{}, fault.Denied, "GITLAB_PERSONAL_ACCESS_TOKEN", "(401)")
	w.behave(status(http.StatusForbidden))
	w.expect(Source{}, fault.Denied, "GITLAB_PERSONAL_ACCESS_TOKEN", "(403)")
	w.behave(nil)
	w.store.Keys, w.store.PlainHTTP = nil, true
	w.expect(Source{}, fault.Denied, "(401)", "GITLAB_API_URL="+w.server.URL)
	w.store.Keys = right
	w.expect(Source{URL: w.server.URL + "/group/nothing.git"}, fault.NotFound, "no such repository")
	w.behave(status(http.StatusServiceUnavailable))
	w.expect(Source{}, fault.Unavailable, "(503)", "later")
	w.behave(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Write([]byte("<html>welcome</html>\n"))
		return true
	})
	w.expect(Source{}, fault.Invalid, "no git repository")
}

func TestBranchesThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"maine", "develop", "feature/a", "feature/b", "release", "zebra"} {
		w.push(name)
	}
	w.expect(Source{Branch: "devlop"}, fault.NotFound, "no branch devlop", "there are develop, feature/a")
	w.expect(Source{Target: "gone"}, fault.NotFound, "no branch gone", "and others")
	w.expect(Source{Branch: "--upload-pack=x"}, fault.Invalid, "dash")
	w.git(w.bare(), "symbolic-ref", "HEAD", "refs/heads/nothing")
	w.expect(Source{}, fault.NotFound, "no default branch", "main")
	if l := w.mustClone(Source{Branch: "main"}); l.Default != "" {
		t.Errorf("default %q", l.Default)
	}
	for _, name := range []string{"main", "maine", "develop", "feature/a", "feature/b", "release", "zebra"} {
		w.git(w.bare(), "update-ref", "-d", "refs/heads/"+name)
	}
	w.expect(Source{}, fault.NotFound, "empty")
}

func TestNobodyThere(t *testing.T) {
	w := newWorld(t)
	w.server.Close()
	w.expect(Source{}, fault.Unavailable, "cannot connect")
	w.store.PlainHTTP = true
	w.store.Environ = []string{"http_proxy=http://proxy.invalid:1"}
	w.expect(Source{URL: "http://git.invalid/a/b"}, fault.Unavailable, "unknown")
}

func TestNoGit(t *testing.T) {
	w := newWorld(t)
	w.store.Git = filepath.Join(w.dir, "no-git")
	w.expect(Source{}, fault.Unavailable, "not installed", "apt install git")
	old := filepath.Join(w.dir, "old-git")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho git version 2.30.2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.store.Git = old
	w.expect(Source{}, fault.Unavailable, "too old (git version 2.30.2)", "2.31")
}

// TestDamagedCache is thrown away and fetched anew.
func TestDamagedCache(t *testing.T) {
	for name, damage := range map[string]func(w *world){
		"pack":     func(w *world) { w.spoil("*/loads/*/*.pack", 40) },
		"short":    func(w *world) { w.rewrite("*/loads/*/*.pack", "") },
		"no index": func(w *world) { w.remove("*/loads/*/*.idx") },
		"manifest": func(w *world) { w.rewrite("*/loads/*/load.json", "{") },
		"objects": func(w *world) {
			w.remove("*/loads/*")
			w.remove("*/git/objects/pack/*")
		},
		"head":     func(w *world) { w.remove("*/git/HEAD") },
		"all refs": func(w *world) { w.remove("*/git/refs/hako") },
		"leftovers": func(w *world) {
			w.remove("*/loads/*")
			w.rewrite("*/git/shallow", strings.Repeat("1", 40)+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustClone(Source{})
			damage(w)
			if l := w.mustClone(Source{}); l.read("README") != "first\n" {
				t.Errorf("%+v", l.Checkout)
			} else {
				l.git("fsck", "--strict")
			}
			if l := w.mustClone(Source{}); !l.Cached {
				t.Error("the cache was not mended")
			}
		})
	}
}

func (w *world) each(pattern string, do func(file string) error) {
	w.t.Helper()
	files, _ := filepath.Glob(filepath.Join(w.store.Dir, pattern))
	if len(files) == 0 {
		w.t.Fatal("there is no ", pattern)
	}
	for _, file := range files {
		if err := do(file); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) remove(pattern string) { w.each(pattern, os.RemoveAll) }

func (w *world) rewrite(pattern, text string) {
	w.each(pattern, func(file string) error {
		return errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte(text), 0o600))
	})
}

// spoil turns the bits of one byte, where files are linked to each other too.
func (w *world) spoil(pattern string, at int64) {
	w.each(pattern, func(file string) error {
		if err := os.Chmod(file, 0o600); err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		b := make([]byte, 1)
		_, err = f.ReadAt(b, at)
		b[0] = ^b[0]
		_, err2 := f.WriteAt(b, at)
		return errors.Join(err, err2, f.Close())
	})
}

// TestInterrupted leaves a cache that is as good as before, and no process.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	w.mustClone(Source{})
	w.commit("README", "second\n")
	w.push("main")
	ctx, cancel := context.WithCancel(t.Context())
	w.behave(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != "POST" || w.count("POST") < 4 {
			return false
		}
		io.Copy(io.Discard, r.Body) // or the server does not notice that nobody is there any more
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := w.store.Clone(ctx, Source{URL: w.address()}, &fakeGuest{home: w.dir}, filepath.Join(w.dir, "p"),
		nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.behave(nil)
	if l := w.mustClone(Source{}); l.read("README") != "second\n" {
		t.Error(l.read("README"))
	}
}

// TestKilled clears up after a git that was killed in the middle.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	w.mustClone(Source{})
	for _, name := range []string{"shallow.lock", "packed-refs.lock", "objects/pack/tmp_pack_x1", "refs/hako/x.lock"} {
		dirs, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "git"))
		if err := os.WriteFile(filepath.Join(dirs[0], name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.commit("README", "second\n")
	w.push("main")
	if l := w.mustClone(Source{}); l.read("README") != "second\n" || l.git("rev-list", "--count", "--all") != "1" {
		t.Error(l.read("README"))
	}
	if left, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "git", "objects", "pack", "tmp_*")); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

func TestContainerSaysNo(t *testing.T) {
	w := newWorld(t)
	l := w.mustClone(Source{})
	_, err := w.store.Clone(t.Context(), Source{URL: w.address()}, l.guest, l.dir, nil)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "already") || l.read("README") != "first\n" {
		t.Errorf("a second time: %v", err)
	}
	lost := &fault.Error{Kind: fault.Unavailable, Op: "ask guest", Why: "gone"}
	if _, err := w.store.Clone(t.Context(), Source{URL: w.address()},
		&fakeGuest{fails: func(guest.Command) error { return lost }}, "/x", nil); !errors.Is(err, lost) {
		t.Errorf("a guest that is gone: %v", err)
	}
	if _, err := w.store.Clone(t.Context(), Source{URL: w.address()}, l.guest, "/proc/nowhere/project", nil); fault.KindOf(
		err) != fault.Unavailable || fault.Hint(err) == "" {
		t.Errorf("nowhere to write: %v", err)
	}
}

// TestTLS checks servers by the authorities of CAFile too, or not at all if
// somebody insists.
func TestTLS(t *testing.T) {
	w := newWorld(t)
	site := httptest.NewTLSServer(http.HandlerFunc(w.serve))
	defer site.Close()
	w.server = site
	w.store.Keys = w.keys(token)
	w.expect(Source{}, fault.Unavailable, "TLS", "ca_certificates")
	w.store.CAFile = filepath.Join(w.dir, "ca.pem")
	w.expect(Source{}, fault.Invalid, "ca_certificates")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})
	if err := os.WriteFile(w.store.CAFile, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if l := w.mustClone(Source{}); len(l.Warnings) > 0 {
		t.Errorf("%q", l.Warnings)
	}
	w.store.CAFile, w.store.InsecureTLS = "", true
	if l := w.mustClone(Source{}); len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "insecure_tls") {
		t.Errorf("%q", l.Warnings)
	}
}

// TestOverdue waits no longer than it may for a server that says nothing.
func TestOverdue(t *testing.T) {
	w := newWorld(t)
	w.behave(func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	w.store.Timeout = 200 * time.Millisecond
	w.expect(Source{}, fault.Timeout, "longer than 200ms")
}
