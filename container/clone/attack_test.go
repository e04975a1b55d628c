//go:build unix

package clone

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// TestTokenStaysOutside looks for the token everywhere while and after a clone
// runs with it.
func TestTokenStaysOutside(t *testing.T) {
	w := newWorld(t)
	var arguments sync.Map
	w.behave(func(http.ResponseWriter, *http.Request) bool { // git is at work now
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				arguments.Store(string(text), true)
			}
		}
		return false
	})
	first := w.mustClone(Source{})
	w.commit("README", "second\n")
	w.push("main")
	second := w.mustClone(Source{Target: "main"})
	secrets := w.store.Keys.Secrets()
	for _, dir := range []string{w.store.Dir, filepath.Dir(filepath.Dir(first.dir)),
		filepath.Dir(filepath.Dir(second.dir))} {
		if found := contains(t, dir, secrets...); found != nil {
			t.Errorf("the token is in %q", found)
		}
	}
	fetches := 0
	arguments.Range(func(key, _ any) bool {
		for _, s := range secrets {
			if strings.Contains(key.(string), s) {
				t.Errorf("the token is an argument: %q", key)
			}
		}
		if strings.Contains(key.(string), "group/project.git") {
			fetches++
		}
		return true
	})
	if fetches == 0 {
		t.Error("git was not seen")
	}
	for _, s := range secrets {
		if strings.Contains(first.guest.said+second.guest.said+strings.Join(w.steps, "\n"), s) {
			t.Error("the token was told")
		}
	}
}

