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

// Config says where a forge is and who speaks.
type Config struct {
	Provider string // GitHub or GitLab
	APIURL   string // of a self-hosted one, with or without /api/v3 or /api/v4; empty means the public one
	Token    string // needed, unless there is an App
	App      *App   // who speaks at GitHub instead of the owner of a token; nil means that there is a token
	CAFile   string // certificates trusted besides the system's, PEM; empty means none
	BotName  string // the account, for tokens that may not ask who they are; empty means asked
	Labels   Labels

	Tries    int           // of one request, in all; zero means 4
	Pause    time.Duration // before the second try, doubled each time; zero means 1 s
	Patience time.Duration // the longest wait that a forge may ask for; zero means 15 minutes
	Slow     time.Duration // when an answer is no longer waited for; zero means 60 s

	Hide   func(secret string)                        // is told each token that is made for an App before it is used; nil means nobody is
	Notify func(Waiting)                              // is told of each pause; nil means nobody is
	Sleep  func(context.Context, time.Duration) error // nil means really
}

// Waiting is a pause before a request.
type Waiting struct {
	Provider string
	Wait     time.Duration
	Why      string
}

// New returns the forge that a configuration names. Nothing is asked yet.
func New(c Config) (Forge, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	at, err := address(c.Provider, c.APIURL)
	if err != nil {
		return nil, err
	}
	trust, err := trusted(c.CAFile)
	if err != nil {
		return nil, err
	}
	secrets := new(redact.Set)
	secrets.Add(c.Token)
	mail := newAPIClient(c, at, trust, secrets)
	switch {
	case c.App != nil:
		return newInstalled(c, at, mail)
	case c.Provider == GitHub:
		return newGitHub(c, at, mail, nil)
	}
	return newGitLab(c, at, mail)
}

func (c Config) check() error {
	wrong := func(subject, why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "configure", Subject: subject, Why: why, Hint: hint}
	}
	if c.Provider != GitHub && c.Provider != GitLab {
		return wrong("forge "+clean(c.Provider), "there is no such provider", "use github or gitlab")
	}
	switch {
	case c.App != nil && c.Provider != GitHub:
		return wrong(c.Provider, "only GitHub has Apps", "set "+tokenName(c.Provider))
	case c.App != nil && c.Token != "":
		return wrong(c.Provider, "there are both a token and an App", "leave out one of them: "+tokenName(c.Provider)+
			", or github.app")
	case c.App == nil && c.Token == "":
		return wrong(c.Provider, "there is no token", "set "+tokenName(c.Provider))
	}
	if c.Token != "" && !plainToken(c.Token) {
		return wrong(c.Provider, "the token has characters that no token has", "set "+tokenName(c.Provider)+
			" again, without quotes and line breaks")
	}
	for _, label := range c.Labels.All() {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func plainToken(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokenName is the variable that the documents name.
func tokenName(provider string) string {
	return strings.ToUpper(provider) + "_PERSONAL_ACCESS_TOKEN"
}

// trusted returns the system's authorities and those of a file; nil means the
// system's alone.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read certificates", Subject: file, Err: err,
			Hint: "name a file of certificates in PEM form"}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read certificates", Subject: file, Why: "there is none in it",
			Hint: "name a file of certificates in PEM form"}
	}
	return pool, nil
}

func transport(trust *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
		ForceAttemptHTTP2:   true,
	}
}
