//go:build unix

package clone

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run/fault"
)

// readOrigin is the container that a clone went to.
func (l landing) origin(src Source) Origin {
	src.URL = l.URL
	return Origin{Guest: l.guest, Dir: l.dir, Source: src, Commit: l.Commit, Key: l.Key, Kept: map[string]Kept{}}
}

// newSaveWorld is a world whose server takes pushes.
func newSaveWorld(t testing.TB) *world {
	w := newWorld(t)
	w.git(w.bare(), "config", "http.receivepack", "true")
	return w
}

func (w *world) save(o Origin, s Save) (string, error) {
	w.t.Helper()
	s.Message, s.Key = cmp.Or(s.Message, "keep it"), cmp.Or(s.Key, "issue-1-a")
	kept, err := w.store.Save(w.t.Context(), o, s, w.tell)
	if err == nil {
		o.Kept[s.Ref] = kept
		delete(o.Kept, s.Drop)
	}
	if left, _ := filepath.Glob(filepath.Join(w.store.Dir, "*out-*")); len(left) > 0 {
		w.t.Errorf("left behind: %q", left)
	}
	return kept.Commit, err
}

func (w *world) mustSave(o Origin, s Save) string {
	w.t.Helper()
	commit, err := w.save(o, s)
	if err != nil {
		w.t.Fatal(err, fault.Hint(err))
	}
	return commit
}

