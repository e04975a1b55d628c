//go:build unix

package clone

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

func (w *world) folder(src Source, name string) (Folder, error) {
	src.URL = cmp.Or(src.URL, w.address())
	return w.store.Folder(w.t.Context(), src, name, w.tell)
}

func (w *world) mustFolder(src Source, name string) Folder {
	w.t.Helper()
	f, err := w.folder(src, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// listing reads an archive: kind, mode and contents by name.
func listing(t *testing.T, data []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeXGlobalHeader {
			all[h.Name] = fmt.Sprintf("%c %o %s%s", h.Typeflag, h.Mode&0o100, h.Linkname, text)
		}
	}
}

func TestFolder(t *testing.T) {
	w := newWorld(t)
	w.commit("src/main.go", "package main\n")
	w.commit(".hako/Dockerfile", "FROM x\n")
	w.commit(".hako/sub/run.sh", "echo\n")
	if err := os.Chmod(filepath.Join(w.work, ".hako/sub/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(w.work, ".hako/link")); err != nil {
		t.Fatal(err)
	}
	w.commit(".hako/.gitattributes", "sub filter=lfs\n")
	w.push("main")
	f := w.mustFolder(Source{}, ".hako")
	got := listing(t, f.Tar)
	for name, want := range map[string]string{"Dockerfile": "0 0 FROM x\n", "sub/run.sh": "0 100 echo\n",
		"link": "2 100 /etc/passwd"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	for name := range got {
		if strings.Contains(name, "main.go") || strings.Contains(name, "README") || strings.HasPrefix(name, ".hako") {
			t.Errorf("%s came along", name)
		}
	}
	if want := w.git(w.work, "rev-parse", "HEAD:.hako"); f.ID != want {
		t.Errorf("%s, want %s", f.ID, want)
	}
	if len(w.steps) == 0 {
		t.Error("nothing was told")
	}
}

// TestFolderID changes with the contents, and with nothing else.
func TestFolderID(t *testing.T) {
	w := newWorld(t)
	w.commit(".hako/Dockerfile", "FROM x\n")
	w.push("main")
	first := w.mustFolder(Source{}, ".hako")
	w.commit("README", "second\n")
	w.push("main")
	second := w.mustFolder(Source{}, ".hako")
	if first.ID != second.ID || first.ID == "" {
		t.Errorf("another file made %s of %s", second.ID, first.ID)
	}
	w.commit(".hako/Dockerfile", "FROM y\n")
	w.push("other")
	if third := w.mustFolder(Source{Branch: "other"}, ".hako"); third.ID == first.ID ||
		!strings.Contains(listing(t, third.Tar)["Dockerfile"], "FROM y") {
		t.Errorf("it did not change: %s", third.ID)
	}
	if again := w.mustFolder(Source{}, ".hako"); again.ID != first.ID {
		t.Errorf("the branch was mistaken: %s", again.ID)
	}
}

// TestNoFolder is not an error: most repositories have none.
func TestNoFolder(t *testing.T) {
	w := newWorld(t)
	for name, entry := range map[string]string{
		"nothing":   "",
		"file":      "100644 blob " + w.blob("x") + "\t.hako\x00",
		"link":      "120000 blob " + w.blob("/etc") + "\t.hako\x00",
		"submodule": "160000 commit " + strings.Repeat("1", 40) + "\t.hako\x00",
	} {
		w.forged("100644 blob " + w.blob("x") + "\tREADME\x00" + entry)
		if f := w.mustFolder(Source{}, ".hako"); f.ID != "" || f.Tar != nil {
			t.Errorf("%s: %s, %d bytes", name, f.ID, len(f.Tar))
		}
	}
}

// TestFolderTooLarge stops at one that has too many files, too large ones, or
// directories within directories without end.
func TestFolderTooLarge(t *testing.T) {
	w := newWorld(t)
	refused := func(name, tree string) {
		t.Helper()
		w.forged("040000 tree " + tree + "\t.hako\x00")
		f, err := w.folder(Source{}, ".hako")
		if fault.KindOf(err) != fault.TooLarge || !strings.Contains(err.Error(), ".hako") || fault.Hint(err) == "" ||
			f.Tar != nil {
			t.Errorf("%s: %d bytes, %v", name, len(f.Tar), err)
		}
	}
	x := w.blob("x")
	refused("files", w.tree(1001, "100644 blob "+x))
	refused("bytes", w.tree(1, "100644 blob "+w.blob(strings.Repeat("0123456789abcdef", maxFolder/16)+"x")))
	chain := w.tree(1, "100644 blob "+x)
	for range 60 {
		chain = w.tree(1, "040000 tree "+chain)
	}
	refused("directories", w.tree(500, "040000 tree "+chain))
}

// tree makes a tree that has the same entry many times, under long names.
func (w *world) tree(times int, entry string) string {
	w.t.Helper()
	var b strings.Builder
	for i := range times {
		fmt.Fprintf(&b, "%s\t%0200d\x00", entry, i)
	}
	out, err := w.tryGit(w.work, b.String(), "mktree", "-z")
	if err != nil {
		w.t.Fatal(out)
	}
	return strings.TrimSpace(out)
}

// TestFolderAndClone use the same cache, and mend it.
func TestFolderAndClone(t *testing.T) {
	w := newWorld(t)
	w.commit(".hako/Dockerfile", "FROM x\n")
	w.push("main")
	first := w.mustFolder(Source{}, ".hako")
	if l := w.mustClone(Source{}); !l.Cached || l.read(".hako/Dockerfile") != "FROM x\n" {
		t.Errorf("%+v", l.Checkout)
	}
	w.remove("*/git/objects/pack/*")
	if again := w.mustFolder(Source{}, ".hako"); again.ID != first.ID ||
		!maps.Equal(listing(t, again.Tar), listing(t, first.Tar)) {
		t.Errorf("from a damaged cache: %s %q", again.ID, listing(t, again.Tar))
	}
}

// TestWithoutProgress has nobody to tell.
func TestWithoutProgress(t *testing.T) {
	w := newWorld(t)
	if _, err := w.store.Folder(t.Context(), Source{URL: w.address()}, ".hako", nil); err != nil {
		t.Error(err)
	}
}

// TestReach finds what would go wrong, and writes nothing into the cache.
func TestReach(t *testing.T) {
	w := newWorld(t)
	reach := func(src Source) error {
		src.URL = cmp.Or(src.URL, w.address())
		return w.store.Reach(t.Context(), src)
	}
	if err := reach(Source{Branch: "main"}); err != nil {
		t.Error(err)
	}
	if repos, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "git")); len(repos) > 0 {
		t.Errorf("fetched: %q", repos)
	}
	right := w.store.Keys
	for name, c := range map[string]struct {
		src  Source
		keys *Keyring
		kind fault.Kind
		word string
	}{
		"branch":     {Source{Branch: "gone"}, right, fault.NotFound, "no branch gone"},
		"target":     {Source{Target: "gone"}, right, fault.NotFound, "no branch gone"},
		"repository": {Source{URL: w.server.URL + "/group/nothing.git"}, right, fault.NotFound, "no such repository"},
		"token":      {Source{}, w.keys("wrong-token-wrong"), fault.Denied, "GITLAB_PERSONAL_ACCESS_TOKEN"},
		"no token":   {Source{}, nil, fault.Invalid, "http is not encrypted"},
		"option":     {Source{Branch: "--upload-pack=x"}, right, fault.Invalid, "dash"},
		"address":    {Source{URL: "ext::sh -c id"}, right, fault.Invalid, "blanks"},
	} {
		w.store.Keys = c.keys
		if err := reach(c.src); fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.word) ||
			fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReachAndFolderOverdue wait no longer than they may.
func TestReachAndFolderOverdue(t *testing.T) {
	w := newWorld(t)
	w.behave(func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	w.store.Timeout = 200 * time.Millisecond
	_, err := w.folder(Source{}, ".hako")
	for name, err := range map[string]error{"folder": err, "reach": w.store.Reach(t.Context(), Source{URL: w.address()})} {
		if fault.KindOf(err) != fault.Timeout || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
