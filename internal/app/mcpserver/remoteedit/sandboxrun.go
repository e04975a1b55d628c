package remoteedit

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hako/internal/editor"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// A sandboxRun runs the commands for one call.
type sandboxRun struct {
	editor *Editor
	req    *run.Request
	call   *editor.Call
	path   string // as the caller wrote it
	count  int
}

// A fileType is what exists at a path, in the words of the script of look.
type fileType string

const (
	directory fileType = "directory"
	file      fileType = "file"
	nothing   fileType = "nothing"
	other     fileType = "other"
)

// A target is the file of a path in the sandbox.
type target struct {
	path string // absolute, with links resolved
	what fileType
	text []byte // of a file
}

// fetch resolves the path and fetches the file.
func (e *sandboxRun) fetch(ctx context.Context) (target, error) {
	p, err := quote(e.call.Path)
	if err != nil {
		return target{}, err
	}
	script := fmt.Sprintf("realpath -m -- %[1]s && if [ -d %[1]s ]; then echo directory; elif [ -f %[1]s ]; then echo file && cat -- %[1]s; elif [ -e %[1]s ]; then echo other; else echo nothing; fi", p)
	out := &boundedBuffer{most: e.editor.maxFile() + maxFetchHeader}
	err = e.runScript(ctx, script, nil, out)
	if out.over {
		return target{}, e.refuse(fault.TooLarge, fmt.Sprintf("it has more than the %d bytes that can be edited",
			e.editor.maxFile()), "use commands that work on parts, such as head, tail, grep and sed")
	}
	if err != nil {
		return target{}, err
	}
	return e.parseFetched(out.Bytes())
}

// maxFetchHeader is the maximum length of the lines before the file.
const maxFetchHeader = 8 << 10

// parseFetched parses the output of the script of look.
func (e *sandboxRun) parseFetched(said []byte) (target, error) {
	at, rest, _ := bytes.Cut(said, []byte("\n"))
	kind, text, _ := bytes.Cut(rest, []byte("\n"))
	found := target{path: string(at), what: fileType(kind), text: text}
	switch {
	case !path.IsAbs(found.path) || !slices.Contains([]fileType{directory, file, nothing, other}, found.what):
		return found, e.refuse(fault.Invalid, "the sandbox does not say where this is", "use a path without line breaks")
	case found.what == other:
		return found, e.refuse(fault.Invalid, "it is not a regular file", "copy what it gives into a regular file first")
	}
	return found, nil
}

// putBack writes the edited text atomically: a new file replaces the old one.
func (e *sandboxRun) putBack(ctx context.Context, found target, text []byte, gone bool) error {
	p, err := quote(found.path)
	if err != nil {
		return err
	}
	if gone {
		return e.runScript(ctx, "rm -f -- "+p, nil, nil)
	}
	folder := path.Dir(found.path)
	temp, err := quote(path.Join(folder, ".hako-edit-"+strings.ToLower(rand.Text())))
	if err != nil {
		return err
	}
	first := "cp -p -- " + p + " " + temp // copies mode and owner
	if found.what == nothing {
		if folder, err = quote(folder); err != nil {
			return err
		}
		first = "mkdir -p -- " + folder
	}
	err = e.runScript(ctx, first+" && cat > "+temp+" && mv -f -- "+temp+" "+p, bytes.NewReader(text), nil)
	if err != nil {
		_ = e.runScript(context.WithoutCancel(ctx), "rm -f -- "+temp, nil, nil)
	}
	return err
}

// maxNames is how many names the view of a directory shows.
const maxNames = 1000

// list shows a directory and its subdirectories, without hidden files.
func (e *sandboxRun) list(ctx context.Context, dir string) (string, error) {
	p, err := quote(dir)
	if err != nil {
		return "", err
	}
	out := &boundedBuffer{most: 1 << 20}
	err = e.runScript(ctx, "find "+p+" -mindepth 1 -maxdepth 2 -name '.*' -prune -o -print", nil, out)
	if err != nil && !out.over {
		return "", err
	}
	names := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	var b strings.Builder
	b.WriteString(oneLine(dir) + "\n")
	for _, name := range names[:min(len(names), maxNames)] {
		if name != "" {
			b.WriteString(oneLine(name) + "\n")
		}
	}
	if len(names) > maxNames || out.over {
		b.WriteString("[there are more: list them with ls]\n")
	}
	return b.String(), nil
}

// oneLine converts a name to one line.
func oneLine(name string) string { return text.RecordLine(name) }

// runScript runs a script and returns an error if it fails.
func (e *sandboxRun) runScript(ctx context.Context, script string, in io.Reader, out io.Writer) error {
	e.count++
	said := &boundedBuffer{most: 2000, lose: true}
	req := &run.Request{
		ID: e.req.ID + "/" + strconv.Itoa(e.count), Actor: e.req.Actor, Reason: "text_editor " + e.call.Command,
		Script: script, Stdin: in, Stdout: out, Stderr: said,
	}
	res, err := e.editor.Runner.Run(ctx, req)
	if err != nil {
		return e.wrapDenial(err)
	}
	if res.Exit != 0 || res.TimedOut {
		why := strings.TrimSpace(oneLine(strings.ReplaceAll(said.String(), "\n", " ")))
		return e.refuse(fault.Invalid, "the sandbox says: "+why, "view its directory first")
	}
	return nil
}

// wrapDenial converts the denial of a command to one of the edit, because the client did not write the command. It
// keeps the reason of a rule about the command.
func (e *sandboxRun) wrapDenial(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Denied {
		return err
	}
	own := *f
	own.Subject = "text_editor " + e.call.Command + " " + oneLine(e.path)
	name, _, _ := strings.Cut(f.Subject, " ")
	if strings.HasPrefix(f.Rule, name+": ") {
		own.Rule = ""
	} else {
		own.Why = "the editor runs " + name + ": " + f.Why
	}
	return &own
}

func (e *sandboxRun) refuse(kind fault.Kind, why, hint string) error {
	return &fault.Error{Kind: kind, Op: e.call.Command, Subject: oneLine(e.call.Path), Why: why, Hint: hint}
}

// quote quotes a path for a script.
func quote(p string) (string, error) {
	if !strings.HasPrefix(p, "/") {
		p = "./" + p // a leading dash would be an option
	}
	word, err := syntax.Quote(p, syntax.LangBash)
	if err != nil || strings.ContainsAny(p, "\n\r") {
		return "", &fault.Error{Kind: fault.Invalid, Op: "edit", Subject: oneLine(p), Why: "this cannot be a path",
			Hint: "give a path without control characters"}
	}
	return word, nil
}

// A boundedBuffer is a bounded buffer.
type boundedBuffer struct {
	bytes.Buffer
	most int64
	lose bool // discard the rest; false means that the writer fails
	over bool // there was more
}

func (s *boundedBuffer) Write(p []byte) (int, error) {
	fits := min(int64(len(p)), s.most-int64(s.Len()))
	s.Buffer.Write(p[:fits])
	if fits == int64(len(p)) {
		return len(p), nil
	}
	s.over = true
	if s.lose {
		return len(p), nil
	}
	return int(fits), io.ErrShortWrite
}
