package remoteedit

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is a record in memory.
type journal struct {
	mu     sync.Mutex
	events []audit.Event
}

func (j *journal) Append(e audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	return nil
}

// A room is a virtual sandbox with a scribe.
type room struct {
	*testing.T
	*Editor
	log journal
}

func open(t *testing.T, rules string) *room {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	gauge := quota.NewLimiter(quota.Lenient())
	s := shell.New(shell.Options{FS: vfs.New(vfs.Options{Limiter: gauge}), Commands: command.All(), Limiter: gauge,
		Parse: policy.ParseScript})
	t.Cleanup(s.Close)
	more, err := policy.Parse("test.policy", strings.NewReader(rules))
	if err != nil {
		t.Fatal(err)
	}
	r := &room{T: t}
	g := gate.New(s, gate.Options{Policy: policy.Virtual().With(more), Budget: quota.New(quota.Unlimited()), Log: &r.log})
	r.Editor = &Editor{Runner: g}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
			t.Errorf("%v is left behind", left)
		}
	})
	return r
}

func (r *room) sh(script string) string {
	r.Helper()
	var out strings.Builder
	if _, err := r.Runner.Run(r.Context(), &run.Request{Script: script, Stdout: &out, Stderr: &out}); err != nil {
		r.Fatal(err)
	}
	return out.String()
}

func (r *room) edit(call map[string]any) (string, error) {
	r.Helper()
	raw, _ := json.Marshal(call)
	return r.Edit(r.Context(), &run.Request{ID: "call", Actor: "tester"}, raw)
}

// does makes an edit that must succeed.
func (r *room) does(call map[string]any) string {
	r.Helper()
	said, err := r.edit(call)
	if err != nil {
		r.Fatalf("%v: %v", call, err)
	}
	return said
}

// fails makes an edit that must not.
func (r *room) fails(call map[string]any, kind fault.Kind, why string) {
	r.Helper()
	said, err := r.edit(call)
	if err == nil || fault.KindOf(err) != kind || !strings.Contains(err.Error(), why) {
		r.Errorf("%v: %q, %v: %v", call, said, fault.KindOf(err), err)
	}
}

func (r *room) holds(file, want string) {
	r.Helper()
	if got := r.sh("cat " + file); got != want {
		r.Errorf("%s has %q, want %q", file, got, want)
	}
}

type m = map[string]any

func TestEdits(t *testing.T) {
	r := open(t, "")
	r.does(m{"command": "create", "path": "/box/new/deep/a.txt", "file_text": "one\r\ntwo\r\n\tthree"})
	r.holds("new/deep/a.txt", "one\r\ntwo\r\n\tthree")
	r.does(m{"command": "str_replace", "path": "/box/new/deep/a.txt", "old_str": "two", "new_str": "zwei"})
	r.does(m{"command": "insert", "path": "/box/new/deep/a.txt", "insert_line": 0, "insert_text": "zero"})
	r.holds("new/deep/a.txt", "zero\r\none\r\nzwei\r\n\tthree")
	if said := r.does(m{"command": "view", "path": "/box/new/deep/a.txt"}); !strings.Contains(said, "zwei") {
		t.Errorf("view: %q", said)
	}
	for _, want := range []string{"one\r\nzwei\r\n\tthree", "one\r\ntwo\r\n\tthree"} {
		r.does(m{"command": "undo_edit", "path": "/box/new/deep/a.txt"})
		r.holds("new/deep/a.txt", want)
	}
	r.does(m{"command": "undo_edit", "path": "/box/new/deep/a.txt"})
	if said := r.sh("ls -A new/deep"); said != "" {
		t.Errorf("left: %q", said)
	}
}

// A relative path begins where the sandbox stands, and links are followed.
func TestPaths(t *testing.T) {
	r := open(t, "")
	r.sh("mkdir d && cd d && echo old > 'my file' && ln -s 'my file' link && chmod 600 'my file'")
	r.does(m{"command": "str_replace", "path": "link", "old_str": "old", "new_str": "new"})
	r.holds("'/box/d/my file'", "new\n")
	if said := r.sh("ls -l /box/d"); !strings.Contains(said, "link -> ") || !strings.Contains(said, "-rw-------") {
		t.Errorf("link or mode is lost:\n%s", said)
	}
	r.does(m{"command": "create", "path": "-rf", "file_text": "dash\n"})
	r.holds("./-rf", "dash\n")
	r.does(m{"command": "create", "path": "$(touch x)'\"", "file_text": "quoted\n"})
	if said := r.sh("ls"); strings.Contains(said, "\nx\n") {
		t.Errorf("a path was run: %s", said)
	}
}

