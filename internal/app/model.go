package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strings"
	"time"

	"hako/agent"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/llm"
	"hako/llm/ollama"
	"hako/llm/openai"
	"hako/llm/price"
	"hako/llm/replay"
	"hako/llm/rules"
	"hako/quota"
	"hako/run/fault"
)

// Weights returns the weights of tokens by model.
func Weights(conf *config.Config) map[string]quota.Weights {
	usual, own := conf.Weights()
	all := map[string]quota.Weights{"": usual}
	maps.Copy(all, own)
	return all
}

// DefaultModel is the default model of OpenAI.
const DefaultModel = "gpt-4.1-mini"

// A provider makes models by name.
type provider struct {
	Prefix string // as in --model ollama:qwen3
	Help   string
	make   func(ctx context.Context, at ModelSource, name string) (Model, error)
}

// Providers are the prefixes of --model.
var Providers = []provider{
	{"openai", "a model of OpenAI, or of another server at OPENAI_BASE_URL", openaiModel},
	{"responses", "the same, by the Responses API", responsesModel},
	{"chat", "the same, by the Chat Completions API (llama.cpp, vLLM, LM Studio, OpenRouter)", chatModel},
	{"ollama", "a local model of Ollama", ollamaModel},
	{"builtin", "rules without any network: simple questions about files", builtinModel},
	{"script", "replays the turns that --record wrote to a file", scriptModel},
}

// A ModelSource finds models. Record is called before a server is contacted.
type ModelSource struct {
	Conf   *config.Config
	Record func(address string) error
}

func (p ModelSource) OllamaModels(ctx context.Context) ([]ollama.Info, error) {
	o := ollamaOptions(p.Conf)
	if err := p.Record(ollama.Normalize(o.URL)); err != nil {
		return nil, err
	}
	return ollama.Models(ctx, o)
}

func (p ModelSource) ServedModels(ctx context.Context) ([]string, error) {
	o := OpenaiOptions(p.Conf)
	if err := p.Record(o.BaseURL); err != nil {
		return nil, err
	}
	return openai.Models(ctx, o)
}

// A Model is a chosen model.
type Model struct {
	Provider, Name string
	Model          llm.Model
	Context        int64  // context window in tokens; zero means unknown
	free           bool   // it costs nothing
	Why            string // why it was chosen by default; empty means that the user chose it
}

func (c Model) String() string {
	if c.Provider == c.Name {
		return c.Name
	}
	return c.Provider + " " + c.Name
}

// ChooseModel returns the model named by spec, or a reachable one.
func ChooseModel(ctx context.Context, at ModelSource, spec string) (Model, error) {
	if spec == "" {
		spec = config.ModelName.Of(at.Conf).V
	}
	if spec == "" {
		return findModel(ctx, at)
	}
	if prefix, name, ok := strings.Cut(spec, ":"); ok || spec == "builtin" {
		for _, p := range Providers {
			if p.Prefix == prefix {
				return p.make(ctx, at, name)
			}
		}
	}
	return findNamed(ctx, at, spec)
}

// findNamed finds a model without a provider: that of the configured key or URL, else a local one.
func findNamed(ctx context.Context, at ModelSource, name string) (Model, error) {
	if config.OpenAIKey.Of(at.Conf).V != "" || CustomOpenAI(at.Conf) {
		return openaiModel(ctx, at, name)
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	local, err := at.OllamaModels(probe)
	for _, m := range local {
		if m.Name == name || m.Name == name+":latest" {
			return ollamaModel(ctx, at, m.Name)
		}
	}
	if err == nil {
		return Model{}, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: name,
			Why:  "there is no key for OpenAI, and the local Ollama has no such model",
			Hint: "export OPENAI_API_KEY=…, or ollama pull " + name + "; hako models lists what can be used"}
	}
	return Model{}, noKey(name)
}

// Parts of hints about the built-in rules.
const (
	builtinHint = ", or builtin"
	builtinFlag = ", or --model builtin"
)

func noKey(name string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: name, Why: "there is no key",
		Hint:     "export OPENAI_API_KEY=…, or set model.name to a local model: ollama:NAME" + builtinHint,
		FlagHint: "export OPENAI_API_KEY=…, or use a local model: --model ollama:NAME" + builtinFlag}
}

// CustomOpenAI reports whether another address than OpenAI's is configured.
func CustomOpenAI(conf *config.Config) bool {
	u, err := url.Parse(config.OpenAIBaseURL.Of(conf).V)
	return err == nil && u.Hostname() != "api.openai.com"
}

// probeTime is the timeout of a probe for a local server.
const probeTime = 400 * time.Millisecond

