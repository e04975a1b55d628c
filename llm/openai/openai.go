// Package openai asks models of OpenAI, and of the many services that speak the same way, over their Responses and
// their Chat Completions interface.
//
// Nothing is kept on the server: every request carries the whole dialog, and what must be shown to the model again
// travels in [llm.Turn]. There is no retrying here; [llm.Retry] does that. The one rule to keep: a request is the
// beginning of the next one up to the end of its list of items, byte for byte, so everything that may differ from turn
// to turn stands behind that list.
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

// DefaultURL is OpenAI's own service.
const DefaultURL = "https://api.openai.com/v1"

// Options say whom to ask, and how.
type Options struct {
	Key     string        // empty means none, which only servers of one's own accept
	KeyFrom string        // where the key was set, for messages: OPENAI_API_KEY; empty means not known
	BaseURL string        // with or without a slash at its end; empty means DefaultURL
	Idle    time.Duration // how long the service may be silent; zero means 2 minutes
	Client  *http.Client  // nil means our own, through the proxies of the environment
}

// service is one model at one address.
type service struct {
	model string
	ours  bool // the address is OpenAI's, so that nothing unusual needs to be expected
	peer  wire.Service
	to    wire.Address
	err   error // of the options, told when the model is asked
}

// newService prepares to send requests to a path below the base URL.
func newService(op, model, path string, o Options) service {
	s := service{model: model, peer: wire.Service{
		Op: op, Subject: model, Down: "check the base URL, and that the server is running",
		Key: strings.TrimSpace(o.Key), KeyFrom: o.KeyFrom, Idle: o.Idle, Client: wire.NewClient(o.Client),
	}}
	s.to, s.err = s.peer.Resolve(cmp.Or(strings.TrimSpace(o.BaseURL), DefaultURL), path)
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

// ask sends a request and returns the stream of events that answers it.
func (s *service) ask(ctx context.Context, body []byte) (*wire.ResponseBody, error) {
	if s.err != nil {
		return nil, s.err
	}
	answer, err := s.peer.Post(ctx, s.to, "text/event-stream", body)
	if err != nil {
		return nil, err
	}
	if err := answer.Streams(); err != nil {
		answer.Close()
		return nil, err
	}
	return answer, nil
}

// explain words what is particular to these services.
func explain(model string, r *llm.Refusal) (why, hint string) {
	if model != "" && unknownModel(r) {
		return "there is no model " + model + " there", "hako models lists those that there are"
	}
	return "", ""
}

// unknownModel tells whether a refusal is about the name of the model.
func unknownModel(r *llm.Refusal) bool {
	message := strings.ToLower(r.Message)
	switch {
	case r.Code == "model_not_found" || strings.Contains(message, "not a valid model id"):
		return true
	case r.Status == http.StatusNotFound:
		return strings.Contains(message, "model") &&
			(strings.Contains(message, "not found") || strings.Contains(message, "not exist"))
	}
	return false
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
