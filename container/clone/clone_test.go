//go:build unix

package clone

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestClone(t *testing.T) {
	w := newWorld(t)
	tip := w.commit("src/main.go", "package main\n")
	w.push("main")
	l := w.mustClone(Source{})
	if l.Commit != tip || l.Branch != "main" || l.Default != "main" || l.Cached || l.Bytes == 0 || l.URL != w.address() {
		t.Errorf("%+v", l.Checkout)
	}
	if got := l.read("src/main.go"); got != "package main\n" {
		t.Error(got)
	}
	for want, args := range map[string][]string{
		tip:           {"rev-parse", "HEAD", "--"},
		"main":        {"symbolic-ref", "--short", "HEAD"},
		"":            {"status", "--porcelain"},
		"1":           {"rev-list", "--count", "HEAD"},
		w.address():   {"remote", "get-url", "origin"},
		"origin/main": {"rev-parse", "--abbrev-ref", "@{upstream}"},
		"true":        {"rev-parse", "--is-shallow-repository"},
		"refs/heads/main\nrefs/remotes/origin/main": {"for-each-ref", "--format=%(refname)"},
	} {
		if got := strings.TrimSuffix(l.git(args...), "\n--"); got != want {
			t.Errorf("git %s: %q, want %q", args, got, want)
		}
	}
	l.git("fsck", "--strict")
	if len(w.steps) < 3 {
		t.Errorf("progress: %q", w.steps)
	}
}

// TestUnchanged fetches nothing a second time, but asks the server.
func TestUnchanged(t *testing.T) {
	w := newWorld(t)
	first := w.mustClone(Source{})
	asked, fetched := w.count("info/refs"), w.count("POST")
	second := w.mustClone(Source{})
	if first.Cached || !second.Cached || second.Commit != first.Commit || second.read("README") != "first\n" {
		t.Errorf("%+v, %+v", first.Checkout, second.Checkout)
	}
	if w.count("info/refs") != asked+1 || w.count("POST") > fetched+1 {
		t.Errorf("asked %q", w.asked)
	}
}

func TestChanged(t *testing.T) {
	w := newWorld(t)
	w.commit("big", strings.Repeat("all work and no play\n", 1000))
	w.push("main")
	w.mustClone(Source{})
	tip := w.commit("README", "second\n")
	w.push("main")
	l := w.mustClone(Source{})
	if l.Cached || l.Commit != tip || l.read("README") != "second\n" {
		t.Errorf("%+v", l.Checkout)
	}
	l.git("fsck", "--strict")
}

func TestBranchAndTarget(t *testing.T) {
	w := newWorld(t)
	base := w.git(w.work, "rev-parse", "HEAD")
	w.git(w.work, "switch", "-q", "-c", "feature/x")
	feature := w.commit("x", "x\n")
	w.push("feature/x")
	w.git(w.work, "switch", "-q", "main")
	main := w.commit("README", "second\n")
	w.push("main")
	l := w.mustClone(Source{Branch: "feature/x", Target: "main"})
	if l.Commit != feature || l.Branch != "feature/x" || l.Default != "main" || len(l.Warnings) > 1 {
		t.Errorf("%+v", l.Checkout)
	}
	if got := l.git("rev-parse", "origin/main"); got != main {
		t.Errorf("target at %s, want %s", got, main)
	}
	if got := l.git("merge-base", "origin/main", "HEAD"); got != base {
		t.Errorf("merge base %s, want %s", got, base)
	}
	if got := l.git("diff", "--name-only", "origin/main...HEAD"); got != "x" {
		t.Errorf("diff: %q", got)
	}
}

// TestPartedLongAgo says so when the history does not reach back far enough.
func TestPartedLongAgo(t *testing.T) {
	w := newWorld(t)
	w.git(w.work, "switch", "-q", "-c", "feature")
	w.commit("x", "1\n")
	w.commit("x", "2\n")
	w.push("feature")
	w.git(w.work, "switch", "-q", "main")
	w.commit("README", "second\n")
	w.push("main")
	l := w.mustClone(Source{Branch: "feature", Target: "main", Depth: 1})
	if !strings.Contains(strings.Join(l.Warnings, "\n"), "git diff origin/main HEAD") {
		t.Errorf("%q", l.Warnings)
	}
	if got := l.git("diff", "--name-only", "origin/main", "HEAD"); got != "README\nx" {
		t.Errorf("diff: %q", got)
	}
}

func TestDepth(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"2\n", "3\n", "4\n"} {
		w.commit("README", text)
	}
	w.push("main")
	for want, src := range map[string]Source{"1": {}, "3": {Depth: 3}, "4": {Full: true}} {
		l := w.mustClone(src)
		if got := l.git("rev-list", "--count", "HEAD"); got != want {
			t.Errorf("%+v: %s commits", src, got)
		}
		if got := l.git("rev-parse", "--is-shallow-repository"); got != "true" != src.Full {
			t.Errorf("%+v: shallow: %s", src, got)
		}
	}
}

// TestNothingElse sends one branch in although the cache knows another, whose
// secrets are none of the container's business.
func TestNothingElse(t *testing.T) {
	w := newWorld(t)
	w.git(w.work, "switch", "-q", "-c", "other")
	w.commit("plans", "take over the world\n")
	other := w.git(w.work, "rev-parse", "HEAD")
	plans := w.git(w.work, "rev-parse", "HEAD:plans")
	w.push("other")
	w.git(w.work, "switch", "-q", "main")
	w.commit("README", "second\n")
	w.push("main")
	w.mustClone(Source{Branch: "other"})
	l := w.mustClone(Source{})
	objects := l.git("cat-file", "--batch-check", "--batch-all-objects")
	if strings.Contains(objects, plans) || strings.Contains(objects, other) || l.read("plans") == "take over the world\n" {
		t.Errorf("the other branch came along: %s", objects)
	}
	if text := l.read(".git/shallow"); strings.TrimSpace(text) != l.Commit {
		t.Errorf("shallow: %q", text)
	}
	again := w.mustClone(Source{Branch: "other"})
	if got := again.read("plans"); got != "take over the world\n" || !again.Cached {
		t.Errorf("%q, %+v", got, again.Checkout)
	}
}

