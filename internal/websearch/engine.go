package websearch

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"hako/internal/redact"
	"hako/internal/text"
	"hako/run/fault"
)

const (
	engineTimeout = 15 * time.Second
	engineBytes   = 2 << 20 // of a response, decompressed
)

// A client sends requests to an engine. Its errors never contain the secrets: Google's key is in the URL, and URLs get
// into errors.
type client struct {
	name    string // of the engine, for messages
	base    *url.URL
	header  http.Header
	timeout time.Duration
	proxy   func(*http.Request) (*url.URL, error)
	secrets *redact.Set
}

// newClient returns a client for an address; secrets are redacted from errors.
func newClient(name, address string, o Options, secrets ...string) (*client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "choose search provider", Subject: name,
			Why: "its address is not a web address", Hint: "write it as https://host/path"}
	}
	l := &client{name: name, base: u, header: http.Header{}, timeout: cmp.Or(max(o.Timeout, 0), engineTimeout),
		proxy: o.Proxy, secrets: new(redact.Set)}
	if l.proxy == nil {
		l.proxy = http.ProxyFromEnvironment
	}
	l.header.Set("User-Agent", userAgent)
	l.header.Set("Accept", "application/json")
	for _, s := range secrets {
		l.secrets.Add(s, url.QueryEscape(s))
	}
	return l, nil
}

// An answer is the response of an engine.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends one request. It uses the transport directly: an http.Client would follow redirects, and put the URL with
// the key into its errors.
func (l *client) ask(ctx context.Context, query url.Values) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, l.late())
	defer cancel()
	u := *l.base
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, l.broken(ctx, err)
	}
	req.Header = l.header.Clone()
	t := &http.Transport{
		Proxy: l.proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, l.broken(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, engineBytes+1))
	switch {
	case err != nil:
		return nil, l.broken(ctx, err)
	case len(body) > engineBytes:
		return nil, l.fault("it answered with more than the 2 MB that are read", "ask for fewer hits")
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil, l.fault("it redirects to another address, which is not followed with a key in hand",
			"check the address of the engine")
	}
	return &answer{resp.StatusCode, resp.Header, body}, nil
}

// decode decodes the JSON of a response. trouble explains one whose status is not 200.
func (l *client) decode(a *answer, into any, trouble func(*answer) error) error {
	if a.status != http.StatusOK {
		return trouble(a)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return l.fault("its answer is not the JSON that was expected", "check the address of the engine")
	}
	return nil
}

// broken converts an error of the network.
func (l *client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for e, ok := errors.AsType[*url.Error](err); ok; e, ok = errors.AsType[*url.Error](err) {
		err = e.Err
	}
	return l.fault("it could not be asked: "+l.words(err.Error()), "check the network")
}

func (l *client) late() error {
	return &fault.Error{Kind: fault.Timeout, Op: "search", Subject: l.name,
		Why: fmt.Sprintf("it took longer than %v", l.timeout), Hint: "try again later"}
}

// fault is the error of an engine that cannot answer now.
func (l *client) fault(why, hint string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "search", Subject: l.name, Why: why, Hint: hint}
}

// refused is the error of a query that the engine refused.
func (l *client) refused(why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "search", Subject: l.name, Why: why, Hint: hint}
}

// words makes a text of an engine safe for a message.
func (l *client) words(s string) string { return text.Shorten(clean(l.secrets.Text(s)), 200) }

// odd is the error for any other status.
func (l *client) odd(status int, said string) error {
	why := fmt.Sprintf("it answered %d %s", status, http.StatusText(status))
	if said = l.words(said); said != "" {
		why += ": " + said
	}
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return l.fault(why, "try again later")
	}
	return l.fault(why, "check the address and the key")
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
