package config

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"hako/run/fault"
)

// The section llm of settings files that were written for other agents. Its settings have no meaning of their own:
// they are converted to ours, unless the same file has those too.

const llmProvider = Key[string]("llm.provider")

// providerWithModel is the default of llm.provider: the first provider that has a model in the section.
func providerWithModel(c *Config) []string {
	for _, name := range []string{"openai", "ollama", "lmstudio"} {
		if s, ok := c.set["llm."+name+".model"]; ok && s.words[0] != "" {
			return []string{name}
		}
	}
	return nil
}

// defaultAPI is chat for all servers but OpenAI: few others have the newer API.
func defaultAPI(c *Config) []string {
	u, err := url.Parse(OpenAIBaseURL.Of(c).V)
	if err != nil {
		return []string{"chat"}
	}
	host := strings.ToLower(u.Hostname())
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") {
		return []string{"responses"}
	}
	return []string{"chat"}
}

// keyInEnvironment is what such files have as the key if it is in the environment.
const keyInEnvironment = "OPENAI_API_KEY"

// realKey returns a key, but not the placeholder.
func realKey(s setting) []string {
	if word := strings.Join(s.words, ""); word != "" && word != keyInEnvironment {
		return s.words
	}
	return nil
}

// A conversion makes one of our settings of one of the section.
type conversion struct {
	from     string // below "llm."
	to       Key[string]
	required bool                         // it has a value even if it is not written
	convert  func(string) (string, error) // returns the value as we write it; empty means none
}

func unchanged(word string) (string, error) { return word, nil }

// unless drops a value that means none.
func unless(none string) func(string) (string, error) {
	return func(word string) (string, error) {
		if word == none {
			return "", nil
		}
		return word, nil
	}
}

// prefixed adds the provider to the name of the model.
func prefixed(provider string) func(string) (string, error) {
	return func(model string) (string, error) {
		if model == "" && provider == "ollama" {
			return "", errors.New("llm.ollama.model is missing")
		}
		return provider + ":" + model, nil
	}
}

// studioAddress completes the address of LM Studio, which may be just host:port.
func studioAddress(word string) (string, error) {
	if word == "" {
		word = "localhost:1234"
	}
	if !strings.Contains(word, "://") {
		word = "http://" + word
	}
	return strings.TrimSuffix(strings.TrimRight(word, "/"), "/v1") + "/v1", nil
}

var (
	openaiConversions = []conversion{
		{"openai.base_url", OpenAIBaseURL, false, unchanged},
		{"openai.api_key", OpenAIKey, false, unless(keyInEnvironment)},
	}
	ollamaConversions = []conversion{
		{"ollama.endpoint", OllamaURL, false, unchanged},
		{"ollama.context_length", Key[string](OllamaNumCtx), false, unless("0")},
	}
	// modelConversions are those of the chosen provider.
	modelConversions = map[string][]conversion{
		"openai": {
			{"openai.model", ModelName, true, prefixed("openai")},
			{"openai.context_length", Key[string](ModelContext), false, unchanged},
			{"openai.max_token", Key[string](ModelMaxOutput), false, unchanged},
		},
		"ollama": {
			{"ollama.model", ModelName, true, prefixed("ollama")},
			{"ollama.max_token", Key[string](ModelMaxOutput), false, unchanged},
		},
		"lmstudio": {
			{"lmstudio.base_url", OpenAIBaseURL, true, studioAddress},
			{"lmstudio.model", ModelName, true, prefixed("chat")},
			{"lmstudio.context_length", Key[string](ModelContext), false, unchanged},
			{"lmstudio.max_token", Key[string](ModelMaxOutput), false, unchanged},
		},
	}
)

// conversions returns those for a provider. With LM Studio, the URL and key of OpenAI are ignored: that key must not
// be sent there.
func conversions(provider string) []conversion {
	if provider == "lmstudio" {
		return slices.Concat(ollamaConversions, modelConversions[provider])
	}
	return slices.Concat(openaiConversions, ollamaConversions, modelConversions[provider])
}

// llm converts the section of a file to our settings.
func (r *reader) llm() error {
	provider := llmProvider.Of(r.config)
	if _, ok := r.config.set[string(llmProvider)]; !ok { // its model chose it
		provider.From = r.config.set["llm."+provider.V+".model"].from
	}
	for _, c := range conversions(provider.V) {
		if err := r.convert(c, provider.From); err != nil {
			return err
		}
	}
	return nil
}

// here reports whether something was set in this file.
func (r *reader) here(from string) bool { return strings.HasPrefix(from, r.path+":") }

// convert converts one setting, unless the file has it in our spelling.
func (r *reader) convert(c conversion, chosen string) error {
	s, written := r.config.set["llm."+c.from]
	written = written && r.here(s.from)
	if r.here(r.config.set[string(c.to)].from) || !written && !(c.required && r.here(chosen)) {
		return nil
	}
	word := ""
	if written {
		word = strings.TrimSpace(s.words[0])
	} else {
		s = setting{from: chosen, base: filepath.Dir(r.path), local: r.local}
	}
	word, err := c.convert(word)
	if err != nil {
		k, _ := r.config.find(string(llmProvider), chosen)
		return &fault.Error{Kind: fault.Invalid, Op: "set " + k.name, Why: chosen, Err: err, Hint: k.help()}
	}
	if word == "" {
		return nil
	}
	return r.config.putWord(string(c.to), word, s)
}
