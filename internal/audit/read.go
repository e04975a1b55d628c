package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hako/internal/private"
)

// Scan calls do for each event, oldest first, and returns how many lines it
// passed over because they are not events: [Verify] says more about those.
// An error of do ends the scan and is returned.
func Scan(r io.Reader, do func(Event) error) (skipped int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		line, err = readLine(in, line[:0])
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
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Hash == "" {
			skipped++
			continue
		}
		if err := do(e); err != nil {
			return skipped, err
		}
	}
}

// A Filter says which events somebody wants to see. Zero fields ask nothing.
type Filter struct {
	ID      string // of the request; "agent" also finds "agent/2"
	Actor   string
	What    string
	Command string    // the name of a command, with or without its directory
	Since   time.Time // not before
	Until   time.Time // before
	Text    string    // somewhere in script, words, reason, rule, path or error, in any case
	Limit   int       // the newest so many; zero means all
}

// Match reports whether e is wanted, the limit aside.
func (f *Filter) Match(e *Event) bool {
	switch {
	case f.ID != "" && e.ID != f.ID && !strings.HasPrefix(e.ID, f.ID+"/"),
		f.Actor != "" && e.Actor != f.Actor,
		f.What != "" && e.What != f.What,
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until):
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
	for _, s := range []string{e.Script, strings.Join(e.Argv, " "), e.Reason, e.Rule, e.Path, e.Error, e.Provider} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// Query returns the events of r that the filter wants, oldest first.
func Query(r io.Reader, f Filter) ([]Event, error) {
	var found []Event
	_, err := Scan(r, func(e Event) error {
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

// Tail returns the last n events, reading no more of the log than it must.
func Tail(r io.ReaderAt, size int64, n int) ([]Event, error) {
	n = max(n, 0)
	for window := int64(32 << 10); ; window *= 4 {
		window = min(window, size)
		in := bufio.NewReaderSize(io.NewSectionReader(r, size-window, window), 64<<10)
		if window < size { // the first line began before
			if _, err := readLine(in, nil); err != nil && err != errLong && err != io.EOF {
				return nil, err
			}
		}
		events, err := Query(in, Filter{Limit: max(n, 1)})
		if err != nil || len(events) >= n || window >= size {
			return events[max(0, len(events)-n):], err
		}
	}
}

// OpenRead opens a log for reading. The caller closes it.
func OpenRead(path string) (*os.File, error) { return private.Open(path, os.O_RDONLY) }

// Follow calls do for each event that is appended from now on, until ctx ends or
// do fails.
func Follow(ctx context.Context, path string, do func(Event) error) error {
	f, err := OpenRead(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	var pending []byte
	for {
		if pending, err = follow(f, pending, do); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follow reads to the end of r and returns the piece of a line there. It does
// so in parts, as the file may have grown by more than fits into memory.
func follow(r io.Reader, pending []byte, do func(Event) error) ([]byte, error) {
	for {
		before := len(pending)
		pending = slices.Grow(pending, followPart)
		n, err := r.Read(pending[before : before+followPart])
		pending = pending[:before+n]
		if whole := before + bytes.LastIndexByte(pending[before:], '\n') + 1; whole > before {
			if _, err := Scan(bytes.NewReader(pending[:whole]), do); err != nil {
				return nil, err
			}
			pending = append(pending[:0], pending[whole:]...)
		}
		if len(pending) > maxLine {
			pending = pending[:0] // no event: what comes of it yet will not be one either
		}
		if err == io.EOF {
			return pending, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

const (
	followEvery = 100 * time.Millisecond
	followPart  = 64 << 10
)
