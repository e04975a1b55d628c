package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

func mustLoad(t testing.TB, src Source) *Config {
	t.Helper()
	c, err := Load(src)
	if err != nil {
		t.Fatal(err, " | ", fault.Hint(err))
	}
	return c
}

func TestModelDefaults(t *testing.T) {
	c := mustLoad(t, newWorld(t, "").source())
	for _, check := range []struct{ got, want any }{
		{ModelName.Of(c), Value[string]{"", "default"}},
		{ModelContext.Of(c).V, 0},
		{ModelMaxOutput.Of(c).V, 0},
		{ModelPrices.Of(c).V, ""},
		{ModelTimeout.Of(c).V, 2 * time.Minute},
		{OpenAIKey.Of(c).V, ""},
		{OpenAIBaseURL.Of(c), Value[string]{"https://api.openai.com/v1", "default"}},
		{OpenAIAPI.Of(c), Value[string]{"responses", "default"}},
		{OllamaURL.Of(c), Value[string]{"http://127.0.0.1:11434", "default"}},
		{OllamaNumCtx.Of(c).V, 16384},
		{OllamaKeepAlive.Of(c).V, ""},
		{SearchProvider.Of(c), Value[string]{"google_cse", "default"}},
		{SearchGoogleURL.Of(c).V, "https://www.googleapis.com/customsearch/v1"},
		{SearchBraveURL.Of(c).V, "https://api.search.brave.com/res/v1/web/search"},
		{SearchSearxngURL.Of(c).V, ""},
		{RunTurns.Of(c).V, 4},
		{RunMaxToolCalls.Of(c).V, 8},
		{RunToolThreads.Of(c).V, 4},
		{WebPrefixes.Of(c).V, []string(nil)},
		{c.Sources(), []string(nil)},
		{c.Secrets(), []string(nil)},
	} {
		if fmt.Sprint(check.got) != fmt.Sprint(check.want) {
			t.Errorf("got %v, want %v", check.got, check.want)
		}
	}
}

func TestModelFile(t *testing.T) {
	w := newWorld(t, `
model: {name: "ollama:qwen3", context: 32000, max_output: 500, prices: p.json, timeout: 5m}
openai: {base_url: "http://localhost:8080/v1/"}
ollama: {url: "host:1234", num_ctx: 4096, keep_alive: -1}
run: {turns: 32, max_tool_calls: 64, tool_threads: 16, system: ~/s.txt}
search: {provider: searxng, searxng_url: "https://searx.example/x/", google_cse_cx: "a:b"}
web: {url_prefixes: ["https://example.com/"]}
`)
	c := mustLoad(t, w.named())
	file := filepath.Join(w.dir, fileName)
	for _, check := range []struct{ got, want any }{
		{ModelName.Of(c), Value[string]{"ollama:qwen3", file + ":2"}},
		{ModelContext.Of(c).V, 32000},
		{ModelMaxOutput.Of(c).V, 500},
		{ModelPrices.Of(c).V, filepath.Join(w.dir, "p.json")},
		{ModelTimeout.Of(c).V, 5 * time.Minute},
		{OpenAIBaseURL.Of(c), Value[string]{"http://localhost:8080/v1", file + ":3"}},
		{OpenAIAPI.Of(c), Value[string]{"chat", "default"}},
		{OllamaURL.Of(c).V, "host:1234"},
		{OllamaNumCtx.Of(c).V, 4096},
		{OllamaKeepAlive.Of(c).V, "-1"},
		{RunTurns.Of(c).V, 32},
		{RunMaxToolCalls.Of(c).V, 64},
		{RunToolThreads.Of(c).V, 16},
		{RunSystem.Of(c).V, filepath.Join(w.dir, "home", "s.txt")},
		{SearchProvider.Of(c), Value[string]{"searxng", file + ":6"}},
		{SearchSearxngURL.Of(c).V, "https://searx.example/x"},
		{SearchGoogleCX.Of(c).V, "a:b"},
		{WebPrefixes.Of(c).V, []string{"https://example.com/"}},
		{c.Sources(), []string{file}},
	} {
		if fmt.Sprint(check.got) != fmt.Sprint(check.want) {
			t.Errorf("got %v, want %v", check.got, check.want)
		}
	}
}

