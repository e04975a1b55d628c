package editor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"hako/run/fault"
)

func (e *Editor) create(ctx context.Context, c *Call, p filePath) (string, error) {
	raw := []byte(*c.FileText)
	d := parse(raw, plainUTF8)
	switch {
	case p.info != nil:
		return "", c.existsError()
	case strings.HasSuffix(c.Path, "/"):
		return "", c.refuse(fault.Invalid, "the path ends in a slash", "name a file; its directories are made with it")
	case d.binary():
		return "", c.refuse(fault.Invalid, "file_text is not text", "leave out NUL and other control characters")
	}
	if err := (&openFile{e: e, c: c}).checkSize(int64(len(raw))); err != nil {
		return "", err
	}
	dirs, err := e.directories(c, path.Dir(p.rel))
	if err == nil {
		err = e.make(ctx, c, p, raw)
	}
	if err != nil {
		e.removeEmpty(dirs)
		return "", err
	}
	sum := sha256.Sum256(raw)
	e.memory.setSeen(p.rel, sum, plainUTF8)
	e.addUndo(p.rel, step{after: sum, created: true, dirs: dirs})
	return "File created successfully at: " + c.displayPath(), nil
}

func (e *Editor) make(ctx context.Context, c *Call, p filePath, raw []byte) error {
	s, err := e.enterLocked(ctx, c, p)
	if err != nil {
		return err
	}
	defer s.close()
	return s.create(raw)
}

// directories makes a directory and its parents, and returns those that are new, outermost first.
func (e *Editor) directories(c *Call, rel string) (made []string, err error) {
	if rel == "." {
		return nil, nil
	}
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		err := e.Root.Mkdir(rel[:i], 0o777)
		switch {
		case err == nil:
			made = append(made, rel[:i])
		case !errors.Is(err, fs.ErrExist):
			return made, e.osError(c, "its directory cannot be made", err)
		}
	}
	return made, nil
}

// removeEmpty removes directories that this editor made, if they are empty.
func (e *Editor) removeEmpty(dirs []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		info, err := e.Root.Lstat(dirs[i])
		if err != nil || !info.IsDir() || e.Root.Remove(dirs[i]) != nil {
			return
		}
	}
}

func (e *Editor) addUndo(rel string, s step) {
	e.memory.addStep(rel, s, cmp.Or(e.MaxUndo, defaultMaxUndo), cmp.Or(e.MaxHistory, defaultMaxHistory))
}

func (e *Editor) replace(ctx context.Context, c *Call, p filePath) (string, error) {
	text := ""
	if c.NewStr != nil {
		text = *c.NewStr
	}
	if *c.OldStr == text {
		return "", c.refuse(fault.Invalid, "old_str and new_str are the same", "give the text as it should become")
	}
	if *c.OldStr == "" {
		return "", c.refuse(fault.Invalid, "old_str is empty", "use insert to add text without replacing any")
	}
	return e.change(ctx, c, p, func(d *document) (from, to int, added string, err error) {
		old := d.withLineEnds(*c.OldStr)
		if d.set.codec != nil && !utf8.ValidString(old) { // it could match inside of a character
			return 0, 0, "", c.refuse(fault.Invalid, "old_str is not UTF-8, and the file has another encoding",
				"give whole characters")
		}
		from, err = e.choose(c, p, d, old)
		return from, from + len(old), d.withLineEnds(text), err
	})
}

func (e *Editor) insert(ctx context.Context, c *Call, p filePath) (string, error) {
	return e.change(ctx, c, p, func(d *document) (from, to int, added string, err error) {
		line, n := *c.InsertLine, d.lines()
		if line < 0 || line > n {
			return 0, 0, "", c.verbatimError(fault.Invalid, "view the file to see its lines",
				"Invalid `insert_line` parameter: %d. It should be within the range of lines of the file: [0, %d]", line, n)
		}
		at := d.start(line + 1)
		return at, at, d.withLineEnds(wholeLines(c.inserted(), d.noFinalNewline() && line == n)), nil
	})
}