func TestDirectory(t *testing.T) {
	r := open(t, "")
	r.sh("mkdir -p d/sub/deep d/.hidden; touch d/b d/sub/c d/sub/deep/e d/.hidden/x d/a")
	want := "/box/d\n/box/d/a\n/box/d/b\n/box/d/sub\n/box/d/sub/c\n/box/d/sub/deep\n"
	if said := r.does(m{"command": "view", "path": "/box/d"}); said != want {
		t.Errorf("%q", said)
	}
	r.fails(m{"command": "view", "path": "/box/d", "view_range": []int{1, 2}}, fault.Invalid, "directory")
	r.fails(m{"command": "str_replace", "path": "/box/d", "old_str": "x"}, fault.Invalid, "directory")
}

func TestRefusals(t *testing.T) {
	r := open(t, "")
	r.sh(`echo text > a; printf 'x\0y' > binary`)
	r.fails(m{"command": "create", "path": "/box/a", "file_text": "x"}, fault.Invalid, "exists")
	r.fails(m{"command": "create", "path": "/box/n/", "file_text": "x"}, fault.Invalid, "slash")
	r.fails(m{"command": "create", "path": "/box/a/b", "file_text": "x"}, fault.Invalid, "")
	r.fails(m{"command": "view", "path": "/box/none"}, fault.NotFound, "")
	r.fails(m{"command": "view", "path": "/box/binary"}, fault.Invalid, "not text")
	r.fails(m{"command": "str_replace", "path": "/box/a", "old_str": "nowhere"}, fault.Invalid, "did not appear")
	r.fails(m{"command": "undo_edit", "path": "/box/a"}, fault.NotFound, "No edit history")
	r.fails(m{"command": "view", "path": "a\nb"}, fault.Invalid, "cannot be a path")
	r.holds("a", "text\n")
}

// Nothing is run for a call that makes no sense.
func TestNonsense(t *testing.T) {
	r := open(t, "")
	for _, call := range []m{{"command": "burn", "path": "/a"}, {"command": "view"},
		{"command": "view", "path": "/a", "old_str": "x"}, {"path": "/a"}, {"command": "create", "path": "/a"}} {
		r.fails(call, fault.Invalid, "")
	}
	if len(r.log.events) > 0 {
		t.Errorf("ran: %v", r.log.events)
	}
}

func TestTooLarge(t *testing.T) {
	r := open(t, "")
	r.MaxFile = 1000
	r.sh("seq 100000 > big")
	r.fails(m{"command": "view", "path": "/box/big"}, fault.TooLarge, "1000")
}

// A file that somebody else changed since it was seen is not edited blindly.
func TestChangedByOthers(t *testing.T) {
	r := open(t, "")
	r.does(m{"command": "create", "path": "/box/a", "file_text": "one\n"})
	r.sh("echo two > a")
	r.fails(m{"command": "undo_edit", "path": "/box/a"}, fault.Invalid, "changed")
	r.fails(m{"command": "str_replace", "path": "/box/a", "old_str": "two", "new_str": "x"}, fault.Invalid, "changed")
	r.does(m{"command": "view", "path": "/box/a"})
	r.does(m{"command": "str_replace", "path": "/box/a", "old_str": "two", "new_str": "three"})
	r.holds("a", "three\n")
}

// The sandbox's rules hold for edits, and the record has them.
func TestRulesAndRecord(t *testing.T) {
	r := open(t, "deny mv\ndeny cat /box/secret\n")
	r.sh("echo one > a; echo hush > secret")
	r.log.events = nil
	r.fails(m{"command": "str_replace", "path": "/box/a", "old_str": "one", "new_str": "two"}, fault.Denied, "mv")
	r.holds("a", "one\n")
	r.fails(m{"command": "view", "path": "/box/secret"}, fault.Denied, "")
	r.fails(m{"command": "undo_edit", "path": "/box/a"}, fault.NotFound, "No edit history")
	if left := r.sh("ls -A"); left != "a\nsecret\n" {
		t.Errorf("left: %q", left)
	}
	first := r.log.events[0]
	if first.What != audit.Asked || first.Actor != "tester" || first.ID != "call/1" ||
		!strings.Contains(first.Script, "/box/a") || first.Reason != "text_editor str_replace" {
		t.Errorf("%+v", first)
	}
}

// The copy does not outlive the call.
func TestDeskIsEmpty(t *testing.T) {
	r := open(t, "")
	r.does(m{"command": "create", "path": "/box/a", "file_text": "private\n"})
	r.does(m{"command": "view", "path": "/box/a"})
	_ = filepath.WalkDir(os.TempDir(), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			t.Errorf("%s is left", p)
		}
		return err
	})
}

func TestGivenUp(t *testing.T) {
	r := open(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Edit(ctx, &run.Request{}, []byte(`{"command":"create","path":"/box/a","file_text":"x"}`)); err == nil {
		t.Error("it was made")
	}
	if said := r.sh("ls -A /box"); said != "" {
		t.Errorf("%q", said)
	}
}
