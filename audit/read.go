package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hako/internal/ownerfile"
)

// scan calls do for each event, oldest first, and returns how many lines it skipped because they are not events;
// [Verify] reports more about those. An error of do ends the scan and is returned.
func scan(r io.Reader, do func(Event) error) (skipped int, err error) {
	return ScanLines(r, func(e Event, _ Span) error { return do(e) })
}

// A Span is the position of a line.
type Span struct {
	From, To int64 // with its newline
	Open     bool  // it has none yet: the line may still be being written
}

// ScanLines is [scan] with the position of each event, counted from where r begins.
func ScanLines(r io.Reader, do func(Event, Span) error) (skipped int, err error) {
	count := &countingReader{r: r}
	in := bufio.NewReaderSize(count, 64<<10)
	var line []byte
	var at Span
	for {
		line, err = readLine(in, line[:0])
		at.From, at.To = at.To, count.n-int64(in.Buffered())
		switch err {
		case nil:
		case io.EOF:
			return skipped, nil
		case errLong:
			skipped++
			continue
		default:
			return skipped, err
		}
		at.Open = line[len(line)-1] != '\n'
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Hash == "" {
			skipped++
			continue
		}
		if err := do(e, at); err != nil {
			return skipped, err
		}
	}
}

// A countingReader counts the bytes that were read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// A Filter selects events. Zero fields select all.
type Filter struct {
	ID      string // of the request; "agent" also finds "agent/2"
	Actor   string
	What    string
	Command string    // the name of a command, with or without its directory
	Since   time.Time // not before
	Until   time.Time // before
	Before  int64     // with a smaller number
	Text    string    // somewhere in script, words, reason, rule, path or error, in any case
	Limit   int       // the newest so many; zero means all
}

// Match reports whether e matches, apart from the limit.
func (f *Filter) Match(e *Event) bool {
	switch {
	case f.ID != "" && e.ID != f.ID && !strings.HasPrefix(e.ID, f.ID+"/"),
		f.Actor != "" && e.Actor != f.Actor,
		f.What != "" && e.What != f.What,
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until),
		f.Before > 0 && e.Seq >= f.Before:
		return false
	}
	return (f.Command == "" || e.runs(f.Command)) && (f.Text == "" || e.mentions(f.Text))
}

// runs reports whether e is about the named command.
func (e *Event) runs(name string) bool {
	if len(e.Argv) > 0 && (e.Argv[0] == name || path.Base(e.Argv[0]) == name) {
		return true
	}
	return e.Commands[name] > 0
}

func (e *Event) mentions(text string) bool {
	text = strings.ToLower(text)
	for s := range e.Texts {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// Texts yields the texts of an event in which [Filter].Text is searched.
func (e *Event) Texts(yield func(string) bool) {
	for _, s := range []string{e.Script, strings.Join(e.Argv, " "), e.Reason, e.Rule, e.Path, e.Error, e.Provider} {
		if s != "" && !yield(s) {
			return
		}
	}
}

// Query returns the events of r that match the filter, oldest first.
func Query(r io.Reader, f Filter) ([]Event, error) {
	var found []Event
	_, err := scan(r, func(e Event) error {
		if !f.Match(&e) {
			return nil
		}
		if found = append(found, e); f.Limit > 0 && len(found) >= 2*f.Limit {
			found = append(found[:0], found[len(found)-f.Limit:]...)
		}
		return nil
	})
	if f.Limit > 0 && len(found) > f.Limit {
		found = found[len(found)-f.Limit:]
	}
	return found, err
}

// Tail returns the last n events, oldest first, reading no more of the log than it must.
func Tail(r io.ReaderAt, size int64, n int) ([]Event, error) {
	if n <= 0 {
		return nil, nil
	}
	events, err := Newest(context.Background(), r, 0, size, Filter{Limit: n})
	slices.Reverse(events)
	return events, err
}

// OpenRead opens a log for reading. The caller closes it.
func OpenRead(path string) (*os.File, error) { return ownerfile.Open(path, os.O_RDONLY) }
