package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hako/run/fault"
)

// TestLLM has the section as files for other agents have it, and what hako makes
// of it: model, context, longest answer, address of OpenAI, its key, address of
// Ollama and its room.
func TestLLM(t *testing.T) {
	const usual = " https://api.openai.com/v1  http://127.0.0.1:11434 16384"
	for what, tt := range map[string]struct{ file, want string }{
		"openai": {"llm: {provider: openai, function_calling: true, openai: {base_url: 'https://llm.example/v1', api_key: sk-123456, model: gpt-x, context_length: 128000, max_token: 4096}, ollama: {model: y}}",
			"openai:gpt-x 128000 4096 https://llm.example/v1 sk-123456 http://127.0.0.1:11434 16384"},
		"no model": {"llm: {provider: openai}", "openai: 0 0" + usual},
		"a key elsewhere": {"llm: {provider: openai, openai: {api_key: OPENAI_API_KEY, model: gpt-x}}",
			"openai:gpt-x 0 0" + usual},
		"ollama":    {"llm: {provider: ollama, ollama: {endpoint: 'http://gpu:11434', model: 'qwen3:8b', max_token: 500, context_length: 32768}}", "ollama:qwen3:8b 0 500 https://api.openai.com/v1  http://gpu:11434 32768"},
		"lm studio": {"llm: {provider: lmstudio, lmstudio: {base_url: 'gpu:1234', model: qwen3, context_length: 32768}, openai: {api_key: sk-123456, base_url: 'https://llm.example/v1'}}", "chat:qwen3 32768 0 http://gpu:1234/v1  http://127.0.0.1:11434 16384"},
		"lm studio, bare": {"llm: {provider: lmstudio}",
			"chat: 0 0 http://localhost:1234/v1  http://127.0.0.1:11434 16384"},
		"lm studio, whole": {"llm: {lmstudio: {base_url: 'https://gpu/v1/', model: x}}",
			"chat:x 0 0 https://gpu/v1  http://127.0.0.1:11434 16384"},
		"lm studio, chosen": {"llm: {lmstudio: {model: x}}",
			"chat:x 0 0 http://localhost:1234/v1  http://127.0.0.1:11434 16384"},
		"by its model": {"llm: {ollama: {model: x}}", "ollama:x 0 0" + usual},
		"addresses alone": {"llm: {ollama: {endpoint: 'gpu:1'}, openai: {base_url: 'http://x/v1'}}",
			" 0 0 http://x/v1  gpu:1 16384"},
		"empty values": {"llm: {openai: {base_url: '', api_key: '', model: ''}, ollama: {context_length: 0}}",
			" 0 0" + usual},
		"only understood": {"llm: {function_calling: false}", " 0 0" + usual},
		"ours before it":  {"model: {name: mine, context: 5}\nopenai: {base_url: 'http://mine/v1'}\nllm: {provider: openai, openai: {base_url: 'http://x/v1', model: y, context_length: 6, max_token: 7}}", "mine 5 7 http://mine/v1  http://127.0.0.1:11434 16384"},
		"ours after it":   {"llm: {provider: ollama, ollama: {endpoint: 'gpu:1'}}\nmodel: {name: mine}\nollama: {url: 'mine:1'}", "mine 0 0 https://api.openai.com/v1  mine:1 16384"},
	} {
		w := newWorld(t, "")
		w.private(t, fileName, tt.file)
		if got := llmOf(mustLoad(t, w.named())); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", what, got, tt.want)
		}
	}
}

func llmOf(c *Config) string {
	return fmt.Sprintf("%s %d %d %s %s %s %d", ModelName.Of(c).V, ModelContext.Of(c).V, ModelMaxOutput.Of(c).V,
		OpenAIBaseURL.Of(c).V, OpenAIKey.Of(c).V, OllamaURL.Of(c).V, OllamaNumCtx.Of(c).V)
}