// findModel finds a reachable model.
func findModel(ctx context.Context, at ModelSource) (Model, error) {
	if config.OpenAIKey.Of(at.Conf).V != "" || CustomOpenAI(at.Conf) {
		return openaiModel(ctx, at, "")
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if local, err := at.OllamaModels(probe); err == nil && len(local) > 0 {
		c, err := ollamaModel(ctx, at, local[0].Name)
		c.Why = "using the local model " + local[0].Name + " of Ollama; --model chooses another"
		return c, err
	}
	c, err := builtinModel(ctx, at, "")
	c.Why = "no key and no local model: using the built-in rules, which only answer simple questions about files (hako doctor says how to set up a model)"
	return c, err
}

func builtinModel(context.Context, ModelSource, string) (Model, error) {
	return Model{Provider: "builtin", Name: "builtin", Model: rules.New(), free: true}, nil
}

// openaiModel uses the configured API: Responses at OpenAI, Chat Completions elsewhere.
func openaiModel(ctx context.Context, at ModelSource, name string) (Model, error) {
	if config.OpenAIAPI.Of(at.Conf).V == "chat" {
		return chatModel(ctx, at, name)
	}
	return responsesModel(ctx, at, name)
}

func responsesModel(ctx context.Context, at ModelSource, name string) (Model, error) {
	return openaiCompatible(ctx, at, name, "openai", openai.Responses)
}

func chatModel(ctx context.Context, at ModelSource, name string) (Model, error) {
	return openaiCompatible(ctx, at, name, "chat", openai.Chat)
}

func openaiCompatible(ctx context.Context, at ModelSource, name, provider string,
	make func(string, openai.Options) llm.Model) (Model, error) {
	o := OpenaiOptions(at.Conf)
	if o.Key == "" && !CustomOpenAI(at.Conf) {
		return Model{}, noKey(name)
	}
	if name == "" {
		name = DefaultModel
		if CustomOpenAI(at.Conf) {
			served, err := at.ServedModels(ctx)
			if err != nil {
				return Model{}, err
			}
			if len(served) > 0 {
				name = served[0]
			}
		}
	}
	return Model{Provider: provider, Name: name, Model: make(name, o)}, nil
}

func OpenaiOptions(conf *config.Config) openai.Options {
	key := config.OpenAIKey.Of(conf)
	return openai.Options{Key: key.V, KeyFrom: strings.TrimPrefix(key.From, "env "),
		BaseURL: config.OpenAIBaseURL.Of(conf).V, Idle: config.ModelTimeout.Of(conf).V}
}

func ollamaModel(_ context.Context, at ModelSource, name string) (Model, error) {
	if name == "" {
		return Model{}, &fault.Error{Kind: fault.Invalid, Op: "choose model", Subject: "ollama:", Why: "the name is missing",
			Hint: "write it as ollama:qwen3; hako models lists them"}
	}
	o := ollamaOptions(at.Conf)
	return Model{Provider: "ollama", Name: name, Model: ollama.New(name, o), Context: int64(o.NumCtx), free: true}, nil
}

func ollamaOptions(conf *config.Config) ollama.Options {
	return ollama.Options{URL: config.OllamaURL.Of(conf).V, NumCtx: config.OllamaNumCtx.Of(conf).V,
		KeepAlive: config.OllamaKeepAlive.Of(conf).V, Idle: config.ModelTimeout.Of(conf).V}
}

func scriptModel(_ context.Context, _ ModelSource, name string) (Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return Model{}, &fault.Error{Kind: fault.NotFound, Op: "read script", Subject: name, Err: fault.Reason(err),
			Hint: "a script is a file of turns that were recorded", FlagHint: "a script of turns is what --record writes"}
	}
	defer f.Close()
	m, err := replay.Parse(f)
	return Model{Provider: "script", Name: "script", Model: m, free: true}, err
}

// A MeteredModel is a chosen model with metering, recording and retries.
type MeteredModel struct {
	Model
	Ledger  *agent.ChargedModel
	Prices  price.Table
	Wrapped llm.Model   // the outermost wrapper
	stored  quota.Usage // already stored for hako quota
}

// A TurnRecorder writes the file of --record, for all models of a run.
type TurnRecorder struct {
	out   *OutFile
	clean *redact.Writer // a server may echo secrets
}

// NewTurnRecorder creates a recorder, or returns nil if name is empty.
func NewTurnRecorder(name string, secrets *redact.Set) (*TurnRecorder, error) {
	if name == "" {
		return nil, nil
	}
	out, err := NewOutFile(name, ownerOnly)
	if err != nil {
		return nil, err
	}
	return &TurnRecorder{out, redact.NewWriter(out, secrets)}, nil
}

// Commit moves the file to its name.
func (t *TurnRecorder) Commit() error {
	if t == nil || t.out.temp == nil {
		return nil
	}
	return errors.Join(t.clean.Close(), t.out.Commit())
}

func (t *TurnRecorder) Discard() {
	if t != nil {
		t.out.Discard()
	}
}

