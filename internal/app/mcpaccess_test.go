package app

import (
	"path/filepath"
	"strings"
	"testing"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/web/auth"
)

// TestMCPHolders: clients and operators of hako serve come in, each token as a
// caller of its own, whatever its name is and whoever had that before.
func TestMCPHolders(t *testing.T) {
	g := &MCPAccess{Token: "the token of this server",
		store: &auth.Store{Path: filepath.Join(t.TempDir(), "d", "tokens.json")}}
	add := func(name string, role access.Role) string {
		t.Helper()
		secret, err := g.store.Add(name, role)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	client := add("claude", access.Client)
	before := g.Holder(client)
	for secret, want := range map[string]string{client: "claude#", add("mika", access.Operator): "mika#",
		add(localCaller, access.Client): localCaller + "#", g.Token: localCaller} {
		if got := g.Holder(secret); !strings.HasPrefix(got, want) || (secret == g.Token) != (got == localCaller) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := g.Holder(add("looker", access.Reader)); got != "" {
		t.Errorf("a reader is %s", got)
	}
	if err := g.store.Remove("claude"); err != nil {
		t.Fatal(err)
	}
	if got := g.Holder(client); got != "" {
		t.Errorf("removed, but it is %s", got)
	}
	if after := g.Holder(add("claude", access.Client)); after == before {
		t.Errorf("%s inherits", after)
	}
}

// TestElicitsByToken: the token of hako mcp is its user's; those of hako serve, and
// none, may be anybody's.
func TestElicitsByToken(t *testing.T) {
	for _, most := range []gate.Answer{gate.No, gate.Once} {
		others := func(string) gate.Answer { return most }
		for _, c := range []struct {
			token, caller string
			want          gate.Answer
		}{
			{"secret", localCaller, gate.Session}, {"secret", "claude-1234", most}, {"secret", "local-1234", most},
			{"", localCaller, most}, {"secret", "", most},
		} {
			g := &MCPAccess{Token: c.token}
			if got := g.MaxAnswer(others)(c.caller); got != c.want {
				t.Errorf("%q, %q: %v", c.token, c.caller, got)
			}
		}
	}
}
