package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"hako/internal/fault"
)

// compatName is what the compatible settings file is called: one JSON object of
// names and texts.
const compatName = ".aicli.json"

// compatKeys are the names in that file.
var compatKeys = []struct {
	name string
	key  key
}{
	{"openai_api_key", OpenAIKey},
	{"openai_base_url", OpenAIBaseURL},
	{"model", ModelName},
	{"search_provider", SearchProvider},
	{"google_api_key", SearchGoogleKey},
	{"google_cse_cx", SearchGoogleCX},
	{"brave_api_key", SearchBraveKey},
}

// parseCompat takes in the text of a compatible file and reports whether it sets
// a secret.
func (c *Config) parseCompat(path string, local bool, text []byte) (secret bool, err error) {
	r := compatReader{config: c, path: path, local: local, text: text, d: json.NewDecoder(bytes.NewReader(text))}
	err = r.object()
	return r.secret, err
}

// A compatReader goes through one compatible file.
type compatReader struct {
	config *Config
	path   string
	local  bool
	secret bool
	text   []byte
	d      *json.Decoder
}

// where returns the place that was read last.
func (r *compatReader) where() string {
	return fmt.Sprintf("%s:%d", r.path, 1+bytes.Count(r.text[:r.d.InputOffset()], []byte("\n")))
}

func (r *compatReader) refuse(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: r.where(), Why: why, Hint: hint}
}

// token returns the next part of the file; a mistake in it is told in words.
func (r *compatReader) token() (json.Token, error) {
	t, err := r.d.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.refuse("the file breaks off", "")
	case err != nil:
		return nil, r.refuse("it is not JSON: "+err.Error(), "")
	}
	return t, nil
}

func (r *compatReader) object() error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return r.refuse("the file must hold names and values in braces", `{"openai_api_key": "…"}`)
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
		if err := r.entry(name); err != nil {
			return err
		}
	}
	if _, err := r.token(); err != nil {
		return err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return r.refuse("there is something after the closing brace", "")
	}
	return nil
}

// entry takes in one setting. An empty text and null set nothing.
func (r *compatReader) entry(name string) error {
	k := compatKey(name)
	if k == nil {
		return r.unknown(name)
	}
	t, err := r.token()
	if err != nil {
		return err
	}
	value, ok := t.(string)
	switch {
	case !ok && t != nil:
		return r.refuse(name+" must be a text in quotes", "")
	case value == "":
		return nil
	}
	r.secret = r.secret || k.secret()
	return r.config.put(k, setting{words: []string{value}, from: r.where(), base: filepath.Dir(r.path), local: r.local})
}

func compatKey(name string) key {
	for _, c := range compatKeys {
		if c.name == name {
			return c.key
		}
	}
	return nil
}

func (r *compatReader) unknown(name string) error {
	var names []string
	for _, c := range compatKeys {
		names = append(names, c.name)
	}
	hint := "it may hold " + strings.Join(names, ", ") + "; everything else goes into " + FileName
	if near, ok := fault.Nearest(name, names); ok {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return r.refuse(fmt.Sprintf("there is no setting %q", name), hint)
}