// TestWithoutEnding clones by an address that the server knows with .git only.
func TestWithoutEnding(t *testing.T) {
	w := newWorld(t)
	w.behave(redirectTo(".git"))
	l := w.mustClone(Source{URL: strings.TrimSuffix(w.address(), ".git")})
	if l.URL != w.address() {
		t.Errorf("%+v", l.Checkout)
	}
}

// TestTogether clones the same repository several times at once.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	commits := make([]string, 6)
	for i := range commits {
		all.Go(func() {
			l, err := w.clone(Source{})
			if err != nil {
				t.Error(err)
			}
			commits[i] = l.Commit
		})
	}
	all.Wait()
	if slices.Sort(commits); commits[0] == "" || commits[0] != commits[5] {
		t.Errorf("%q", commits)
	}
	if n := w.count("POST"); n > 2*6+1 {
		t.Errorf("%d requests: they did not wait for each other", n)
	}
}

// TestWaiting says what is waited for, and stops when nobody wants it any more.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	w.mustClone(Source{})
	locks, _ := filepath.Glob(filepath.Join(w.store.Dir, "*.lock"))
	f, err := os.OpenFile(locks[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	waitHeld(t, f)
	steps := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		_, err := w.store.Clone(t.Context(), Source{URL: w.address()}, &fakeGuest{home: w.dir}, filepath.Join(w.dir, "late"),
			func(s string) { steps <- s })
		done <- err
	}()
	for step := range steps {
		if strings.Contains(step, "waiting for another hako") {
			break
		}
	}
	release(t, f)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestEndpoint has git inside go to the proxy, for this repository alone.
func TestEndpoint(t *testing.T) {
	w := newWorld(t)
	l := w.mustClone(Source{})
	u, err := url.Parse(w.address())
	if err != nil {
		t.Fatal(err)
	}
	name, value := InsteadOf(u)
	host := strings.TrimPrefix(w.server.URL, "http://")
	if got := l.git("-c", name+"="+value, "remote", "get-url", "origin"); got != "http://git.hako.internal/"+host+
		"/group/project.git" {
		t.Error(got)
	}
	if got := l.git("config", "remote.origin.url"); got != w.address() {
		t.Error(got)
	}
}

// TestOddBranch checks a branch out whose name is a challenge to settings.
func TestOddBranch(t *testing.T) {
	w := newWorld(t)
	const branch = `we"ird;#name/日本語`
	w.push(branch)
	l := w.mustClone(Source{Branch: branch})
	if got := l.git("symbolic-ref", "HEAD"); got != "refs/heads/"+branch {
		t.Error(got)
	}
	if got := l.git("config", "branch."+branch+".merge"); got != "refs/heads/"+branch {
		t.Error(got)
	}
}

func TestSHA256(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{w.bare(), w.work} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	w.git(w.dir, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", w.bare())
	w.git(w.dir, "init", "-q", "-b", "main", "--object-format=sha256", w.work)
	tip := w.commit("README", "long\n")
	w.push("main")
	if l := w.mustClone(Source{}); len(tip) != 64 || l.git("rev-parse", "HEAD") != tip {
		t.Errorf("%+v", l.Checkout)
	}
}

// TestPublic needs no token, and shows none.
func TestPublic(t *testing.T) {
	w := newWorld(t)
	w.private = false
	w.store.Keys, w.store.PlainHTTP = nil, true
	if l := w.mustClone(Source{}); l.read("README") != "first\n" || len(l.Warnings) > 0 {
		t.Errorf("%+v", l.Checkout)
	}
}

// TestOwnCaches keeps what one token may see from those with another.
func TestOwnCaches(t *testing.T) {
	w := newWorld(t)
	w.private = false
	w.mustClone(Source{})
	w.store.Keys = w.keys("another-token")
	if l := w.mustClone(Source{}); l.Cached {
		t.Error("it was taken from the cache of somebody else")
	}
}

// TestManyFetches keeps the cache from growing for ever.
func TestManyFetches(t *testing.T) {
	w := newWorld(t)
	w.mustClone(Source{})
	repos, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "git"))
	for i := range maxPacks { // as if so many had been fetched
		blob, err := w.tryGit(repos[0], strconv.Itoa(i), "hash-object", "-w", "--stdin")
		if err == nil {
			blob, err = w.tryGit(repos[0], blob, "pack-objects", "-q", "objects/pack/pack")
		}
		if err != nil {
			t.Fatal(blob)
		}
	}
	for i := range keptLoads + 1 {
		w.commit("README", strings.Repeat("x", i+1))
		w.push("main")
		w.mustClone(Source{})
	}
	packs, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "git", "objects", "pack", "*.pack"))
	loads, _ := filepath.Glob(filepath.Join(w.store.Dir, "*", "loads", "*"))
	if len(packs) > keptLoads+2 || len(loads) != keptLoads {
		t.Errorf("%d packs, %d loads", len(packs), len(loads))
	}
	if l := w.mustClone(Source{}); l.read("README") != strings.Repeat("x", keptLoads+1) || !l.Cached {
		t.Error(l.read("README"))
	}
}
