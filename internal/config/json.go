package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hako/run/fault"
)

// A jsonReader reads a JSON file token by token and knows the current line.
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

// where returns the file and line of the last token.
func (r *jsonReader) where() string {
	return fmt.Sprintf("%s:%d", r.path, 1+bytes.Count(r.text[:r.d.InputOffset()], []byte("\n")))
}

func (r *jsonReader) refuse(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: r.where(), Why: why, Hint: hint}
}

// token returns the next token, or a readable error.
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

// object reads a file that is one object.
func (r *jsonReader) object(example string, each func(name string) error) error {
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

// members reads the members of an object whose opening brace was read; each reads the value of a name.
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
		name := t.(string) // guaranteed by the decoder
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
