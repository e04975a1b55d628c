//go:build unix

package clone

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/container/guest"
	"hako/run/fault"
)

// A liar says what it likes instead of making a snapshot.
type liar func(to io.Writer) error

func (l liar) Exec(ctx context.Context, c guest.Command) (guest.Result, error) {
	return guest.Result{}, l(c.Stdout)
}

// says is a liar that says one thing.
func says(parts ...string) liar {
	return func(to io.Writer) error {
		for _, part := range parts {
			if _, err := io.WriteString(to, part); err != nil {
				return err
			}
		}
		return nil
	}
}

// packed is a pack of what is reachable from some objects of the workshop.
func (w *world) packed(options string, revs ...string) string {
	w.t.Helper()
	args := append([]string{"pack-objects", "--revs", "--stdout", "--quiet"}, strings.Fields(options)...)
	out, err := w.tryGit(w.work, strings.Join(revs, "\n")+"\n", args...)
	if err != nil {
		w.t.Fatal(out)
	}
	return out
}

const whole = "--no-reuse-delta --window=0 --depth=0"

// refuses wants a save of a liar to be refused, and nothing to be pushed.
func (w *world) refuses(l landing, g guest.Executor, kind fault.Kind, words ...string) {
	w.t.Helper()
	o := l.origin(Source{})
	o.Guest = g
	commit, err := w.save(o, Save{Ref: branchRef, Mine: true})
	w.wantErr(err, kind, words...)
	if commit != "" || w.at(branchRef) != "" {
		w.t.Error("it was pushed")
	}
}

func (w *world) wantErr(err error, kind fault.Kind, words ...string) {
	w.t.Helper()
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

// TestSaveOfLiars is about containers that hand out something else.
func TestSaveOfLiars(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	tip := w.commit("README", "changed\n")
	tree := w.git(w.work, "rev-parse", "HEAD^{tree}")
	header := tip + " " + tree + " " + tree + "\n"
	fine := w.packed(whole, tip, "^"+l.Commit)
	for name, c := range map[string]struct {
		guest liar
		kind  fault.Kind
		words string
	}{
		"nothing":     {says(), fault.Denied, "the container sent nothing"},
		"no line":     {says(strings.Repeat("x", 5000)), fault.Denied, "the container sent nothing"},
		"words":       {says("a b c\n"), fault.Denied, "sent invalid data"},
		"an option":   {says("--upload-pack=x "+tree+" "+tree+"\n", fine), fault.Denied, "sent invalid data"},
		"garbage":     {says(header, "PACK", strings.Repeat("x", 100)), fault.Denied, "sent invalid data"},
		"half":        {says(header, fine[:len(fine)/2]), fault.Denied, "sent invalid data"},
		"more":        {says(header, fine, strings.Repeat("x", 100)), fault.Denied, "sent invalid data"},
		"a wrong sum": {says(header, fine[:len(fine)-20], strings.Repeat("x", 20)), fault.Denied, "malformed git objects"},
		"another commit": {says(strings.Repeat("1", 40)+" "+tree+" "+tree+"\n", fine), fault.Denied,
			"objects are missing"},
		"no commit": {says(tree+" "+tree+" "+tree+"\n", fine), fault.Denied, "objects are missing"},
		"no tree":   {says(tip+" "+tip+" "+tree+"\n", fine), fault.Denied, "objects are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.refuses(l, c.guest, c.kind, c.words)
		})
	}
	w.t = t
	o := l.origin(Source{})
	o.Guest = says(header, fine)
	if got := w.mustSave(o, Save{Ref: branchRef, Mine: true}); w.git(w.bare(), "rev-parse", got+"^{tree}") != tree {
		t.Errorf("what is fine is refused, or changed: %s", got)
	}
}

