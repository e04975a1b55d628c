// Package openai is the provider for models of OpenAI and of services with the same API, over the Responses API and the
// Chat Completions API.
//
// Nothing is stored on the server: every request carries the whole dialog, and what the provider wants to see again is
// kept in [llm.Turn]. Retries are up to [llm.Retry]. Each request begins with the bytes of the one before, up to the
// end of its list of items, so that the provider's cache is used: what may differ from turn to turn comes after that
// list.
package openai

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"hako/llm"
	"hako/llm/wire"
	"hako/run/fault"
)

// defaultURL is OpenAI's own service.
const defaultURL = "https://api.openai.com/v1"

// Options are the settings of the provider.
type Options struct {
	Key     string        // empty means none, which only servers of one's own accept
	KeyFrom string        // where the key was set, for messages: OPENAI_API_KEY; empty means not known
	BaseURL string        // with or without a slash at its end; empty means DefaultURL
	Idle    time.Duration // how long the service may be silent; zero means 2 minutes
	Client  *http.Client  // nil means one with the proxies of the environment
}

// service is one model at one address.
type service struct {
	model string
	ours  bool // the address is OpenAI's
	peer  wire.Service
	to    wire.Address
	err   error // of the options, returned when the model is asked
}

// newService prepares to send requests to a path below the base URL.
func newService(op, model, path string, o Options) service {
	s := service{model: model, peer: wire.Service{
		Op: op, Subject: model, Down: "check the base URL, and that the server is running",
		Key: strings.TrimSpace(o.Key), KeyFrom: o.KeyFrom, Idle: o.Idle, Client: wire.NewClient(o.Client),
	}}
	s.to, s.err = s.peer.Resolve(cmp.Or(strings.TrimSpace(o.BaseURL), defaultURL), path)
	s.ours = s.to.Host == "api.openai.com" || strings.HasSuffix(s.to.Host, ".api.openai.com")
	s.peer.Who = s.to.Host
	if s.ours {
		s.peer.Who, s.peer.Down = "openai", "check the network, and HTTPS_PROXY if there is a proxy"
	}
	if s.err == nil && s.ours && s.peer.Key == "" {
		s.err = &fault.Error{Kind: fault.Unavailable, Op: op, Subject: model, Why: "there is no key for openai",
			Hint: "set " + cmp.Or(o.KeyFrom, "OPENAI_API_KEY")}
	}
	s.peer.Explain = func(r *llm.Refusal) (why, hint string) { return explain(model, r) }
	return s
}

// next sends a request and reads the turn from the stream of events that answers it.
func (s *service) next(ctx context.Context, d *llm.Dialog, request func(*llm.Dialog) []byte,
	read func(*llm.Dialog, *wire.ResponseBody) (*llm.Turn, error)) (*llm.Turn, error) {
	if s.err != nil {
		return nil, s.err
	}
	answer, err := s.peer.Post(ctx, s.to, "text/event-stream", request(d))
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	if err := answer.CheckStream(); err != nil {
		return nil, err
	}
	return read(d, answer)
}

// explain gives reason and hint of refusals that are particular to these services.
func explain(model string, r *llm.Refusal) (why, hint string) {
	if model != "" && unknownModel(r) {
		return "there is no model " + model + " there", "hako models lists those that there are"
	}
	return "", ""
}

// unknownModel reports whether a refusal is about the name of the model.
func unknownModel(r *llm.Refusal) bool {
	message := strings.ToLower(r.Message)
	return r.Code == "model_not_found" || strings.Contains(message, "not a valid model id") ||
		r.Status == http.StatusNotFound && strings.Contains(message, "model") &&
			(strings.Contains(message, "not found") || strings.Contains(message, "not exist"))
}

// Models lists the names of the models that the service has, sorted.
func Models(ctx context.Context, o Options) ([]string, error) {
	s := newService("list models", "", "/models", o)
	if s.err != nil {
		return nil, s.err
	}
	var list struct {
		Data []struct{ ID string }
	}
	if err := s.peer.Get(ctx, s.to, &list); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list.Data {
		if name := wire.Name(m.ID); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// reasons tells whether a model thinks before it answers, by its name: o1, o3, gpt-5 and their successors. Others
// refuse to be asked for their reasoning.
func reasons(model string) bool {
	name := model[strings.LastIndexByte(model, '/')+1:]
	name = strings.TrimPrefix(name, "ft:")
	if rest, ok := strings.CutPrefix(name, "gpt-"); ok {
		return number(rest) >= 5 && !strings.Contains(rest, "-chat")
	}
	rest, ok := strings.CutPrefix(name, "o")
	return ok && number(rest) > 0
}

// number reads the digits that a text begins with.
func number(text string) (n int) {
	for i := 0; i < len(text) && text[i] >= '0' && text[i] <= '9' && n < 1000; i++ {
		n = n*10 + int(text[i]-'0')
	}
	return n
}
