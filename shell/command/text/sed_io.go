package text

import (
	"bytes"
	"io"
	"io/fs"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// A sedOutput writes lines. If the last line lacked its newline, it writes that before
// the next line.
type sedOutput struct {
	w       *stream.Writer
	file    *vfs.File // nil for the standard streams and in-place buffers
	end     byte
	missing bool
}

// line writes a line with its terminator, if it had one.
func (o *sedOutput) line(text []byte, ended bool) {
	o.raw(text)
	if ended {
		o.w.WriteByte(o.end)
	} else {
		o.missing = true
	}
}

// raw writes bytes unchanged.
func (o *sedOutput) raw(text []byte) {
	if o.missing {
		o.w.WriteByte(o.end)
		o.missing = false
	}
	o.w.Write(text)
}

func (o *sedOutput) close() {
	o.w.Flush()
	if o.file != nil {
		o.file.Close()
	}
}

// outputFile opens the file of a w command; the same name is the same file.
func (s *sedRun) outputFile(name string) *sedOutput {
	if o, ok := s.files[name]; ok {
		return o
	}
	o := &sedOutput{end: s.end}
	switch name {
	case "/dev/stdout":
		if s.out == nil {
			s.out = &sedOutput{w: s.c.Stdout, end: s.end}
		}
		return s.out
	case "/dev/stderr":
		o.w = stream.NewWriter(s.c.Stderr)
	default:
		f, err := s.c.Create(name)
		if err != nil {
			fail(4, "couldn't open file %s: %s", name, vfs.Reason(err))
		}
		o.w, o.file = stream.NewWriter(f), f
	}
	s.files[name] = o
	return o
}

// A sedSource is a file of lines for R.
type sedSource struct {
	in   *stream.Reader
	file *vfs.File
}

func (l *sedSource) close() {
	if l.file != nil {
		l.in.Release()
		l.file.Close()
	}
}

// listLine returns the next line for R; ok is false at the end.
func (s *sedRun) listLine(name string) (line []byte, ok bool) {
	l := s.lists[name]
	if l == nil {
		l = &sedSource{in: stream.NewReader(nil)}
		if name == "/dev/stdin" {
			l.in = s.c.Stdin
		} else if f, err := s.c.Open(name); err == nil && !f.IsDir() {
			l.in, l.file = s.c.Reader(f), f
		}
		s.lists[name] = l
	}
	line, err := l.in.Record(s.end)
	if err != nil {
		return nil, false
	}
	return bytes.Clone(bytes.TrimSuffix(line, []byte{s.end})), true
}

// A sedInput reads the input files in turn.
type sedInput struct {
	run    *sedRun
	names  []string
	name   string
	reader *stream.Reader
	file   *vfs.File
	block  []byte // whole lines
	pos    int
	line   int // number of the line that was read last

	edited    bytes.Buffer // the new text of a file edited in place
	selectors []sedSelector
}

// fill makes sure that the block has another line; false means the end of the input.
// Unless cross is set, it does not open the next file.
func (in *sedInput) fill(cross bool) bool {
	for in.pos >= len(in.block) {
		if in.reader == nil {
			if !cross || len(in.names) == 0 {
				return false
			}
			in.open()
			continue
		}
		block, err := in.reader.Records(in.run.end)
		if err == nil {
			in.block, in.pos = block, 0
			in.resetSelectors()
			break
		}
		if err != io.EOF {
			if in.run.c.Limiter.Err() != nil || in.file == nil || in.run.ctx.Err() != nil {
				cli.Check(err)
			}
			in.run.warn(4, "read error on %s: %s", in.name, vfs.Reason(err))
		}
		if !cross && in.run.separate {
			return false
		}
		in.finish()
	}
	return true
}

// warn reports an error that does not end the script.
func (s *sedRun) warn(status int, format string, args ...any) {
	s.c.Warn(format, args...)
	s.status = max(s.status, status)
}

// open opens the next file.
func (in *sedInput) open() {
	s := in.run
	in.name, in.names = in.names[0], in.names[1:]
	in.block, in.pos = nil, 0
	if shell.IsStdin(in.name) && !s.inPlace {
		in.reader = s.c.Stdin
		in.restart()
		return
	}
	f, err := s.c.Open(in.name)
	if err != nil {
		cli.Check(s.c.Limiter.Err())
		s.warn(2, "can't read %s: %s", in.name, vfs.Reason(err))
		return
	}
	if f.IsDir() {
		f.Close()
		if s.inPlace {
			s.warn(4, "couldn't edit %s: not a regular file", in.name)
		} else {
			s.warn(4, "read error on %s: Is a directory", in.name)
		}
		return
	}
	in.reader, in.file = s.c.Reader(f), f
	in.restart()
	if s.inPlace {
		in.edited.Reset()
		s.out = &sedOutput{w: stream.NewWriter(&sedBuffer{in}), end: s.end}
	}
}

// restart resets line numbers and ranges, if files are separate.
func (in *sedInput) restart() {
	if !in.run.separate {
		return
	}
	in.line = 0
	for i := range in.run.script.commands {
		cmd := &in.run.script.commands[i]
		cmd.closed = false
		cmd.active = cmd.to != nil && cmd.from.kind == 'n' && cmd.from.n == 0
	}
}

// A sedBuffer collects an edited file within the limits of the session.
type sedBuffer struct{ in *sedInput }

// Write implements [io.Writer].
func (b *sedBuffer) Write(p []byte) (int, error) {
	if err := b.in.run.c.Limiter.Fits(int64(b.in.edited.Len()+len(p)) * 2); err != nil {
		return 0, err
	}
	return b.in.edited.Write(p)
}

// finish ends the current file.
func (in *sedInput) finish() {
	file := in.file
	if in.reader != nil && file != nil {
		in.reader.Release()
	}
	in.reader, in.file, in.block, in.pos = nil, nil, nil, 0
	if file == nil {
		return
	}
	info, err := file.Stat()
	file.Close()
	if in.run.inPlace {
		cli.Check(err)
		in.replace(in.name, info.Mode())
	}
}

// replace replaces a file by the edited text.
func (in *sedInput) replace(name string, mode fs.FileMode) {
	s := in.run
	cli.Check(s.out.w.Flush())
	full := s.c.Path(name)
	if s.suffix != "" {
		old, err := s.c.FS.ReadFile(full)
		if err == nil {
			err = s.c.FS.WriteFile(s.c.Path(backupName(name, s.suffix)), old, mode)
		}
		if err != nil {
			fail(4, "cannot rename %s: %s", name, vfs.Reason(err))
		}
	}
	if err := s.c.FS.WriteFile(full, in.edited.Bytes(), mode); err != nil {
		cli.Check(s.c.Limiter.Err())
		fail(4, "couldn't write %s: %s", name, vfs.Reason(err))
	}
}

// backupName applies the suffix of -i. A * in it is replaced by the name.
func backupName(name, suffix string) string {
	if !strings.Contains(suffix, "*") {
		return name + suffix
	}
	base := strings.ReplaceAll(suffix, "*", cli.Base(name))
	if strings.Contains(base, "/") {
		return base
	}
	return name[:len(name)-len(cli.Base(name))] + base
}

// read returns the next line without its terminator.
func (in *sedInput) read() (line []byte, ended, ok bool) {
	if !in.fill(true) {
		return nil, false, false
	}
	n := recordEnd(in.block[in.pos:], in.run.end)
	line = in.block[in.pos : in.pos+n]
	in.pos += n
	in.line++
	if ended = line[n-1] == in.run.end; ended {
		line = line[:n-1]
	}
	return line, ended, true
}

// last reports whether the line that was read last is the last one.
func (in *sedInput) last() bool { return !in.fill(!in.run.separate) }