// TestSaveForgedObjects are refused: others would check them out.
func TestSaveForgedObjects(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	for name, entries := range map[string]func(blob, tree string) string{
		"dotgit":       func(_, tree string) string { return "040000 tree " + tree + "\t.git\x00" },
		"dotGIT":       func(_, tree string) string { return "040000 tree " + tree + "\t.GIT\x00" },
		"git~1":        func(_, tree string) string { return "040000 tree " + tree + "\tgit~1\x00" },
		"dotdot":       func(_, tree string) string { return "040000 tree " + tree + "\t..\x00" },
		"modules link": func(blob, _ string) string { return "120000 blob " + blob + "\t.gitmodules\x00" },
		"modules":      func(blob, _ string) string { return "100644 blob " + blob + "\t.gitmodules\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			inner, err := w.tryGit(w.work, "100755 blob "+w.blob("#!/bin/sh\n")+"\tpost-checkout\x00", "mktree", "-z")
			if err != nil {
				t.Fatal(inner)
			}
			tree, err := w.tryGit(w.work, entries(w.blob("[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n"),
				strings.TrimSpace(inner)), "mktree", "-z", "--missing")
			if err != nil {
				t.Fatal(tree)
			}
			tree = strings.TrimSpace(tree)
			head := w.git(w.work, "rev-parse", l.Commit+"^{tree}")
			w.refuses(l, says(l.Commit+" "+tree+" "+head+"\n", w.packed(whole, tree)), fault.Denied, "could be an attack")
		})
	}
}

// TestSaveMissingObjects refuses a tree whose files did not come along.
func TestSaveMissingObjects(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	tree, err := w.tryGit(w.work, "100644 blob "+strings.Repeat("1", 40)+"\tx\x00", "mktree", "-z", "--missing")
	if err != nil {
		t.Fatal(tree)
	}
	tree = strings.TrimSpace(tree)
	pack, err := w.tryGit(w.work, tree+"\n", "pack-objects", "--stdout", "--quiet")
	if err != nil {
		t.Fatal(pack)
	}
	w.refuses(l, says(l.Commit+" "+tree+" "+w.git(w.work, "rev-parse", l.Commit+"^{tree}")+"\n", pack), fault.Denied,
		"could be an attack")
}

// TestSaveOfAnotherHistory is one that would put somebody else's in its place.
func TestSaveOfAnotherHistory(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.git("checkout", "-q", "--orphan", "other")
	l.write("README", "new history\n")
	l.git("commit", "-q", "-a", "-m", "other")
	w.refuses(l, l.guest, fault.Invalid, "does not go on from the commit that was cloned", l.Commit)
	for damage, words := range map[string]string{
		"rm -rf .git": "no repository in it any more",
		"mv .git ../elsewhere; ln -s ../elsewhere .git": "no repository in it any more",
		"rm -rf .git; git init -q":                      "has no commit",
		"rm -rf .git; git init -q; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x":         "is not in it any more",
		"git -c user.name=a -c user.email=a@b commit -q --amend -m x README; git reflog expire --all; git gc": "does not go on from",
	} {
		l := w.mustClone(Source{})
		if res, err := l.guest.Exec(t.Context(),
			guest.Command{Script: damage, Dir: l.dir, Stdin: strings.NewReader("")}); err != nil || res.Exit != 0 {
			t.Fatal(damage, res, err)
		}
		w.refuses(l, l.guest, fault.Invalid, words)
	}
}

// TestSaveEndless stops containers that send for ever, or never.
func TestSaveEndless(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	hash := strings.Repeat("1", 40)
	w.store.MaxBytes = 3 << 20
	endless := func(to io.Writer) error {
		_, err := io.WriteString(to, hash+" "+hash+" "+hash+"\nPACK")
		for err == nil {
			_, err = to.Write(make([]byte, 64<<10))
		}
		return err
	}
	w.refuses(l, liar(endless), fault.TooLarge, "3 MB")
	l.write("large", strings.Repeat("0123456789abcdef", 400_000)) // small when it is packed
	w.refuses(l, l.guest, fault.TooLarge, "3 MB")
	w.store.MaxBytes, w.store.Timeout = 0, 300*time.Millisecond
	w.refuses(l, waits{}, fault.Timeout, "300ms")
}

type waits struct{}

func (waits) Exec(ctx context.Context, _ guest.Command) (guest.Result, error) {
	<-ctx.Done()
	return guest.Result{}, context.Cause(ctx)
}