// What was set is known by where it was written; the environment and flags are
// over it, other files below.
func TestLLMPlace(t *testing.T) {
	w := newWorld(t, "")
	w.private(t, "home/.aicli.json", `{"model":"old","openai_api_key":"sk-old"}`)
	own := w.private(t, "home/.config/hako/hako.yaml",
		"llm:\n  provider: openai\n  openai:\n    model: gpt-x\n    api_key: sk-123456\nmodel: {context: 5}")
	w.write(t, fileName, "model: {max_output: 9}")
	c := mustLoad(t, w.source())
	if v := ModelName.Of(c); v != (Value[string]{"openai:gpt-x", own + ":4"}) {
		t.Errorf("%+v", v)
	}
	if v := OpenAIKey.Of(c); v != (Value[string]{"sk-123456", own + ":5"}) {
		t.Errorf("%+v", v)
	}
	if ModelContext.Of(c).V != 5 || ModelMaxOutput.Of(c).V != 9 {
		t.Error(llmOf(c))
	}
	w.env["HAKO_MODEL"] = "env-model"
	if v := ModelName.Of(mustLoad(t, w.source())); v.V != "env-model" {
		t.Errorf("%+v", v)
	}
}

// A second file does not bring the section of the first over its own settings.
func TestLLMOnce(t *testing.T) {
	w := newWorld(t, "")
	w.private(t, "home/.config/hako/hako.yaml",
		"llm: {provider: openai, openai: {context_length: 6}}\nmodel: {context: 5, name: mine}")
	w.write(t, fileName, "run: {turns: 3}")
	if got := llmOf(mustLoad(t, w.source())); !strings.HasPrefix(got, "mine 5 ") {
		t.Error(got)
	}
}

func TestLLMMistakes(t *testing.T) {
	for file, want := range map[string]string{
		"llm: {provider: anthropic}":                                   `"anthropic" is not one of openai, ollama, lmstudio`,
		"llm: {provider: ollama}":                                      "set llm.provider: FILE:1: llm.ollama.model is missing",
		"llm: {provider: ollama, openai: {model: x}}":                  "llm.ollama.model is missing",
		"llm: {openai: {base_url: x}}":                                 "set llm.openai.base_url",
		"llm: {openai: {context_length: -1}}":                          "from 0 to 100000000",
		"llm: {openai: {api_key: 'sk-pw123 x'}}":                       "a character in it that no key has",
		"llm: {ollama: {endpoint: 'a b'}}":                             "host:port",
		"llm: {ollama: {context_length: 5}}":                           "set ollama.num_ctx: FILE:1",
		"llm: {lmstudio: {base_url: 'http://a:sk-pw123@b', model: x}}": "a name or password in it",
		"llm: {lmstudio: {base_url: 'http://a/?k=1', model: x}}":       "set openai.base_url: FILE:1",
		"llm: {function_calling: x}":                                   "neither true nor false",
		"llm: openai":                                                  "llm must hold names and values",
	} {
		w := newWorld(t, "")
		path := w.private(t, fileName, file)
		_, err := Load(w.named())
		got := fmt.Sprint(err)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(got, strings.ReplaceAll(want, "FILE", path)) {
			t.Errorf("%s\n got %s\nwant %s", file, got, want)
		}
		if strings.Contains(got, "sk-pw123") {
			t.Errorf("%s: a key is shown: %s", file, got)
		}
	}
}

// The key is a secret; the name of the variable that has it is none.
func TestLLMSecret(t *testing.T) {
	w := newWorld(t, "")
	path := w.private(t, fileName, "llm: {openai: {api_key: sk-123456}}")
	c := mustLoad(t, w.named())
	if got := c.Secrets(); len(got) != 1 || got[0] != "sk-123456" || strings.Contains(fmt.Sprint(c.Show()), "sk-123456") {
		t.Errorf("%q, %v", got, c.Show())
	}
	if c := mustLoad(t, newWorld(t, "llm: {openai: {api_key: OPENAI_API_KEY}}").named()); len(c.Secrets()) != 0 ||
		OpenAIKey.Of(c).V != "" {
		t.Errorf("%q", c.Secrets())
	}
	if runtime.GOOS == "windows" {
		return
	}
	os.Chmod(path, 0o644)
	if _, err := Load(w.named()); !strings.Contains(fault.Hint(err), "chmod 600 "+filepath.Join(w.dir, fileName)) {
		t.Errorf("a key that others can read: %v", err)
	}
}