// wholeLines completes a text to whole lines. After a last line without a line end it prepends one instead.
func wholeLines(text string, afterOpen bool) string {
	if afterOpen {
		return "\n" + text
	}
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// change edits a file: how returns which part of the text is replaced, and by what.
func (e *Editor) change(ctx context.Context, c *Call, p filePath, how func(*document) (from, to int, added string,
	err error)) (string, error) {
	if err := c.editable(p); err != nil {
		return "", err
	}
	s, err := e.enterLocked(ctx, c, p)
	if err != nil {
		return "", err
	}
	defer s.close()
	d, err := s.load(os.O_RDWR)
	if err != nil {
		return "", err
	}
	if e.memory.changed(p.rel, d.sum) {
		return "", c.changedError()
	}
	from, to, added, err := how(d)
	if err != nil {
		return "", err
	}
	part, err := d.splice(from, to, added)
	if err != nil {
		return "", c.refuse(fault.Invalid, err.Error(),
			"use characters that the encoding of the file has, or convert the file first")
	}
	after, err := s.write(d, part)
	if err != nil {
		return "", err
	}
	done := sha256.Sum256(after.raw)
	e.memory.setSeen(p.rel, done, after.set)
	e.addUndo(p.rel, step{before: d.sum, after: done, undo: part.back(d.raw)})
	return edited(c, after, from, len(added)), nil
}

// write replaces the file if the result is still a text file.
func (s *openFile) write(d *document, part splice) (*document, error) {
	if err := s.checkSize(int64(len(d.raw) - part.cut + len(part.bytes))); err != nil {
		return nil, err
	}
	after := parse(part.apply(d.raw), d.set)
	if after.binary() {
		return nil, s.c.refuse(fault.Invalid, "the file would no longer be text",
			"leave out NUL and other control characters")
	}
	return after, s.replace(after.raw)
}

// editable rejects what is not a file.
func (c *Call) editable(p filePath) error {
	switch {
	case p.info == nil:
		return c.notFoundError()
	case p.info.IsDir():
		return c.directoryError()
	}
	return nil
}

// contextLines is how many lines are shown before and after an edit.
const contextLines = 4

// edited describes an edit.
func edited(c *Call, d *document, from, length int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The file %s has been edited.", c.displayPath())
	n := d.lines()
	if n == 0 {
		return b.String() + " It is empty now."
	}
	first, last := d.line(from), d.line(max(from, from+length-1))
	first, last = max(1, first-contextLines), min(n, last+contextLines)
	fmt.Fprintf(&b, " Lines %d to %d are now:\n", first, last)
	if shown := d.show(&b, first, last, defaultMaxView/4); shown < last {
		fmt.Fprintf(&b, "[lines %d to %d are not shown]\n", shown+1, last)
	}
	return b.String()
}

func (e *Editor) undo(ctx context.Context, c *Call, p filePath) (string, error) {
	last, ok := e.memory.last(p.rel)
	switch {
	case p.info == nil && ok:
		return "", c.changedSinceError()
	case p.info != nil && p.info.Mode().IsRegular() && !ok:
		return "", c.verbatimError(fault.NotFound, "only edits by this editor can be undone, the last ones of each file",
			"No edit history found for %s.", c.displayPath())
	}
	if err := c.editable(p); err != nil {
		return "", err
	}
	s, err := e.enterLocked(ctx, c, p)
	if err != nil {
		return "", err
	}
	defer s.close()
	if err := s.undoStep(last); err != nil {
		return "", err
	}
	e.memory.removeStep(p.rel)
	if last.created {
		e.removeEmpty(last.dirs)
		return fmt.Sprintf("The creation of %s has been undone: the file is gone.", c.displayPath()), nil
	}
	return fmt.Sprintf("The last edit of %s has been undone.", c.displayPath()), nil
}

// undoStep undoes an edit.
func (s *openFile) undoStep(last step) error {
	raw, err := s.read(os.O_RDWR)
	if err != nil {
		return err
	}
	if sha256.Sum256(raw) != last.after {
		return s.c.changedSinceError()
	}
	if !last.created {
		return s.replace(last.undo.apply(raw))
	}
	if err := s.checkUnchanged(); err != nil {
		return err
	}
	if err := s.dir.Remove(s.name); err != nil {
		return s.e.osError(s.c, "it cannot be removed", err)
	}
	return nil
}

func (c *Call) changedSinceError() error {
	return c.refuse(fault.Invalid, "the file changed since that edit, and undoing would lose the change",
		"view it and edit it by hand")
}
