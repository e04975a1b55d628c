package main

import (
	"path/filepath"
	"strings"
	"testing"

	"hako/internal/app/access"
	"hako/internal/web/auth"
)

// TestMCPHolders: clients and operators of hako serve come in, each token as a
// caller of its own, whatever its name is and whoever had that before.
func TestMCPHolders(t *testing.T) {
	g := &mcpGuard{token: "the token of this server", store: &auth.Store{Path: filepath.Join(t.TempDir(), "d", "tokens.json")}}
	add := func(name string, role access.Role) string {
		t.Helper()
		secret, err := g.store.Add(name, role)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	client := add("claude", access.Client)
	before := g.holder(client)
	for secret, want := range map[string]string{client: "claude#", add("mika", access.Operator): "mika#", add(localCaller, access.Client): localCaller + "#", g.token: localCaller} {
		if got := g.holder(secret); !strings.HasPrefix(got, want) || (secret == g.token) != (got == localCaller) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := g.holder(add("looker", access.Reader)); got != "" {
		t.Errorf("a reader is %s", got)
	}
	if err := g.store.Remove("claude"); err != nil {
		t.Fatal(err)
	}
	if got := g.holder(client); got != "" {
		t.Errorf("removed, but it is %s", got)
	}
	if after := g.holder(add("claude", access.Client)); after == before {
		t.Errorf("%s inherits", after)
	}
}
