package descriptors

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"hako/internal/redact"
	"hako/run/fault"
)

//go:embed read.md
var readText string

const (
	maxCount = 4096
	maxLines = 1000
	// maxPage bounds a number of lines.
	maxPage = 64 << 10
)

type readInput struct {
	FD    int `json:"fd"`
	Count int `json:"count,omitempty" jsonschema:"bytes, at most 4096"`
	Lines int `json:"lines,omitempty" jsonschema:"1 to 1000, instead of count"`
}

func (in readInput) check() error {
	bad := func(why, hint string) error { return fdFault("read", in.FD, why, hint) }
	switch {
	case in.Count != 0 && in.Lines != 0:
		return bad("count and lines are both given", "give one of them: count for bytes, lines for lines")
	case in.Count < 0 || in.Count > maxCount:
		return bad(fmt.Sprintf("count is %d, outside 1 to %d", in.Count, maxCount), "read again for what follows")
	case in.Lines < 0 || in.Lines > maxLines:
		return bad(fmt.Sprintf("lines is %d, outside 1 to %d", in.Lines, maxLines), "read again for what follows")
	}
	return nil
}

// read returns a header line and the data.
func (d *Table) read(ctx context.Context, in readInput) (string, error) {
	if in.Count == 0 && in.Lines == 0 {
		in.Count = min(d.opts.Limits.ReadBytes, maxCount)
	}
	if err := in.check(); err != nil {
		return "", err
	}
	des, release, err := d.borrow(ctx, "read", in.FD, d.forReading)
	if err != nil {
		return "", err
	}
	defer release()
	why, err := d.buffer(ctx, des, in)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(des.in.buf, 0) >= 0 {
		return "", fdFault("read", in.FD, "what comes from it is not text",
			"connect it to a script instead: spawn with xxd, od, gunzip or tar")
	}
	return d.page(des, in, why)
}

// buffer buffers enough input for the call, or what is available before the model must do something else, which
// it returns in why.
func (d *Table) buffer(ctx context.Context, des *descriptor, in readInput) (why string, err error) {
	v := d.watch(d.source(des))
	have := func() bool { return len(des.in.buf) > 0 }
	for des.in.end == nil && !in.enough(des.in.buf) {
		why, over, err := v.poll(ctx, have, des.in.more)
		switch {
		case err != nil:
			return "", interruptedError("read", in.FD, ctx)
		case over:
			return why, nil
		case v.waitedForMore(have()):
			return "", nil
		}
	}
	return "", nil
}

// source returns the script that writes what des reads, or nil.
func (d *Table) source(des *descriptor) *script {
	d.mu.Lock()
	defer d.mu.Unlock()
	if des.in.pipe == nil {
		return nil
	}
	return des.in.pipe.from.script
}

// enough reports whether buf holds the result, and enough beyond it to recognize a secret at its end.
func (in readInput) enough(buf []byte) bool {
	n := in.extent(buf)
	return n+redactLookahead <= len(buf) && (n >= in.most() || in.Lines > 0 && n > 0 && buf[n-1] == '\n')
}

// most returns the maximum length of the result.
func (in readInput) most() int {
	switch {
	case in.Lines > 0:
		return maxPage
	case in.Count > 0:
		return in.Count
	}
	return maxCount
}

// extent returns how much of buf the call returns.
func (in readInput) extent(buf []byte) int {
	most := min(len(buf), in.most())
	if in.Lines == 0 {
		return most
	}
	n := 0
	for range in.Lines {
		i := bytes.IndexByte(buf[n:most], '\n')
		if i < 0 {
			return most
		}
		n += i + 1
	}
	return n
}

// page returns what is buffered. The caller has borrowed des.
func (d *Table) page(des *descriptor, in readInput, why string) (string, error) {
	src := des.in
	ended := src.end != nil
	n := wholeCharacters(src.buf, in.extent(src.buf), ended)
	if n == 0 {
		return d.emptyRead(des, in.FD, why)
	}
	text, used := redactPrefix(d.opts.Secrets, src.buf, n)
	head := fmt.Sprintf("[fd %d: %s", in.FD, size(int64(used)))
	if in.Lines > 0 {
		head = fmt.Sprintf("[fd %d: %s, %s", in.FD, lines(bytes.Count(src.buf[:used], []byte("\n"))), size(int64(used)))
	}
	if err := d.countBytes("read", in.FD, &d.stats.Read, used); err != nil {
		return "", err
	}
	note := ""
	if n := redact.Marks(text) - redact.Marks(string(src.buf[:used])); n > 0 {
		note = "; " + redact.ModelNote(n)
	}
	src.use(used)
	return head + d.readSuffix(des, why) + note + "]\n" + text, nil
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return strconv.Itoa(n) + " lines"
}

// readSuffix describes what follows the data.
func (d *Table) readSuffix(des *descriptor, why string) string {
	switch {
	case len(des.in.buf) > 0:
		return ", more follows"
	case des.in.end == io.EOF:
		return ", end of file" + d.writerStatus(des)
	case des.in.end != nil:
		return ", then it broke off: " + des.in.end.Error()
	case why != "":
		return " so far; " + why
	}
	return " so far, more may follow"
}

// writerStatus describes how the script that des read from has ended.
func (d *Table) writerStatus(des *descriptor) string {
	s := d.source(des)
	if s == nil {
		return ""
	}
	<-s.done // it has closed its output, so it ends at once
	s.reported.Store(true)
	if s.err != nil {
		return fmt.Sprintf("; script %d ended with status %d: %v", s.pid, s.status, s.err)
	}
	return fmt.Sprintf("; script %d exited with status %d%s", s.pid, s.status, s.failedStages())
}

// emptyRead returns the result of a read without data.
func (d *Table) emptyRead(des *descriptor, fd int, why string) (string, error) {
	switch err := des.in.end; {
	case err == io.EOF:
		return fmt.Sprintf("[fd %d: end of file, nothing more to read%s]", fd, d.writerStatus(des)), nil
	case errors.Is(err, errGone):
		return "", fdFault("read", fd, err.Error(), "another call closed it")
	case err != nil:
		e := fdFault("read", fd, "", fault.Hint(err))
		if e.Kind, e.Err = fault.KindOf(err), err; e.Hint == "" {
			e.Hint = "nothing more can be read from it; close it"
		}
		return "", e
	}
	hint := waitHint(why, "read")
	if why == "" {
		why, hint = "only part of a character has come", "read again"
	}
	e := fdFault("read", fd, "there is nothing to read yet: "+why, hint)
	e.Kind = fault.Unavailable
	return "", e
}

// wholeCharacters returns how many of the first n bytes can be shown without splitting a character: at least one
// character, unless its end is still to come.
func wholeCharacters(buf []byte, n int, ended bool) int {
	for i := n - 1; i >= 0 && i > n-utf8.UTFMax; i-- {
		if !utf8.RuneStart(buf[i]) {
			continue
		}
		if utf8.FullRune(buf[i:n]) {
			return n
		}
		switch _, size := utf8.DecodeRune(buf[i:]); {
		case size > 1 && i == 0:
			return size
		case size > 1 || !ended && !utf8.FullRune(buf[i:]):
			return i
		}
		return n
	}
	return n
}
