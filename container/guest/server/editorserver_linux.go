package server

import (
	"context"
	"os"
	"strings"
	"sync"

	"hako/container/guest/procgroup"
	"hako/container/guest/wire"
	"hako/internal/editor"
	"hako/run/fault"
)

// undoMemory is how much the guest, which is to stay small, keeps for undoing.
const undoMemory = 4 << 20

// A editorServer answers calls of the text editor for the user of the commands.
type editorServer struct {
	root string // what the editor sees
	dir  string // what relative paths begin with

	mu     sync.Mutex
	editor *editor.Editor // nil before the first call
}

// open opens the root. It is called, as is what it returns, in the place of the
// user, on the goroutine that has that place.
func (s *editorServer) open() (*editor.Editor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.editor != nil {
		return s.editor, nil
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "edit below", Subject: s.root, Err: cause(err),
			Hint: "make the directory, or start the environment again"}
	}
	s.editor = &editor.Editor{Root: root, At: s.root, MaxHistory: undoMemory}
	return s.editor, nil
}

// answer makes one call. A reason not to write refuses all but views.
func (s *editorServer) answer(ctx context.Context, raw []byte, readOnly string) (editor.Result, error) {
	e, err := s.open()
	if err != nil {
		return editor.Result{}, err
	}
	var call editor.Call
	if call.UnmarshalJSON(raw) != nil {
		return e.Answer(ctx, raw), nil // says what is wrong with it
	}
	if readOnly != "" && call.Command != "view" {
		return editor.Result{Error: readOnly}, nil
	}
	if call.Path != "" && !strings.HasPrefix(call.Path, "/") {
		call.Path = s.dir + "/" + call.Path
	}
	return e.Do(ctx, call), nil
}

// edit passes a call on to the editor.
func (s *server) edit(ctx context.Context, call []byte) (result []byte, err error) {
	readOnly := ""
	if disk := s.exec.running.disk; disk.full() {
		readOnly = disk.fullNote()
	}
	denied := procgroup.As(s.exec.uid, s.exec.gid, func() {
		var done editor.Result
		if done, err = s.editor.answer(ctx, call, readOnly); err == nil {
			result = wire.JSON(done)
		}
	})
	if denied != nil {
		return nil, denied
	}
	return result, err
}
