package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hako/run/fault"
)

// A jsonReader goes through a JSON file from name to name, and knows where it is.
type jsonReader struct {
	path string
	text []byte
	d    *json.Decoder
}

func newJSONReader(path string, text []byte) *jsonReader {
	r := &jsonReader{path: path, text: text, d: json.NewDecoder(bytes.NewReader(text))}
	r.d.UseNumber()
	return r
}

// where returns the place that was read last.
func (r *jsonReader) where() string {
	return fmt.Sprintf("%s:%d", r.path, 1+bytes.Count(r.text[:r.d.InputOffset()], []byte("\n")))
}

func (r *jsonReader) refuse(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: r.where(), Why: why, Hint: hint}
}

// token returns the next part of the file; a mistake in it is told in words.
func (r *jsonReader) token() (json.Token, error) {
	t, err := r.d.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.refuse("the file breaks off", "")
	case err != nil:
		return nil, r.refuse("it is not JSON: "+err.Error(), "")
	}
	return t, nil
}

// whole goes through a file that is one object.
func (r *jsonReader) whole(example string, each func(name string) error) error {
	t, err := r.token()
	if err == nil {
		err = r.members(t, "the file", example, each)
	}
	if err != nil {
		return err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return r.refuse("there is something after the closing brace", "")
	}
	return nil
}

// members goes through what is in braces, of which the first was read; each takes
// in the value of a name.
func (r *jsonReader) members(t json.Token, what, example string, each func(name string) error) error {
	if t != json.Delim('{') {
		return r.refuse(what+" must hold names and values in braces", example)
	}
	seen := make(map[string]bool)
	for r.d.More() {
		t, err := r.token()
		if err != nil {
			return err
		}
		name := t.(string) // or the decoder would have complained
		if seen[name] {
			return r.refuse(name+" is set twice", "")
		}
		seen[name] = true
		if err := each(name); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}
