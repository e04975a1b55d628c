package clone

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"hako/container/egress"
	"hako/run/fault"
)

// A Credential is a login for a server. No way of printing it shows anything.
type Credential struct {
	User, Token string
}

// hidden replaces a credential in output.
const hidden = "(credential)"

// String implements fmt.Stringer.
func (Credential) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Credential) GoString() string { return hidden }

// Format implements fmt.Formatter: no verb shows more than another.
func (Credential) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// MarshalText implements encoding.TextMarshaler, for logs and YAML.
func (Credential) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON implements json.Marshaler.
func (Credential) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// basic returns the value of the Authorization header.
func (c Credential) basic() string { return "Basic " + c.pair(base64.StdEncoding) }

func (c Credential) pair(e *base64.Encoding) string {
	return e.EncodeToString([]byte(c.User + ":" + c.Token))
}

// fingerprint identifies the credential without revealing it.
func (c Credential) fingerprint() string {
	sum := sha256.Sum256([]byte("hako clone\x00" + c.User + "\x00" + c.Token))
	return hex.EncodeToString(sum[:])
}

// secrets returns all encodings that must not be shown.
func (c Credential) secrets() []string {
	all := []string{c.Token, c.pair(base64.StdEncoding), c.pair(base64.RawURLEncoding),
		base64.StdEncoding.EncodeToString([]byte(c.Token))}
	for _, escaped := range []string{url.QueryEscape(c.Token), url.PathEscape(c.Token)} {
		if !slices.Contains(all, escaped) {
			all = append(all, escaped)
		}
	}
	return all
}

// A Keyring maps servers to credentials. A nil Keyring has none.
type Keyring struct {
	keys []key
	out  *issuedCredentials

	limited bool // only grants apply
	grants  []grant
	setting string // name of the list of grants
}

// Format implements fmt.Formatter: it shows only the servers.
func (k *Keyring) Format(f fmt.State, _ rune) {
	io.WriteString(f, "keyring for "+strings.Join(k.Hosts(), ", "))
}

type key struct {
	scheme, host string // host with its port, see origin
	token        string // its name in messages
	owner        string // identifies who uses it: caches are not shared between owners
	// credential is a function so that nothing that prints or inspects structures finds the token.
	credential func(context.Context) (Credential, error)
	asked      bool
}

// A credentialSource describes the variables of one kind of server.
type credentialSource struct {
	token, api string // environment variables
	user, host string
	web        func(apiHost string) string
}

func forges() []credentialSource {
	return []credentialSource{
		{"GITHUB_PERSONAL_ACCESS_TOKEN", "GITHUB_API_URL", "x-access-token", "github.com", githubWeb},
		{"GITLAB_PERSONAL_ACCESS_TOKEN", "GITLAB_API_URL", "oauth2", "gitlab.com", func(host string) string { return host }},
	}
}

// githubWeb returns the host of the repositories: github.com and ghe.com have their API on another host.
func githubWeb(api string) string {
	if host, ok := strings.CutPrefix(api, "api."); ok && (host == "github.com" || strings.HasSuffix(host, ".ghe.com")) {
		return host
	}
	return api
}

// FromEnviron takes the tokens from the environment: GITHUB_PERSONAL_ACCESS_TOKEN for github.com or the server of
// GITHUB_API_URL, GITLAB_PERSONAL_ACCESS_TOKEN for gitlab.com or the server of GITLAB_API_URL.
func FromEnviron(getenv func(string) string) (*Keyring, error) {
	k := &Keyring{out: &issuedCredentials{}}
	for _, f := range forges() {
		token := strings.TrimSpace(getenv(f.token))
		if token == "" {
			continue
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, badVariable(f.token, "it is not a token: there are blanks or unusual characters in it",
				"set it to the token and nothing else")
		}
		scheme, host, err := f.server(getenv(f.api))
		if err != nil {
			return nil, err
		}
		c := Credential{f.user, token}
		k.keys = append(k.keys, key{scheme: scheme, host: host, token: "the token in " + f.token, owner: c.fingerprint(),
			credential: func(context.Context) (Credential, error) { return c, nil }})
	}
	return k, nil
}

func (f credentialSource) server(api string) (scheme, host string, err error) {
	if api = strings.TrimSpace(api); api == "" {
		return "https", f.host + ":443", nil
	}
	u, err := url.Parse(api)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "", "", badVariable(f.api, "it is not the address of a server", "write it as https://"+f.host+"/api")
	case u.User != nil:
		return "", "", badVariable(f.api, "there is a user or a password in it", "leave them out; the token belongs into "+
			f.token)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", badVariable(f.api, "it begins with neither https:// nor http://", "write it as https://"+f.host+"/api")
	}
	u.Host = strings.Replace(strings.ToLower(u.Host), u.Hostname(), f.web(strings.ToLower(u.Hostname())), 1)
	scheme, host = origin(u)
	return scheme, host, nil
}

func badVariable(name, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: name, Why: why, Hint: hint}
}

// origin returns the scheme, and the host with its port.
func origin(u *url.URL) (scheme, host string) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme, strings.ToLower(u.Hostname()) + ":" + port
}

func (k *Keyring) find(u *url.URL) *key {
	if k == nil || u == nil {
		return nil
	}
	if k.limited && !slices.ContainsFunc(k.grants, func(g grant) bool { return g.covers(u) }) {
		return nil
	}
	scheme, host := origin(u)
	for i := range k.keys {
		if k.keys[i].scheme == scheme && k.keys[i].host == host {
			return &k.keys[i]
		}
	}
	return nil
}

// For returns the credential for a URL. Scheme, host and port must match: a credential for https is never sent over
// http.
func (k *Keyring) For(ctx context.Context, u *url.URL) (c Credential, known bool, err error) {
	key := k.find(u)
	if key == nil {
		return Credential{}, false, nil
	}
	c, err = key.credential(ctx)
	return c, true, err
}

// Lend returns the current credential for exactly this repository, for fetching, in the form of the egress proxy; an
// empty list if there is none. A credential of an [Account] is valid for an hour at GitHub. [Store.Lend] adds TLS
// settings.
func (k *Keyring) Lend(ctx context.Context, u *url.URL) ([]egress.Credential, error) {
	c, known, err := k.For(ctx, u)
	if !known || err != nil {
		return nil, err
	}
	return []egress.Credential{{
		Host: u.Host, Repository: strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git"),
		Services:  []string{egress.UploadPack},
		Header:    func() (string, string, error) { return "Authorization", c.basic(), nil },
		PlainHTTP: u.Scheme == "http",
	}}, nil
}

// Secrets returns the tokens in all encodings, for redaction. Of accounts it has the most recent tokens;
// [Keyring.OnSecret] reports later ones too.
func (k *Keyring) Secrets() []string {
	var all []string
	if k == nil {
		return nil
	}
	for _, key := range k.keys {
		if key.asked {
			continue
		}
		if c, err := key.credential(context.Background()); err == nil {
			all = append(all, c.secrets()...)
		}
	}
	return append(all, k.out.secrets()...)
}

// Hosts returns the servers that have a credential, without standard ports.
func (k *Keyring) Hosts() []string {
	var all []string
	if k != nil {
		for _, key := range k.keys {
			all = append(all, strings.TrimSuffix(key.host, map[string]string{"http": ":80", "https": ":443"}[key.scheme]))
		}
	}
	return all
}
