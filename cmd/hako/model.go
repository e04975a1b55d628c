package main

import (
	"context"
	"errors"
	"fmt"
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

// defaultModel is what is asked at OpenAI if nobody says otherwise.
const defaultModel = "gpt-4.1-mini"

// A provider makes models of its kind by name.
type provider struct {
	prefix string // as in --model ollama:qwen3
	help   string
	make   func(ctx context.Context, at place, name string) (chosen, error)
}

// A place is where models are looked for. Whoever is asked on the way is put on
// record first; touched does that.
type place struct {
	conf    *config.Config
	touched func(address string) error
}

func (p place) ollamas(ctx context.Context) ([]ollama.Info, error) {
	o := ollamaOptions(p.conf)
	if err := p.touched(ollama.Normalize(o.URL)); err != nil {
		return nil, err
	}
	return ollama.Models(ctx, o)
}

func (p place) served(ctx context.Context) ([]string, error) {
	o := openaiOptions(p.conf)
	if err := p.touched(o.BaseURL); err != nil {
		return nil, err
	}
	return openai.Models(ctx, o)
}

// A chosen model is ready to be asked.
type chosen struct {
	provider, name string
	model          llm.Model
	context        int64  // tokens that it can hold; zero means that of the loop
	free           bool   // nobody charges for it
	why            string // nobody chose it: what to tell the user
}

func (c chosen) String() string {
	if c.provider == c.name {
		return c.name
	}
	return c.provider + " " + c.name
}

// chooseModel finds the model to ask: the one named, or what is reachable.
func chooseModel(ctx context.Context, at place, spec string) (chosen, error) {
	if spec == "" {
		spec = config.ModelName.Of(at.conf).V
	}
	if spec == "" {
		return reachable(ctx, at)
	}
	if prefix, name, ok := strings.Cut(spec, ":"); ok || spec == "builtin" {
		for _, p := range models {
			if p.prefix == prefix {
				return p.make(ctx, at, name)
			}
		}
	}
	return bareName(ctx, at, spec)
}

// bareName is a model without its provider: that of the key or address that was
// set, else a local one.
func bareName(ctx context.Context, at place, name string) (chosen, error) {
	if config.OpenAIKey.Of(at.conf).V != "" || elsewhere(at.conf) {
		return openaiModel(ctx, at, name)
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	local, err := at.ollamas(probe)
	for _, m := range local {
		if m.Name == name || m.Name == name+":latest" {
			return ollamaModel(ctx, at, m.Name)
		}
	}
	if err == nil {
		return chosen{}, &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: name, Why: "there is no key for OpenAI, and the local Ollama has no such model",
			Hint: "export OPENAI_API_KEY=…, or ollama pull " + name + "; hako models lists what can be used"}
	}
	return chosen{}, noKey(name)
}

// What hints say of the built-in rules, which are not enough for everything.
const (
	builtinHint = ", or builtin"
	builtinFlag = ", or --model builtin"
)

func noKey(name string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "ask model", Subject: name, Why: "there is no key",
		Hint:     "export OPENAI_API_KEY=…, or set model.name to a local model: ollama:NAME" + builtinHint,
		FlagHint: "export OPENAI_API_KEY=…, or use a local model: --model ollama:NAME" + builtinFlag}
}

// elsewhere reports whether the address of OpenAI was set to another one.
func elsewhere(conf *config.Config) bool {
	u, err := url.Parse(config.OpenAIBaseURL.Of(conf).V)
	return err == nil && u.Hostname() != "api.openai.com"
}

// probeTime is how long a local server may take to say that it is there.
const probeTime = 400 * time.Millisecond