// TestWeigh refuses packs that are larger than they look.
func TestWeigh(t *testing.T) {
	w := newWorld(t)
	w.commit("a", strings.Repeat("line\n", 5000))
	w.commit("a", strings.Repeat("line\n", 5000)+"more\n")
	fine := w.packed(whole, "HEAD")
	if err := checkPack(strings.NewReader(fine), 1<<20); err != nil {
		t.Error(err)
	}
	if err := checkPack(strings.NewReader(fine), 10_000); !errors.Is(err, errHuge) {
		t.Errorf("too large: %v", err)
	}
	if err := checkPack(strings.NewReader(w.packed("--window=10 --depth=10", "HEAD")), 1<<20); !errors.Is(err, errPack) {
		t.Errorf("deltas: %v", err)
	}
	for name, pack := range map[string]string{
		"many":     forgedPack(1<<31, 3, 0, ""),
		"less":     forgedPack(1, 3, 10, "123456789"),
		"more":     forgedPack(1, 3, 10, "12345678901"),
		"huge":     forgedPack(1, 3, 1<<40, "1"),
		"kind 0":   forgedPack(1, 0, 1, "1"),
		"kind 5":   forgedPack(1, 5, 1, "1"),
		"no size":  "PACK\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\xb1", 100),
		"no zlib":  "PACK\x00\x00\x00\x02\x00\x00\x00\x01\x31xxxx",
		"version3": strings.Replace(fine, "\x02", "\x03", 1),
	} {
		if err := checkPack(strings.NewReader(pack), 1<<20); err == nil {
			t.Errorf("%s: it is taken for a pack", name)
		}
	}
}

// forgedPack is one that says how many objects it has, and of which kind and size
// its only one is.
func forgedPack(count uint32, kind byte, size uint64, text string) string {
	b := bytes.NewBufferString("PACK\x00\x00\x00\x02")
	binary.Write(b, binary.BigEndian, count)
	c := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		b.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	b.WriteByte(c)
	z := zlib.NewWriter(b)
	io.WriteString(z, text)
	z.Close()
	return b.String() + strings.Repeat("x", 20)
}

// FuzzWeigh never panics, and never takes long.
func FuzzWeigh(f *testing.F) {
	f.Add([]byte(forgedPack(1, 3, 3, "abc")))
	f.Fuzz(func(t *testing.T, pack []byte) { _ = checkPack(bytes.NewReader(pack), 1<<20) })
}

// TestSaveRunsNothing has every setting name a program.
func TestSaveRunsNothing(t *testing.T) {
	w := newSaveWorld(t)
	w.commit(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	w.push("main")
	l := w.mustClone(Source{})
	owned := filepath.Join(w.dir, "owned")
	run := "touch " + owned + "; cat"
	for name, value := range map[string]string{
		"core.fsmonitor": run, "filter.evil.clean": run, "filter.evil.smudge": run, "filter.evil.process": run,
		"filter.evil.required": "true",
		"diff.evil.textconv":   run, "diff.external": run, "core.sshCommand": run, "core.editor": run, "core.pager": run,
		"core.alternateRefsCommand": run,
		"gpg.program":               run, "commit.gpgSign": "true", "core.hooksPath": filepath.Join(l.dir, "hooks"),
		"protocol.ext.allow": "always",
		"remote.evil.url":    "ext::sh -c touch% " + owned, "remote.evil.promisor": "true", "extensions.partialClone": "evil",
		"core.repositoryFormatVersion": "1",
		"uploadpack.packObjectsHook":   run, "credential.helper": "!" + run, "alias.write-tree": "!" + run,
		"core.gitProxy": run,
	} {
		l.git("config", name, value)
	}
	for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction", "pre-push", "post-checkout",
		"fsmonitor-watchman"} {
		for _, dir := range []string{"hooks", ".git/hooks"} {
			l.write(dir+"/"+hook, "#!/bin/sh\n"+run+"\n")
			if err := os.Chmod(filepath.Join(l.dir, dir, hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.write("home/.gitconfig", "[core]\n\tfsmonitor = "+run+"\n")
	writeFile(t, l.guest.home, ".gitconfig", []byte("[core]\n\tfsmonitor = "+run+"\n"))
	l.write("README", "changed\n")
	os.Remove(owned)
	kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef})
	if _, err := os.Lstat(owned); err == nil {
		t.Error("something was run")
	}
	if w.git(w.bare(), "show", kept+":README") != "changed" {
		t.Error("the change is not there")
	}
}

// TestSaveOddIndex does without an index that is of no use.
func TestSaveOddIndex(t *testing.T) {
	w := newSaveWorld(t)
	for name, spoil := range map[string]func(l landing){
		"garbage":  func(l landing) { l.write(".git/index", "garbage") },
		"none":     func(l landing) { os.Remove(filepath.Join(l.dir, ".git/index")) },
		"split":    func(l landing) { l.git("update-index", "--split-index") },
		"unmerged": func(l landing) { l.git("rm", "-q", "--cached", "README") },
		"missing": func(l landing) {
			l.git("update-index", "--add", "--cacheinfo", "100644,"+strings.Repeat("1", 40)+",ghost")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := w.mustClone(Source{})
			l.write("new", "1\n")
			spoil(l)
			if kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef, Mine: true}); w.files(kept) != "README new" {
				t.Error(w.files(kept))
			}
		})
	}
}