// at returns what a reference of the server is at.
func (w *world) at(ref string) string {
	out, err := w.tryGit(w.bare(), "", "rev-parse", "--verify", "--quiet", ref)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// files lists those of a commit on the server.
func (w *world) files(commit string) string {
	w.t.Helper()
	return strings.ReplaceAll(w.git(w.bare(), "ls-tree", "-r", "--name-only", commit), "\n", " ")
}

func (l landing) write(name, text string) {
	l.w.t.Helper()
	writeFile(l.w.t, l.dir, name, []byte(text))
}

const hiddenRef, branchRef = "refs/hako/issue-1-a", "refs/heads/hako/issue-1-a"

// TestSaveRoundTrip keeps changes, goes on from them in another container, and
// publishes them.
func TestSaveRoundTrip(t *testing.T) {
	w := newSaveWorld(t)
	w.commit("gone", "x\n")
	w.commit("turned", "file\n")
	w.commit("folder/file", "x\n")
	w.push("main")
	first := w.mustClone(Source{})
	base := first.Commit
	first.write("new/file", "new\n")
	first.write("README", "changed\n")
	first.git("rm", "-q", "gone")
	for _, name := range []string{"turned", "folder"} {
		if err := os.RemoveAll(filepath.Join(first.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	first.write("turned/inside", "a directory now\n")
	first.write("folder", "a file now\n")
	before := first.git("status", "--porcelain")
	kept := w.mustSave(first.origin(Source{}), Save{Message: "half of it", Author: "Some Body <some@body>", Ref: hiddenRef,
		Mine: true})
	if w.at(hiddenRef) != kept || w.files(kept) != "README folder new/file turned/inside" ||
		w.git(w.bare(), "rev-parse", kept+"^") != base {
		t.Errorf("%s: %q", w.at(hiddenRef), w.files(kept))
	}
	if got := w.git(w.bare(), "log", "-1", "--format=%an <%ae> %cn%n%B",
		kept); got != "Some Body <some@body> Some Body\nhalf of it\n\nHako-Task: issue-1-a\nHako-Base: "+base {
		t.Errorf("%q", got)
	}
	if first.git("rev-parse", "HEAD") != base || first.git("status", "--porcelain") != before {
		t.Error("the container was changed")
	}

	src := Source{Branch: "hako/issue-1-a", Commit: kept}
	second := w.mustClone(src)
	if second.Commit != base || second.git("rev-parse", "HEAD") != base || second.read("new/file") != "new\n" ||
		second.read("folder") != "a file now\n" {
		t.Errorf("%+v", second.Checkout)
	}
	if got := second.git("symbolic-ref", "--short", "HEAD"); got != "hako/issue-1-a" ||
		second.git("log", "--format=%s") != "change folder/file" {
		t.Errorf("%s: %s", got, second.git("log", "--format=%s"))
	}
	o := second.origin(src)
	again := w.mustSave(o, Save{Ref: hiddenRef, Mine: true})
	if w.git(w.bare(), "rev-parse", again+"^") != base || w.git(w.bare(), "rev-parse", again+"^{tree}") != w.git(w.bare(),
		"rev-parse", kept+"^{tree}") {
		t.Error("snapshots pile up, or changes get lost")
	}
	second.write("README", "done\n")
	done := w.mustSave(o, Save{Message: "all of it", Ref: branchRef, Drop: hiddenRef})
	if w.at(branchRef) != done || w.at(hiddenRef) != "" || w.git(w.bare(), "show", done+":README") != "done" {
		t.Errorf("%s, %s", w.at(branchRef), w.at(hiddenRef))
	}
	w.git(w.bare(), "fsck", "--strict")
}

// TestSaveNothing pushes nothing where nothing changed, and asks nobody.
func TestSaveNothing(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	o := l.origin(Source{})
	asked := w.count("")
	for _, name := range []string{"__pycache__/a.pyc", "node_modules/x/y.js", "deep/.venv/bin/python", ".DS_Store",
		"x.egg-info/PKG-INFO"} {
		l.write(name, "litter\n")
	}
	if got := w.mustSave(o, Save{Ref: branchRef}); got != "" || w.count("") != asked {
		t.Errorf("%q, asked %d times", got, w.count("")-asked)
	}
	l.write("README", "changed\n")
	kept := w.mustSave(o, Save{Ref: hiddenRef, Mine: true})
	asked = w.count("")
	if got := w.mustSave(o, Save{Ref: hiddenRef, Mine: true}); got != kept || w.count("") != asked {
		t.Errorf("%q, asked %d times", got, w.count("")-asked)
	}
	l.git("checkout", "-q", "README")
	if got := w.mustSave(o, Save{Ref: hiddenRef, Mine: true}); got == kept || w.at(hiddenRef) != got ||
		w.git(w.bare(), "diff", "--name-only", l.Commit, got) != "" {
		t.Errorf("what is kept is not what there is: %q", got)
	}
	if got := w.mustSave(o, Save{Ref: branchRef, Drop: hiddenRef}); got != "" || w.at(hiddenRef) != "" ||
		w.at(branchRef) != "" {
		t.Errorf("%q, %q", got, w.at(hiddenRef))
	}
}

// TestSaveIgnored leaves out what the project does, and keeps what it tracks.
func TestSaveIgnored(t *testing.T) {
	w := newSaveWorld(t)
	w.commit("build/tracked", "1\n")
	w.commit("lib.pyc", "1\n")
	w.commit(".gitignore", "build/\n*.log\n!node_modules/\n")
	w.push("main")
	l := w.mustClone(Source{})
	for _, name := range []string{"build/tracked", "build/new", "lib.pyc", "a.log", "node_modules/wanted", "secret.txt"} {
		l.write(name, "2\n")
	}
	l.write(".git/info/exclude", "secret.txt\n")
	l.write("forced.log", "3\n")
	l.git("add", "-f", "forced.log")
	kept := w.mustSave(l.origin(Source{}), Save{Ref: hiddenRef, Mine: true})
	if got := w.git(w.bare(), "diff", "--name-only", l.Commit,
		kept); got != "build/tracked\nforced.log\nlib.pyc\nnode_modules/wanted" {
		t.Errorf("%q", got)
	}
	src := Source{Commit: kept}
	next := w.mustClone(src)
	again := w.mustSave(next.origin(src), Save{Ref: hiddenRef, Mine: true})
	if got := w.git(w.bare(), "diff", "--name-only", kept, again); got != "" {
		t.Errorf("lost on the way: %q", got)
	}
}

// oneCommit checks that a branch is one commit of ours on the one that the work
// began from.
func (w *world) oneCommit(commit, base string) {
	w.t.Helper()
	if got := w.git(w.bare(), "log", "--format=%an <%ae> %cn <%ce>%n%B",
		base+".."+commit); got != "hako <hako@localhost> hako <hako@localhost>\nkeep it\n\nHako-Task: issue-1-a" {
		w.t.Errorf("%q", got)
	}
	if w.git(w.bare(), "rev-parse", commit+"^") != base {
		w.t.Error("it does not go on from where the work began")
	}
}

// TestSaveCommits keeps the commits that were made inside for later work, and
// makes one of ours of them for others.
func TestSaveCommits(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.write("a", "1\n")
	l.git("add", "-A")
	l.git("commit", "-q", "-m", "the first .@alice")
	one := l.git("rev-parse", "HEAD")
	l.write("a", "2\n")
	o := l.origin(Source{})
	kept := w.mustSave(o, Save{Ref: hiddenRef, Mine: true})
	if w.git(w.bare(), "rev-parse", kept+"^") != one {
		t.Error("the commit inside is not the parent")
	}
	l.git("commit", "-q", "-a", "-m", "the second\n\nCo-authored-by: x <x@y>\nHako-Task: issue-1-a\nHako-Base: "+one)
	two := l.git("rev-parse", "HEAD")
	if got := w.mustSave(o, Save{Ref: hiddenRef, Mine: true}); w.git(w.bare(), "rev-parse", got+"^") != two {
		t.Errorf("%s is not on %s", got, two)
	}
	done := w.mustSave(o, Save{Ref: branchRef, Drop: hiddenRef})
	w.oneCommit(done, l.Commit)
	if w.git(w.bare(), "rev-parse", done+"^{tree}") != w.git(l.dir, "rev-parse", two+"^{tree}") || w.at(hiddenRef) != "" {
		t.Error("it has other files")
	}
	if got, err := w.tryGit(w.bare(), "", "cat-file", "-e", one); err == nil &&
		w.git(w.bare(), "branch", "--contains", one) != "" {
		t.Errorf("what was made inside is on a branch: %s", got)
	}
}

// TestSaveBegunFromCommit publishes what was kept although nothing changed since,
// and knows where it began, whatever the commits inside say.
func TestSaveBegunFromCommit(t *testing.T) {
	w := newSaveWorld(t)
	w.push("feature")
	for name, src := range map[string]Source{"alone": {}, "branch": {Branch: "feature", Target: "main"},
		"issue": {Branch: "hako/issue-1-a", Start: "refs/heads/main", Target: "main"}} {
		w.git(w.bare(), "update-ref", "refs/heads/feature", "refs/heads/main")
		l := w.mustClone(src)
		for i := range 3 {
			l.write("a", strings.Repeat("x", i+1))
			l.git("add", "-A")
			l.git("commit", "-q", "-m", "by hand\n\nHako-Task: issue-1-a\nHako-Base: "+l.git("rev-parse", "HEAD"))
		}
		head := l.git("rev-parse", "HEAD")
		kept := w.mustSave(l.origin(src), Save{Ref: hiddenRef, Mine: true})
		again := src
		for range 2 { // taken over twice
			again.Commit = kept
			l = w.mustClone(again)
			if l.git("rev-parse", "HEAD") != head || l.git("status", "--porcelain") != "" {
				t.Errorf("%s: it does not go on where it was", name)
			}
			kept = w.mustSave(l.origin(again), Save{Ref: hiddenRef, Mine: true})
		}
		ref := cmp.Or(map[string]string{"branch": "refs/heads/feature"}[name], branchRef)
		done := w.mustSave(l.origin(again), Save{Ref: ref, Drop: hiddenRef})
		w.oneCommit(done, w.at("refs/heads/main"))
		if w.at(ref) != done || w.at(hiddenRef) != "" || w.git(w.bare(), "show", done+":a") != "xxx" {
			t.Errorf("%s: %s, %s", name, done, w.at(ref))
		}
		w.git(w.bare(), "update-ref", "-d", branchRef)
	}
}

// TestSaveFarFromBase has so many commits made inside that the one that the work
// began from is not sent any more.
func TestSaveFarFromBase(t *testing.T) {
	w := newSaveWorld(t)
	w.git(w.bare(), "config", "uploadpack.allowReachableSHA1InWant", "true")
	l := w.mustClone(Source{})
	base := l.Commit
	for range 5 {
		l.git("commit", "-q", "--allow-empty", "-m", "x")
	}
	l.write("a", "1\n")
	kept := w.mustSave(l.origin(Source{}), Save{Ref: hiddenRef, Mine: true})
	w.commit("b", "others went on\n")
	w.push("main")
	w.store.Dir += "-elsewhere"
	src := Source{Commit: kept}
	next := w.mustClone(src)
	done := w.mustSave(next.origin(src), Save{Ref: branchRef})
	w.oneCommit(done, base)
	if w.files(done) != "README a" {
		t.Error(w.files(done))
	}
	w.git(w.bare(), "fsck", "--strict")
}

// TestSaveUndone pushes nothing to a branch where nothing is left of the changes.
func TestSaveUndone(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.write("README", "changed\n")
	l.git("commit", "-q", "-a", "-m", "there")
	kept := w.mustSave(l.origin(Source{}), Save{Ref: hiddenRef, Mine: true})
	src := Source{Commit: kept}
	next := w.mustClone(src)
	next.write("README", "first\n")
	next.git("commit", "-q", "-a", "-m", "and back")
	if got := w.mustSave(next.origin(src), Save{Ref: branchRef, Drop: hiddenRef}); got != "" || w.at(branchRef) != "" ||
		w.at(hiddenRef) != "" {
		t.Errorf("%q: %s, %s", got, w.at(branchRef), w.at(hiddenRef))
	}
}

var ciFiles = []string{".github/workflows/", ".gitlab-ci.yml"}

// denies wants a save to be refused because of a file.
func (w *world) denies(l landing, src Source, file string) {
	w.t.Helper()
	_, err := w.save(l.origin(src), Save{Ref: branchRef, Guard: ciFiles})
	w.wantErr(err, fault.Denied, "it changes "+file+", which runs with the rights of the project", "agent.ci_files: true")
	if w.at(branchRef) != "" {
		w.t.Error("it was pushed")
	}
}

// TestSaveGuard refuses changes of files that run with the rights of the project.
func TestSaveGuard(t *testing.T) {
	w := newSaveWorld(t)
	w.commit(".github/workflows/a.yml", "on: push\n")
	w.commit(".github/labels.yml", "x\n")
	w.push("main")
	for file, script := range map[string]string{
		".github/workflows/b.yml":   "echo 'on: push' >.github/workflows/b.yml",
		".github/workflows/c/d.yml": "mkdir .github/workflows/c; echo x >.github/workflows/c/d.yml; git add -A; git commit -q -m x; touch more",
		".github/workflows/a.yml":   "git rm -q .github/workflows/a.yml",
		".github/workflows":         "mv .github/workflows other; ln -s ../other .github/workflows",
		".github":                   "mv .github other; ln -s other .github",
		".gitlab-ci.yml":            "echo x >.gitlab-ci.yml",
	} {
		l := w.mustClone(Source{})
		if res, err := l.guest.Exec(t.Context(),
			guest.Command{Script: "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; " + script, Dir: l.dir, Stdin: strings.NewReader("")}); err != nil || res.Exit != 0 {
			t.Fatal(script, res, err)
		}
		w.denies(l, Source{}, file)
		kept := w.mustSave(l.origin(Source{}), Save{Ref: hiddenRef, Mine: true, Guard: ciFiles})
		src := Source{Commit: kept} // taken over, it is still a change
		w.denies(w.mustClone(src), src, file)
	}
	l := w.mustClone(Source{})
	l.write(".github/labels.yml", "y\n")
	l.write("sub/.gitlab-ci.yml", "y\n")
	l.write(".gitlab-ci.yml.md", "y\n")
	w.mustSave(l.origin(Source{}), Save{Ref: branchRef, Guard: ciFiles})
}

// TestSaveGuardFork compares what a stranger began with the branch that it is
// meant for: his files are not the project's.
func TestSaveGuardFork(t *testing.T) {
	w := newSaveWorld(t)
	w.commit(".gitlab-ci.yml", "test: {}\n")
	w.push("main")
	w.commit("a", "innocent\n")
	w.git(w.work, "push", "-q", w.bare(), "HEAD:refs/pull/6/head")
	w.commit(".gitlab-ci.yml", "steal: {}\n")
	w.git(w.work, "push", "-q", w.bare(), "HEAD:refs/pull/7/head")
	for _, target := range []string{"main", ""} {
		src := Source{Branch: "hako/issue-1-a", Start: "refs/pull/7/head", Target: target}
		l := w.mustClone(src)
		l.write("README", "mended\n")
		w.denies(l, src, ".gitlab-ci.yml")
		l.write(".gitlab-ci.yml", "test: {}\n") // put back: his commit is below, but not on top
		w.mustSave(l.origin(src), Save{Ref: branchRef, Guard: ciFiles})
		w.git(w.bare(), "update-ref", "-d", branchRef)
		src.Start = "refs/pull/6/head"
		l = w.mustClone(src)
		l.write("README", "mended\n")
		w.mustSave(l.origin(src), Save{Ref: branchRef, Guard: ciFiles})
		w.git(w.bare(), "update-ref", "-d", branchRef)
	}
}

// TestSaveForgedKey does not take what a stranger proposes for our own work.
func TestSaveForgedKey(t *testing.T) {
	w := newSaveWorld(t)
	w.git(w.work, "commit", "-q", "--allow-empty", "-m", "x\n\nHako-Task: issue-1-a")
	w.git(w.work, "push", "-q", w.bare(), "HEAD:refs/pull/7/head")
	src := Source{Branch: "hako/issue-1-a", Start: "refs/pull/7/head", Target: "main"}
	l := w.mustClone(src)
	if got := w.mustSave(l.origin(src), Save{Ref: branchRef}); got != "" || l.Key == "" {
		t.Errorf("nothing was done, and %q counts as done", got)
	}
	l.write("README", "mended\n")
	done := w.mustSave(l.origin(src), Save{Ref: branchRef})
	if w.oneCommit(done, l.Commit); w.at(branchRef) != done {
		t.Errorf("%s, want %s", w.at(branchRef), done)
	}
}

// TestSaveChangedMeanwhile does not touch what somebody else pushed.
func TestSaveChangedMeanwhile(t *testing.T) {
	w := newSaveWorld(t)
	w.push("feature")
	l := w.mustClone(Source{Branch: "feature"})
	theirs := w.commit("README", "theirs\n")
	w.push("feature")
	l.write("README", "ours\n")
	_, err := w.save(l.origin(Source{Branch: "feature"}), Save{Ref: "refs/heads/feature"})
	if fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "the branch feature was changed by somebody else meanwhile") || fault.Hint(err) == "" {
		t.Error(err)
	}
	if w.at("refs/heads/feature") != theirs {
		t.Error("it was replaced")
	}
}

// TestSaveAgain finds what was pushed by somebody who did not live to tell.
func TestSaveAgain(t *testing.T) {
	w := newSaveWorld(t)
	w.push("feature")
	src := Source{Branch: "feature"}
	first, second := w.mustClone(src), w.mustClone(src)
	first.write("README", "ours\n")
	second.write("README", "ours as well\n")
	pushed := w.mustSave(first.origin(src), Save{Ref: "refs/heads/feature"})
	w.git(w.bare(), "update-ref", hiddenRef, pushed)
	if got := w.mustSave(second.origin(src), Save{Ref: "refs/heads/feature", Drop: hiddenRef}); got != pushed ||
		w.at("refs/heads/feature") != pushed || w.at(hiddenRef) != "" {
		t.Errorf("%s, want %s; %s", got, pushed, w.at(hiddenRef))
	}
	if got := w.mustSave(first.origin(src), Save{Ref: "refs/heads/feature"}); got != pushed {
		t.Errorf("%s, want %s", got, pushed)
	}
	third := w.mustClone(src)
	if got := w.mustSave(third.origin(src), Save{Ref: "refs/heads/feature"}); third.Key != "issue-1-a" || got != pushed {
		t.Errorf("begun from what was kept: %s", got)
	}
	third.write("README", "more\n")
	if got := w.mustSave(third.origin(src), Save{Ref: "refs/heads/feature", Key: "issue-2-b"}); got == pushed ||
		w.git(w.bare(), "rev-parse", got+"^") != pushed {
		t.Errorf("the next task does not go on from it: %s", got)
	}
}

// TestSaveWithoutCache fetches what the cache has lost.
func TestSaveWithoutCache(t *testing.T) {
	w := newSaveWorld(t)
	w.git(w.bare(), "config", "uploadpack.allowAnySHA1InWant", "true")
	l := w.mustClone(Source{})
	w.remove("*/git")
	l.write("README", "changed\n")
	if kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef}); w.at(branchRef) != kept {
		t.Errorf("%s, want %s", w.at(branchRef), kept)
	}
}

// TestSaveOldDrop removes only what is there.
func TestSaveOldDrop(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.write("README", "changed\n")
	if kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef, Drop: "refs/hako/never-was"}); w.at(branchRef) != kept {
		t.Error("nothing was pushed")
	}
}

