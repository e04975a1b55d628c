package mcpserver

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"mvdan.cc/sh/v3/syntax"

	"hako/internal/redact"
	"hako/internal/text"
	"hako/run"
	"hako/run/fault"
)

// maxRead is the maximum and default size of a page of a file.
const maxRead = 64 << 10

type readIn struct {
	ID    string `json:"sandbox_id"`
	Path  string `json:"path"`
	Start int64  `json:"start,omitempty" jsonschema:"0, or the next_start of the page before"`
	Size  int64  `json:"size,omitempty" jsonschema:"bytes of the page, up to 65536"`
}

type readOut struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Total     int64  `json:"total_bytes"`
	NextStart *int64 `json:"next_start" jsonschema:"null when this page is the last"`
	Truncated bool   `json:"truncated"`
	Redacted  int    `json:"redacted" jsonschema:"places of this page where [redacted] stands instead of a secret; the file has the secret"`
	Note      string `json:"note,omitempty" jsonschema:"the same in words"`
}

type writeIn struct {
	ID   string `json:"sandbox_id"`
	Path string `json:"path"`
	Text string `json:"text" jsonschema:"all of the new file"`
}

type writeOut struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

type listIn struct {
	ID   string `json:"sandbox_id"`
	Path string `json:"path,omitempty" jsonschema:"a directory. Default: where the sandbox stands"`
}

type listOut struct {
	Path  string    `json:"path"`
	Files []fileOut `json:"files"`
}

type fileOut struct {
	Name      string `json:"name"`
	Directory bool   `json:"directory"`
}

// fileTools are the tools for files. Each runs a command, so that the same rules and record apply.
func (d *Server) fileTools() []*toolSpec {
	return []*toolSpec{
		newTool[readIn, readOut]("read_file", "Read a file", "Reads a text file of a sandbox, a page at a time.",
			toolHints{reads: true}, d.read).restrict("size", between(1, maxRead)),
		newTool[writeIn, writeOut]("write_file", "Write a file",
			"Writes a text file in a sandbox, with the directories on the way to it. What was in it is gone.",
			toolHints{destructive: true, idempotent: true}, d.write),
		newTool[listIn, listOut]("list_files", "List files", "Lists a directory of a sandbox.", toolHints{reads: true},
			d.listFiles),
	}
}

func (d *Server) read(ctx context.Context, v *toolCall, in readIn) *sdk.CallToolResult {
	if in.Size == 0 {
		in.Size = maxRead
	}
	if err := checkPage("read file", in.Start, in.Size, maxRead); err != nil {
		return failure(err)
	}
	cut := &byteRange{from: in.Start - utf8.UTFMax, to: in.Start + in.Size + utf8.UTFMax}
	return d.byCommand(ctx, v, in.ID, "cat", in.Path, &run.Request{Stdout: cut}, func() (any, error) {
		part, next := text.Page(cut.text, in.Start-cut.begin(), in.Size)
		if !utf8.Valid(part) || strings.ContainsRune(string(part), 0) {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "read file", Subject: short(in.Path), Why: "the file is not text",
				Hint: "look at it with execute: base64, od, file"}
		}
		clean, places := d.opts.Secrets.Count(string(part))
		out := readOut{Path: in.Path, Text: clean, Total: cut.total, Redacted: places, Note: redact.ModelNote(places)}
		if next += cut.begin(); next < cut.total {
			out.NextStart, out.Truncated = &next, true
		}
		return out, nil
	})
}

func (d *Server) write(ctx context.Context, v *toolCall, in writeIn) *sdk.CallToolResult {
	if len(in.Text) > d.limits.File {
		return failure(&fault.Error{Kind: fault.TooLarge, Op: "write file", Subject: short(in.Path),
			Why:  fmt.Sprintf("it has %d bytes, and %d are allowed", len(in.Text), d.limits.File),
			Hint: "write it in parts: execute with >>"})
	}
	return d.byCommand(ctx, v, in.ID, "cat >", in.Path, &run.Request{Stdin: strings.NewReader(in.Text)},
		func() (any, error) {
			return writeOut{in.Path, len(in.Text)}, nil
		})
}

func (d *Server) listFiles(ctx context.Context, v *toolCall, in listIn) *sdk.CallToolResult {
	if in.Path == "" {
		in.Path = "."
	}
	names := &byteRange{to: maxList}
	return d.byCommand(ctx, v, in.ID, "ls -1Ap --", in.Path, &run.Request{Stdout: names}, func() (any, error) {
		if names.total > maxList {
			return nil, &fault.Error{Kind: fault.TooLarge, Op: "list files", Subject: short(in.Path), Why: "there are too many",
				Hint: "look for what you need with execute: ls, find"}
		}
		out := listOut{Path: in.Path, Files: []fileOut{}}
		for name := range strings.Lines(validUTF8(names.text)) {
			name, dir := strings.CutSuffix(strings.TrimSuffix(name, "\n"), "/")
			out.Files = append(out.Files, fileOut{name, dir})
		}
		return out, nil
	})
}

// maxList is the maximum size of a list of files.
const maxList = 1 << 20

// byCommand carries out a tool with a command on a path.
func (d *Server) byCommand(ctx context.Context, v *toolCall, id, command, file string, req *run.Request,
	done func() (any, error)) *sdk.CallToolResult {
	script, err := scriptFor(command, file)
	if err != nil {
		return failure(err)
	}
	b, err := d.enter(v.caller, id)
	if err != nil {
		return failure(err)
	}
	return d.runCall(ctx, v, b, true, func(ctx context.Context, c *call) *sdk.CallToolResult {
		errors := &byteRange{to: errorSize}
		req.ID, req.Actor, req.Script, req.Stderr = c.id, v.actor, script, errors
		res, err := b.Run(ctx, req)
		if err == nil && res.Exit != 0 {
			err = &fault.Error{Kind: fault.NotFound, Op: command, Subject: short(file),
				Why: short(d.opts.Secrets.Text(validUTF8(errors.text))), Hint: "list_files shows what is there"}
		}
		if err != nil {
			return c.refuse(err)
		}
		out, err := done()
		if err != nil {
			return c.refuse(err)
		}
		return result(out)
	})
}

// scriptFor returns a script that runs a command on a quoted path.
func scriptFor(command, file string) (string, error) {
	if file != "" && !strings.HasPrefix(file, "/") {
		file = "./" + file // a leading dash would be an option
	}
	quoted, err := syntax.Quote(file, syntax.LangBash)
	if err != nil || file == "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: "find file", Subject: short(file), Why: "this cannot be a path",
			Hint: "give a path without control characters"}
	}
	script := command + " " + quoted
	if dir := path.Dir(file); command == "cat >" && dir != "." && dir != "/" {
		parent, err := syntax.Quote(dir, syntax.LangBash)
		if err != nil {
			return "", err
		}
		script = "mkdir -p -- " + parent + " && " + script
	}
	return script, nil
}

// A byteRange keeps a range of a stream and counts the rest.
type byteRange struct {
	from, to int64
	text     []byte
	total    int64
}

// begin is the offset of the kept text.
func (s *byteRange) begin() int64 { return max(s.from, 0) }

func (s *byteRange) Write(p []byte) (int, error) {
	at := s.total // of p[0]
	s.total += int64(len(p))
	low, high := max(s.begin()-at, 0), min(s.to-at, int64(len(p)))
	if low < high {
		s.text = append(s.text, p[low:high]...)
	}
	return len(p), nil
}
