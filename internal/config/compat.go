package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

// compatName is the name of the compatible settings file, a JSON object of strings.
const compatName = ".aicli.json"

// compatKeys are the names in that file.
var compatKeys = []struct {
	name string
	key  Key[string]
}{
	{"openai_api_key", OpenAIKey},
	{"openai_base_url", OpenAIBaseURL},
	{"model", ModelName},
	{"search_provider", SearchProvider},
	{"google_api_key", SearchGoogleKey},
	{"google_cse_cx", SearchGoogleCX},
	{"brave_api_key", SearchBraveKey},
}

// parseCompat reads the text of a compatible file and reports whether it sets a secret.
func (c *Config) parseCompat(path string, local bool, text []byte) (secret bool, err error) {
	r := compatReader{jsonReader: newJSONReader(path, text), config: c, local: local}
	err = r.object(`{"openai_api_key": "…"}`, r.entry)
	return r.secret, err
}

// A compatReader reads one compatible file.
type compatReader struct {
	*jsonReader
	config *Config
	local  bool
	secret bool
}

// entry reads one setting. An empty string and null set nothing.
func (r *compatReader) entry(name string) error {
	k := compatSpec(name)
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
	r.secret = r.secret || k.secret
	return r.config.put(k, setting{words: []string{value}, from: r.where(), base: filepath.Dir(r.path), local: r.local})
}

func compatSpec(name string) *spec {
	for _, c := range compatKeys {
		if c.name == name {
			return specByName()[string(c.key)]
		}
	}
	return nil
}

func (r *compatReader) unknown(name string) error {
	var names []string
	for _, c := range compatKeys {
		names = append(names, c.name)
	}
	hint := "it may hold " + strings.Join(names, ", ") + "; everything else goes into " + fileName
	if near, ok := fault.Nearest(name, names); ok {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return r.refuse(fmt.Sprintf("there is no setting %q", name), hint)
}