// TestSaveSaysNo is about servers that do not want it.
func TestSaveSaysNo(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.write("README", "changed\n")
	receive := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(rw http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.RequestURI(), "git-receive-pack") {
				return false
			}
			if code == http.StatusUnauthorized {
				rw.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			}
			rw.WriteHeader(code)
			return true
		}
	}
	for code, want := range map[int]fault.Kind{401: fault.Denied, 403: fault.Denied, 404: fault.NotFound,
		500: fault.Unavailable, 503: fault.Unavailable} {
		w.behave(receive(code))
		w.refuses(l, l.guest, want)
	}
	w.behave(nil)
	writeFile(t, w.bare(), "hooks/pre-receive",
		[]byte("#!/bin/sh\nyes | head -c 100000 >&2\necho 'GH006: Protected branch update failed "+token+"' >&2\nexit 1\n"))
	if err := os.Chmod(filepath.Join(w.bare(), "hooks/pre-receive"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.refuses(l, l.guest, fault.Denied, "GH006: Protected branch", "protected")
	os.Remove(filepath.Join(w.bare(), "hooks/pre-receive"))
	w.server.Close()
	w.refuses(l, l.guest, fault.Unavailable, "cannot connect")
}

// TestSaveTokenStaysOutside looks for the token everywhere while and after a save
// runs with it.
func TestSaveTokenStaysOutside(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	l.write("README", "changed\n")
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
	kept := w.mustSave(l.origin(Source{}), Save{Ref: branchRef, Message: "the token is " + token})
	secrets := w.store.Keys.Secrets()
	for _, dir := range []string{w.store.Dir, l.guest.home} {
		if found := contains(t, dir, secrets...); found != nil {
			t.Errorf("the token is in %q", found)
		}
	}
	told := l.guest.said + strings.Join(w.steps, "\n") + w.git(w.bare(), "log", "-1", "--format=%B", kept)
	arguments.Range(func(key, _ any) bool { told += key.(string); return true })
	if !strings.Contains(told, "git\x00push") && !strings.Contains(told, "\x00push\x00") {
		t.Error("git was not seen")
	}
	for _, s := range secrets {
		if strings.Contains(told, s) {
			t.Error("the token was told")
		}
	}
}

// TestSaveKilled removes what a hako left that was killed.
func TestSaveKilled(t *testing.T) {
	w := newSaveWorld(t)
	l := w.mustClone(Source{})
	left := filepath.Join(w.store.Dir, "out-left")
	writeFile(t, left, "lock", nil)
	writeFile(t, left, "parcel", []byte("x"))
	if err := os.Chmod(filepath.Join(left, "lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.write("README", "changed\n")
	w.mustSave(l.origin(Source{}), Save{Ref: branchRef}) // looks for what is left
}
