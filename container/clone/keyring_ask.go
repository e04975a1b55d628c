package clone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"hako/run/fault"
)

// An Account is a GitHub account with short-lived tokens: the token is requested for each use.
type Account struct {
	API   string                                // address of the API; empty means that of github.com
	Name  string                                // of the account, for messages: "GitHub App 12"; required. Accounts of the same name share caches
	Token func(context.Context) (string, error) // required; called concurrently; must be fast
}

// Add adds an account, before the keyring is in use.
func (k *Keyring) Add(a Account) error {
	f := forges()[0]
	scheme, host, err := f.server(a.API)
	if err != nil {
		return err
	}
	for _, other := range k.keys {
		if other.scheme == scheme && other.host == host {
			return &fault.Error{Kind: fault.Invalid, Op: "log in to", Subject: host, Why: "there are both " + other.token +
				" and " + a.Name, Hint: "leave out one of them"}
		}
	}
	if k.out == nil {
		k.out = &issuedCredentials{}
	}
	sum := sha256.Sum256([]byte("hako clone account\x00" + a.Name))
	out := k.out
	k.keys = append(k.keys, key{scheme: scheme, host: host, token: "the token of " + a.Name,
		owner: hex.EncodeToString(sum[:]), asked: true,
		credential: func(ctx context.Context) (Credential, error) { return a.ask(ctx, f.user, out) }})
	return nil
}

// ask gets the current token. It is registered as a secret before it is returned.
func (a Account) ask(ctx context.Context, user string, out *issuedCredentials) (Credential, error) {
	token, err := a.Token(ctx)
	if err != nil {
		return Credential{}, err
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Credential{}, &fault.Error{Kind: fault.Unavailable, Op: "log in", Subject: "as " + a.Name,
			Why: "the answer is not a token", Hint: "see the settings of the account"}
	}
	c := Credential{user, token}
	out.add(c)
	return c, nil
}

// OnSecret calls add with all encodings of every secret: the existing ones, and each later one before it is used.
func (k *Keyring) OnSecret(add func(...string)) {
	if k == nil {
		return
	}
	if k.out != nil {
		k.out.notify(add)
	}
	add(k.Secrets()...)
}

// issuedCredentials are the recently issued credentials of accounts.
type issuedCredentials struct {
	mu        sync.Mutex
	recent    []func() Credential // functions, as in key
	listeners []func(...string)
}

// maxRecent is the number of remembered credentials. Tokens are valid for an hour, so older ones have expired.
const maxRecent = 4

func (h *issuedCredentials) add(c Credential) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.recent, func(old func() Credential) bool { return old() == c }) {
		return
	}
	h.recent = append(h.recent, func() Credential { return c })
	if len(h.recent) > maxRecent {
		h.recent = slices.Clone(h.recent[1:])
	}
	for _, add := range h.listeners {
		add(c.secrets()...)
	}
}

func (h *issuedCredentials) notify(add func(...string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = append(h.listeners, add)
}

func (h *issuedCredentials) secrets() (all []string) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.recent {
		all = append(all, c().secrets()...)
	}
	return all
}
