package forge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hako/internal/redact"
	"hako/run/fault"
)

const (
	maxResponse = 32 << 20 // bytes of a response: a hundred issues with long texts
	maxMessage  = 64 << 10 // bytes of an error response that are parsed
)

// A transport is the HTTP transport of the official clients: it adds the token,
// retries what is safe to retry, keeps to the rate limits, and makes requests
// conditional on what it has cached. A status of 400 or more is returned as a
// *requestError.
type transport struct {
	provider   string
	base       *url.URL // that the token is for
	credential credential
	app        bool // the credential is that of a GitHub App
	secrets    *redact.Set
	next       *http.Transport
	cache      *responseCache

	attempts                     int
	retryDelay, maxWait, timeout time.Duration
	notify                       func(RetryNotice)
	sleep                        func(context.Context, time.Duration) error

	mu        sync.Mutex
	notBefore time.Time // of the next request, by the rate limit
}

// A credential provides tokens.
type credential interface {
	// token returns the one to use now.
	token(context.Context) (string, error)
	// refused is called with a token that the server refused, and reports
	// whether there can be another.
	refused(token string) bool
}

// A fixedToken is a personal access token.
type fixedToken string

func (f fixedToken) token(context.Context) (string, error) { return string(f), nil }
func (fixedToken) refused(string) bool                     { return false }

func newTransport(c Config, base *url.URL, roots *x509.CertPool, secrets *redact.Set) *transport {
	t := &transport{
		provider: c.Provider, base: base, credential: fixedToken(c.Token), secrets: secrets,
		next: newHTTPTransport(roots), cache: newResponseCache(),
		attempts: cmp.Or(c.Attempts, 4), retryDelay: cmp.Or(c.RetryDelay, time.Second),
		maxWait: cmp.Or(c.MaxWait, 15*time.Minute), timeout: cmp.Or(c.Timeout, time.Minute),
		notify: c.Notify, sleep: c.Sleep,
	}
	if t.sleep == nil {
		t.sleep = sleep
	}
	return t
}

// httpClient returns the client for the official clients. A redirect to another
// server is not followed: the request would be made in our name.
func (t *transport) httpClient() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if !t.isBase(req.URL) || len(via) > 5 {
			return &requestError{status: http.StatusBadGateway, message: "it redirects elsewhere, to " + clean(req.URL.Host),
				permanent: true}
		}
		return nil
	}}
}

// Close closes idle connections.
func (t *transport) Close() { t.next.CloseIdleConnections() }

func (t *transport) isBase(u *url.URL) bool {
	return u.Scheme == t.base.Scheme && u.Host == t.base.Host
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	for attempt := 1; ; attempt++ {
		if err := t.waitForRateLimit(req.Context()); err != nil {
			return nil, err
		}
		res, err := t.sendAuthorized(req, body)
		if err == nil {
			return res, nil
		}
		delay, retry := t.retry(req, err, attempt)
		if !retry {
			return nil, err
		}
		if err := t.wait(req.Context(), delay, err); err != nil {
			return nil, err
		}
	}
}

// sendAuthorized sends a request with the token. If the token has expired, it sends
// the request again with the next one: what was refused was not carried out.
func (t *transport) sendAuthorized(req *http.Request, body []byte) (*http.Response, error) {
	token, err := t.token(req)
	if err != nil {
		return nil, err
	}
	res, err := t.send(req, body, token)
	if statusOf(err) != http.StatusUnauthorized || !t.credential.refused(token) {
		return res, err
	}
	if token, err = t.token(req); err != nil {
		return nil, err
	}
	return t.send(req, body, token)
}

// token returns the token for the server of a request; empty for other servers.
func (t *transport) token(req *http.Request) (string, error) {
	if !t.isBase(req.URL) {
		return "", nil
	}
	return t.credential.token(req.Context())
}

// send makes one request and reads the whole response, so that one that breaks off
// can be retried.
func (t *transport) send(req *http.Request, body []byte, token string) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.timeout, errTimeout)
	defer cancel()
	out := req.Clone(ctx)
	out.Body, out.GetBody = nil, nil
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	cached := t.cache.get(req)
	if cached != nil {
		out.Header.Set("If-None-Match", cached.etag)
	}
	res, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, t.connectionError(ctx, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, t.connectionError(ctx, err)
	case len(text) > maxResponse:
		return nil, &requestError{status: res.StatusCode, message: "its response does not end", permanent: true}
	}
	return t.checkResponse(req, res, text, cached)
}

func (t *transport) checkResponse(req *http.Request, res *http.Response, text []byte, cached *cachedResponse) (
	*http.Response, error) {
	if wait, ok := rateLimitReset(res.Header); ok {
		t.delayRequests(wait)
	}
	switch {
	case res.StatusCode == http.StatusNotModified && cached != nil:
		return cached.response(req), nil
	case res.StatusCode >= 400:
		return nil, t.responseError(res, text)
	}
	t.cache.put(req, res, text)
	res.Body = io.NopCloser(bytes.NewReader(text))
	res.Request = req
	return res, nil
}

func (t *transport) delayRequests(wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := time.Now().Add(wait); until.After(t.notBefore) {
		t.notBefore = until
	}
}

// waitForRateLimit waits until requests are allowed again.
func (t *transport) waitForRateLimit(ctx context.Context) error {
	t.mu.Lock()
	until := t.notBefore
	t.mu.Unlock()
	wait := time.Until(until)
	if wait <= 0 {
		return nil
	}
	limited := &requestError{status: http.StatusTooManyRequests, message: "the rate limit is used up", rateLimited: true,
		retryAfter: wait}
	if wait > t.maxWait {
		return limited
	}
	err := t.wait(ctx, wait, limited)
	if err == nil {
		t.mu.Lock()
		if t.notBefore.Equal(until) { // no longer delay was set meanwhile
			t.notBefore = time.Time{}
		}
		t.mu.Unlock()
	}
	return err
}

// retry decides whether to retry a request, and after which delay.
func (t *transport) retry(req *http.Request, err error, attempt int) (time.Duration, bool) {
	var wrapped *fault.Error // from the request for an App's token, which was retried already
	var failed *requestError
	if errors.As(err, &wrapped) || !errors.As(err, &failed) || failed.permanent || attempt >= t.attempts ||
		req.Context().Err() != nil {
		return 0, false
	}
	if !failed.rateLimited && !idempotent(req) {
		return 0, false
	}
	if failed.retryAfter > 0 {
		return failed.retryAfter, failed.retryAfter <= t.maxWait
	}
	delay := t.retryDelay << (attempt - 1)
	return delay/2 + rand.N(delay), true
}

// idempotent reports whether a request that may have been carried out can be
// repeated. A comment would be there twice; labels would not, and an access token
// that is not used does no harm.
func idempotent(req *http.Request) bool {
	return req.Method != http.MethodPost || strings.HasSuffix(req.URL.Path, "/labels") ||
		strings.HasSuffix(req.URL.Path, "/access_tokens")
}

// wait waits, unless the caller's deadline is earlier: then it returns the reason.
func (t *transport) wait(ctx context.Context, d time.Duration, why error) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return why
	}
	if t.notify != nil {
		t.notify(RetryNotice{t.provider, d, why.Error()})
	}
	return t.sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