// ModelOptions configure a [MeteredModel].
type ModelOptions struct {
	Recorder *TurnRecorder // nil means that turns are not recorded
	Tries    int           // attempts if the provider is busy; zero means 4
	Pause    time.Duration // before the second attempt; zero means 1 s
	Notify   func(llm.Waiting)
}

// Metered wraps a model with metering, recording and retries.
func (b *App) Metered(c Model, conf *config.Config, meter *quota.Budget, o ModelOptions) (*MeteredModel, error) {
	m := &MeteredModel{Model: c}
	var err error
	if m.Prices, err = Prices(conf); err != nil {
		return nil, err
	}
	inner := c.Model
	if o.Recorder != nil {
		inner = &replay.Recorder{Model: inner, W: o.Recorder.clean}
	}
	m.Ledger = &agent.ChargedModel{Model: inner, ID: b.ID, Name: c.Name, Actor: "model", Budget: meter, Log: b.Log,
		Price: m.Price, Cap: totalBudget(conf), Ahead: c.ExpectedUsage()}
	m.Wrapped = &llm.Retry{Model: m.Ledger, Tries: o.Tries, Pause: o.Pause, Notify: o.Notify}
	return m, nil
}

func (m *MeteredModel) Price(model string, u quota.Usage) (float64, bool) {
	if m.free {
		return 0, true
	}
	dollars, _, ok := m.Prices.Cost(model, u)
	return dollars, ok
}

// Book stores the usage since the last call for hako quota: of the model, and of the scripts it ran.
func (m *MeteredModel) Book(conf *config.Config, otherwise quota.Usage) error {
	used := m.Ledger.Total().Usage
	if used == (quota.Usage{}) {
		return nil
	}
	if m.Ledger.Cap != nil { // already stored with every call
		used = quota.Usage{}
	}
	used.Read, used.Written, used.Scripts = otherwise.Read, otherwise.Written, otherwise.Scripts
	if used == m.stored {
		return nil
	}
	err := quota.UsageFile{Path: conf.StateFile("usage.json")}.Add(quota.Day(time.Now()), m.Name, used.Less(m.stored))
	if err == nil {
		m.stored = used
	}
	return err
}

// Stats returns the line of --stats.
func (m *MeteredModel) Stats() string {
	t := m.Ledger.Total()
	calls := "calls"
	if t.Tries == 1 {
		calls = "call"
	}
	line := fmt.Sprintf("%s: %d %s in %v, %d tokens in (%d cached), %d out", m.Model, t.Tries, calls,
		t.Time.Round(time.Millisecond), t.Input+t.Cached, t.Cached, t.Output)
	switch {
	case m.free:
		return line + ", free"
	case m.Cost() == nil:
		return line + ", unpriced (set model.prices)"
	}
	_, asOf, _ := m.Prices.Cost(m.Name, t.Usage)
	return fmt.Sprintf("%s, $%.6f (prices of %s)", line, t.Cost, asOf)
}

// Cost returns the cost in dollars; nil means unknown.
func (m *MeteredModel) Cost() *float64 {
	t := m.Ledger.Total()
	if _, known := m.Price(m.Name, t.Usage); !known || t.Unpriced {
		return nil
	}
	return &t.Cost
}

// Prices returns the price table with the user's overrides.
func Prices(conf *config.Config) (price.Table, error) {
	table := price.Default()
	name := config.ModelPrices.Of(conf).V
	if name == "" {
		return table, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return table, &fault.Error{Kind: fault.NotFound, Op: "read prices", Subject: name, Err: fault.Reason(err)}
	}
	defer f.Close()
	own, err := price.Parse(f)
	if err != nil {
		return table, err
	}
	return table.With(own), nil
}

// UsageState returns the usage file of hako quota.
func UsageState(conf *config.Config) quota.UsageFile {
	return quota.UsageFile{Path: conf.StateFile("usage.json")}
}

// totalBudget returns the budget of all runs together, or nil.
func totalBudget(conf *config.Config) *quota.SharedBudget {
	tokens := conf.TotalTokens()
	if tokens == quota.NoLimit {
		return nil
	}
	return &quota.SharedBudget{UsageFile: UsageState(conf), Tokens: tokens, Weights: Weights(conf)}
}

// ExpectedUsage returns a function that predicts the usage of the next call, or nil: recorded turns contain
// it, and the built-in rules use nothing.
func (c Model) ExpectedUsage() func() quota.Usage {
	if s, ok := c.Model.(*replay.Script); ok {
		return s.Ahead
	}
	if c.Provider == "builtin" {
		return func() quota.Usage { return quota.Usage{} }
	}
	return nil
}

// RetryEvent describes a pause before a model is called again.
func RetryEvent(w llm.Waiting) agent.Event {
	return agent.Event{
		Type: "retry", Kind: fault.KindOf(w.Err).String(),
		Text: fmt.Sprintf("%v; trying again in %v (%d of %d)", w.Err, w.Wait.Round(10*time.Millisecond), w.Tried+1, w.Tries),
	}
}