// TestSaveNested leaves out repositories in the repository: nobody could fetch
// them.
func TestSaveNested(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.write("vendor/x/file", "1\n")
	w.git(filepath.Join(l.dir, "vendor/x"), "init", "-q")
	w.git(filepath.Join(l.dir, "vendor/x"), "add", "-A")
	w.git(filepath.Join(l.dir, "vendor/x"), "commit", "-q", "-m", "x")
	l.write("README", "changed\n")
	if kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef}); w.files(kept) != "README" {
		t.Error(w.files(kept))
	}
}

// TestSaveOddNames keeps what is odd, but honest.
func TestSaveOddNames(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	const name = "new\nline\x1b[2J$(touch owned);`id` -rf"
	l.write(name, "odd\n")
	l.write("-n", "odd\n")
	l.write("run.sh", "odd\n")
	if err := os.Chmod(filepath.Join(l.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(l.dir, "link")); err != nil {
		t.Fatal(err)
	}
	kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef})
	next := w.mustClone(Source{Branch: "hako/issue-1-a"})
	if target, _ := os.Readlink(filepath.Join(next.dir, "link")); next.Commit != kept || next.read(name) != "odd\n" ||
		target != "/etc/passwd" {
		t.Errorf("%s: %q", target, w.files(kept))
	}
	if info, err := os.Stat(filepath.Join(next.dir, "run.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Error("it cannot be run any more")
	}
}

