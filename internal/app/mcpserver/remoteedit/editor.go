// Package remoteedit is the text editor of sandboxes whose files can only be reached
// by running commands in them.
//
// Inside are the commands that fetch a file and put it back, and the desk on
// which it is edited meanwhile. Deliberately not inside is what an edit does to a
// text: that is package editor's, which works on the copy. The rule to keep: the
// sandbox's files are touched by its runner alone, so that its rules, walls and
// storedOutput hold for edits as for all else; hako's own rights end at the desk.
package remoteedit

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"hako/internal/editor"
	"hako/internal/ownerfile"
	"hako/run"
	"hako/run/fault"
)

// A Editor edits the files of one sandbox. It is safe for concurrent use; edits
// wait for each other.
type Editor struct {
	Runner  run.Runner // of the sandbox, behind its gate; required
	MaxFile int64      // bytes of the largest file; zero means 10 MB

	// Hold charges memory that is about to be kept, and is given it back as less
	// than zero. Nil means that nobody counts.
	Hold func(bytes int64) error

	mu     sync.Mutex     // held during a call
	dir    *ownerfile.Dir // nil before the first edit, as are those below
	desk   *os.Root       // where the copy lies; empty between calls
	editor *editor.Editor // remembers what can be undone
	held   int64          // charged for that
}

const (
	usualFile = 10 << 20
	history   = 4 << 20 // bytes kept for undoing: there may be a thousand sandboxes
)

func (s *Editor) maxFile() int64 {
	if s.MaxFile > 0 {
		return s.MaxFile
	}
	return usualFile
}

// Edit carries out a call as its caller wrote it, and returns what the caller is
// to read. ID and actor of what is run for it are taken from req.
func (s *Editor) Edit(ctx context.Context, req *run.Request, raw []byte) (string, error) {
	var c editor.Call
	if err := c.UnmarshalJSON(raw); err != nil {
		return "", err
	}
	// An editor without a directory says what is wrong with a call and denies
	// the rest: nothing is run for a call that makes no sense.
	if err := new(editor.Editor).Do(ctx, c).Fault; fault.KindOf(err) != fault.Denied {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.sit(); err != nil {
		return "", err
	}
	e := &sandboxRun{scribe: s, req: req, call: &c, path: c.Path}
	return e.run(ctx)
}

// sit makes the desk when the first file is edited.
func (s *Editor) sit() (err error) {
	if s.editor != nil {
		return nil
	}
	if s.dir == nil {
		if s.dir, err = ownerfile.MakeDir("", "hako-edit-"); err != nil {
			return noDesk(err)
		}
	}
	top := filepath.Join(s.dir.Path, "desk") // beside the lock
	if err = os.MkdirAll(top, 0o700); err == nil {
		s.desk, err = os.OpenRoot(top)
	}
	if err != nil {
		return noDesk(err)
	}
	s.editor = &editor.Editor{Root: s.desk, MaxFile: s.maxFile(), MaxHistory: history}
	return nil
}

func noDesk(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "edit", Why: "there is no place for a copy of the file", Err: err,
		Hint: "make room in the directory for temporary files"}
}

// Close gives up the desk. Nothing is edited afterwards.
func (s *Editor) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.desk != nil {
		_ = s.desk.Close()
	}
	if s.dir == nil {
		return nil
	}
	s.letGo()
	dir := s.dir
	s.dir, s.desk, s.editor = nil, nil, nil
	return dir.Remove()
}

// keep charges what a file has now: the editor remembers it, so that the edit can
// be undone. It never remembers more than its history holds.
func (s *Editor) keep(bytes int64) error {
	more := min(bytes, history-s.held)
	if s.Hold == nil || more <= 0 {
		return nil
	}
	if err := s.Hold(more); err != nil {
		return err
	}
	s.held += more
	return nil
}

// letGo gives back what was charged.
func (s *Editor) letGo() {
	if s.Hold != nil && s.held > 0 {
		_ = s.Hold(-s.held)
	}
	s.held = 0
}

// run fetches what the call is about, has it edited and puts it back.
func (e *sandboxRun) run(ctx context.Context) (string, error) {
	found, err := e.look(ctx)
	if err != nil {
		return "", err
	}
	if found.what == directory && e.call.Command == "view" && len(e.call.ViewRange) == 0 {
		return e.list(ctx, found.path)
	}
	if strings.HasSuffix(e.call.Path, "/") && found.what == nothing {
		found.path += "/" // the editor wants to know
	}
	e.call.Path = found.path
	return e.edit(ctx, found)
}

// edit has the editor work on a copy, and puts back what has changed.
func (e *sandboxRun) edit(ctx context.Context, found target) (string, error) {
	defer e.clear(found.path)
	if e.call.Command != "view" {
		if err := e.scribe.keep(int64(len(found.text))); err != nil {
			return "", err
		}
	}
	if err := e.lay(found); err != nil {
		return "", err
	}
	done := e.scribe.editor.Do(ctx, *e.call)
	if done.Fault != nil {
		return "", done.Fault
	}
	after, err := e.scribe.desk.ReadFile(inside(found.path))
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !gone:
		return "", noDesk(err)
	case found.what == file && !gone && bytes.Equal(after, found.text):
		return done.Content, nil
	}
	if err := e.putBack(ctx, found, after, gone); err != nil {
		// What did not get into the sandbox must not be undone there later.
		_ = e.scribe.editor.Do(context.WithoutCancel(ctx), editor.Call{Command: "undo_edit", Path: found.path})
		return "", err
	}
	return done.Content, nil
}

// inside is where the copy of a file lies.
func inside(p string) string { return strings.Trim(path.Clean(p), "/") }

// lay puts a copy of what was found on the desk.
func (e *sandboxRun) lay(found target) (err error) {
	at := inside(found.path)
	switch found.what {
	case directory:
		if at != "" {
			err = e.scribe.desk.MkdirAll(at, 0o700)
		}
	case file:
		if err = e.scribe.desk.MkdirAll(path.Dir(at), 0o700); err == nil {
			err = e.scribe.desk.WriteFile(at, found.text, 0o600)
		}
	}
	if err != nil {
		return noDesk(err)
	}
	return nil
}

// clear takes everything off the desk.
func (e *sandboxRun) clear(p string) {
	top, _, _ := strings.Cut(inside(p), "/")
	if top != "" {
		_ = e.scribe.desk.RemoveAll(top)
	}
}
