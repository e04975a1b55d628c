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

// undoMemory limits the undo history: the guest must stay small.
const undoMemory = 4 << 20

// An editorServer runs the text editor as the user of the commands.
type editorServer struct {
	root string // directory that the editor sees
	dir  string // base of relative paths

	mu     sync.Mutex
	editor *editor.Editor // nil before the first call
}

// open opens the root. It and the editor must be used on the goroutine that acts as the user.
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

// answer makes one call. A reason in readOnly refuses everything but view.
func (s *editorServer) answer(ctx context.Context, raw []byte, readOnly string) (editor.Result, error) {
	e, err := s.open()
	if err != nil {
		return editor.Result{}, err
	}
	var call editor.Call
	if call.UnmarshalJSON(raw) != nil {
		return e.Answer(ctx, raw), nil // reports what is wrong with it
	}
	if readOnly != "" && call.Command != "view" {
		return editor.Result{Error: readOnly}, nil
	}
	if call.Path != "" && !strings.HasPrefix(call.Path, "/") {
		call.Path = s.dir + "/" + call.Path
	}
	return e.Do(ctx, call), nil
}

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
