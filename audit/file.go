package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"hako/internal/ownerfile"
	"hako/internal/redact"
	"hako/run/fault"
)

// A Replacer removes secret values from a text. A [*strings.Replacer] is one.
type Replacer interface {
	Replace(s string) string
}

// Options configure a [File] or a [Writer].
type Options struct {
	// Secrets removes secret values from events before they are written; nil
	// removes none. Passwords and tokens that can be recognized by their spelling
	// are always removed.
	Secrets Replacer
	Now     func() time.Time // nil means time.Now
	Sync    bool             // wait for the disk after every event; false leaves that to the system
}

// A File is a [Log] in a file. Several processes may append to one file, and several goroutines to one File.
type File struct {
	opt  Options
	path string

	mu   sync.Mutex // guards what follows
	f    *os.File
	enc  encoder
	end  int64 // where the file ended when we last looked
	last chainPosition
	open bool  // the last line of the file lacks its newline
	torn *Torn // the piece of a line that the file ended with
	head int64 // seq when we last looked after the side file

	noted chainPosition // what we wrote there, or what the log ended with when we opened it
}

// A chainPosition is a position in the hash chain.
type chainPosition struct {
	seq  int64
	hash string
}

// chainStart is the position before the first event.
var chainStart = chainPosition{0, strings.Repeat("0", 2*sha256.Size)}

// Open opens the log; a new one is only accessible to its owner.
func Open(path string, opt Options) (*File, error) {
	f, err := ownerfile.Open(path, os.O_CREATE|os.O_APPEND|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	l := &File{opt: opt, path: path, f: f, enc: encoder{secrets: redact.Filter{Values: opt.Secrets}}, end: -1}
	err = l.locked(l.catchUp)
	if err != nil {
		f.Close()
		return nil, err
	}
	l.noted = l.last
	return l, nil
}

// Append implements [Log].
func (l *File) Append(e Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ownerfile.Lock(l.f); err != nil {
		return l.writeError(err)
	}
	err := l.append(&e)
	if uerr := ownerfile.Unlock(l.f); err == nil && uerr != nil {
		err = l.writeError(uerr)
	}
	return err
}

func (l *File) append(e *Event) error {
	if err := l.catchUp(); err != nil {
		return err
	}
	l.enc.buf = l.enc.buf[:0]
	if l.open {
		l.enc.buf = append(l.enc.buf, '\n') // keeps a piece of a line visible, on its own
	}
	e.Seq, e.Time, e.Prev, e.Recovered = l.last.seq+1, l.opt.Now(), l.last.hash, l.torn
	hash := l.enc.line(e)
	n, err := l.f.Write(l.enc.buf)
	if err == nil && l.opt.Sync {
		err = l.f.Sync()
	}
	if err != nil {
		l.end = -1 // part of the line may be there: look again before the next
		return l.writeError(err)
	}
	l.end += int64(n)
	l.last, l.torn, l.open = chainPosition{e.Seq, hash}, nil, false
	if cap(l.enc.buf) > maxText {
		l.enc.buf = nil
	}
	if e.Seq-l.head >= headEvery {
		l.updateHead()
	}
	return nil
}

func (l *File) locked(do func() error) error {
	if err := ownerfile.Lock(l.f); err != nil {
		return l.writeError(err)
	}
	defer ownerfile.Unlock(l.f)
	return do()
}

// catchUp finds the last event if another process has appended to the file.
func (l *File) catchUp() error {
	info, err := l.f.Stat()
	if err != nil {
		return l.writeError(err)
	}
	if info.Size() == l.end {
		return nil
	}
	tail, err := readTail(l.f, info.Size())
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "continue audit log", Subject: l.path, Err: err,
			Hint: "see what happened with: hako audit verify; then move the file away to begin a new one"}
	}
	l.last, l.torn, l.open, l.end = tail.last, tail.torn, tail.open, info.Size()
	return nil
}

// Recovered returns the unfinished line at the end of the log, which the next event will record; nil means none.
func (l *File) Recovered() *Torn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.torn
}

// Close updates the side file and closes the log.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.locked(func() error { l.updateHead(); return nil })
	if cerr := l.f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (l *File) writeError(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		err = pe.Err
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "write audit log", Subject: l.path, Err: err,
		Hint:     "what cannot be recorded is not run; make room for the file, or name another in audit.path",
		FlagHint: "what cannot be recorded is not run; make room for the file, or name another with --audit"}
}

// A tail is the end of a log.
type tail struct {
	last chainPosition
	torn *Torn
	open bool
}

// readTail finds the last complete line of a log and the piece after it, if any.
func readTail(r io.ReaderAt, size int64) (tail, error) {
	for window := int64(4 << 10); ; window = min(4*window, maxTail) {
		text, err := readEnd(r, size, window)
		if err != nil {
			return tail{}, err
		}
		whole, piece := text, []byte(nil)
		if i := bytes.LastIndexByte(text, '\n'); i != len(text)-1 {
			whole, piece = text[:i+1], text[i+1:]
		}
		from := 0
		if len(whole) > 0 {
			from = bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
		}
		switch {
		case len(piece) > maxLine || len(whole)-from > maxLine:
			return tail{}, errLong
		case from > 0 || window >= size:
			return parseTail(whole[from:], piece)
		}
	}
}

// maxTail is a window that contains the last line and the piece after it, unless one of them is too long.
const maxTail = 2*maxLine + 2

func readEnd(r io.ReaderAt, size, window int64) ([]byte, error) {
	window = min(window, size)
	text := make([]byte, window)
	_, err := r.ReadAt(text, size-window)
	if err == io.EOF {
		err = nil
	}
	return text, err
}

func parseTail(line, piece []byte) (t tail, err error) {
	if len(piece) > 0 {
		t.open = true
		// An event of which only the newline is missing is not lost.
		if t.last, err = parsePlace(piece); err == nil {
			return t, nil
		}
		t.torn = &Torn{int64(len(piece)), hexSum(piece)}
	}
	if len(line) == 0 {
		t.last = chainStart
		return t, nil
	}
	t.last, err = parsePlace(line[:len(line)-1])
	return t, err
}

// parsePlace checks one line by its hash and returns its position.
func parsePlace(line []byte) (chainPosition, error) {
	body, hash, err := split(line)
	if err != nil {
		return chainPosition{}, err
	}
	var seq int64
	if _, err := fmt.Sscanf(string(body[:min(len(body), 40)]), `{"seq":%d,`, &seq); err != nil {
		return chainPosition{}, fmt.Errorf("the last line is not an event")
	}
	return chainPosition{seq, hash}, nil
}

// split splits a line into its body and its hash, and checks the hash.
func split(line []byte) (body []byte, hash string, err error) {
	n := len(line) - tailSize
	if n < 0 || string(line[n:n+len(hashMark)]) != hashMark || string(line[len(line)-2:]) != `"}` {
		return nil, "", fmt.Errorf("the line does not end with a hash")
	}
	hash = string(line[n+len(hashMark) : len(line)-2])
	if hexSum(line[:n]) != hash {
		return nil, "", fmt.Errorf("the line does not match its hash")
	}
	return line[:n], hash, nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
