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
	maxAnswer  = 32 << 20 // bytes of one answer: a hundred issues with long texts
	maxMessage = 64 << 10 // bytes of a refusal
)

// An apiClient carries the requests of both clients: it adds the token, asks
// again when that does no harm, keeps to the forge's limits, and asks for what
// it knows already only if that has changed. An answer of 400 or more comes
// back as a *refusal, so that there is one place that explains them.
type apiClient struct {
	provider   string
	home       *url.URL // whom the token is for
	credential credential
	app        bool // it is that of a GitHub App
	secrets    *redact.Set
	next       *http.Transport
	known      *answers

	tries                 int
	pause, patience, slow time.Duration
	notify                func(Waiting)
	sleep                 func(context.Context, time.Duration) error

	mu        sync.Mutex
	notBefore time.Time // when the forge wants to be asked again
}

// A pass is what opens a forge.
type credential interface {
	// token returns the one to use now.
	token(context.Context) (string, error)
	// refused is told that a token was not taken, and reports whether another
	// can be had.
	refused(token string) bool
}

// A fixed pass is a token that somebody has given us.
type fixedToken string

func (f fixedToken) token(context.Context) (string, error) { return string(f), nil }
func (fixedToken) refused(string) bool                     { return false }

func newAPIClient(c Config, home *url.URL, trust *x509.CertPool, secrets *redact.Set) *apiClient {
	mail := &apiClient{
		provider: c.Provider, home: home, credential: fixedToken(c.Token), secrets: secrets, next: transport(trust),
		known: newAnswers(),
		tries: cmp.Or(c.Tries, 4), pause: cmp.Or(c.Pause, time.Second), patience: cmp.Or(c.Patience, 15*time.Minute),
		slow:   cmp.Or(c.Slow, time.Minute),
		notify: c.Notify, sleep: c.Sleep,
	}
	if mail.sleep == nil {
		mail.sleep = sleep
	}
	return mail
}

// client is what the official clients get. A redirect to another server is not
// followed: it would be asked in our name.
func (c *apiClient) client() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if !c.atHome(req.URL) || len(via) > 5 {
			return &refusal{status: http.StatusBadGateway, text: "it sends us elsewhere, to " + clean(req.URL.Host), final: true}
		}
		return nil
	}}
}

// Close gives up what is idle.
func (c *apiClient) Close() { c.next.CloseIdleConnections() }

func (c *apiClient) atHome(u *url.URL) bool {
	return u.Scheme == c.home.Scheme && u.Host == c.home.Host
}

// RoundTrip implements [http.RoundTripper].
func (c *apiClient) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	for try := 1; ; try++ {
		if err := c.hold(req.Context()); err != nil {
			return nil, err
		}
		res, err := c.ask(req, body)
		if err == nil {
			return res, nil
		}
		wait, again := c.again(req, err, try)
		if !again {
			return nil, err
		}
		if err := c.rest(req.Context(), wait, err); err != nil {
			return nil, err
		}
	}
}

// ask asks once; if the token has ended meanwhile, once more with the next one:
// what was refused with the first was not done.
func (c *apiClient) ask(req *http.Request, body []byte) (*http.Response, error) {
	token, err := c.token(req)
	if err != nil {
		return nil, err
	}
	res, err := c.once(req, body, token)
	if statusOf(err) != http.StatusUnauthorized || !c.credential.refused(token) {
		return res, err
	}
	if token, err = c.token(req); err != nil {
		return nil, err
	}
	return c.once(req, body, token)
}

// token returns what may be shown to the server of a request: nothing to others.
func (c *apiClient) token(req *http.Request) (string, error) {
	if !c.atHome(req.URL) {
		return "", nil
	}
	return c.credential.token(req.Context())
}

// once asks one time and reads the whole answer, so that one that breaks off
// can be asked for again.
func (c *apiClient) once(req *http.Request, body []byte, token string) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), c.slow, errSlow)
	defer cancel()
	out := req.Clone(ctx)
	out.Body, out.GetBody = nil, nil
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	old := c.known.find(req)
	if old != nil {
		out.Header.Set("If-None-Match", old.tag)
	}
	res, err := c.next.RoundTrip(out)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.broken(ctx, err)
	case len(text) > maxAnswer:
		return nil, &refusal{status: res.StatusCode, text: "its answer does not end", final: true}
	}
	return c.judge(req, res, text, old)
}

func (c *apiClient) judge(req *http.Request, res *http.Response, text []byte, old *answer) (*http.Response, error) {
	c.noteLimits(res)
	switch {
	case res.StatusCode == http.StatusNotModified && old != nil:
		return old.again(req), nil
	case res.StatusCode >= 400:
		return nil, c.refused(res, text)
	}
	c.known.keep(req, res, text)
	res.Body = io.NopCloser(bytes.NewReader(text))
	res.Request = req
	return res, nil
}

// noteLimits remembers when the forge will have nothing left for us.
func (c *apiClient) noteLimits(res *http.Response) {
	if wait, ok := usedUp(res.Header); ok {
		c.leaveAlone(wait)
	}
}

func (c *apiClient) leaveAlone(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(wait); until.After(c.notBefore) {
		c.notBefore = until
	}
}

// hold waits until the forge may be asked at all.
func (c *apiClient) hold(ctx context.Context) error {
	c.mu.Lock()
	until := c.notBefore
	c.mu.Unlock()
	wait := time.Until(until)
	if wait <= 0 {
		return nil
	}
	limited := &refusal{status: http.StatusTooManyRequests, text: "the limit of requests is used up", limited: true,
		wait: wait}
	if wait > c.patience {
		return limited
	}
	err := c.rest(ctx, wait, limited)
	if err == nil {
		c.mu.Lock()
		if c.notBefore.Equal(until) { // nobody was told to wait for longer meanwhile
			c.notBefore = time.Time{}
		}
		c.mu.Unlock()
	}
	return err
}

// again tells whether to try once more, and after what pause.
func (c *apiClient) again(req *http.Request, err error, try int) (time.Duration, bool) {
	var no *refusal
	var explainedError *fault.Error // of the App: it was tried often enough
	if errors.As(err, &explainedError) || !errors.As(err, &no) || no.final || try >= c.tries ||
		req.Context().Err() != nil {
		return 0, false
	}
	if !no.limited && !repeatable(req) {
		return 0, false
	}
	if no.wait > 0 {
		return no.wait, no.wait <= c.patience
	}
	wait := c.pause << (try - 1)
	return wait/2 + rand.N(wait), true
}

// repeatable reports whether a request that may have been carried out can be
// sent once more. A comment would be there twice; labels would not, and nobody
// minds a token that is not used.
func repeatable(req *http.Request) bool {
	return req.Method != http.MethodPost || strings.HasSuffix(req.URL.Path, "/labels") ||
		strings.HasSuffix(req.URL.Path, "/access_tokens")
}

// rest waits, unless the caller has less time than that.
func (c *apiClient) rest(ctx context.Context, wait time.Duration, why error) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return why
	}
	if c.notify != nil {
		c.notify(Waiting{c.provider, wait, why.Error()})
	}
	return c.sleep(ctx, wait)
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
