package descriptors

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path"

	"hako/run/fault"
	"hako/shell/vfs"
)

//go:embed open.md
var openText string

type openInput struct {
	Path string `json:"path"`
	Mode string `json:"mode,omitempty" jsonschema:"r (default), w: empty it first, a: append"`
}

var modes = map[string]int{
	"": os.O_RDONLY, "r": os.O_RDONLY,
	"w": os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
	"a": os.O_WRONLY | os.O_CREATE | os.O_APPEND,
}

// open implements the tool open.
func (d *Table) open(_ context.Context, in openInput) (string, error) {
	answer, err := d.openFile(in)
	if err != nil && d.opts.Refused != nil {
		d.opts.Refused(in.Path, cmp.Or(in.Mode, "r"), err)
	}
	return answer, err
}

func (d *Table) openFile(in openInput) (string, error) {
	bad := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: quoteControl(in.Path), Why: why, Hint: hint}
	}
	flag, ok := modes[in.Mode]
	switch {
	case in.Path == "":
		return "", bad("the path is empty", "name a file")
	case !ok:
		return "", bad("the mode "+quoteControl(in.Mode)+" is none of r, w, a",
			"open the file once for reading and once for writing if you need both")
	case d.opts.Files == nil:
		return "", &fault.Error{Kind: fault.Denied, Op: "open", Subject: quoteControl(in.Path), Why: "no files were granted",
			Hint: "use the descriptors there are"}
	}
	if err := d.checkOpenLimit("open"); err != nil {
		return "", err
	}
	f, err := d.opts.Files.Open(d.path(in.Path), flag, 0o666)
	if err == nil && f.IsDir() {
		_ = f.Close()
		err = vfs.ErrIsDir
	}
	if err != nil {
		return "", fileFault("open", in.Path, err)
	}
	return d.addFile(f, in), nil
}

func (d *Table) path(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return d.opts.Dir + "/" + name
}

// addFile adds an open file.
func (d *Table) addFile(f *vfs.File, in openInput) string {
	des := &descriptor{name: quoteControl(in.Path), details: "(opened for appending)", out: writeSide{file: f}}
	switch in.Mode {
	case "w":
		des.details = "(opened for writing)"
	case "", "r":
		des.details = inputDetails(Input{Reader: f, Size: f.Size()})
		des.in, des.out = &readSide{feed: &asyncReader{r: f}}, writeSide{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	fd := d.add(des)
	return encode(struct {
		Success bool   `json:"success"`
		FD      int    `json:"fd"`
		About   string `json:"about"`
	}{true, fd, des.name + " " + des.details})
}

// checkOpenLimit returns an error if too many descriptors are open.
func (d *Table) checkOpenLimit(op string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.table); n > d.opts.Limits.MaxOpen-3 {
		return &fault.Error{Kind: fault.Unavailable, Op: op, Why: "too many descriptors are open",
			Hint: "close those that you no longer need; " + d.openHint()}
	}
	return nil
}

// fileFault explains an error of a file to the model.
func fileFault(op, name string, err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) && f.Hint != "" {
		return err
	}
	e := &fault.Error{Kind: fault.KindOf(err), Op: op, Subject: quoteControl(name), Why: vfs.Reason(err),
		Hint: "use another file"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Hint = fault.NotFound, "there are only granted files and those that scripts made; spawn ls to see them"
	case errors.Is(err, vfs.ErrReadOnly), errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = fault.Denied, "it was granted for reading only; write to fd 1, or to a file under /tmp"
	case errors.Is(err, vfs.ErrIsDir):
		e.Kind, e.Hint = fault.Invalid, "spawn ls to see what is in it"
	}
	return e
}
