package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"hako/run/fault"
)

// A till hands out tokens that are another each time.
type till struct {
	n     int
	fails error
	raw   string
}

func (c *till) Token(context.Context) (string, error) {
	if c.n++; c.raw != "" {
		return c.raw, nil
	}
	return fmt.Sprintf("ghs_%036d", c.n), c.fails
}

func (c *till) ring(t *testing.T) *Keyring {
	t.Helper()
	k := &Keyring{}
	if err := k.Add(Account{Name: "GitHub App 12", Token: c.Token}); err != nil {
		t.Fatal(err)
	}
	return k
}

var hubURL = &url.URL{Scheme: "https", Host: "github.com", Path: "/a/b.git"}

// TestAsked has a token that is asked for each time it is used.
func TestAsked(t *testing.T) {
	source := &till{}
	k := source.ring(t)
	var early, late []string
	k.OnSecret(func(all ...string) { early = append(early, all...) })
	if len(k.Secrets()) != 0 || source.n != 0 {
		t.Errorf("it asked although nobody needs it: %q", k.Secrets())
	}
	first, known, err := k.For(t.Context(), hubURL)
	second, _, _ := k.For(t.Context(), hubURL)
	if !known || err != nil || first.User != "x-access-token" || first.Token == second.Token {
		t.Errorf("%v, %v", known, err)
	}
	k.OnSecret(func(all ...string) { late = append(late, all...) })
	for _, secret := range slices.Concat(first.secrets(), second.secrets()) {
		if !slices.Contains(k.Secrets(), secret) || !slices.Contains(early, secret) || !slices.Contains(late, secret) {
			t.Errorf("%s is not hidden", secret)
		}
	}
	if _, known, _ := k.For(t.Context(), &url.URL{Scheme: "http", Host: "github.com"}); known {
		t.Error("it is shown without encryption")
	}
	for range 100 {
		if _, _, err := k.For(t.Context(), hubURL); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(k.Secrets()); n != maxRecent*len(first.secrets()) {
		t.Errorf("it remembers %d", n)
	}
	k = ring(t)
	k.OnSecret(func(all ...string) { late = all })
	if !slices.Contains(late, hubToken) || !slices.Contains(late, labToken) {
		t.Errorf("it hides %q", late)
	}
	(*Keyring)(nil).OnSecret(nil)
	(&Keyring{}).OnSecret(func(...string) {})
}

// TestAskedFails hands on why there is none.
func TestAskedFails(t *testing.T) {
	why := &fault.Error{Kind: fault.Denied, Op: "log in", Hint: "look"}
	source := &till{fails: why}
	k := source.ring(t)
	if _, _, err := k.For(t.Context(), hubURL); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if lent, err := (&Store{Keys: k}).Lend(t.Context(), hubURL.String()); !errors.Is(err, why) || lent != nil {
		t.Errorf("got %v, %v", lent, err)
	}
	if len(k.Secrets()) != 0 {
		t.Errorf("it remembers %q", k.Secrets())
	}
	for _, raw := range []string{" ", "sEcret\r\nHost: x"} {
		source.raw = raw
		if _, _, err := k.For(t.Context(), hubURL); err == nil || strings.Contains(err.Error(), "sEcret") ||
			fault.Hint(err) == "" {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestAskedOnce(t *testing.T) {
	source := &till{}
	if err := ring(t).Add(Account{Name: "GitHub App 12", Token: source.Token}); fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "GITHUB_PERSONAL_ACCESS_TOKEN and GitHub App 12") {
		t.Errorf("two for one server: %v", err)
	}
	if err := (&Keyring{}).Add(Account{API: "ftp://x", Token: source.Token}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("got %v", err)
	}
	k := ring(t)
	if err := k.Add(Account{API: "https://ghe.corp.example/api/v3", Name: "GitHub App 12",
		Token: source.Token}); err != nil || !slices.Contains(k.Hosts(), "ghe.corp.example") {
		t.Errorf("%q, %v", k.Hosts(), err)
	}
}

// TestAskedLends the token of the moment, which is hidden by then.
func TestAskedLends(t *testing.T) {
	source := &till{}
	k := source.ring(t)
	lent, err := (&Store{Keys: k}).Lend(t.Context(), hubURL.String())
	if err != nil || len(lent) != 1 {
		t.Fatalf("%v, %v", lent, err)
	}
	_, value, _ := lent[0].Header()
	again, _, _ := lent[0].Header()
	if pair, _ := strings.CutPrefix(value, "Basic "); !slices.Contains(k.Secrets(), pair) || again != "Authorization" ||
		source.n != 1 {
		t.Errorf("%q is not among %q, of %d tokens", value, k.Secrets(), source.n)
	}
}

// TestAskedShowsNothing prints a keyring that has handed something out.
func TestAskedShowsNothing(t *testing.T) {
	k := (&till{}).ring(t)
	c, _, _ := k.For(t.Context(), hubURL)
	var out bytes.Buffer
	for _, v := range []any{k, *k, Store{Keys: k}, k.out, *k.out.copy(), &cloneJob{key: &k.keys[0]}, k.keys} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	for _, secret := range append(c.secrets(), fmt.Sprintf("%x", c.Token)) {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s shows", secret)
		}
	}
}

// copy is what can be printed.
func (h *issuedCredentials) copy() *struct{ last []func() Credential } {
	return &struct{ last []func() Credential }{h.recent}
}

func TestAskedTogether(t *testing.T) {
	k := &Keyring{}
	if err := k.Add(Account{Name: "x", Token: func(context.Context) (string, error) {
		return "ghs_same",
			nil
	}}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			k.OnSecret(func(...string) {})
			k.For(t.Context(), hubURL)
			k.Secrets()
		})
	}
	all.Wait()
	if n := len(k.out.recent); n != 1 {
		t.Errorf("it remembers %d", n)
	}
}
