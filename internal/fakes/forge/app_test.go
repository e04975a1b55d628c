package forge

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// assertion signs claims, as an App does.
func assertion(t *testing.T, key *rsa.PrivateKey, alg, format string, args ...any) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + encode(fmt.Appendf(nil, format, args...))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

func newAppPeer(t *testing.T) (*peer, *rsa.PrivateKey) {
	p := newPeer(t, GitHub, "a/b")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.App(12, 34, &key.PublicKey, "robot[bot]")
	p.Member("a/b", "robot[bot]", "write")
	return p, key
}

// tokenOf asks for the token of an installation.
func (p *peer) tokenOf(assertion string) string {
	p.Helper()
	p.token = assertion
	status, _, body := p.ask("POST", "/app/installations/34/access_tokens", "{}")
	var made struct{ Token string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated ||
		!strings.HasPrefix(made.Token, "ghs_") {
		p.Fatalf("%d %s", status, body)
	}
	return made.Token
}

func TestAssertions(t *testing.T) {
	p, key := newAppPeer(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	const usual = `{"iat":%d,"exp":%d,"iss":%q}`
	good := assertion(t, key, "RS256", usual, now-60, now+500, "12")
	for name, c := range map[string]struct {
		shown  string
		status int
	}{
		"good":       {good, 200},
		"a number":   {assertion(t, key, "RS256", `{"iat":%d,"exp":%d,"iss":12}`, now-60, now+500), 200},
		"none":       {"", 401},
		"a token":    {p.token, 401},
		"stranger":   {assertion(t, stranger, "RS256", usual, now-60, now+500, "12"), 401},
		"alg":        {assertion(t, key, "none", usual, now-60, now+500, "12"), 401},
		"unsigned":   {good[:strings.LastIndex(good, ".")+1], 401},
		"who":        {assertion(t, key, "RS256", usual, now-60, now+500, "13"), 404},
		"too long":   {assertion(t, key, "RS256", usual, now-60, now+660, "12"), 401},
		"over":       {assertion(t, key, "RS256", usual, now-600, now-1, "12"), 401},
		"to come":    {assertion(t, key, "RS256", usual, now+30, now+500, "12"), 401},
		"no end":     {assertion(t, key, "RS256", `{"iat":%d,"iss":"12"}`, now), 401},
		"no JSON":    {assertion(t, key, "RS256", "x"), 401},
		"no numbers": {assertion(t, key, "RS256", `{"iat":"x","exp":"y","iss":"12"}`), 401},
	} {
		p.token = c.shown
		if status, _, body := p.ask("GET", "/app", ""); status != c.status || status == 200 &&
			!strings.Contains(body, `"slug":"robot"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	p.token = good
	if status, _, _ := p.ask("GET", "/repos/a/b", ""); status != http.StatusUnauthorized {
		t.Errorf("an assertion is good for a repository: %d", status)
	}
	if status, _, _ := p.ask("POST", "/app/installations/35/access_tokens", "{}"); status != http.StatusNotFound {
		t.Errorf("another installation: %d", status)
	}
}

func TestAppTokens(t *testing.T) {
	p, key := newAppPeer(t)
	now := time.Now().Unix()
	own := p.token
	good := assertion(t, key, "RS256", `{"iat":%d,"exp":%d,"iss":"12"}`, now-60, now+500)
	p.token = p.tokenOf(good)
	for path, want := range map[string]int{"/repos/a/b": 200, "/installation/repositories": 200, "/issues?filter=all": 403,
		"/user": 403, "/app": 401} {
		if status, _, body := p.ask("GET", path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, _, body := p.ask("GET", "/installation/repositories", ""); !strings.Contains(body, `"total_count":1`) ||
		!strings.Contains(body, `"full_name":"a/b"`) {
		t.Errorf("installed in %s", body)
	}
	p.ExpireTokens()
	if status, _, _ := p.ask("GET", "/repos/a/b", ""); status != http.StatusUnauthorized {
		t.Errorf("a token that has ended: %d", status)
	}
	p.SetTokenLifetime(-time.Second)
	p.token = p.tokenOf(good)
	if status, _, _ := p.ask("GET", "/repos/a/b", ""); status != http.StatusUnauthorized {
		t.Errorf("a token whose time is over: %d", status)
	}
	p.token = own
	if status, _, _ := p.ask("GET", "/installation/repositories", ""); status != http.StatusForbidden {
		t.Errorf("a person is installed: %d", status)
	}
	p.SetClockSkew(time.Hour)
	if _, h, _ := p.ask("GET", "/user", ""); h.Get("Date") == "" ||
		h.Get("Date")[:22] == time.Now().UTC().Format(http.TimeFormat)[:22] {
		t.Errorf("its clock shows %s", h.Get("Date"))
	}
}

// TestAppGit clones with a token of an App.
func TestAppGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	p, key := newAppPeer(t)
	p.Private("a/b")
	p.SetGitRoot(t.TempDir())
	if err := p.Seed("a/b", map[string]string{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	token := p.tokenOf(assertion(t, key, "RS256", `{"iat":%d,"exp":%d,"iss":"12"}`, now-60, now+500))
	read := func(user string) error {
		login := base64.StdEncoding.EncodeToString([]byte(user + ":" + token))
		_, err := git(p.gitRoot, "-c", "http.extraHeader=Authorization: Basic "+login, "ls-remote", p.URL+"/a/b.git")
		return err
	}
	if err := read("x-access-token"); err != nil {
		t.Error(err)
	}
	if read("robot") == nil {
		t.Error("another name will do")
	}
	p.ExpireTokens()
	if read("x-access-token") == nil {
		t.Error("a token that has ended will do")
	}
}
