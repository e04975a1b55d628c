// Package wire is the HTTP client that the providers of language models share: it sends a request, reads the response
// while it arrives, and turns failures into errors with a reason and a hint.
//
// The requests and events of a provider are in its own package. This package never retries: an [llm.Refusal] says
// whether a retry makes sense. Whatever a server wrote goes through [Service.clean] before it becomes part of an error,
// because servers echo keys and terminals obey control characters.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"hako/llm"
	"hako/run/fault"
)

// defaultIdle is how long a server may be silent.
const defaultIdle = 2 * time.Minute

// A Service is the HTTP service of a provider. It is safe for concurrent use.
type Service struct {
	Op, Subject string // how errors begin: "ask model", "gpt-4.1-mini"
	Who         string // the name of the service in them: "openai", "localhost:8080"
	Down        string // the hint if it cannot be connected to

	Key     string        // sent as a bearer token; empty means none
	KeyFrom string        // where the key was set, for messages; empty means not known
	Idle    time.Duration // without a byte; zero means DefaultIdle
	Client  *http.Client  // from [NewClient]

	// Explain gives the reason and hint of a refusal that is particular to the provider. An empty why, and nil, mean
	// those of this package.
	Explain func(*llm.Refusal) (why, hint string)
}

// NewClient returns a client that does not follow redirects: they would carry the key, and everything a dialog holds,
// to wherever the server says. A nil base means one that goes through the proxies of the environment.
func NewClient(base *http.Client) *http.Client {
	client := http.Client{}
	if base != nil {
		client = *base
	} else {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		client.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
			MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 256 << 10,
		}
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// Post sends a JSON body and returns the response, of the media type accept. The caller must close it.
func (p *Service) Post(ctx context.Context, to Address, accept string, body []byte) (*ResponseBody, error) {
	req, err := http.NewRequest(http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return nil, p.fault(fault.Invalid, "the address "+to.Shown+" is not valid", "")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	// A compressed stream arrives in large pieces.
	req.Header.Set("Accept-Encoding", "identity")
	return p.ask(ctx, to, req)
}

// Get fetches a JSON value of at most 8 MB.
func (p *Service) Get(ctx context.Context, to Address, into any) error {
	req, err := http.NewRequest(http.MethodGet, to.url, nil)
	if err != nil {
		return p.fault(fault.Invalid, "the address "+to.Shown+" is not valid", "")
	}
	req.Header.Set("Accept", "application/json")
	answer, err := p.ask(ctx, to, req)
	if err != nil {
		return err
	}
	defer answer.Close()
	data, err := io.ReadAll(io.LimitReader(answer, maxLine))
	if err != nil {
		return err
	}
	if json.Unmarshal(data, into) != nil {
		return p.fault(fault.Unavailable, p.Who+" answered with something that cannot be read", "check the address "+to.Shown)
	}
	return nil
}

// ask sends a request and checks the status of the response.
func (p *Service) ask(ctx context.Context, to Address, req *http.Request) (*ResponseBody, error) {
	if strings.ContainsFunc(p.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, p.fault(fault.Invalid, "the key"+p.keyOrigin()+" has characters that no key has",
			"set it again, without spaces and line ends")
	}
	if p.Key != "" {
		req.Header.Set("Authorization", "Bearer "+p.Key)
	}
	req.Header.Set("User-Agent", "hako")
	a := p.newBody(ctx)
	resp, err := p.Client.Do(req.WithContext(a.ctx))
	a.timer.Stop()
	if err != nil {
		defer a.Close()
		return nil, p.connectError(a, to, err)
	}
	a.begin(resp)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return a, nil
	}
	defer a.Close()
	return nil, p.statusError(a, to, resp)
}

// connectError explains why there was no response at all.
func (p *Service) connectError(a *ResponseBody, to Address, err error) error {
	if stopped := a.stopped(); stopped != nil {
		return stopped
	}
	var lookup *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return p.fault(fault.Unavailable, "cannot connect to the proxy", "check HTTPS_PROXY and HTTP_PROXY")
	case errors.As(err, &lookup):
		return p.fault(fault.Unavailable, "cannot resolve "+lookup.Name, "check the name and the network")
	case errors.As(err, &op) && op.Op == "dial":
		return p.fault(fault.Unavailable, "cannot connect to "+to.Shown, p.Down)
	case badCertificate(err):
		return p.fault(fault.Unavailable, "the certificate of "+to.Shown+" is not valid",
			"check the address, the clock, and the proxy if there is one")
	}
	return p.refuse(&llm.Refusal{Code: "connection_lost", Retry: true}, "the connection to "+to.Shown+
		" was lost before a response came", "try again")
}

// statusError explains a status that is not success.
func (p *Service) statusError(a *ResponseBody, to Address, resp *http.Response) error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "" {
		return p.redirectError(to, resp)
	}
	body, err := io.ReadAll(io.LimitReader(a, maxErrorBody))
	if stopped := a.stopped(); err != nil && stopped != nil {
		return stopped
	}
	return p.Refuse(refusal(resp.StatusCode, resp.Header, body, time.Now()))
}

// redirectError names where the server redirects to.
func (p *Service) redirectError(to Address, resp *http.Response) error {
	where := "another address"
	if next, err := resp.Location(); err == nil {
		where = p.clean(shown(next))
	}
	return p.refuse(&llm.Refusal{Status: resp.StatusCode, Code: codeOf(resp.StatusCode)},
		to.Shown+" redirects to "+where+", which is not followed", "set that as the base URL, if you trust it with the key")
}

// Truncated is the error of a response that ended too early.
func (p *Service) Truncated() error {
	return p.refuse(&llm.Refusal{Message: "the stream ended before it was complete"}, "the response was truncated", "ask again")
}

// Unreadable is the error of a response of another kind than expected.
func (p *Service) Unreadable(why string) error {
	return p.fault(fault.Unavailable, p.Who+" "+why, "check that the base URL leads to a service of this kind")
}

// Malformed is the error of a complete response that is no valid turn.
func (p *Service) Malformed(why string) error {
	return p.fault(fault.Unavailable, p.Who+" "+why, "ask again")
}

// fault makes an error without a refusal.
func (p *Service) fault(kind fault.Kind, why, hint string) error {
	return &fault.Error{Kind: kind, Op: p.Op, Subject: p.Subject, Why: why, Hint: hint}
}

// refuse makes an error of a refusal.
func (p *Service) refuse(r *llm.Refusal, why, hint string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: p.Op, Subject: p.Subject, Why: why, Hint: hint, Err: r}
}

// keyOrigin says where the key was set: ` in OPENAI_API_KEY`.
func (p *Service) keyOrigin() string {
	if p.KeyFrom == "" {
		return ""
	}
	return " in " + p.KeyFrom
}