func TestSaveSHA256(t *testing.T) {
	w := newSaveWorld(t)
	for _, dir := range []string{w.bare(), w.work} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		w.git(w.dir, "init", "-q", "-b", "main", "--object-format=sha256",
			map[bool]string{true: "--bare", false: "--quiet"}[dir == w.bare()], dir)
	}
	w.git(w.bare(), "config", "http.receivepack", "true")
	w.commit("README", "long\n")
	w.push("main")
	l := w.mustClone(Source{})
	l.write("README", "longer\n")
	if kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef}); len(kept) != 64 || w.at(branchRef) != kept {
		t.Error(kept)
	}
}

// TestStart checks a reference out that is no branch, under a name of its own.
func TestStart(t *testing.T) {
	w := newSaveWorld(t)
	main := w.git(w.work, "rev-parse", "HEAD")
	fork := w.commit("README", "theirs\n")
	w.git(w.work, "push", "-q", w.bare(), "HEAD:refs/pull/7/head")
	src := Source{Branch: "hako/pull-7-a", Start: "refs/pull/7/head", Target: "main"}
	l := w.mustClone(src)
	if l.Commit != fork || l.Branch != "hako/pull-7-a" || l.git("rev-parse", "origin/main") != main ||
		l.git("symbolic-ref", "--short", "HEAD") != "hako/pull-7-a" {
		t.Errorf("%+v", l.Checkout)
	}
	if got := l.git("config", "--get", "remote.origin.fetch",
		"pull"); got != "+refs/pull/7/head:refs/remotes/origin/hako/pull-7-a" {
		t.Error(got)
	}
	l.write("README", "mended\n")
	if kept := w.mustSave(l.origin(src), Save{Ref: "refs/heads/hako/pull-7-a"}); w.git(w.bare(), "rev-parse",
		kept+"^") != fork || w.at("refs/pull/7/head") != fork {
		t.Error("it does not go on from the fork")
	}
	w.expect(Source{Branch: "x", Start: "refs/pull/8/head"}, fault.NotFound, "no refs/pull/8/head")
	w.expect(Source{Branch: "x", Start: "pull/7/head"}, fault.Invalid, "refs/")
	w.expect(Source{Branch: "x", Start: "refs/pull/7/head:refs/heads/main"}, fault.Invalid)
	w.expect(Source{Branch: "x", Start: "refs/pull/../head"}, fault.Invalid)
	w.expect(Source{Branch: "main", Target: "main", Start: "refs/pull/7/head"}, fault.Invalid, "both the start and the target")
}

