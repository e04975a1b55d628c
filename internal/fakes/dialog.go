package fakes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A dialog is what the server remembers of a conversation, to check the next request.
type dialog struct {
	head   []byte          // the last request up to the end of its conversation; nil if there was none
	length int             // of the conversation when it was last answered
	told   []entry         // the last answer
	calls  map[string]bool // IDs of all calls that may occur
}

func newDialog() *dialog { return &dialog{calls: map[string]bool{}} }

// follows returns what is wrong with a request that continues a dialog.
func (d *dialog) follows(on string, step *Step, body []byte, all []entry) []string {
	if d.head == nil {
		for _, e := range all {
			d.calls[e.id] = true // from an earlier conversation
		}
		return nil
	}
	var wrong []string
	if !step.Compacted {
		wrong = append(wrong, d.extends(body)...)
		wrong = append(wrong, d.repeats(on, all)...)
	}
	for _, e := range all {
		if e.kind == called && !d.calls[e.id] && on != onOllama {
			wrong = append(wrong, fmt.Sprintf("the model never made the call %s of %s", e.id, e.name))
		}
	}
	return wrong
}

// extends checks that the body begins with the one before: a provider's cache needs an
// identical prefix.
func (d *dialog) extends(body []byte) []string {
	if bytes.HasPrefix(body, d.head) {
		return nil
	}
	at := 0
	for at < min(len(body), len(d.head)) && body[at] == d.head[at] {
		at++
	}
	return []string{fmt.Sprintf("the request does not begin with the one before: at byte %d there was %q, now there is %q",
		at, around(d.head, at), around(body, at))}
}

func around(b []byte, at int) string {
	return string(b[max(0, at-20):min(len(b), at+40)])
}

// repeats checks that what the model said last comes next, in the same order.
func (d *dialog) repeats(on string, all []entry) []string {
	rest := all[min(d.length, len(all)):]
	var wrong []string
	for _, e := range d.told {
		i := slices.IndexFunc(rest, func(r entry) bool { return same(on, e, r) })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("the request does not repeat %s", e))
			continue
		}
		rest = rest[i+1:]
	}
	return wrong
}

// same reports whether a client repeated an entry. It may have replaced arguments that
// are no JSON.
func same(on string, told, now entry) bool {
	if told.kind != now.kind {
		return false
	}
	switch {
	case on == onOllama && told.kind == called:
		return told.name == now.name && told.text == now.text
	case told.kind == called && !json.Valid([]byte(told.text)):
		return told.id == now.id && told.name == now.name
	}
	return told == now
}

// String describes an entry in a violation.
func (e entry) String() string {
	switch e.kind {
	case said:
		return fmt.Sprintf("what the model said: %q", e.text)
	case called:
		return fmt.Sprintf("the call %s of %s with %s", e.id, e.name, e.text)
	case reasoning:
		return fmt.Sprintf("the reasoning %s with its encrypted content", e.id)
	}
	return e.kind
}

// request remembers a request.
func (d *dialog) request(on string, body []byte) { d.head = head(on, body) }

// answer remembers an answer that was sent to its end.
func (d *dialog) answer(length int, told []entry) {
	d.length, d.told = length, told
	for _, e := range told {
		if e.kind == called {
			d.calls[e.id] = true
		}
	}
}

// head returns the request up to the last entry of its conversation. Input that is a
// mere string cannot be continued: nothing has to stay.
func head(on string, body []byte) []byte {
	name := "messages"
	if on == onResponses {
		name = "input"
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return []byte{}
	}
	for d.More() {
		key, _ := d.Token()
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return []byte{}
		}
		if key == name && raw[0] == '[' {
			return bytes.TrimRight(body[:d.InputOffset()-1], " \t\r\n")
		}
	}
	return []byte{}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