func TestSeveralVariables(t *testing.T) {
	w := newWorld(t, "")
	for _, step := range []struct {
		set, to string
		want    Value[string]
	}{
		{"AICLI_OPENAI_API_KEY", "sk-two", Value[string]{"sk-two", "env AICLI_OPENAI_API_KEY"}},
		{"OPENAI_API_KEY", "", Value[string]{"sk-two", "env AICLI_OPENAI_API_KEY"}},
		{"OPENAI_API_KEY", " sk-one\n", Value[string]{"sk-one", "env OPENAI_API_KEY"}},
	} {
		w.env[step.set] = step.to
		if got := OpenAIKey.Of(mustLoad(t, w.source())); got != step.want {
			t.Errorf("after %s=%q: %+v", step.set, step.to, got)
		}
	}
	w.env["AICLI_MODEL"] = "gpt-a"
	w.env["OLLAMA_HOST"] = "0.0.0.0"
	c := mustLoad(t, w.source())
	if v := ModelName.Of(c); v != (Value[string]{"gpt-a", "env AICLI_MODEL"}) || OllamaURL.Of(c).V != "0.0.0.0" {
		t.Errorf("%+v", v)
	}
	w.env["HAKO_MODEL"] = "gpt-h"
	if v := ModelName.Of(mustLoad(t, w.source())); v != (Value[string]{"gpt-h", "env HAKO_MODEL"}) {
		t.Errorf("%+v", v)
	}
	if got := c.Secrets(); !slices.Equal(got, []string{"sk-one", "sk-two"}) {
		t.Errorf("secrets %q", got)
	}
	if shown := fmt.Sprint(c.Show()); strings.Contains(shown, "sk-one") || !strings.Contains(shown, "env OPENAI_API_KEY") {
		t.Error(shown)
	}
}

func TestUsualAPI(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.openai.com/v1":         "responses",
		"https://API.OpenAI.com:443/v1":     "responses",
		"https://eu.api.openai.com/v1":      "responses",
		"https://api.openai.com.evil.io/v1": "chat",
		"https://evilapi.openai.com.io":     "chat",
		"https://xapi.openai.com":           "chat",
		"http://127.0.0.1:8080":             "chat",
	} {
		w := newWorld(t, "")
		w.env["OPENAI_BASE_URL"] = url
		if v := OpenAIAPI.Of(mustLoad(t, w.source())); v != (Value[string]{want, "default"}) {
			t.Errorf("%s: %+v", url, v)
		}
		w.env["HAKO_OPENAI_API"] = "chat"
		if v := OpenAIAPI.Of(mustLoad(t, w.source())); v != (Value[string]{"chat", "env HAKO_OPENAI_API"}) {
			t.Errorf("%s: %+v", url, v)
		}
	}
}

func TestModelMistakes(t *testing.T) {
	for file, want := range map[string]string{
		"model: {nam: x}":                                  "did you mean model.name?",
		"model: {name: ' '}":                               "the value is empty",
		`model: {name: "a\u0007b"}`:                        "control characters",
		"model: {context: -1}":                             "from 0 to 100000000",
		"model: {timeout: 0}":                              "not a time above zero",
		"openai: {base_url: api.openai.com}":               `"api.openai.com" is not an address`,
		"openai: {base_url: 'ftp://x/'}":                   "is not an address",
		"openai: {base_url: 'http://:80'}":                 "is not an address",
		"openai: {base_url: 'https://x/?a=b'}":             "goes on after its path",
		"openai: {base_url: 'https://me:pw123@x/'}":        "a name or password in it",
		"openai: {api: legacy}":                            `"legacy" is not one of responses, chat`,
		"openai: {api_key: 'sk-pw123 and more'}":           "a character in it that no key has",
		`openai: {api_key: "sk-pw123\nX-Evil: 1"}`:         "a character in it that no key has",
		"openai: {api_key: sk-pw123…}":                     "a character in it that no key has",
		"openai: {api_key: ' '}":                           "the key is empty",
		"ollama: {url: 'a b'}":                             "host:port",
		"ollama: {url: 'gopher://x'}":                      "host:port",
		"ollama: {url: 'http://me:pw123@x'}":               "a name or password in it",
		"ollama: {num_ctx: 1}":                             "from 256 to",
		"ollama: {keep_alive: long}":                       `"long" is not a time such as 10m`,
		"run: {turns: 33}":                                 "from 1 to 32",
		"run: {turns: 0}":                                  "from 1 to 32",
		"run: {max_tool_calls: 65}":                        "from 1 to 64",
		"run: {tool_threads: 17}":                          "from 1 to 16",
		"run: {system: ''}":                                "the name is empty",
		"search: {provider: bing}":                         "is not one of google_cse, google, brave, searxng",
		"search: {searxng_url: 'searx.example'}":           "is not an address",
		"web: {url_prefixes: ['https://me:pw@x.example']}": "is not an address",
	} {
		_, err := Load(newWorld(t, file).named())
		got := fmt.Sprint(err, " | ", fault.Hint(err))
		if err == nil || !strings.Contains(got, want) || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q\n got %s\nwant %s", file, got, want)
		}
		if strings.Contains(got, "pw123") {
			t.Errorf("%q shows what is secret: %s", file, got)
		}
	}
}