// reachable finds a model that nobody named.
func reachable(ctx context.Context, at place) (chosen, error) {
	if config.OpenAIKey.Of(at.conf).V != "" || elsewhere(at.conf) {
		return openaiModel(ctx, at, "")
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if local, err := at.ollamas(probe); err == nil && len(local) > 0 {
		c, err := ollamaModel(ctx, at, local[0].Name)
		c.why = "using the local model " + local[0].Name + " of Ollama; --model chooses another"
		return c, err
	}
	c, err := builtinModel(ctx, at, "")
	c.why = "no key and no local model: using the built-in rules, which only answer simple questions about files (hako doctor says how to set up a model)"
	return c, err
}

func builtinModel(context.Context, place, string) (chosen, error) {
	return chosen{provider: "builtin", name: "builtin", model: rules.New(), free: true}, nil
}

// openaiModel speaks the dialect that was set: Responses at OpenAI, Chat
// Completions elsewhere.
func openaiModel(ctx context.Context, at place, name string) (chosen, error) {
	if config.OpenAIAPI.Of(at.conf).V == "chat" {
		return chatModel(ctx, at, name)
	}
	return responsesModel(ctx, at, name)
}

func responsesModel(ctx context.Context, at place, name string) (chosen, error) {
	return hosted(ctx, at, name, "openai", openai.Responses)
}

func chatModel(ctx context.Context, at place, name string) (chosen, error) {
	return hosted(ctx, at, name, "chat", openai.Chat)
}

func hosted(ctx context.Context, at place, name, provider string, make func(string, openai.Options) llm.Model) (chosen, error) {
	o := openaiOptions(at.conf)
	if o.Key == "" && !elsewhere(at.conf) {
		return chosen{}, noKey(name)
	}
	if name == "" {
		name = defaultModel
		if elsewhere(at.conf) {
			served, err := at.served(ctx)
			if err != nil {
				return chosen{}, err
			}
			if len(served) > 0 {
				name = served[0]
			}
		}
	}
	return chosen{provider: provider, name: name, model: make(name, o)}, nil
}

func openaiOptions(conf *config.Config) openai.Options {
	key := config.OpenAIKey.Of(conf)
	return openai.Options{Key: key.V, KeyFrom: strings.TrimPrefix(key.From, "env "), BaseURL: config.OpenAIBaseURL.Of(conf).V, Idle: config.ModelTimeout.Of(conf).V}
}

func ollamaModel(_ context.Context, at place, name string) (chosen, error) {
	if name == "" {
		return chosen{}, &fault.Error{Kind: fault.Invalid, Op: "choose model", Subject: "ollama:", Why: "the name is missing", Hint: "write it as ollama:qwen3; hako models lists them"}
	}
	o := ollamaOptions(at.conf)
	return chosen{provider: "ollama", name: name, model: ollama.New(name, o), context: int64(o.NumCtx), free: true}, nil
}

func ollamaOptions(conf *config.Config) ollama.Options {
	return ollama.Options{URL: config.OllamaURL.Of(conf).V, NumCtx: config.OllamaNumCtx.Of(conf).V, KeepAlive: config.OllamaKeepAlive.Of(conf).V, Idle: config.ModelTimeout.Of(conf).V}
}

func scriptModel(_ context.Context, _ place, name string) (chosen, error) {
	f, err := os.Open(name)
	if err != nil {
		return chosen{}, &fault.Error{Kind: fault.NotFound, Op: "read script", Subject: name, Err: reasonOf(err), Hint: "a script is a file of turns that were recorded", FlagHint: "a script of turns is what --record writes"}
	}
	defer f.Close()
	m, err := replay.Parse(f)
	return chosen{provider: "script", name: "script", model: m, free: true}, err
}

// modelFlags are the flags of every command that asks a model.
type modelFlags struct {
	model  string
	record string
	stats  bool
	json   bool

	tape  *tape         // what record names, once it is open
	tries int           // in all, when the provider is busy; zero means 4
	pause time.Duration // before the second; zero means 1 s
}

// A mind is a chosen model with everything that stands before it.
type mind struct {
	chosen
	ledger *agent.Ledger
	prices price.Table
	front  llm.Model   // what is asked
	booked quota.Usage // what hako quota knows already
}

// A tape is the file of --record: one for all models of a run.
type tape struct {
	out   *outFile
	clean *redact.Writer // before it: a server may say back what it was told
}

// newTape begins a tape; nil if there is no name.
func newTape(name string, secrets *redact.Set) (*tape, error) {
	if name == "" {
		return nil, nil
	}
	out, err := newOutFile(name, private)
	if err != nil {
		return nil, err
	}
	return &tape{out, redact.NewWriter(out, secrets)}, nil
}

// keep puts the file in its place.
func (t *tape) keep() error {
	if t == nil || t.out.temp == nil {
		return nil
	}
	return errors.Join(t.clean.Close(), t.out.keep())
}

func (t *tape) discard() {
	if t != nil {
		t.out.discard()
	}
}

// think puts what counts, records and retries before a model.
func (o *modelFlags) think(c chosen, conf *config.Config, b *opened, meter *quota.Budget, notify func(llm.Waiting)) (*mind, error) {
	m := &mind{chosen: c}
	var err error
	if m.prices, err = prices(conf); err != nil {
		return nil, err
	}
	inner := c.model
	if o.tape != nil {
		inner = &replay.Recorder{Model: inner, W: o.tape.clean}
	}
	m.ledger = &agent.Ledger{Model: inner, ID: b.id, Name: c.name, Actor: "model", Budget: meter, Log: b.log, Price: m.price, Cap: totalOf(conf), Ahead: c.ahead()}
	m.front = &llm.Retry{Model: m.ledger, Tries: o.tries, Pause: o.pause, Notify: notify}
	return m, nil
}

func (m *mind) price(model string, u quota.Usage) (float64, bool) {
	if m.free {
		return 0, true
	}
	dollars, _, ok := m.prices.Cost(model, u)
	return dollars, ok
}

// book keeps what was used since the last time for hako quota: by the model, and
// otherwise by the scripts that it had run.
func (m *mind) book(conf *config.Config, otherwise quota.Usage) error {
	used := m.ledger.Total().Usage
	if used == (quota.Usage{}) {
		return nil
	}
	if m.ledger.Cap != nil { // which every call was settled with
		used = quota.Usage{}
	}
	used.Read, used.Written, used.Scripts = otherwise.Read, otherwise.Written, otherwise.Scripts
	if used == m.booked {
		return nil
	}
	err := quota.UsageFile{Path: conf.StateFile("usage.json")}.Add(quota.Day(time.Now()), m.name, used.Less(m.booked))
	if err == nil {
		m.booked = used
	}
	return err
}

// stats is the line that --stats prints.
func (m *mind) stats() string {
	t := m.ledger.Total()
	calls := "calls"
	if t.Tries == 1 {
		calls = "call"
	}
	line := fmt.Sprintf("%s: %d %s in %v, %d tokens in (%d cached), %d out", m.chosen, t.Tries, calls, t.Time.Round(time.Millisecond), t.Input+t.Cached, t.Cached, t.Output)
	switch {
	case m.free:
		return line + ", free"
	case m.cost() == nil:
		return line + ", unpriced (set model.prices)"
	}
	_, asOf, _ := m.prices.Cost(m.name, t.Usage)
	return fmt.Sprintf("%s, $%.6f (prices of %s)", line, t.Cost, asOf)
}

// cost returns what was spent in dollars; nil means that nobody knows.
func (m *mind) cost() *float64 {
	t := m.ledger.Total()
	if _, known := m.price(m.name, t.Usage); !known || t.Unpriced {
		return nil
	}
	return &t.Cost
}

// prices returns the table of prices with what the user set.
func prices(conf *config.Config) (price.Table, error) {
	table := price.Default()
	name := config.ModelPrices.Of(conf).V
	if name == "" {
		return table, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return table, &fault.Error{Kind: fault.NotFound, Op: "read prices", Subject: name, Err: reasonOf(err)}
	}
	defer f.Close()
	own, err := price.Parse(f)
	if err != nil {
		return table, err
	}
	return table.With(own), nil
}
