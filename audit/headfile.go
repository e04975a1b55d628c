package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// headEvery is after how many events a writer updates the side file, so that truncation is detected even if the
// writer is killed.
const headEvery = 256

// headFormat has a fixed width, so that the side file is overwritten in one small write.
const headFormat = "%020d %s\n"

// HeadPath returns the name of the side file of a log: audit.head for audit.jsonl.
func HeadPath(log string) string { return strings.TrimSuffix(log, ".jsonl") + ".head" }

// updateHead writes the position of the last event to the side file. The log is locked. Failing to write it stops
// nothing, since it is not part of the record.
func (l *File) updateHead() {
	if l.last.seq <= l.head {
		return
	}
	switch err := l.writeHead(); err {
	case nil:
		l.head, l.noted = l.last.seq, l.last
	case errHeadDiffers:
		l.head = l.last.seq
	}
}

// errHeadDiffers means that the side file must not be overwritten: the log was truncated, the side file was
// changed, or another process is ahead. [VerifyFile] reports it.
var errHeadDiffers = errors.New("the side file says something else")

func (l *File) writeHead() error {
	path, text := HeadPath(l.path), fmt.Appendf(nil, headFormat, l.last.seq, l.last.hash)
	f, err := ownerfile.Open(path, os.O_RDWR)
	if fault.KindOf(err) == fault.NotFound {
		return ownerfile.Replace(path, text) // all or nothing: an empty note is a changed one
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if old, err := readHead(f); err != nil || !l.contains(old) {
		return errHeadDiffers
	}
	_, err = f.WriteAt(text, 0)
	return err
}

// headSearch is how much of the end of a log is searched for an earlier head.
const headSearch = 1 << 20

// contains reports whether the event of the side file is in the log. Otherwise overwriting the side file would
// hide a truncation.
func (l *File) contains(old chainPosition) bool {
	if old == l.last || old == l.noted {
		return true
	}
	if old.seq > l.last.seq {
		return false
	}
	text, err := readEnd(l.f, l.end, headSearch)
	return err == nil && bytes.Contains(text, []byte(old.hash+"\"}\n"))
}

func readHead(r io.Reader) (chainPosition, error) {
	var p chainPosition
	text, err := io.ReadAll(io.LimitReader(r, 256)) // Fscanf alone would read byte by byte
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%d %64s\n", &p.seq, &p.hash)
	}
	if err == nil && (len(p.hash) != len(chainStart.hash) || string(text) != fmt.Sprintf(headFormat, p.seq, p.hash)) {
		err = io.ErrUnexpectedEOF
	}
	return p, err
}
