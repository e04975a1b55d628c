package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hako/run/fault"
)

// mostTries bounds the attempts to parse an object: deep nesting would take quadratic time.
const mostTries = 16

// beginnings match where a plan may begin: an object with one of its names, or at the start of the text or of a
// code block.
var beginnings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		"(?:\\A\\s*|```[a-zA-Z]*[ \\t]*\\r?\\n\\s*|)\\{(\\s*\"(?:version|metadata|workflow)\"\\s*:)?")
})

// find returns the last plan in a text. An unreadable plan after it is an error: an earlier draft is not the answer.
func find(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	// Some models think aloud first, and the opening mark is not always sent. A plan may contain such marks.
	thoughts, answer, ended := strings.Cut(text, "</think>")
	if !ended {
		return look(text).result()
	}
	found := look(answer)
	if found.nothing() && !strings.HasPrefix(thoughts, "<think>") {
		found = look(text)
	}
	return found.result()
}

// findings are the objects in a text.
type findings struct {
	plan  json.RawMessage // the last one
	other json.RawMessage // another object where a plan should be
	fail  error           // of an unreadable plan after the last one
}

func (f *findings) nothing() bool { return f.plan == nil && f.other == nil && f.fail == nil }

func (f *findings) result() (json.RawMessage, error) {
	switch {
	case f.fail != nil:
		return nil, f.fail
	case f.plan != nil:
		return f.plan, nil
	case f.other != nil:
		return f.other, nil // decode reports what is wrong with it
	}
	return nil, bad("", "there is no plan in the text", `a plan is an object in JSON: {"version": 1, "workflow": […]}`)
}

// look finds the objects in a text.
func look(text string) *findings {
	var f findings
	end, tries := 0, 0
	for _, m := range beginnings().FindAllStringSubmatchIndex(text, -1) {
		begin, named := m[0]+strings.IndexByte(text[m[0]:], '{'), m[2] >= 0
		if begin < end || !named && m[0] == begin && begin > 0 {
			continue // inside of the previous one, or in the middle of prose
		}
		raw, whole, err := object(text[begin:])
		switch {
		case err != nil:
			if named || f.plan == nil {
				f.fail = err
			}
			if tries++; tries == mostTries || !whole {
				return &f
			}
			continue
		case isPlan(raw):
			f.plan, f.fail = raw, nil
		default:
			f.other = raw
		}
		end = begin + len(raw)
	}
	return &f
}

func isPlan(raw json.RawMessage) bool {
	var p struct{ Workflow json.RawMessage }
	return json.Unmarshal(raw, &p) == nil && p.Workflow != nil
}

// object parses the object at the beginning of a text, and reports whether it is complete.
func object(text string) (raw json.RawMessage, whole bool, err error) {
	err = json.NewDecoder(strings.NewReader(text)).Decode(&raw)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, false, bad("", "it breaks off",
			"the answer may have been cut: raise model.max_output, or ask for fewer steps")
	case err != nil:
		return nil, true, bad("", "it is not JSON: "+strings.TrimPrefix(err.Error(), "json: "), "")
	}
	return raw, true, nil
}

// members parses an object with known names only, each at most once.
func members(where string, raw json.RawMessage, known ...string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, bad(where, "it is not an object in braces", "")
	}
	all := make(map[string]json.RawMessage)
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, bad(where, "it is not JSON", "")
		}
		if !slices.Contains(known, name) {
			return nil, unknown(where, name, known)
		}
		if _, twice := all[name]; twice {
			return nil, bad(where, name+" is there twice", "")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, bad(where, "it is not JSON", "")
		}
		all[name] = value
	}
	return all, nil
}

func unknown(where, name string, known []string) error {
	hint := "it has " + strings.Join(known, ", ")
	if near, ok := fault.Nearest(name, known); ok {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return bad(where, fmt.Sprintf("there is no field %q", cut(name)), hint)
}
