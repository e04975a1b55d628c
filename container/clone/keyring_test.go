package clone

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hako/container/egress"
	"hako/run/fault"
)

const (
	hubToken = "ghp_0123456789abcdefHUB"
	labToken = "glpat-0123456789abcdLAB"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func ring(t *testing.T, pairs ...string) *Keyring {
	t.Helper()
	k, err := FromEnviron(environment(append(pairs, "GITHUB_PERSONAL_ACCESS_TOKEN", hubToken,
		"GITLAB_PERSONAL_ACCESS_TOKEN", labToken)...))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestFor(t *testing.T) {
	usual := ring(t)
	own := ring(t, "GITHUB_API_URL", "https://ghe.corp.example:8443/api/v3", "GITLAB_API_URL",
		"http://Git.Corp.example/api/v4/")
	cloud := ring(t, "GITHUB_API_URL", "https://api.acme.ghe.com")
	for _, c := range []struct {
		k    *Keyring
		at   string
		want string
	}{
		{usual, "https://github.com/a/b.git", "x-access-token:" + hubToken},
		{usual, "https://GitHub.com:443/a/b", "x-access-token:" + hubToken},
		{usual, "https://gitlab.com/a/b", "oauth2:" + labToken},
		{usual, "http://github.com/a/b", ""},
		{usual, "https://github.com:8443/a/b", ""},
		{usual, "https://github.com./a/b", ""},
		{usual, "https://api.github.com/a/b", ""},
		{usual, "https://github.com.evil.example/a", ""},
		{usual, "https://evil.example/github.com/a", ""},
		{usual, "https://gist.github.com/a", ""},
		{own, "https://ghe.corp.example:8443/a/b", "x-access-token:" + hubToken},
		{own, "https://ghe.corp.example/a/b", ""},
		{own, "https://github.com/a/b", ""},
		{own, "http://git.corp.example/a/b", "oauth2:" + labToken},
		{own, "http://git.corp.example:80/a/b", "oauth2:" + labToken},
		{own, "https://git.corp.example/a/b", ""},
		{own, "https://gitlab.com/a/b", ""},
		{cloud, "https://acme.ghe.com/a/b", "x-access-token:" + hubToken},
		{nil, "https://github.com/a/b", ""},
	} {
		u, err := url.Parse(c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := c.k.For(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.User + ":" + got.Token; ok != (c.want != "") || ok && text != c.want {
			t.Errorf("%s: %v, %s", c.at, ok, text)
		}
	}
	if got := own.Hosts(); !slices.Equal(got, []string{"ghe.corp.example:8443", "git.corp.example"}) {
		t.Errorf("hosts %q", got)
	}
	if k, err := FromEnviron(environment("GITHUB_PERSONAL_ACCESS_TOKEN", "  ")); err != nil || len(k.Hosts()) > 0 ||
		len(k.Secrets()) > 0 {
		t.Errorf("%v, %v", k, err)
	}
}

func TestBadEnviron(t *testing.T) {
	for name, value := range map[string]string{
		"GITHUB_PERSONAL_ACCESS_TOKEN": "sEcret one\r\nHost: evil",
		"GITLAB_PERSONAL_ACCESS_TOKEN": "sEcret\x00",
		"GITHUB_API_URL":               "ftp://sEcret.example",
		"GITLAB_API_URL":               "https://me:sEcret@git.example/api/v4",
	} {
		_, err := FromEnviron(environment(name, value, "GITHUB_PERSONAL_ACCESS_TOKEN", hubToken,
			"GITLAB_PERSONAL_ACCESS_TOKEN", labToken))
		var e *fault.Error
		if !errors.As(err, &e) || e.Subject != name || e.Hint == "" || strings.Contains(err.Error()+e.Hint, "sEcret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, odd := range []string{"nonsense", "https://", "https:git.example", "//git.example"} {
		if _, err := FromEnviron(environment("GITLAB_API_URL", odd, "GITLAB_PERSONAL_ACCESS_TOKEN", labToken)); err == nil {
			t.Errorf("%s is taken for an address", odd)
		}
	}
}

// TestNothingShows prints credentials in every way that comes to mind.
func TestNothingShows(t *testing.T) {
	k := ring(t)
	c, _, _ := k.For(t.Context(), &url.URL{Scheme: "https", Host: "github.com"})
	var out bytes.Buffer
	for _, v := range []any{c, &c, k, *k, []Credential{c}, map[string]any{"c": c}, struct{ C Credential }{c},
		struct{ c Credential }{Credential{}},
		Store{Keys: k}, &Store{Keys: k}, &cloneJob{Store: &Store{Keys: k}, key: &k.keys[0]}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		json.NewEncoder(&out).Encode(v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	fmt.Fprintln(&out, c.String(), c.GoString())
	for _, secret := range append(k.Secrets(), fmt.Sprintf("%x", hubToken)) {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s shows", secret)
		}
	}
}

func TestSecrets(t *testing.T) {
	all := ring(t).Secrets()
	for _, want := range []string{hubToken, labToken,
		base64.StdEncoding.EncodeToString([]byte("x-access-token:" + hubToken)),
		base64.StdEncoding.EncodeToString([]byte("oauth2:" + labToken))} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is missing in %q", want, all)
		}
	}
}

func TestLend(t *testing.T) {
	k := ring(t, "GITLAB_API_URL", "http://git.corp.example:8080/api/v4")
	for at, want := range map[string]string{
		"https://github.com/group/project.git":         "github.com /group/project false",
		"https://github.com/group/project":             "github.com /group/project false",
		"http://git.corp.example:8080/a/b/project.git": "git.corp.example:8080 /a/b/project true",
	} {
		u, _ := url.Parse(at)
		got, err := k.Lend(t.Context(), u)
		if err != nil || len(got) != 1 || fmt.Sprint(got[0].Host, " ", got[0].Repository, " ", got[0].PlainHTTP) != want {
			t.Fatalf("%s: %+v", at, got)
		}
		name, value, err := got[0].Header()
		if c, _, _ := k.For(t.Context(), u); name != "Authorization" || value != c.basic() || err != nil {
			t.Errorf("%s: %s, %v", at, name, err)
		}
		if !slices.Equal(got[0].Services, []string{egress.UploadPack}) || got[0].Push != nil {
			t.Errorf("%s: %q", at, got[0].Services)
		}
		if err := (&egress.Proxy{Credentials: got, Log: func(egress.Event) error { return nil }}).Check(); err != nil {
			t.Error(err)
		}
	}
	if got, err := k.Lend(t.Context(), &url.URL{Scheme: "https", Host: "example.com", Path: "/a/b"}); got != nil ||
		err != nil {
		t.Errorf("there is something for a stranger: %v, %v", got, err)
	}
}

func TestStoreLend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	s := &Store{Keys: ring(t), CAFile: file, InsecureTLS: true}
	if _, err := s.Lend(t.Context(), "https://github.com/a/b"); fault.KindOf(err) != fault.Invalid ||
		fault.Hint(err) == "" {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lend(t.Context(), "https://github.com/a/b"); err == nil ||
		!strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a file without certificates: %v", err)
	}
	s.CAFile = ""
	got, err := s.Lend(t.Context(), "https://github.com/a/b")
	if err != nil || len(got) != 1 || !got[0].InsecureTLS {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Lend(t.Context(), "https://me:pw@github.com/a/b"); err == nil {
		t.Error("a password is taken")
	}
}
