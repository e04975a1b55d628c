package forge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"time"

	"hako/internal/redact"
	"hako/run/fault"
)

// Config configures a [Forge].
type Config struct {
	Provider string // GitHub or GitLab
	APIURL   string // of a self-hosted server, with or without /api/v3 or /api/v4; empty means the public one
	Token    string // required, unless there is an App
	App      *App   // GitHub App to use instead of a token; nil means the token
	CAFile   string // PEM file of certificates trusted besides the system's; empty means none
	BotName  string // the account, for tokens that may not ask who they are; empty means unknown
	Labels   Labels

	Attempts   int           // for one request; zero means 4
	RetryDelay time.Duration // before the second attempt, doubled each time; zero means 1 s
	MaxWait    time.Duration // the longest wait that a forge may ask for; zero means 15 minutes
	Timeout    time.Duration // of one attempt; zero means 60 s

	AddSecret func(token string)                         // called with each token of an App before it is used; may be nil
	Notify    func(RetryNotice)                          // called before each wait; may be nil
	Sleep     func(context.Context, time.Duration) error // nil means a timer
}

// A RetryNotice announces a wait before a request.
type RetryNotice struct {
	Provider string
	Wait     time.Duration
	Why      string
}

// New returns the forge of a configuration. It makes no request yet.
func New(c Config) (Forge, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	base, err := apiAddress(c.Provider, c.APIURL)
	if err != nil {
		return nil, err
	}
	roots, err := trustedRoots(c.CAFile)
	if err != nil {
		return nil, err
	}
	secrets := new(redact.Set)
	secrets.Add(c.Token)
	t := newTransport(c, base, roots, secrets)
	f := &client{provider: c.Provider, transport: t, text: outgoing{c.Provider, secrets}, botName: c.BotName}
	if c.Provider == GitLab {
		f.api, err = newGitLabAPI(base, t)
		return f, err
	}
	g := new(githubAPI)
	if c.App != nil {
		if g.app, err = newAppTokens(c, t); err != nil {
			return nil, err
		}
		t.credential, t.app = g.app, true
	}
	g.client, err = newGitHubClient(base, t)
	f.api = g
	return f, err
}

func (c Config) check() error {
	why, hint := "", "set "+tokenVariable(c.Provider)
	switch {
	case c.Provider != GitHub && c.Provider != GitLab:
		return invalid("configure", "forge "+c.Provider, "there is no such provider", "use github or gitlab")
	case c.App != nil && c.Provider != GitHub:
		why = "only GitHub has Apps"
	case c.App != nil && c.Token != "":
		why, hint = "there are both a token and an App", "remove one of them: "+tokenVariable(c.Provider)+", or github.app"
	case c.App == nil && c.Token == "":
		why = "there is no token"
	case c.Token != "" && !validToken(c.Token):
		why = "the token contains characters that no token has"
		hint += " again, without quotes and line breaks"
	}
	if why != "" {
		return invalid("configure", c.Provider, why, hint)
	}
	for _, label := range c.Labels.All() {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func validToken(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokenVariable is the environment variable that the documents name.
func tokenVariable(provider string) string {
	return strings.ToUpper(provider) + "_PERSONAL_ACCESS_TOKEN"
}

// trustedRoots returns the system's certificates and those of a file; nil means the
// system's alone.
func trustedRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	const hint = "name a file of certificates in PEM form"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read certificates", Subject: file, Err: err, Hint: hint}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, invalid("read certificates", file, "it contains none", hint)
	}
	return pool, nil
}

func newHTTPTransport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
		ForceAttemptHTTP2:   true,
	}
}
