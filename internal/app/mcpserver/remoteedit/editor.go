// Package remoteedit is the text editor of sandboxes whose files can be reached only by running commands in them.
//
// It fetches a file with commands, lets package editor edit a copy in a temporary directory, and writes it back with
// commands. Only the runner touches the files of the sandbox, so that its rules, limits and record apply.
package remoteedit

import (
	"bytes"
	"cmp"
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

// An Editor edits the files of one sandbox. It is safe for concurrent use; edits run one at a time.
type Editor struct {
	Runner  run.Runner // of the sandbox, behind its gate; required
	MaxFile int64      // bytes; zero means 10 MB

	// Hold charges memory, or releases it if negative. Nil means that it is not charged.
	Hold func(bytes int64) error

	mu       sync.Mutex     // held during a call
	dir      *ownerfile.Dir // nil before the first edit, like copyRoot and editor
	copyRoot *os.Root       // holds the copy during a call
	editor   *editor.Editor // keeps the undo history
	held     int64          // bytes charged for the history
}

const (
	defaultMaxFile = 10 << 20
	history        = 4 << 20 // bytes of the undo history: there may be a thousand sandboxes
)

func (s *Editor) maxFile() int64 { return cmp.Or(s.MaxFile, defaultMaxFile) }

// Edit carries out a call and returns what the client reads. Requests get the actor of req, and IDs derived from its
// ID.
func (s *Editor) Edit(ctx context.Context, req *run.Request, raw []byte) (string, error) {
	var c editor.Call
	if err := c.UnmarshalJSON(raw); err != nil {
		return "", err
	}
	// An editor without a directory validates the call and denies it if it is valid: nothing runs for an
	// invalid call.
	if err := new(editor.Editor).Do(ctx, c).Fault; fault.KindOf(err) != fault.Denied {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openDir(); err != nil {
		return "", err
	}
	e := &sandboxRun{editor: s, req: req, call: &c, path: c.Path}
	return e.run(ctx)
}

// openDir makes the temporary directory on first use.
func (s *Editor) openDir() (err error) {
	if s.editor != nil {
		return nil
	}
	if s.dir == nil {
		if s.dir, err = ownerfile.MakeDir("", "hako-edit-"); err != nil {
			return noCopyDir(err)
		}
	}
	top := filepath.Join(s.dir.Path, "desk") // the lock is beside it
	if err = os.MkdirAll(top, 0o700); err == nil {
		s.copyRoot, err = os.OpenRoot(top)
	}
	if err != nil {
		return noCopyDir(err)
	}
	s.editor = &editor.Editor{Root: s.copyRoot, MaxFile: s.maxFile(), MaxHistory: history}
	return nil
}

func noCopyDir(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "edit", Why: "there is no place for a copy of the file", Err: err,
		Hint: "make room in the directory for temporary files"}
}

// Close removes the temporary directory.
func (s *Editor) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copyRoot != nil {
		_ = s.copyRoot.Close()
	}
	if s.dir == nil {
		return nil
	}
	s.releaseHistory()
	dir := s.dir
	s.dir, s.copyRoot, s.editor = nil, nil, nil
	return dir.Remove()
}

// chargeHistory charges the memory of the undo history for a file.
func (s *Editor) chargeHistory(bytes int64) error {
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

// releaseHistory releases the charged memory.
func (s *Editor) releaseHistory() {
	if s.Hold != nil && s.held > 0 {
		_ = s.Hold(-s.held)
	}
	s.held = 0
}

// run fetches the file, edits it and writes it back.
func (e *sandboxRun) run(ctx context.Context) (string, error) {
	found, err := e.fetch(ctx)
	if err != nil {
		return "", err
	}
	if found.what == directory && e.call.Command == "view" && len(e.call.ViewRange) == 0 {
		return e.list(ctx, found.path)
	}
	if strings.HasSuffix(e.call.Path, "/") && found.what == nothing {
		found.path += "/" // the editor needs to know
	}
	e.call.Path = found.path
	return e.edit(ctx, found)
}

// edit edits a copy, and writes back what has changed.
func (e *sandboxRun) edit(ctx context.Context, found target) (string, error) {
	defer e.removeCopy(found.path)
	if e.call.Command != "view" {
		if err := e.editor.chargeHistory(int64(len(found.text))); err != nil {
			return "", err
		}
	}
	if err := e.createCopy(found); err != nil {
		return "", err
	}
	done := e.editor.editor.Do(ctx, *e.call)
	if done.Fault != nil {
		return "", done.Fault
	}
	after, err := e.editor.copyRoot.ReadFile(copyPath(found.path))
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !gone:
		return "", noCopyDir(err)
	case found.what == file && !gone && bytes.Equal(after, found.text):
		return done.Content, nil
	}
	if err := e.putBack(ctx, found, after, gone); err != nil {
		// What was not written back must not be undone later.
		_ = e.editor.editor.Do(context.WithoutCancel(ctx), editor.Call{Command: "undo_edit", Path: found.path})
		return "", err
	}
	return done.Content, nil
}

// copyPath returns the path of the copy.
func copyPath(p string) string { return strings.Trim(path.Clean(p), "/") }

// createCopy creates the copy.
func (e *sandboxRun) createCopy(found target) (err error) {
	at := copyPath(found.path)
	switch found.what {
	case directory:
		if at != "" {
			err = e.editor.copyRoot.MkdirAll(at, 0o700)
		}
	case file:
		if err = e.editor.copyRoot.MkdirAll(path.Dir(at), 0o700); err == nil {
			err = e.editor.copyRoot.WriteFile(at, found.text, 0o600)
		}
	}
	if err != nil {
		return noCopyDir(err)
	}
	return nil
}

// removeCopy removes the copy.
func (e *sandboxRun) removeCopy(p string) {
	top, _, _ := strings.Cut(copyPath(p), "/")
	if top != "" {
		_ = e.editor.copyRoot.RemoveAll(top)
	}
}