// TestForgedTrees lets nothing be written to where git keeps its own files.
func TestForgedTrees(t *testing.T) {
	if os.Getenv("HOME") == "" {
		t.Setenv("HOME", t.TempDir())
	}
	for name, entries := range map[string]func(w *world, blob, tree string) string{
		"dotgit":       func(_ *world, _, tree string) string { return "040000 tree " + tree + "\t.git\x00" },
		"dotGIT":       func(_ *world, _, tree string) string { return "040000 tree " + tree + "\t.GIT\x00" },
		"git~1":        func(_ *world, _, tree string) string { return "040000 tree " + tree + "\tgit~1\x00" },
		"invisible":    func(_ *world, _, tree string) string { return "040000 tree " + tree + "\t.g\u200cit\x00" },
		"dotdot":       func(_ *world, _, tree string) string { return "040000 tree " + tree + "\t..\x00" },
		"dot":          func(_ *world, blob, _ string) string { return "100644 blob " + blob + "\t.\x00" },
		"modules link": func(_ *world, blob, _ string) string { return "120000 blob " + blob + "\t.gitmodules\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tree, err := w.tryGit(w.work, "100755 blob "+w.blob("#!/bin/sh\ntouch "+w.dir+"/owned\n")+"\tpost-checkout\x00",
				"mktree", "-z")
			if err != nil {
				t.Fatal(tree)
			}
			w.forged(entries(w, w.blob("../../owned"), strings.TrimSpace(tree)))
			l, err := w.clone(Source{})
			if err == nil || fault.Hint(err) == "" {
				t.Errorf("it was checked out: %+v", l.Checkout)
			}
			if _, err := os.Lstat(filepath.Join(w.dir, "owned")); err == nil {
				t.Error("something was run")
			}
			if left, _ := os.ReadDir(l.dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestLinkAndDirectory has a link and a directory of the same name, so that what
// is in the directory would be written to where the link points.
func TestLinkAndDirectory(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(w.dir, "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := w.tryGit(w.work, "100644 blob "+w.blob("owned")+"\tfile\x00", "mktree", "-z")
	if err != nil {
		t.Fatal(tree)
	}
	link := w.blob(outside)
	raw := "120000 a\x00" + unhex(link) + "40000 a\x00" + unhex(strings.TrimSpace(tree))
	object, err := w.tryGit(w.work, raw, "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	if err != nil {
		t.Fatal(object)
	}
	w.publish(strings.TrimSpace(object))
	if _, err := w.clone(Source{}); err == nil {
		t.Error("it was checked out")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written: %v", left)
	}
}

func unhex(text string) string {
	var b []byte
	fmt.Sscanf(text, "%x", &b)
	return string(b)
}

// TestHarmlessOddities checks out what is odd, but honest.
func TestHarmlessOddities(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(w.work, "outside")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../..", filepath.Join(w.work, "up")); err != nil {
		t.Fatal(err)
	}
	const name = "new\nline\x1b[2J$(touch owned);`id` -rf"
	w.commit(name, "odd\n")
	w.commit("--upload-pack=x", "odd\n")
	w.commit("hooks/post-checkout", "#!/bin/sh\ntouch owned\n")
	w.commit("config", "[core]\n\tfsmonitor = touch owned\n")
	w.push("main")
	l := w.mustClone(Source{})
	if target, err := os.Readlink(filepath.Join(l.dir, "outside")); err != nil || target != "/etc/passwd" {
		t.Errorf("%s, %v", target, err)
	}
	if l.read(name) != "odd\n" || l.git("status", "--porcelain") != "" {
		t.Errorf("%q", l.git("status", "--porcelain"))
	}
	if _, err := os.Lstat(filepath.Join(l.dir, "owned")); err == nil {
		t.Error("something was run")
	}
	for _, step := range w.steps {
		if strings.ContainsAny(step, "\x1b\n") {
			t.Errorf("%q", step)
		}
	}
}

// TestOldMistakes are in the history of many repositories.
func TestOldMistakes(t *testing.T) {
	w := newWorld(t)
	tree := w.git(w.work, "rev-parse", "HEAD^{tree}")
	commit, err := w.tryGit(w.work, "tree "+tree+"\nauthor a <a@b> 1 +051800\ncommitter Jörg<a@b> 01 +0000\n\nold\n",
		"hash-object", "-t", "commit", "-w", "--stdin", "--literally")
	if err != nil {
		t.Fatal(commit)
	}
	w.git(w.work, "push", "-q", "--force", w.bare(), strings.TrimSpace(commit)+":refs/heads/main")
	w.mustClone(Source{Full: true})
}

// TestSubmodules are not fetched, wherever they lead.
func TestSubmodules(t *testing.T) {
	w := newWorld(t)
	modules := w.blob("[submodule \"a\"]\n\tpath = a\n\turl = file:///etc\n[submodule \"b\"]\n\tpath = b\n\turl = ../../../secret\n")
	w.forged("100644 blob " + modules + "\t.gitmodules\x00160000 commit " + strings.Repeat("1", 40) +
		"\ta\x00160000 commit " + strings.Repeat("2", 40) + "\tb\x00")
	l := w.mustClone(Source{})
	if !strings.Contains(strings.Join(l.Warnings, "\n"), "submodules") {
		t.Errorf("%q", l.Warnings)
	}
	if inside, _ := os.ReadDir(filepath.Join(l.dir, "a")); len(inside) > 0 || w.count("secret") > 0 {
		t.Errorf("%v, %q", inside, w.asked)
	}
	w.forged("100644 blob " + w.blob("[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n") + "\t.gitmodules\x00")
	if _, err := w.clone(Source{}); fault.KindOf(err) != fault.Denied {
		t.Errorf("a submodule that is an option: %v", err)
	}
}

// TestFilters are not run.
func TestFilters(t *testing.T) {
	w := newWorld(t)
	w.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	w.commit("a.bin", "version https://git-lfs.github.com/spec/v1\n")
	w.push("main")
	l := w.mustClone(Source{})
	if !strings.Contains(strings.Join(l.Warnings, "\n"), "LFS") || !strings.HasPrefix(l.read("a.bin"), "version") {
		t.Errorf("%q, %q", l.Warnings, l.read("a.bin"))
	}
}

// TestRedirect is not followed: the token would go to whoever is named.
func TestRedirect(t *testing.T) {
	w := newWorld(t)
	var got []string
	thief := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Authorization")) }))
	defer thief.Close()
	for _, status := range []int{301, 302, 307, 308} {
		w.behave(func(rw http.ResponseWriter, r *http.Request) bool {
			http.Redirect(rw, r, thief.URL+r.URL.RequestURI(), status)
			return true
		})
		if _, err := w.clone(Source{}); fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(err.Error(), "another address") || fault.Hint(err) == "" {
			t.Errorf("%d: %v", status, err)
		}
	}
	// Also in the middle.
	w.behave(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == "POST" {
			http.Redirect(rw, r, thief.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}
		return r.Method == "POST"
	})
	if _, err := w.clone(Source{}); err == nil {
		t.Error("it was cloned from elsewhere")
	}
	if len(got) > 0 {
		t.Errorf("the thief was asked: %q", got)
	}
}

// TestEndless servers are stopped by size, and by time.
func TestEndless(t *testing.T) {
	w := newWorld(t)
	w.behave(endless)
	w.store.MaxBytes = 3 << 20
	start := time.Now()
	if _, err := w.clone(Source{}); fault.KindOf(err) != fault.TooLarge || fault.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	w.store.MaxBytes, w.store.Timeout = 0, 400*time.Millisecond
	if _, err := w.clone(Source{}); fault.KindOf(err) != fault.Timeout || fault.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > testload.Bound(15*time.Second) {
		t.Errorf("it took %v", took)
	}
	w.behave(nil)
	w.store.Timeout = 0
	w.mustClone(Source{}) // and the cache is as good as before
}

// endless answers a fetch with a pack that never ends.
func endless(rw http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/git-upload-pack") || r.Header.Get("Git-Protocol") == "" {
		return false
	}
	body := make([]byte, 64)
	n, _ := r.Body.Read(body)
	if strings.Contains(string(body[:n]), "ls-refs") {
		r.Body = readAgain(body[:n], r.Body)
		return false
	}
	rw.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	line := func(text string) { fmt.Fprintf(rw, "%04x%s", len(text)+4, text) }
	line("packfile\n")
	line("\x01PACK\x00\x00\x00\x02\x00\xff\xff\xff" + bigBlob)
	piece := "\x01" + strings.Repeat(stored, 500)
	for r.Context().Err() == nil {
		if _, err := fmt.Fprintf(rw, "%04x%s", len(piece)+4, piece); err != nil {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

// The head of a blob of a hundred gigabytes, and a piece of it that is not
// compressed.
const (
	bigBlob = "\xb0\x80\x80\x80\x80\x30" + "\x78\x01"
	stored  = "\x00\x40\x00\xbf\xff" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// TestEcho cuts the token out of what a server says.
func TestEcho(t *testing.T) {
	w := newWorld(t)
	w.behave(func(rw http.ResponseWriter, r *http.Request) bool {
		rw.Header().Set("Content-Type", "text/plain")
		rw.WriteHeader(http.StatusTeapot)
		_, password, _ := r.BasicAuth()
		fmt.Fprintf(rw, "\x1b[2Jyou sent %s, which is %s\n%s", r.Header.Get("Authorization"), password,
			strings.Repeat("x", 100_000))
		return true
	})
	_, err := w.clone(Source{})
	text := fmt.Sprint(err, fault.Hint(err), w.steps)
	if err == nil || !strings.Contains(text, "you sent") || strings.ContainsAny(text, "\x1b\r") || len(text) > 20_000 {
		t.Errorf("%q", text)
	}
	for _, secret := range w.store.Keys.Secrets() {
		if strings.Contains(text, secret) {
			t.Errorf("the token shows: %s", text)
		}
	}
}

// TestManyFiles stops at trees that stand for more files than there is room for.
func TestManyFiles(t *testing.T) {
	w := newWorld(t)
	tree := ""
	entry := "100644 blob " + w.blob("x")
	for range 10 {
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, "%s\tf%d\x00", entry, i)
		}
		out, err := w.tryGit(w.work, b.String(), "mktree", "-z")
		if err != nil {
			t.Fatal(out)
		}
		tree = strings.TrimSpace(out)
		entry = "040000 tree " + tree
	}
	w.publish(tree)
	w.store.Timeout = time.Minute
	if l, err := w.clone(Source{}); fault.KindOf(err) != fault.TooLarge ||
		!strings.Contains(err.Error(), "200000 files") || l.guest.stdin > 0 {
		t.Errorf("%v, %d bytes sent", err, l.guest.stdin)
	}
}

// TestGrowingFiles stops at files that are small only while they are packed.
func TestGrowingFiles(t *testing.T) {
	w := newWorld(t)
	w.commit("zeros", strings.Repeat("\x00", 8<<20))
	w.push("main")
	w.store.MaxBytes = 4 << 20
	if _, err := w.clone(Source{}); fault.KindOf(err) != fault.TooLarge ||
		!strings.Contains(err.Error(), "4 MB together") {
		t.Errorf("%v", err)
	}
}

// TestDumbServer is one that gives files only.
func TestDumbServer(t *testing.T) {
	w := newWorld(t)
	w.git(w.bare(), "update-server-info")
	files := http.FileServer(http.Dir(filepath.Join(w.dir, "srv")))
	w.behave(func(rw http.ResponseWriter, r *http.Request) bool {
		files.ServeHTTP(rw, r)
		return true
	})
	_, err := w.clone(Source{})
	if err == nil || fault.Hint(err) == "" || fault.KindOf(err) == fault.Other {
		t.Errorf("%v", err)
	}
}

// TestSettingsOfTheUser have no say: neither those of the user who runs hako nor
// what is in his environment.
func TestSettingsOfTheUser(t *testing.T) {
	w := newWorld(t)
	home := filepath.Join(w.dir, "user")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := "[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = " + w.server.URL + "/\n[core]\n\tsshCommand = touch owned\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", home)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "http.proxy")
	t.Setenv("GIT_CONFIG_VALUE_0", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	if _, err := w.store.Clone(context.Background(), Source{URL: w.address()}, &fakeGuest{home: w.dir},
		filepath.Join(w.dir, "p"), nil); err != nil {
		t.Error(err)
	}
}
