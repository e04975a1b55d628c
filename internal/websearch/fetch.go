package websearch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"hako/internal/text"
	"hako/run/fault"
)

// Defaults of a Fetcher.
const (
	defaultMaxBytes     = 1 << 20
	defaultTimeout      = 20 * time.Second
	defaultMaxRedirects = 5
)

// userAgent is the User-Agent of all requests.
const userAgent = "hako"

// A Fetcher fetches pages whose URL one of its prefixes covers. A nil Fetcher, and one without prefixes, fetches
// nothing. It is safe for concurrent use.
type Fetcher struct {
	// Prefixes are the allowed URLs, as "https://docs.example.com/v1": scheme, host and port must be equal, the path
	// must be that one or below it.
	Prefixes []string

	MaxBytes     int64         // of a page, unpacked; zero means 1 MB
	Timeout      time.Duration // for everything together; zero means 20 s
	MaxRedirects int           // zero means 5, less than zero none

	// Proxy is the proxy for all requests. Nil means none, whatever the environment says. A proxy resolves names
	// itself, so that private addresses are not checked.
	Proxy *url.URL
	// Roots are the certificate authorities; nil means those of the system.
	Roots *x509.CertPool

	// Resolve resolves a host; nil means the resolver of the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked; nil means the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Page is the response of a server.
type Page struct {
	URL    string // the last one, after redirects
	Status int    // below 400
	Type   string // the Content-Type
	Body   []byte
}

// Get fetches a page.
func (f *Fetcher) Get(ctx context.Context, address string) (*Page, error) {
	u, err := f.Allow(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.Wait(), f.late(u))
	defer cancel()
	transport := f.transport()
	defer transport.CloseIdleConnections()
	for left := f.maxRedirects(); ; left-- {
		resp, err := ask(ctx, transport, u)
		if err != nil {
			return nil, explain(ctx, u, err)
		}
		if !redirects(resp.StatusCode) {
			defer resp.Body.Close()
			return f.page(ctx, u, resp)
		}
		resp.Body.Close()
		if left <= 0 {
			return nil, &fault.Error{Kind: fault.Denied, Op: "fetch", Subject: cut(address),
				Why:  fmt.Sprintf("it redirects more than %d times", f.maxRedirects()),
				Hint: "fetch the address it ends at, if you know it"}
		}
		if u, err = f.follow(u, resp.Header.Get("Location")); err != nil {
			return nil, err
		}
	}
}

// ask sends one request. It uses the transport directly: an http.Client would add cookies, a referrer and follow
// redirects.
func ask(ctx context.Context, via http.RoundTripper, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "*/*")
	return via.RoundTrip(req)
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow returns the target of a redirect, if it is allowed.
func (f *Fetcher) follow(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if location == "" || err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "fetch", Subject: shown(from),
			Why: "it redirects to an address that makes no sense"}
	}
	if from.Scheme == "https" && to.Scheme != "https" {
		return nil, &fault.Error{Kind: fault.Denied, Op: "fetch", Subject: shown(from),
			Why:  "it redirects from https to " + shown(to) + ", which is not encrypted",
			Hint: "fetch that address itself, if its prefix is allowed"}
	}
	next, err := f.Allow(to.String())
	if e, ok := errors.AsType[*fault.Error](err); ok {
		e.Why = "it redirects to " + shown(to) + ": " + e.Why
		e.Subject = shown(from)
		return nil, e
	}
	return next, err
}

// page reads the response.
func (f *Fetcher) page(ctx context.Context, u *url.URL, resp *http.Response) (*Page, error) {
	if resp.StatusCode >= 400 {
		return nil, badStatus(u, resp.StatusCode)
	}
	limit := f.Limit()
	if resp.ContentLength > limit {
		return nil, tooLarge(u, limit)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, explain(ctx, u, err)
	}
	if int64(len(body)) > limit {
		return nil, tooLarge(u, limit)
	}
	return &Page{URL: addressOf(u), Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Body: body}, nil
}

func tooLarge(u *url.URL, limit int64) error {
	return &fault.Error{Kind: fault.TooLarge, Op: "fetch", Subject: shown(u),
		Why:  fmt.Sprintf("the page has more than the %d bytes that are read", limit),
		Hint: "ask for a smaller page, or a part of it if the server has parts"}
}

func badStatus(u *url.URL, status int) error {
	e := &fault.Error{Kind: fault.Invalid, Op: "fetch", Subject: shown(u),
		Why: fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))}
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		e.Kind, e.Hint = fault.NotFound, "check the address"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Hint = "no credentials are ever sent; use a page that needs none"
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		e.Kind, e.Hint = fault.Unavailable, "try again later"
	}
	return e
}

// explain converts an error of the network. The server influences its text, for example by the names in its
// certificate, so the text is cleaned and the error itself is not wrapped.
func explain(ctx context.Context, u *url.URL, err error) error {
	for _, e := range []error{context.Cause(ctx), err} {
		if ours, ok := errors.AsType[*fault.Error](e); ok {
			return ours
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "fetch", Subject: shown(u), Why: "the server could not be asked",
		Err: errors.New(text.Shorten(clean(head(err.Error())), 300)), Hint: "check the address and the network"}
}

func (f *Fetcher) late(u *url.URL) error {
	return &fault.Error{Kind: fault.Timeout, Op: "fetch", Subject: shown(u),
		Why:  fmt.Sprintf("it took longer than the %v that are allowed", f.Wait()),
		Hint: "try again later, or ask for a smaller page"}
}

// transport returns a transport whose connections are used once and go to checked addresses only.
func (f *Fetcher) transport() *http.Transport {
	t := &http.Transport{
		DialContext:            f.connect,
		TLSClientConfig:        &tls.Config{RootCAs: f.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if f.Proxy != nil {
		t.Proxy = http.ProxyURL(f.Proxy)
		t.DialContext = f.dialer()
	}
	return t
}

func (f *Fetcher) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if f.Dial != nil {
		return f.Dial
	}
	return new(net.Dialer).DialContext
}

// Wait returns the timeout of a page.
func (f *Fetcher) Wait() time.Duration {
	if f != nil && f.Timeout > 0 {
		return f.Timeout
	}
	return defaultTimeout
}

// Limit returns the maximal size of a page.
func (f *Fetcher) Limit() int64 {
	if f != nil && f.MaxBytes > 0 {
		return f.MaxBytes
	}
	return defaultMaxBytes
}

func (f *Fetcher) maxRedirects() int {
	return max(cmp.Or(f.MaxRedirects, defaultMaxRedirects), 0)
}
