package term

import (
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

// An Editor edits lines at a terminal. The terminal is raw only while a line is edited, so that commands print and
// Ctrl-C works as usual.
type Editor struct {
	in    *os.File
	keys  *keyboard
	edit  *term.Terminal
	saved atomic.Pointer[term.State] // the state before the current line
}

// Restore restores the terminal, also while a line is edited.
func (t *Editor) Restore() {
	if old := t.saved.Swap(nil); old != nil {
		_ = term.Restore(int(t.in.Fd()), old)
	}
}

// NewEditor returns an editor.
func NewEditor(in *os.File, typed io.Reader, out io.Writer) *Editor {
	keys := &keyboard{Reader: typed}
	screen := struct {
		io.Reader
		io.Writer
	}{keys, out}
	return &Editor{in: in, keys: keys, edit: term.NewTerminal(screen, "")}
}

// keyboard converts Ctrl-C to "delete the line and return": the editor would take it for the end of input.
type keyboard struct {
	io.Reader
	interrupted bool
}

const (
	ctrlC = 0x03
	ctrlU = 0x15
)

// Read implements [io.Reader].
func (k *keyboard) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return k.Reader.Read(p)
	}
	n, err := k.Reader.Read(p[:len(p)-1])
	if n > 0 && p[n-1] == ctrlC {
		k.interrupted = true
		p[n-1], p[n] = ctrlU, '\r'
		n++
	}
	return n, err
}

// Interrupted reports whether Ctrl-C was typed, and resets that.
func (t *Editor) Interrupted() bool {
	was := t.keys.interrupted
	t.keys.interrupted = false
	return was
}

// Line reads one line with editing, history and completion.
func (t *Editor) Line(prompt string) (string, error) {
	old, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return "", err
	}
	t.saved.Store(old)
	defer t.Restore()
	if w, h, err := term.GetSize(int(t.in.Fd())); err == nil && w > 0 {
		_ = t.edit.SetSize(w, h)
	}
	t.edit.SetPrompt(prompt)
	return t.edit.ReadLine()
}

// Write prints text above the line that is edited.
func (t *Editor) Write(p []byte) (int, error) { return t.edit.Write(p) }
