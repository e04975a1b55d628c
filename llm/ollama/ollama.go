// Package ollama is the provider for models of an Ollama server, over its own API: the one compatible with OpenAI
// ignores the size of the context.
//
// It does not start a server or pull models. Each request begins with the bytes of the one before, up to the end of its
// list of messages, and has the same size of context; otherwise the server would load the model again and process
// everything once more.
package ollama

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"hako/llm"
	"hako/llm/wire"
)

// Defaults of the options.
const (
	defaultURL    = "http://127.0.0.1:11434"
	defaultNumCtx = 16384
	defaultIdle   = 5 * time.Minute
)

// Options are the settings of the provider.
type Options struct {
	URL       string        // also as OLLAMA_HOST has it, see [Normalize]; empty means DefaultURL
	NumCtx    int           // tokens that the model can hold; zero means DefaultNumCtx
	KeepAlive string        // how long the model stays loaded: "10m", "-1" for ever; empty means the server's default
	Think     string        // "true", "false", "low", "medium", "high"; empty means the model's default
	Idle      time.Duration // how long the server may be silent; zero means DefaultIdle, which is long since it loads models first
	Client    *http.Client  // nil means one with the proxies of the environment
}

// model is one model at one server.
type model struct {
	name string
	o    Options
	peer wire.Service
	to   wire.Address
	err  error // of the options, returned when the model is asked
}

// New returns a model of an Ollama server.
func New(name string, o Options) llm.Model {
	if o.NumCtx <= 0 {
		o.NumCtx = defaultNumCtx
	}
	m := &model{name: name, o: o, peer: newPeer("ask model", name, o)}
	m.to, m.err = m.peer.Resolve(Normalize(o.URL), "/api/chat")
	return m
}

func newPeer(op, name string, o Options) wire.Service {
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	return wire.Service{
		Op: op, Subject: name, Who: "ollama", Idle: o.Idle, Client: wire.NewClient(o.Client),
		Down:    "start it with: ollama serve; or say where it runs with OLLAMA_HOST",
		Explain: func(r *llm.Refusal) (why, hint string) { return explain(name, r) },
	}
}

// explain gives reason and hint of refusals that are particular to Ollama.
func explain(name string, r *llm.Refusal) (why, hint string) {
	switch {
	case name == "":
		return "", ""
	case r.Status == http.StatusNotFound && strings.Contains(r.Message, "not found"):
		return "there is no model " + name + " there", "ollama pull " + name
	case strings.Contains(r.Message, "does not support tools"):
		return "the model cannot call tools", "take one that can: ollama.com/search?c=tools lists them"
	case strings.Contains(r.Message, "does not support thinking"):
		return "the model cannot be told to think", "leave the setting for it out"
	case r.Code == llm.ContextOverflow:
		return "the dialog is too long for the context that the model was given",
			"give it a larger one (num_ctx), or less to read"
	case r.Status == http.StatusUnauthorized:
		return "ollama wants to know who asks (401)", "ollama signin"
	}
	return "", ""
}

// Info describes a model that a server has.
type Info struct {
	Name         string
	Bytes        int64
	Modified     time.Time
	Parameters   string   // "8.2B"; empty when not known
	Quantization string   // "Q4_K_M"; empty when not known
	Capabilities []string // "tools", "thinking"; empty when not known
}

// Models lists the models that a server has, in its order: the newest first.
func Models(ctx context.Context, o Options) ([]Info, error) {
	peer := newPeer("list models", "", o)
	to, err := peer.Resolve(Normalize(o.URL), "/api/tags")
	if err != nil {
		return nil, err
	}
	var list struct {
		Models []struct {
			Name, Model  string
			Size         int64
			Modified     time.Time `json:"modified_at"`
			Capabilities []string
			Details      struct {
				Parameters   string `json:"parameter_size"`
				Quantization string `json:"quantization_level"`
			}
		}
	}
	if err := peer.Get(ctx, to, &list); err != nil {
		return nil, err
	}
	var models []Info
	for _, m := range list.Models {
		name := cmp.Or(wire.Name(m.Name), wire.Name(m.Model))
		if name == "" {
			continue // it could not be asked for
		}
		for i, word := range m.Capabilities {
			m.Capabilities[i] = wire.Name(word)
		}
		models = append(models, Info{name, m.Size, m.Modified, wire.Name(m.Details.Parameters),
			wire.Name(m.Details.Quantization), m.Capabilities})
	}
	return models, nil
}
