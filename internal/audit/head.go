package audit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"hako/internal/private"
)

// headEvery is after how many events a long-lived writer notes the head anew,
// so that a cut is noticed even if the writer is killed.
const headEvery = 256

// headFormat has a fixed width: the note is overwritten in one small write.
const headFormat = "%020d %s\n"

// HeadPath returns the name of the side file of a log: audit.head for audit.jsonl.
func HeadPath(log string) string { return strings.TrimSuffix(log, ".jsonl") + ".head" }

// noteHead writes down where the log ends. The log is locked. The note is a
// second witness, not part of the record: failing to write it stops nothing.
func (l *File) noteHead() {
	if l.last.seq <= l.head {
		return
	}
	f, err := private.Open(HeadPath(l.path), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return
	}
	defer f.Close()
	if old, err := readHead(f); err == nil && !l.contains(old) {
		l.head = l.last.seq // the end was cut off, or another process is ahead: keep what tells
		return
	}
	if _, err := f.WriteAt(fmt.Appendf(nil, headFormat, l.last.seq, l.last.hash), 0); err == nil {
		l.head, l.noted = l.last.seq, l.last
	}
}

// lookBack is how much of the end of a log is searched for an earlier head.
const lookBack = 1 << 20

// contains reports whether the noted event is in the log before its end. A note
// is only overwritten if it is: otherwise a cut would be forgotten.
func (l *File) contains(old place) bool {
	if old == l.last || old == l.noted {
		return true
	}
	if old.seq > l.last.seq {
		return false
	}
	text, err := readEnd(l.f, l.end, lookBack)
	return err == nil && bytes.Contains(text, []byte(old.hash+"\"}\n"))
}

func readHead(r io.Reader) (place, error) {
	var p place
	text, err := io.ReadAll(io.LimitReader(r, 256)) // Fscanf alone would read byte by byte
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%d %64s\n", &p.seq, &p.hash)
	}
	if err == nil && len(p.hash) != len(start.hash) {
		err = io.ErrUnexpectedEOF
	}
	return p, err
}
