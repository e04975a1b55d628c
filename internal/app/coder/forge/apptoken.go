package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-github/v92/github"

	"hako/run/fault"
)

// Tokens is implemented by what [New] returns: it hands out the token that it uses
// itself, so that git can use it. The token of an App is valid for some minutes at
// least and an hour at most, so ask each time.
type Tokens interface {
	Token(context.Context) (string, error)
}

// appTokens is the credential of an App's installation.
type appTokens struct {
	app       App
	client    *github.Client // with the credential of the App itself
	transport *transport     // of the client
	addSecret func(string)

	mu       sync.Mutex
	held     string        // empty means none
	due, end time.Time     // when the next token is to be requested, and when this one expires
	request  *tokenRequest // in flight; nil means none
}

// A tokenRequest is shared by everybody who needs the token.
type tokenRequest struct {
	done  chan struct{}
	token string
	err   error
}

const (
	renewBefore  = 5 * time.Minute // the expiry of a token
	renewDelay   = time.Minute     // after a failure, while the token is still valid
	renewTimeout = 2 * time.Minute
)

// newAppTokens shares secrets and connections with a transport.
func newAppTokens(c Config, shared *transport) (*appTokens, error) {
	own, err := c.App.signer()
	if err != nil {
		return nil, err
	}
	t := newTransport(c, shared.base, nil, shared.secrets)
	t.credential, t.next = own, shared.next
	client, err := newGitHubClient(shared.base, t)
	return &appTokens{app: *c.App, client: client, transport: t, addSecret: c.AddSecret}, err
}

// token implements [credential].
func (a *appTokens) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	if a.held != "" && time.Now().Before(a.due) {
		defer a.mu.Unlock()
		return a.held, nil
	}
	r := a.request
	if r == nil {
		r = &tokenRequest{done: make(chan struct{})}
		a.request = r
		go a.renew(context.WithoutCancel(ctx), r) // others wait for it too, when this caller has gone
	}
	a.mu.Unlock()
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// refused implements [credential].
func (a *appTokens) refused(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == token {
		a.held = ""
	}
	return true
}

// renew requests a token. If that fails, it keeps the last one while it is valid.
func (a *appTokens) renew(ctx context.Context, r *tokenRequest) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	token, lifetime, err := a.create(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch now := time.Now(); {
	case err == nil:
		a.held, a.end, a.due = token, now.Add(lifetime), now.Add(lifetime-renewBefore)
	case a.held != "" && now.Before(a.end):
		token, err, a.due = a.held, nil, now.Add(renewDelay)
	}
	r.token, r.err, a.request = token, err, nil
	close(r.done)
}

// create creates a token with all permissions of the installation. Its lifetime is
// measured by the server's clock.
func (a *appTokens) create(ctx context.Context) (token string, lifetime time.Duration, err error) {
	made, res, err := a.client.Apps.CreateInstallationToken(ctx, a.app.Installation, &github.InstallationTokenOptions{})
	if err != nil {
		return "", 0, a.wrapError(err)
	}
	token, lifetime = made.GetToken(), made.GetExpiresAt().Sub(serverTime(res.Header))
	if !validToken(token) || lifetime <= 0 {
		return "", 0, a.wrapError(errMalformed)
	}
	a.transport.secrets.Add(token)
	if a.addSecret != nil {
		a.addSecret(token)
	}
	return token, lifetime, nil
}

// currentUser returns the account of the App: its slug and [bot].
func (a *appTokens) currentUser(ctx context.Context) (string, error) {
	app, _, err := a.client.Apps.Get(ctx, "")
	if err == nil && !plainName(app.GetSlug()) {
		err = errMalformed
	}
	if err != nil {
		return "", a.wrapError(err)
	}
	return app.GetSlug() + "[bot]", nil
}

// wrapError names the setting to check. The error is never NotFound: that would be
// taken for the resource that the token was needed for.
func (a *appTokens) wrapError(err error) error {
	err = a.transport.wrapError("log in to", "github as "+a.app.String(), err)
	out, _ := errors.AsType[*fault.Error](err)
	failed, ok := errors.AsType[*requestError](err)
	if !ok {
		return err
	}
	why := ""
	switch {
	case failed.status == http.StatusUnauthorized && failed.clockAhead.Abs() > jwtBackdated/2:
		why, out.Hint = "the clock of this machine is "+comparedTo(failed.clockAhead)+" that of github", "set the clock"
	case failed.status == http.StatusUnauthorized:
		why, out.Hint = "github did not accept the signature of its key",
			fmt.Sprintf("check whether github.app.private_key_file has a key of %v, and github.app.id its number", a.app)
	case failed.status == http.StatusNotFound:
		why, out.Hint = fmt.Sprintf("github knows no such App, or no installation %d of it", a.app.Installation),
			"check github.app.id, github.app.installation_id and github.api_url"
	case failed.status == http.StatusForbidden && !failed.rateLimited:
		why, out.Hint = "github denies access: "+failed.message, "check whether the installation was suspended"
	default:
		return err
	}
	out.Kind, out.Err = fault.Denied, &explainedError{fmt.Sprintf("%s (%d)", why, failed.status), failed}
	return out
}

func comparedTo(ahead time.Duration) string {
	if ahead < 0 {
		return (-ahead).Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}