func TestCommitThatIsNotThere(t *testing.T) {
	w := newSaveWorld(t)
	w.expect(Source{Commit: strings.Repeat("1", 40)}, fault.NotFound, "no commit 1111")
	w.mustClone(Source{Full: true})
	w.expect(Source{Commit: strings.Repeat("1", 40), Full: true}, fault.NotFound, "no commit 1111")
	for _, odd := range []string{"main", "--upload-pack=x", strings.Repeat("1", 39), strings.Repeat("G", 40),
		strings.Repeat("1", 40) + ":refs/heads/x"} {
		w.expect(Source{Commit: odd}, fault.Invalid, "hash")
	}
}

func TestSaveCheck(t *testing.T) {
	good := Save{Message: "m", Key: "k", Ref: "refs/heads/x", Guard: ciFiles}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Save){
		"no ref":        func(s *Save) { s.Ref = "" },
		"tag":           func(s *Save) { s.Ref = "refs/tags/v1" },
		"pull":          func(s *Save) { s.Ref = "refs/pull/1/head" },
		"two":           func(s *Save) { s.Ref = "refs/heads/x:refs/heads/y" },
		"dots":          func(s *Save) { s.Ref = "refs/heads/../tags/x" },
		"option":        func(s *Save) { s.Ref = "--delete" },
		"wildcard":      func(s *Save) { s.Ref = "refs/heads/*" },
		"drop a branch": func(s *Save) { s.Drop = "refs/heads/main" },
		"drop itself":   func(s *Save) { s.Ref, s.Drop = "refs/hako/x", "refs/hako/x" },
		"no key":        func(s *Save) { s.Key = "" },
		"key of lines":  func(s *Save) { s.Key = "a\nb" },
		"no message":    func(s *Save) { s.Message = " \n" },
		"zero":          func(s *Save) { s.Message = "a\x00b" },
		"author":        func(s *Save) { s.Author = "a <b>\ncommitter x <y>" },
		"no address":    func(s *Save) { s.Author = "somebody" },
		"guard nothing": func(s *Save) { s.Guard = []string{"x", ""} },
		"guard outside": func(s *Save) { s.Guard = []string{"../x"} },
		"guard root":    func(s *Save) { s.Guard = []string{"/.github/"} },
		"guard twice":   func(s *Save) { s.Guard = []string{"a//b"} },
		"guard all":     func(s *Save) { s.Guard = []string{"./"} },
	} {
		s := good
		change(&s)
		if err := s.Check(); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSaveSpeed measures a change of one line.
func TestSaveSpeed(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	o := l.origin(Source{})
	best := time.Hour
	for _, text := range []string{"1\n", "2\n", "3\n", "4\n"} {
		l.write("README", text)
		start := time.Now()
		w.mustSave(o, Save{Ref: hiddenRef, Mine: true})
		best = min(best, time.Since(start))
	}
	start := time.Now()
	w.mustSave(o, Save{Ref: hiddenRef, Mine: true})
	t.Logf("a change %v, none %v", best, time.Since(start))
	if best > 5*time.Second { // a tenth of a second on a quiet machine
		t.Error("it takes too long")
	}
}
