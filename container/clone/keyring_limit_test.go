package clone

import (
	"net/url"
	"strings"
	"testing"

	"hako/run/fault"
)

// TestLimit compares whole names of hosts and paths, never their beginnings.
func TestLimit(t *testing.T) {
	k, err := ring(t, "GITLAB_API_URL", "http://git.corp.example:8080/api/v4").Limit("mcp.repositories",
		[]string{"github.com/owner/project", "https://github.com/team/*", "http://git.corp.example:8080/a/b/*"})
	if err != nil {
		t.Fatal(err)
	}
	for address, listed := range map[string]bool{
		"https://github.com/owner/project": true, "https://github.com/owner/project.git": true,
		"https://GitHub.com:443/Owner/Project": true,
		"https://github.com/team/x":            true, "https://github.com/team/x.git": true,
		"http://git.corp.example:8080/a/b/c": true,

		"https://github.com/owner/project2": false, "https://github.com/owner/project.git2": false,
		"https://github.com/owner/projec": false, "https://github.com/owner": false,
		"https://github.com/owner/project/wiki": false, "https://github.com/owner/project.git.git": false,
		"https://github.com/team": false, "https://github.com/team/": false,
		"https://github.com/team2/x": false, "https://github.com/team/x/y": false, "https://github.com/x/team/y": false,
		"http://github.com/team/x":      false,
		"https://github.com:444/team/x": false, "https://github.com.evil.example/team/x": false,
		"https://evil.example/github.com/team/x": false,
		"https://evil.example/team/x":            false, "http://git.corp.example:8080/a/b": false,
		"http://git.corp.example:8080/a/c/x": false, "http://git.corp.example/a/b/c": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if u, perr := parseURL(address); perr == nil && (k.find(u) != nil) != listed {
			t.Errorf("%s as it is cloned: a credential is there: %v", address, !listed)
		}
		if _, known, err := k.For(t.Context(), u); known != listed || err != nil {
			t.Errorf("%s: a credential is there: %v, %v", address, known, err)
		}
		if lent, err := k.Lend(t.Context(), u); (len(lent) > 0) != listed || err != nil {
			t.Errorf("%s: something is lent: %v, %v", address, lent, err)
		}
	}
	if len(k.Secrets()) == 0 {
		t.Error("secrets that are not lent would be shown")
	}
	none, err := ring(t).Limit("mcp.repositories", nil)
	if u, _ := url.Parse("https://github.com/owner/project"); err != nil || none.find(u) != nil || !none.withheld(u) {
		t.Errorf("without a list: %v, %v", none.find(u), err)
	}
	if u, _ := url.Parse("https://other.example/owner/project"); none.withheld(u) {
		t.Error("there is no token for this server")
	}
	if empty, err := (*Keyring)(nil).Limit("x", []string{"github.com/a/b"}); err != nil || len(empty.Secrets()) != 0 {
		t.Error(err)
	}
}

func TestLimitRefuses(t *testing.T) {
	for _, text := range []string{"", "*", "github.com", "github.com/*", "github.com/owner", "owner/project",
		"github.com/*/x", "github.com/ow*/x", "https://me:pw@github.com/a/b",
		"ssh://github.com/a/b", "github.com/a/../b", "github.com/a/b?c", "github.com/a/b#c", "github.com/a%2fb/c",
		"github.com/a/.git", "github.com//a/b", "-x/a/b", "github.com/a/b\n"} {
		_, err := ring(t).Limit("mcp.repositories", []string{text})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Hint(err), "owner/*") ||
			strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
