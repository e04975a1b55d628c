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

// headEvery is after how many events a long-lived writer notes the head anew,
// so that a cut is noticed even if the writer is killed.
const headEvery = 256

// headFormat has a fixed width: the note is overwritten in one small write.
const headFormat = "%020d %s\n"

// HeadPath returns the name of the side file of a log: audit.head for audit.jsonl.
func HeadPath(log string) string { return strings.TrimSuffix(log, ".jsonl") + ".head" }

// updateHead writes down where the log ends. The log is locked. The note is a
// second witness, not part of the record: failing to write it stops nothing.
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

// errHeadDiffers is the error of a note that must stay as it is: the end was cut off,
// somebody changed the note, or another process is ahead. [VerifyFile] tells.
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

// contains reports whether the noted event is in the log before its end. A note
// is only overwritten if it is: otherwise a cut would be forgotten.
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
