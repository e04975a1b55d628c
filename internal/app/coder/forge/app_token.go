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

// Tokens is what the forge of an App can do besides: hand out the token that it
// uses itself, so that git can use it. It is good for some minutes at least and
// an hour at most, so ask each time.
type Tokens interface {
	Token(context.Context) (string, error)
}

// appTokens are the credential of an App that works where it is installed.
type appTokens struct {
	app  App
	api  *github.Client // in the name of the App itself
	mail *apiClient
	hide func(string)

	mu       sync.Mutex
	held     string        // empty means none
	due, end time.Time     // when the next one is to be made, and when this one is of no use
	under    *tokenRequest // the one that is being made; nil means none
}

// A minting is waited for by everybody who needs the token.
type tokenRequest struct {
	done  chan struct{}
	token string
	err   error
}

const (
	early   = 5 * time.Minute // before its end a token is replaced
	between = time.Minute     // tries to replace one that is still good
	longest = 2 * time.Minute // to make one
)

// token implements [pass].
func (m *appTokens) token(ctx context.Context) (string, error) {
	m.mu.Lock()
	if m.held != "" && time.Now().Before(m.due) {
		defer m.mu.Unlock()
		return m.held, nil
	}
	job := m.under
	if job == nil {
		job = &tokenRequest{done: make(chan struct{})}
		m.under = job
		go m.work(context.WithoutCancel(ctx), job) // others wait for it too, when this caller has gone
	}
	m.mu.Unlock()
	select {
	case <-job.done:
		return job.token, job.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// refused implements [pass].
func (m *appTokens) refused(token string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == token {
		m.held = ""
	}
	return true
}

// work makes a token. If that can't be done while the last one is still good,
// that one has to do.
func (m *appTokens) work(ctx context.Context, job *tokenRequest) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	token, life, err := m.mint(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch now := time.Now(); {
	case err == nil:
		m.held, m.end, m.due = token, now.Add(life), now.Add(life-early)
	case m.held != "" && now.Before(m.end):
		token, err, m.due = m.held, nil, now.Add(between)
	}
	job.token, job.err, m.under = token, err, nil
	close(job.done)
}

// mint asks for a token. How long it lasts is told by the forge's own clock.
func (m *appTokens) mint(ctx context.Context) (token string, life time.Duration, err error) {
	made, res, err := m.api.Apps.CreateInstallationToken(ctx, m.app.Installation,
		&github.InstallationTokenOptions{}) // all that it may
	if err != nil {
		return "", 0, m.explain(err)
	}
	token, life = made.GetToken(), made.GetExpiresAt().Sub(clockOf(res.Header))
	if !plainToken(token) || life <= 0 {
		return "", 0, m.explain(errNonsense)
	}
	m.mail.secrets.Add(token)
	if m.hide != nil {
		m.hide(token)
	}
	return token, life, nil
}

// whoami is the name of the account that an App has: its own, and [bot].
func (m *appTokens) whoami(ctx context.Context) (string, error) {
	app, _, err := m.api.Apps.Get(ctx, "")
	if err == nil && !plainName(app.GetSlug()) {
		err = errNonsense
	}
	if err != nil {
		return "", m.explain(err)
	}
	return app.GetSlug() + "[bot]", nil
}

// explain says what to look at. What it says is never NotFound: that would be
// taken for the thing that the token was needed for.
func (m *appTokens) explain(err error) error {
	err = m.mail.explain("log in to", "github as "+m.app.String(), err)
	var out *fault.Error
	var no *refusal
	if !errors.As(err, &out) || !errors.As(err, &no) {
		return err
	}
	why := ""
	switch {
	case no.status == http.StatusUnauthorized && no.ahead.Abs() > backdated/2:
		why, out.Hint = "the clock of this machine is "+apart(no.ahead)+" that of github", "set the clock"
	case no.status == http.StatusUnauthorized:
		why, out.Hint = "github did not take the signature of its key",
			fmt.Sprintf("see whether github.app.private_key_file has a key of %v, and github.app.id its number", m.app)
	case no.status == http.StatusNotFound:
		why, out.Hint = fmt.Sprintf("github knows no such App, or no installation %d of it", m.app.Installation),
			"see github.app.id, github.app.installation_id and github.api_url"
	case no.status == http.StatusForbidden && !no.limited:
		why, out.Hint = "github does not let it in: "+no.text, "see whether the installation was suspended"
	default:
		return err
	}
	out.Kind, out.Err = fault.Denied, &explainedError{fmt.Sprintf("%s (%d)", why, no.status), no}
	return out
}

// apart tells how far a clock is from another.
func apart(ahead time.Duration) string {
	if ahead < 0 {
		return (-ahead).Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}
