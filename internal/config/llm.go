package config

import (
	"errors"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

// The section llm is how files that were written for other agents name the model.
// It has no meaning of its own: what it says is taken for our settings, unless
// the same file has those too.

var llmKeys = []key{
	LLMProvider, LLMFunctions,
	LLMOpenAIURL, LLMOpenAIKey, LLMOpenAIModel, LLMOpenAIContext, LLMOpenAIMaxToken,
	LLMOllamaURL, LLMOllamaModel, LLMOllamaContext, LLMOllamaMaxToken,
	LLMStudioURL, LLMStudioModel, LLMStudioContext, LLMStudioMaxToken,
}

const (
	whichModel = whereData + " and what it costs"
	forOthers  = "the compatible spelling of "
)

// Which part of the section counts.
var (
	LLMProvider = Key[string]{Name: "llm.provider", Parse: oneOf("openai", "ollama", "lmstudio"),
		Default: providerWithModel, Decides: whichModel,
		Help: "whose model to ask, openai, ollama or lmstudio; empty means the first of them that has a model below"}
	LLMFunctions = Key[bool]{Name: "llm.function_calling", Parse: truth, Default: constant(true),
		Decides: "what a model may do",
		Help:    "understood for the sake of files written for others; hako always offers its tools as functions"}
)

// OpenAI, or who else speaks its language.
var (
	LLMOpenAIURL = Key[string]{Name: "llm.openai.base_url", Parse: orEmpty(address), Carries: "llm.openai.api_key",
		Decides: whereData,
		Help:    forOthers + "openai.base_url"}
	LLMOpenAIKey = Key[string]{Name: "llm.openai.api_key", Parse: orEmpty(secret), Secret: true, Hidden: realKey,
		Decides: "in whose account your data is",
		Help:    forOthers + "openai.api_key"}
	LLMOpenAIModel = Key[string]{Name: "llm.openai.model", Parse: orEmpty(text), Decides: whichModel,
		Help: forOthers + "model.name, for openai"}
	LLMOpenAIContext = Key[int]{Name: "llm.openai.context_length", Parse: between(0, 100_000_000), Decides: whatCosts,
		Help: forOthers + "model.context"}
	LLMOpenAIMaxToken = Key[int]{Name: "llm.openai.max_token", Parse: between(0, 100_000_000), Decides: whatCosts,
		Help: forOthers + "model.max_output"}
)

// Ollama.
var (
	LLMOllamaURL = Key[string]{Name: "llm.ollama.endpoint", Parse: orEmpty(hostAddress), Decides: whereData,
		Help: forOthers + "ollama.url"}
	LLMOllamaModel = Key[string]{Name: "llm.ollama.model", Parse: orEmpty(text), Decides: whichModel,
		Help: forOthers + "model.name, for ollama"}
	LLMOllamaContext = Key[int]{Name: "llm.ollama.context_length", Parse: between(0, 10_000_000), Decides: ollamaMemory,
		Help: forOthers + "ollama.num_ctx; 0 means that"}
	LLMOllamaMaxToken = Key[int]{Name: "llm.ollama.max_token", Parse: between(0, 100_000_000), Decides: whatCosts,
		Help: forOthers + "model.max_output"}
)

// LM Studio, which speaks the language of OpenAI.
var (
	LLMStudioURL = Key[string]{Name: "llm.lmstudio.base_url", Parse: orEmpty(hostAddress), Decides: whereData,
		Help: forOthers + "openai.base_url, as localhost:1234; empty means that one"}
	LLMStudioModel = Key[string]{Name: "llm.lmstudio.model", Parse: orEmpty(text), Decides: whichModel,
		Help: forOthers + "model.name, for lmstudio; empty means the first that is there"}
	LLMStudioContext = Key[int]{Name: "llm.lmstudio.context_length", Parse: between(0, 100_000_000), Decides: whatCosts,
		Help: forOthers + "model.context"}
	LLMStudioMaxToken = Key[int]{Name: "llm.lmstudio.max_token", Parse: between(0, 100_000_000), Decides: whatCosts,
		Help: forOthers + "model.max_output"}
)

func providerWithModel(c *Config) string {
	for _, name := range []string{"openai", "ollama", "lmstudio"} {
		if s, ok := c.set["llm."+name+".model"]; ok && s.words[0] != "" {
			return name
		}
	}
	return ""
}

// keyElsewhere is what files have in the place of a key that is in the
// environment.
const keyElsewhere = "OPENAI_API_KEY"

// realKey hides keys, and not what stands in their place.
func realKey(s setting) []string {
	if word := strings.Join(s.words, ""); word != "" && word != keyElsewhere {
		return s.words
	}
	return nil
}

// A meaning is one of our settings in the compatible spelling.
type meaning struct {
	from, to string
	needed   bool                         // it has a meaning even if it is not written
	spell    func(string) (string, error) // writes the value as we do; nothing means that there is none
}

func asItIs(word string) (string, error) { return word, nil }

// unless knows a value that stands for none.
func unless(none string) func(string) (string, error) {
	return func(word string) (string, error) {
		if word == none {
			return "", nil
		}
		return word, nil
	}
}

// of names the provider before the model.
func of(provider string) func(string) (string, error) {
	return func(model string) (string, error) {
		if model == "" && provider == "ollama" {
			return "", errors.New("llm.ollama.model is missing")
		}
		return provider + ":" + model, nil
	}
}

// studioAddress writes out what people shorten to host:port.
func studioAddress(word string) (string, error) {
	if word == "" {
		word = "localhost:1234"
	}
	if !strings.Contains(word, "://") {
		word = "http://" + word
	}
	return strings.TrimSuffix(strings.TrimRight(word, "/"), "/v1") + "/v1", nil
}

// meanings returns what the section means when a provider is chosen. With LM
// Studio the address and key of OpenAI have no meaning: that key is not for it.
func meanings(provider string) []meaning {
	openai := []meaning{
		{LLMOpenAIURL.Name, OpenAIBaseURL.Name, false, asItIs},
		{LLMOpenAIKey.Name, OpenAIKey.Name, false, unless(keyElsewhere)},
	}
	ollama := []meaning{
		{LLMOllamaURL.Name, OllamaURL.Name, false, asItIs},
		{LLMOllamaContext.Name, OllamaNumCtx.Name, false, unless("0")},
	}
	switch provider {
	case "openai":
		return append(append(openai, ollama...),
			meaning{LLMOpenAIModel.Name, ModelName.Name, true, of("openai")},
			meaning{LLMOpenAIContext.Name, ModelContext.Name, false, asItIs},
			meaning{LLMOpenAIMaxToken.Name, ModelMaxOutput.Name, false, asItIs})
	case "ollama":
		return append(append(openai, ollama...),
			meaning{LLMOllamaModel.Name, ModelName.Name, true, of("ollama")},
			meaning{LLMOllamaMaxToken.Name, ModelMaxOutput.Name, false, asItIs})
	case "lmstudio":
		return append(ollama,
			meaning{LLMStudioURL.Name, OpenAIBaseURL.Name, true, studioAddress},
			meaning{LLMStudioModel.Name, ModelName.Name, true, of("chat")},
			meaning{LLMStudioContext.Name, ModelContext.Name, false, asItIs},
			meaning{LLMStudioMaxToken.Name, ModelMaxOutput.Name, false, asItIs})
	}
	return append(openai, ollama...)
}

// llm takes the compatible section of a file for our settings.
func (r *reader) llm() error {
	provider := LLMProvider.Of(r.config)
	if _, ok := r.config.set[LLMProvider.Name]; !ok { // its model chose it
		provider.From = r.config.set["llm."+provider.V+".model"].from
	}
	for _, m := range meanings(provider.V) {
		if err := r.mean(m, provider.From); err != nil {
			return err
		}
	}
	return nil
}

// here tells whether something was set in this file.
func (r *reader) here(from string) bool { return strings.HasPrefix(from, r.path+":") }

// mean takes in one setting, unless the file has it in our spelling.
func (r *reader) mean(m meaning, chosen string) error {
	s, written := r.config.set[m.from]
	written = written && r.here(s.from)
	if r.here(r.config.set[m.to].from) || !written && !(m.needed && r.here(chosen)) {
		return nil
	}
	word := ""
	if written {
		word = strings.TrimSpace(s.words[0])
	} else {
		s = setting{from: chosen, base: filepath.Dir(r.path), local: r.local}
	}
	word, err := m.spell(word)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "set " + LLMProvider.Name, Why: chosen, Err: err, Hint: LLMProvider.Help}
	}
	if word == "" {
		return nil
	}
	return r.config.putWord(m.to, word, s)
}
