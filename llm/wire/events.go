package wire

import (
	"bytes"
	"io"
)

// An Event is one server-sent event.
type Event struct {
	Name []byte // empty when it has none
	Data []byte // its data lines, joined
	Last bool   // the stream ended without the line that should follow it: the data may be cut
}

// Events reads a stream of server-sent events.
type Events struct {
	lines *Lines
	begun bool
	name  []byte
	data  []byte
}

// NewEvents returns a reader of events.
func NewEvents(from io.Reader) *Events { return &Events{lines: NewLines(from)} }

// Next returns the next event that has data, until the next call. At the end of the stream, what was read of an event
// counts as one.
func (e *Events) Next() (Event, error) {
	e.name, e.data = e.name[:0], e.data[:0]
	for {
		line, _, err := e.lines.Next()
		if err == io.EOF && len(e.data) > 0 {
			return e.event(true), nil
		}
		if err != nil {
			return Event{}, err
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) > 0 {
			e.field(line)
		} else if len(e.data) > 0 {
			return e.event(false), nil
		} else {
			e.name = e.name[:0]
		}
		if len(e.data) > maxLine {
			return Event{}, errLong
		}
	}
}

// event returns what was collected. Every data line left a line end behind it.
func (e *Events) event(last bool) Event {
	return Event{Name: e.name, Data: e.data[:len(e.data)-1], Last: last}
}

// field takes in a line. Comments are fields without a name.
func (e *Events) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		e.name = append(e.name[:0], value...)
	case "data":
		if len(value) > 0 || len(e.data) > 0 {
			e.data = append(append(e.data, value...), '\n')
		}
	}
}
