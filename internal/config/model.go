package config

import (
	"net/url"
	"strings"
	"time"
)

var modelKeys = []key{ModelName, ModelContext, ModelMaxOutput, ModelPrices, ModelTimeout}

// The model that is asked, whoever provides it.
var (
	ModelName = Key[string]{Name: "model.name", Env: "HAKO_MODEL AICLI_MODEL", Parse: text,
		Local: bare, With: OpenAIKey.Name, Decides: whereData + " and what it costs",
		Help: "which model to ask, as gpt-4.1-mini, ollama:qwen3 or builtin; empty means what can be reached"}
	ModelContext = Key[int]{Name: "model.context", Parse: between(0, 100_000_000), Local: harmless,
		Help: "how many tokens the model can hold, from 0 to 100000000; 0 means what is usual there"}
	ModelMaxOutput = Key[int]{Name: "model.max_output", Parse: between(0, 100_000_000), Local: harmless,
		Help: "how many tokens an answer may have, from 0 to 100000000; 0 means the provider's own limit"}
	ModelPrices = Key[string]{Name: "model.prices", Parse: file, Decides: whichFile,
		Help: "a file of prices that go before those hako knows, as llm/price/prices.json"}
	ModelTimeout = Key[time.Duration]{Name: "model.timeout", Parse: duration, Default: constant(120 * time.Second),
		Local: harmless,
		Help:  "how long a model may be silent, as 120s or 2m"}
)

var openaiKeys = []key{OpenAIKey, OpenAIBaseURL, OpenAIAPI}

// OpenAIKey is the key for OpenAI, or for who else speaks its language.
var OpenAIKey = Key[string]{
	Name: "openai.api_key", Env: "OPENAI_API_KEY AICLI_OPENAI_API_KEY", Parse: secret, Secret: true,
	Local: harmless, With: "openai.api_key", Decides: "in whose account your data is",
	Help: "the key for OpenAI or a compatible server; a file that has it must be its owner's alone",
}

// OpenAIBaseURL is where that key is sent.
var OpenAIBaseURL = Key[string]{
	Name: "openai.base_url", Env: "OPENAI_BASE_URL", Parse: address, Default: constant("https://api.openai.com/v1"),
	Carries: OpenAIKey.Name, Local: loopback, Decides: whereData,
	Help: "where OpenAI or a compatible server is, as https://api.openai.com/v1",
}

// OpenAIAPI is which of the two languages of OpenAI is spoken there.
var OpenAIAPI = Key[string]{
	Name: "openai.api", Env: "HAKO_OPENAI_API", Parse: oneOf("responses", "chat"), Default: usualAPI, Local: harmless,
	Help: "responses or chat; the default is responses at OpenAI itself and chat elsewhere",
}

// usualAPI is chat for all but OpenAI: few others have the newer one.
func usualAPI(c *Config) string {
	u, err := url.Parse(OpenAIBaseURL.Of(c).V)
	if err != nil {
		return "chat"
	}
	host := strings.ToLower(u.Hostname())
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") {
		return "responses"
	}
	return "chat"
}

var ollamaKeys = []key{OllamaURL, OllamaNumCtx, OllamaKeepAlive}

const ollamaMemory = "what memory Ollama takes"

// The local models of Ollama.
var (
	OllamaURL = Key[string]{Name: "ollama.url", Env: "OLLAMA_HOST", Parse: hostAddress,
		Default: constant("http://127.0.0.1:11434"),
		Local:   loopback, Decides: whereData,
		Help: "where Ollama is, as http://127.0.0.1:11434 or host:port"}
	OllamaNumCtx = Key[int]{Name: "ollama.num_ctx", Parse: between(256, 10_000_000), Default: constant(16384),
		Decides: ollamaMemory,
		Help:    "how many tokens Ollama keeps room for, from 256 to 10000000; more takes more memory"}
	OllamaKeepAlive = Key[string]{Name: "ollama.keep_alive", Parse: keepAlive, Decides: ollamaMemory,
		Help: "how long Ollama keeps a model in memory, as 10m, or -1 for ever; empty means as it likes"}
)

var runKeys = []key{RunTurns, RunMaxToolCalls, RunToolThreads, RunSystem}

// How far a model goes by itself.
var (
	RunTurns = Key[int]{Name: "run.turns", Env: "HAKO_TURNS", Parse: between(1, 32), Default: constant(4), Local: harmless,
		Help: "how many times a model is asked before it must answer, from 1 to 32"}
	RunMaxToolCalls = Key[int]{Name: "run.max_tool_calls", Parse: between(1, 64), Default: constant(8), Local: harmless,
		Help: "how many tools a model may call in one turn, from 1 to 64"}
	RunToolThreads = Key[int]{Name: "run.tool_threads", Parse: between(1, 16), Default: constant(4), Local: harmless,
		Help: "how many of them run at the same time, from 1 to 16"}
	RunSystem = Key[string]{Name: "run.system", Parse: file, Decides: whichFile,
		Help: "a file with instructions that stand before every conversation"}
)
