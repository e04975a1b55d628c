package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
)

// Newest returns the newest events that match a filter, newest first, from the bytes of a log between two
// beginnings of lines. It reads backwards and stops at the filter's limit. Lines that are not events are skipped.
func Newest(ctx context.Context, log io.ReaderAt, from, to int64, f Filter) ([]Event, error) {
	var found []Event
	marks := f.prefilter()
	err := backwards(ctx, log, from, to, func(line []byte) bool {
		var e Event
		if marks.mayMatch(line) && json.Unmarshal(line, &e) == nil && e.Hash != "" && f.Match(&e) {
			found = append(found, e)
		}
		return f.Limit <= 0 || len(found) < f.Limit
	})
	return found, err
}

// backwardBlock is how much is read at once.
const backwardBlock = 256 << 10

// backwards calls do for each line from the last to the first, until it returns false. A line longer than any
// event comes in pieces, none of which is an event.
func backwards(ctx context.Context, r io.ReaderAt, from, to int64, do func(line []byte) bool) error {
	var rest []byte // the end of a line that begins further ahead
	for to > from {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(to-from, backwardBlock)
		part := make([]byte, n, n+int64(len(rest)))
		if _, err := r.ReadAt(part, to-n); err != nil && err != io.EOF {
			return err
		}
		to -= n
		part = append(part, rest...)
		whole := 0
		if to > from {
			whole = bytes.IndexByte(part, '\n') + 1
		}
		if whole == 0 && to > from {
			rest = part[:min(len(part), maxLine)]
			continue
		}
		rest = part[:whole]
		if !lastToFirst(part[whole:], do) {
			return nil
		}
	}
	return nil
}

// lastToFirst calls do for each line of a text and reports whether it wants more.
func lastToFirst(text []byte, do func(line []byte) bool) bool {
	for len(text) > 0 {
		at := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		if !do(text[at:]) {
			return false
		}
		text = text[:at]
	}
	return true
}

// A prefilter has what the line of a matching event must contain: searching for a few bytes is a hundred times
// faster than decoding the event.
type prefilter struct {
	exact [][]byte
	any   []byte // in any case
}

func (f *Filter) prefilter() (m prefilter) {
	for _, field := range []struct{ name, value string }{{`"actor":`, f.Actor}, {`"what":`, f.What}} {
		if longestPlain(field.value) == field.value && field.value != "" {
			m.exact = append(m.exact, appendString([]byte(field.name), field.value))
		}
	}
	m.any = []byte(strings.ToLower(longestPlain(f.Text)))
	return m
}

func (m prefilter) mayMatch(line []byte) bool {
	for _, one := range m.exact {
		if !bytes.Contains(line, one) {
			return false
		}
	}
	return len(m.any) == 0 || bytes.Contains(bytes.ToLower(line), m.any)
}

// longestPlain returns the longest part of a text that is written unescaped and unsplit.
func longestPlain(text string) (best string) {
	escaped := func(r rune) bool {
		return r <= ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' || r == '\ufffd'
	}
	for _, part := range strings.FieldsFunc(text, escaped) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}
