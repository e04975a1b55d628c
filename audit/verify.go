package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"hako/internal/ownerfile"
	"hako/run/fault"
)

// A Report is the result of [Verify].
type Report struct {
	Events    int64  `json:"events"`         // that verify, from the first
	Last      int64  `json:"last_seq"`       // number of the last of them
	Hash      string `json:"hash,omitempty"` // of the last of them
	Bad       *Bad   `json:"bad,omitempty"`  // the first line that does not verify; nil means none
	Torn      int64  `json:"torn,omitempty"` // bytes of an unfinished line at the end
	Recovered int64  `json:"recovered"`      // unfinished lines of earlier crashes, on record
	Cut       string `json:"cut,omitempty"`  // what the side file knows and the log does not show
	HeadSeen  bool   `json:"head_seen"`      // whether there was a side file to compare with
	Path      string `json:"path,omitempty"`
}

// Bad is a line that does not verify.
type Bad struct {
	Line int64  `json:"line"`
	Why  string `json:"why"`
}

// OK reports whether nothing was changed or removed. An unfinished line at the end, as a crash leaves it, is not
// a change.
func (r Report) OK() bool { return r.Bad == nil && r.Cut == "" }

// String returns the report in one line.
func (r Report) String() string {
	text := fmt.Sprintf("%d events verify", r.Events)
	if r.Recovered > 0 {
		text += fmt.Sprintf(", %d interrupted lines are on record", r.Recovered)
	}
	if r.Torn > 0 {
		text += fmt.Sprintf("; the last line is unfinished (%d bytes): the log verifies up to the last whole line", r.Torn)
	}
	if r.Bad != nil {
		text += fmt.Sprintf("; line %d does not: %s", r.Bad.Line, r.Bad.Why)
	}
	if r.Cut != "" {
		text += "; " + r.Cut
	}
	return text
}

// Err returns the report as an error, nil if it is [Report.OK].
func (r Report) Err() error {
	if r.OK() {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "verify audit log", Subject: r.Path, Why: r.String(),
		Hint: "somebody or something changed the file after it was written; compare it with a copy"}
}

// VerifyFile checks a log and its side file.
func VerifyFile(path string) (Report, error) {
	return (&Verifier{Path: path}).Verify(context.Background())
}

func openHead(path string) (*chainPosition, error) {
	f, err := ownerfile.Open(HeadPath(path), os.O_RDONLY)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := readHead(f)
	if err != nil {
		p = chainPosition{seq: -1}
	}
	return &p, nil
}

// Verify checks a log from its first line and stops at the first that was changed. The error is one of reading.
func Verify(r io.Reader) (Report, error) { return verify(r, nil) }

func verify(r io.Reader, head *chainPosition) (Report, error) {
	return (&verification{chain: chain{at: chainStart}}).run(r, head)
}

// A verification is how far a log was checked.
type verification struct {
	chain
	line   int64 // how many lines it passed
	offset int64 // where they end
}

// run checks the lines of r, which follow those checked before.
func (w *verification) run(r io.Reader, head *chainPosition) (Report, error) {
	report := Report{HeadSeen: head != nil}
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for report.Bad == nil {
		var err error
		if line, err = readLine(in, line[:0]); err == io.EOF {
			break
		} else if err == errLong {
			report.Bad = w.firstBad(w.line+1, err)
			break
		} else if err != nil {
			return report, err
		}
		if line[len(line)-1] != '\n' {
			report.Torn = int64(len(line))
			break
		}
		report.Bad = w.checkLine(line, head)
	}
	if report.Bad == nil && w.piece != nil {
		report.Bad = w.odd
	}
	w.report(&report)
	report.Cut = describeCut(report, head)
	return report, nil
}

// checkLine checks one line with its newline.
func (w *verification) checkLine(line []byte, head *chainPosition) *Bad {
	w.line++
	w.offset += int64(len(line))
	bad := w.addLine(w.line, line[:len(line)-1])
	if bad == nil && head != nil && w.at.seq == head.seq && w.piece == nil && w.at.hash != head.hash {
		bad = &Bad{w.line, "the side file knows this event with another hash"}
	}
	return bad
}

func (w *verification) report(r *Report) {
	r.Events, r.Last, r.Recovered = w.events, w.at.seq, w.recovered
	if w.events > 0 {
		r.Hash = w.at.hash
	}
}

func describeCut(r Report, head *chainPosition) string {
	switch {
	case head == nil || r.Bad != nil:
		return ""
	case head.seq < 0:
		return "the side file is not as it was written: whether the end was cut off cannot be told until it is moved away"
	case r.Last < head.seq:
		return fmt.Sprintf("the end was cut off: event %d was written, the last one here is %d", head.seq, r.Last)
	}
	return ""
}

// A chain checks a log line by line.
type chain struct {
	at                chainPosition
	events, recovered int64
	piece             []byte // a line that is no event; the next must record it
	odd               *Bad   // what is wrong with it otherwise
}

// addLine checks one line. Of two lines that do not fit, the first is reported.
func (c *chain) addLine(n int64, line []byte) *Bad {
	body, hash, err := split(line)
	if err != nil && c.piece == nil {
		c.piece, c.odd = append([]byte{}, line...), &Bad{n, err.Error()}
		return nil
	}
	if err == nil {
		err = c.checkEvent(line, body, hash)
	}
	if err == nil {
		return nil
	}
	return c.firstBad(n, err)
}

func (c *chain) firstBad(n int64, err error) *Bad {
	if c.piece != nil {
		return c.odd
	}
	return &Bad{n, err.Error()}
}

func (c *chain) checkEvent(line, body []byte, hash string) error {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("the line is not an event: %w", err)
	}
	if !bytes.HasSuffix(body, []byte(`,"prev":"`+c.at.hash+`"`)) {
		return errors.New("the line before is not the one this line was written after")
	}
	if e.Seq != c.at.seq+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, c.at.seq)
	}
	if err := c.checkTorn(e.Recovered); err != nil {
		return err
	}
	c.at = chainPosition{e.Seq, hash}
	c.events++
	return nil
}

// checkTorn compares the piece of a line before an event with what the event recorded about it, so that no bytes
// can be inserted or removed there.
func (c *chain) checkTorn(torn *Torn) error {
	switch {
	case torn == nil && c.piece == nil:
		return nil
	case torn == nil:
		return errors.New("the line before is not an event, and this one records no crash")
	case c.piece == nil, torn.Bytes != int64(len(c.piece)), torn.Hash != hexSum(c.piece):
		return errors.New("the interrupted line before is not the one that was found after the crash")
	}
	c.piece, c.odd = nil, nil
	c.recovered++
	return nil
}

// errLong is the error of a line that is longer than any event.
var errLong = errors.New("the line is longer than any event")

// readLine reads a line with its newline into buf; the last may have none. A line over maxLine is skipped with
// errLong, so that whoever can write to the log cannot exhaust the memory.
func readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(buf)+len(part) > maxLine; long {
			buf = buf[:0]
		} else {
			buf = append(buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && (err == nil || err == io.EOF):
			return buf, errLong
		case err == nil || err == io.EOF && len(buf) > 0:
			return buf, nil
		default:
			return buf, err
		}
	}
}
