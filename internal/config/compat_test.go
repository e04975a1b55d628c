package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
)

// private writes a file that only its owner can read.
func (w world) private(t testing.TB, name, text string) string {
	t.Helper()
	path := w.write(t, name, text)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompatFile(t *testing.T) {
	w := newWorld(t, "")
	path := w.private(t, "home/"+compatName, `{
	"openai_api_key": "sk-file",
	"openai_base_url": "https://example.com/v1", "model": "gpt-x",
	"search_provider": "brave", "google_api_key": "g-key", "google_cse_cx": "cx",
	"brave_api_key": "b-key"
}
`)
	c := mustLoad(t, w.source())
	for _, check := range []struct{ got, want Value[string] }{
		{OpenAIKey.Of(c), Value[string]{"sk-file", path + ":2"}},
		{OpenAIBaseURL.Of(c), Value[string]{"https://example.com/v1", path + ":3"}},
		{ModelName.Of(c), Value[string]{"gpt-x", path + ":3"}},
		{SearchProvider.Of(c), Value[string]{"brave", path + ":4"}},
		{SearchGoogleKey.Of(c), Value[string]{"g-key", path + ":4"}},
		{SearchGoogleCX.Of(c), Value[string]{"cx", path + ":4"}},
		{SearchBraveKey.Of(c), Value[string]{"b-key", path + ":5"}},
	} {
		if check.got != check.want {
			t.Errorf("got %v, want %v", check.got, check.want)
		}
	}
	if c.File != path || !slices.Equal(c.Sources(), []string{path}) {
		t.Errorf("read %q", c.Sources())
	}
	if got := c.Secrets(); !slices.Equal(got, []string{"sk-file", "g-key", "b-key"}) {
		t.Errorf("secrets %q", got)
	}
}

func TestCompatOrder(t *testing.T) {
	w := newWorld(t, "")
	model := func(src Source) string {
		c, err := Load(src)
		if err != nil {
			return err.Error()
		}
		for i, path := range c.files {
			c.files[i], _ = filepath.Rel(w.dir, path)
		}
		return fmt.Sprint(ModelName.Of(c).V, " ", c.files)
	}
	check := func(what string, src Source, want string) {
		t.Helper()
		if got := model(src); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	w.write(t, "home/.aicli.json", `{"model":"in-home"}`)
	check("in the home", w.source(), "in-home [home/.aicli.json]")
	w.write(t, "home/.config/hako/hako.yaml", "model: {name: yaml}")
	check("our own is over it", w.source(), "yaml [home/.aicli.json home/.config/hako/hako.yaml]")
	w.env["AICLI_MODEL"] = "env"
	check("the environment is over both", w.source(), "env [home/.aicli.json home/.config/hako/hako.yaml]")
	delete(w.env, "AICLI_MODEL")
	os.RemoveAll(filepath.Join(w.dir, "home"))
	w.private(t, ".aicli.json", `{"model":"here", "openai_api_key": "sk-here"}`)
	check("here", w.source(), "here [.aicli.json]")
	w.write(t, "home/.config/hako/hako.yaml", "model: {name: yaml}")
	check("our own is over that too", w.source(), "yaml [.aicli.json home/.config/hako/hako.yaml]")

	src := w.source()
	src.NoFile = true
	check("none wanted", src, " []")
	src = w.source()
	src.File = w.write(t, "mine.json", `{"model":"named"}`)
	check("by name", src, "named [mine.json]")
	src.File = w.write(t, "mine.yaml", `model: {max_output: 1}`)
	check("another by name", src, " [mine.yaml]")
	w.env["HAKO_CONFIG"] = filepath.Join(w.dir, "mine.json")
	check("by the environment", w.source(), "named [mine.json]")
}

func TestCompatMistakes(t *testing.T) {
	for file, want := range map[string]string{
		"":                              ".aicli.json:1: the file breaks off",
		"{":                             "the file breaks off",
		`{"model":`:                     "the file breaks off",
		"[]":                            "names and values in braces",
		`"x"`:                           "names and values in braces",
		"model: x":                      "it is not JSON",
		"{model: x}":                    "it is not JSON",
		`{"model":"x",}`:                "it is not JSON",
		`{"model":"x"} x`:               "something after the closing brace",
		`{"model":"x"}{}`:               "something after the closing brace",
		"{\n\"openai_apikey\":\"\"}":    `.aicli.json:2: there is no setting "openai_apikey" | did you mean openai_api_key?`,
		`{"temperature":1}`:             `there is no setting "temperature" | it may hold openai_api_key, `,
		`{"model":5}`:                   "model must be a text in quotes",
		`{"model":["x"]}`:               "model must be a text in quotes",
		`{"model":{"name":"x"}}`:        "model must be a text in quotes",
		`{"model":"x","model":"y"}`:     "model is set twice",
		`{"search_provider":"bing"}`:    "set search.provider: ",
		`{"openai_base_url":"x"}`:       "is not an address",
		`{"openai_api_key":"sk pw123"}`: "a character in it that no key has",
	} {
		w := newWorld(t, "")
		w.private(t, compatName, file)
		_, err := Load(w.source())
		got := fmt.Sprint(err, " | ", fault.Hint(err))
		if err == nil || !strings.Contains(got, want) || strings.Contains(got, "pw123") {
			t.Errorf("%q\n got %s\nwant %s", file, got, want)
		}
	}
	for _, empty := range []string{"{}", `{"model":null,"openai_api_key":""}`} {
		w := newWorld(t, "")
		w.write(t, compatName, empty)
		if c, err := Load(w.source()); err != nil || len(c.set) != 0 {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestCompatPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	for _, name := range []string{compatName, "home/" + compatName} {
		w := newWorld(t, "")
		path := w.write(t, name, `{"openai_api_key":"sk-pw123"}`)
		_, err := Load(w.source())
		if fault.Hint(err) != "chmod 600 "+path || !strings.Contains(fmt.Sprint(err), "others may read") ||
			strings.Contains(fmt.Sprint(err), "pw123") {
			t.Errorf("%v: %v | %s", name, err, fault.Hint(err))
		}
		os.Chmod(path, 0o600)
		if v := OpenAIKey.Of(mustLoad(t, w.source())); v.V != "sk-pw123" {
			t.Errorf("%+v", v)
		}
	}
	w := newWorld(t, "")
	open := w.write(t, "home/"+compatName, `{"model":"x"}`) // no key in it: others may read it
	mustLoad(t, w.source())
	os.Chmod(open, 0o666)
	if _, err := Load(w.source()); !strings.HasPrefix(fault.Hint(err), "chmod go-w ") {
		t.Errorf("others can write it: %v", err)
	}
}

// A stranger's project must not get the user's keys by naming an address, not
// even one of this machine.
func TestKeysStayAtHome(t *testing.T) {
	const (
		yaml   = "openai: {base_url: 'https://evil.example/v1'}"
		port   = "openai: {base_url: 'http://127.0.0.1:9/v1'}"
		ownKey = "{base_url: 'http://127.0.0.1:9/v1', api_key: sk-theirs}"
	)
	for name, tt := range map[string]struct {
		files  map[string]string
		env    string // NAME=VALUE NAME=VALUE
		named  string // the file given with --config
		dir    string
		denied string // which setting; empty means that it is fine
	}{
		"key in the environment": {files: map[string]string{fileName: port}, env: "OPENAI_API_KEY=sk-1",
			denied: "openai.base_url"},
		"the other variable": {files: map[string]string{fileName: port}, env: "AICLI_OPENAI_API_KEY=sk-1",
			denied: "openai.base_url"},
		"key in the home": {files: map[string]string{fileName: port, "home/.aicli.json": `{"openai_api_key":"sk-1"}`},
			denied: "openai.base_url"},
		"address in .aicli.json": {files: map[string]string{compatName: `{"openai_base_url":"http://localhost:9"}`},
			env: "OPENAI_API_KEY=sk-1", denied: "openai.base_url"},
		"key in our own file": {files: map[string]string{compatName: `{"openai_base_url":"http://localhost:9"}`,
			"home/.config/hako/hako.yaml": "openai: {api_key: sk-1}"}, denied: "openai.base_url"},
		"a key that is overruled": {files: map[string]string{fileName: "openai: " + ownKey}, env: "OPENAI_API_KEY=sk-1",
			denied: "openai.base_url"},

		"no key":           {files: map[string]string{fileName: port}},
		"another key":      {files: map[string]string{fileName: port}, env: "BRAVE_API_KEY=k GOOGLE_API_KEY=k"},
		"a key of its own": {files: map[string]string{fileName: "openai: " + ownKey}},
		"in two files":     {files: map[string]string{fileName: port, compatName: `{"openai_api_key":"sk-theirs"}`}},
		"address overruled": {files: map[string]string{fileName: port},
			env: "OPENAI_API_KEY=sk-1 OPENAI_BASE_URL=https://mine.example"},
		"named":             {files: map[string]string{fileName: yaml}, env: "OPENAI_API_KEY=sk-1", named: fileName},
		"named by variable": {files: map[string]string{"x.yaml": yaml}, env: "OPENAI_API_KEY=sk-1 HAKO_CONFIG=DIR/x.yaml"},
		"the user's file":   {files: map[string]string{"home/.config/hako/hako.yaml": yaml}, env: "OPENAI_API_KEY=sk-1"},
		"the user's .json": {files: map[string]string{"home/.aicli.json": `{"openai_base_url":"https://mine.example"}`},
			env: "OPENAI_API_KEY=sk-1"},
		"at home": {files: map[string]string{"home/.aicli.json": `{"openai_base_url":"https://mine.example"}`},
			env: "OPENAI_API_KEY=sk-1", dir: "home"},
		"among the settings": {files: map[string]string{"home/.config/hako/hako.yaml": yaml}, env: "OPENAI_API_KEY=sk-1",
			dir: "home/.config/hako"},
		"searxng has no key": {files: map[string]string{fileName: "search: {searxng_url: 'http://127.0.0.1:8888'}"},
			env: "BRAVE_API_KEY=k"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			for file, text := range tt.files {
				w.private(t, file, text)
			}
			for pair := range strings.FieldsSeq(tt.env) {
				variable, value, _ := strings.Cut(pair, "=")
				w.env[variable] = strings.ReplaceAll(value, "DIR", w.dir)
			}
			src := w.source()
			src.Dir = filepath.Join(w.dir, tt.dir)
			if tt.named != "" {
				src.File = filepath.Join(w.dir, tt.named)
			}
			_, err := Load(src)
			if tt.denied == "" {
				if err != nil {
					t.Errorf("%v | %s", err, fault.Hint(err))
				}
				return
			}
			got := fmt.Sprint(err, " | ", fault.Hint(err))
			if fault.KindOf(err) != fault.Denied ||
				!strings.HasPrefix(got, "set "+tt.denied+": a file in the current directory may not say where your key (") ||
				!strings.Contains(got, "move it to "+filepath.Join(w.dir, "home")) || strings.Contains(got, "sk-1") {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestKeyByFlag(t *testing.T) {
	w := newWorld(t, "openai: {base_url: 'http://127.0.0.1:9/v1'}")
	c := mustLoad(t, w.source())
	if err := c.Set("openai.api_key", "--key", "sk-1"); fault.KindOf(err) != fault.Denied {
		t.Errorf("a key by a flag: %v", err)
	}
	c = mustLoad(t, w.source())
	if err := c.Set("openai.base_url", "--base-url", "https://mine.example"); err != nil {
		t.Fatal(err)
	}
	if err := c.Set("openai.api_key", "--key", "sk-1"); err != nil {
		t.Errorf("key and address by flags: %v", err)
	}
}

func TestUserFile(t *testing.T) {
	t.Setenv("HOME", filepath.FromSlash("/home/me"))
	t.Setenv("XDG_CONFIG_HOME", "")
	if got := filepath.ToSlash(UserFile()); got != "/home/me/.config/hako/hako.yaml" {
		t.Error(got)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if got := UserFile(); got != filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "hako", "hako.yaml") {
		t.Error(got)
	}
}

// FuzzCompat: whatever the file holds, it sets something sensible or is refused.
func FuzzCompat(f *testing.F) {
	f.Add([]byte(`{"openai_api_key": "sk-x", "model": null}`))
	f.Add([]byte(`{"model":"a","model":`))
	f.Add([]byte(`{"openai_base_url":"http://127.0.0.1"}`))
	f.Add([]byte(`{]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Config{specs: specs(), set: make(map[string]setting), getenv: func(string) (string, bool) { return "", false }}
		secret, err := c.parseCompat("f.json", true, text)
		if err != nil {
			if kind := fault.KindOf(err); kind != fault.Invalid && kind != fault.Denied {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if _, set := c.set[string(OpenAIKey)]; set && !secret {
			t.Errorf("%q: a key went unnoticed", text)
		}
		for name, s := range c.set {
			if !s.local || len(s.words) != 1 || s.words[0] == "" || name == string(OpenAIBaseURL) && !loopback(s) ||
				name == string(ModelName) && !noPrefix(s) {
				t.Errorf("%q: %s is %+v", text, name, s)
			}
		}
	})
}

// FuzzFile: the same for a file of our own.
func FuzzFile(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("a: &a [*a]\nb: {<<: *a}"))
	f.Add([]byte(Example()))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Config{specs: specs(), set: make(map[string]setting), getenv: func(string) (string, bool) { return "", false }}
		secret, err := c.parse("f.yaml", true, text)
		if _, set := c.set[string(OpenAIKey)]; err == nil && set && !secret {
			t.Errorf("%q: a key went unnoticed", text)
		}
		for name := range c.set {
			if _, ok := fromLocal[name]; !ok {
				t.Errorf("%q: %s is set", text, name)
			}
		}
		for _, s := range c.Show() {
			if strings.HasSuffix(s.Name, "api_key") && s.Value != "" && s.Value != "[redacted]" {
				t.Errorf("%q: %s is shown", text, s.Name)
			}
		}
	})
}
