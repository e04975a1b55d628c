package forge

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

const (
	appID        = 4711
	installation = 3456789012
	minted       = "/app/installations/3456789012/access_tokens"
)

var appKey = sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func keyFile(key *rsa.PrivateKey) []byte {
	return inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

// newAppWorld is GitHub with an App that may write to the repository.
func newAppWorld(t *testing.T) *world {
	w := newWorld(t, GitHub)
	w.Server.App(appID, installation, &appKey().PublicKey, "hako-app[bot]")
	w.Member(w.repo, "hako-app[bot]", "write")
	w.config.Token, w.config.App = "", &App{ID: appID, Installation: installation, Key: keyFile(appKey())}
	w.reopen()
	return w
}

func (w *world) mints() int { return w.Count("POST", minted) }

// TestApp works without a token that anybody gave us.
func TestApp(t *testing.T) {
	w := newAppWorld(t)
	var explainedError []string
	w.config.AddSecret = func(secret string) { explainedError = append(explainedError, secret) }
	w.reopen()
	ref := w.issue(fake.Item{Title: "a", Labels: []string{"coding agent"}})
	if name, err := w.CurrentUser(w.ctx()); err != nil || name != "hako-app[bot]" {
		t.Errorf("got %q, %v", name, err)
	}
	w.fine(w.ChangeLabels(w.ctx(), ref, []string{"x"}, nil))
	c, err := w.AddComment(w.ctx(), ref, Mark{"t", "k"}, "said")
	if err != nil || !c.Mine || w.item(ref).Comments[0].Author != "hako-app[bot]" {
		t.Errorf("got %+v, %v", c, err)
	}
	if may, err := w.MayWrite(w.ctx(), w.repo, "hako-bot"); err != nil || !may {
		t.Errorf("got %v, %v", may, err)
	}
	token, err := w.Forge.(Tokens).Token(w.ctx())
	if err != nil || !strings.HasPrefix(token, "ghs_") || !slices.Equal(explainedError, []string{token}) {
		t.Errorf("was told %q, got %q, %v", explainedError, token, err)
	}
	_, err = w.AddComment(w.ctx(), ref, Mark{}, "a token: "+token)
	w.fine(err)
	if body := w.item(ref).Comments[1].Body; strings.Contains(body, token) {
		t.Errorf("said %q", body)
	}
	if n, asked := w.mints(), w.Count("GET", "/api/v3/app"); n != 1 || asked != 1 {
		t.Errorf("%d tokens, asked %d times for its name", n, asked)
	}
}

// TestAppLists goes through the repositories: there is no list for all of them.
func TestAppLists(t *testing.T) {
	w := newAppWorld(t)
	w.issue(fake.Item{Title: "a", Labels: []string{"coding agent"}})
	w.issue(fake.Item{Title: "without the label"})
	for n := range 120 {
		path := fmt.Sprintf("acme/more%d", n)
		w.Repo(path)
		if n%2 == 0 {
			w.Member(path, "hako-app[bot]", "write")
		}
		w.Add(path, fake.Item{Kind: fake.Issue, Title: "b", Labels: []string{"coding agent"}})
	}
	w.AddFault(fake.Fault{Path: "/repos/acme/more4/issues", Status: 410, Message: "Issues are disabled for this repo"})
	got, err := w.List(w.ctx(), Query{Label: "coding agent"})
	if err != nil || len(got) != 60 || got[0].Repo != w.repo || got[59].Repo != "acme/more118" {
		t.Errorf("got %d, %v", len(got), err)
	}
	if got, err = w.List(w.ctx(), Query{Label: "coding agent", Limit: 3}); err != nil || len(got) != 3 {
		t.Errorf("got %d, %v", len(got), err)
	}
	w.AddFault(fake.Fault{Path: "/installation/repositories", Status: 200, Raw: "null"})
	_, err = w.List(w.ctx(), Query{})
	w.refuses(err, fault.Unavailable, "no sense")
	w.AddFault(fake.Fault{Path: "/repos/acme/more2/issues", Status: 403, Message: "no"})
	_, err = w.List(w.ctx(), Query{})
	w.refuses(err, fault.Denied, "App", "accept")
}

// TestAppRenews has a new token before the old one ends, and goes on with the
// old one as long as there is no new one.
func TestAppRenews(t *testing.T) {
	w := newAppWorld(t)
	ref := w.issue(fake.Item{Title: "a"})
	get := func(mints int) {
		t.Helper()
		_, err := w.Get(w.ctx(), ref)
		w.fine(err)
		if n := w.mints(); n != mints {
			t.Errorf("%d tokens were made, not %d", n, mints)
		}
		w.ClearRequests()
	}
	w.SetTokenLifetime(4 * time.Minute)
	get(1)
	get(1)
	w.AddFault(fake.Fault{Path: minted, Status: 502, Times: 4})
	get(4)
	get(0) // does not try again at once
	w.ExpireTokens()
	w.SetTokenLifetime(time.Hour)
	get(1)
	get(0)
	w.SetTokenLifetime(renewBefore + 20*time.Second)
	w.SetClockSkew(-30 * time.Second) // its clock tells how long a token lasts; by ours, the next one would be due
	w.ExpireTokens()
	get(1)
	get(0)
}

// refusesToLogIn wants the error of somebody who needs a token. Words are parted
// by bars, and one of them will do.
func (w *world) refusesToLogIn(kind fault.Kind, words ...string) {
	w.Helper()
	_, err := w.Get(w.ctx(), Ref{w.repo, KindIssue, 1})
	w.refuses(err, kind, "App 4711")
	for _, some := range words {
		if !slices.ContainsFunc(strings.Split(some, "|"),
			func(word string) bool { return strings.Contains(err.Error()+fault.Hint(err), word) }) {
			w.Errorf("%q and its hint %q do not say %q", err, fault.Hint(err), some)
		}
	}
	if strings.Contains(err.Error(), "http") || strings.Contains(err.Error(), "eyJ") {
		w.Errorf("it says too much: %v", err)
	}
}

// TestAppEnds has tokens that end in the middle of the work.
func TestAppEnds(t *testing.T) {
	w := newAppWorld(t)
	ref := w.issue(fake.Item{Title: "a"})
	for range 3 {
		w.ExpireTokens()
		_, err := w.AddComment(w.ctx(), ref, Mark{}, "said")
		w.fine(err)
	}
	if n := len(w.item(ref).Comments); n != 3 || w.mints() != 3 || len(w.waits) != 0 {
		t.Errorf("%d comments, %d tokens, waits %v", n, w.mints(), w.waits)
	}
	w.ClearRequests()
	w.AddFault(fake.Fault{Path: "/comments", Status: 401, Times: -1, Message: "Bad credentials"})
	_, err := w.AddComment(w.ctx(), ref, Mark{}, "never")
	w.refuses(err, fault.Denied, "401", "installed")
	if w.Count("POST", "/comments") != 2 || w.mints() != 1 {
		t.Errorf("asked %d times, with %d new tokens", w.Count("POST", "/comments"), w.mints())
	}
}

// TestAppRefused says what to look at.
func TestAppRefused(t *testing.T) {
	w := newAppWorld(t)
	w.issue(fake.Item{Title: "a"})
	with := func(change func(*App)) {
		own := *w.config.App
		change(&own)
		w.config.App = &own
		w.reopen()
	}
	with(func(a *App) { a.Key = keyFile(newKey()) })
	w.refusesToLogIn(fault.Denied, "private_key_file", "github.app.id", "401")
	_, err := w.CurrentUser(w.ctx())
	w.refuses(err, fault.Denied, "private_key_file")
	with(func(a *App) { a.Key = keyFile(appKey()); a.Installation = 99 })
	w.refusesToLogIn(fault.Denied, "installation 99", "github.app.installation_id", "404")
	with(func(a *App) { a.Installation = installation; a.ID = 4712 })
	_, err = w.Get(w.ctx(), Ref{w.repo, KindIssue, 1})
	w.refuses(err, fault.Denied, "github.app.id", "404")
	with(func(a *App) { a.ID = appID })
	w.SetClockSkew(10 * time.Minute)
	w.refusesToLogIn(fault.Denied, "10m0s behind|9m59s behind|10m1s behind", "set the clock")
	w.SetClockSkew(-3 * time.Minute)
	w.refusesToLogIn(fault.Denied, "3m0s ahead|3m1s ahead|2m59s ahead", "set the clock")
	w.SetClockSkew(0)
	w.AddFault(fake.Fault{Path: minted, Status: 403, Message: "This installation has been suspended"})
	w.refusesToLogIn(fault.Denied, "has been suspended", "403")
	for _, raw := range []string{"null", "{}", `{"token":"a b","expires_at":"2199-01-01T00:00:00Z"}`,
		`{"token":"ghs_x","expires_at":"2020-01-01T00:00:00Z"}`, "<html>"} {
		w.AddFault(fake.Fault{Path: minted, Status: 201, Raw: raw})
		w.refusesToLogIn(fault.Unavailable, "no sense")
	}
	if len(w.waits) != 0 {
		t.Errorf("it waited %v", w.waits)
	}
}

// TestAppTrouble asks again for a token, which does no harm.
func TestAppTrouble(t *testing.T) {
	w := newAppWorld(t)
	ref := w.issue(fake.Item{Title: "a"})
	w.AddFault(fake.Fault{Path: minted, Status: 503, Times: 4})
	w.refusesToLogIn(fault.Unavailable, "503")
	if w.mints() != 4 || len(w.waits) != 3 {
		t.Errorf("asked %d times after %v", w.mints(), w.waits)
	}
	w.AddFault(fake.Fault{Path: minted, Status: 503, Times: 2})
	_, err := w.Get(w.ctx(), ref)
	w.fine(err)
}

// TestAppIsNotMissing tells a login that is not found from a thing that is not.
func TestAppIsNotMissing(t *testing.T) {
	w := newAppWorld(t)
	ref := w.issue(fake.Item{Title: "a", Labels: []string{"x"}})
	labels := fake.Fault{Path: "/labels", Status: 401, Skip: 1, Times: -1}
	w.AddFault(labels)
	w.AddFault(fake.Fault{Path: minted, Skip: 1, Status: 404, Times: -1})
	w.refuses(w.ChangeLabels(w.ctx(), ref, nil, []string{"x"}), fault.Denied, "installation")
	_, err := w.MayWrite(w.ctx(), w.repo, "hako-bot")
	w.refuses(err, fault.Denied, "installation")
}

// TestAppTogether makes one token for all who wait for it, also when the one who
// came first has gone.
func TestAppTogether(t *testing.T) {
	w := newAppWorld(t)
	ref := w.issue(fake.Item{Title: "a"})
	w.AddFault(fake.Fault{Path: minted, Delay: 300 * time.Millisecond})
	short, cancel := context.WithTimeout(w.ctx(), 20*time.Millisecond)
	defer cancel()
	_, err := w.Get(short, ref)
	w.refuses(err, fault.Timeout)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := w.Get(w.ctx(), ref); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.ExpireTokens()
	for range 20 {
		all.Go(func() {
			if _, err := w.Get(w.ctx(), ref); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := w.mints(); n != 2 {
		t.Errorf("%d tokens were made", n)
	}
	gone, leave := context.WithCancel(w.ctx())
	leave()
	w.reopen()
	if _, err := w.Forge.(Tokens).Token(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestAppEcho has a server repeat what it was shown.
func TestAppEcho(t *testing.T) {
	w := newAppWorld(t)
	shown := ""
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, shown, _ = strings.Cut(r.Header.Get("Authorization"), " ")
		rw.WriteHeader(http.StatusForbidden)
		json.NewEncoder(rw).Encode(map[string]string{"message": "no " + shown})
	}))
	defer server.Close()
	w.config.APIURL = server.URL
	w.reopen()
	_, err := w.Get(w.ctx(), Ref{w.repo, KindIssue, 1})
	w.refuses(err, fault.Denied, "App 4711")
	if shown == "" || strings.Contains(err.Error()+fault.Hint(err), shown) ||
		strings.Contains(err.Error(), shown[len(shown)-40:]) {
		t.Errorf("it shows in %v", err)
	}
}

// TestAppOldToken hides a token that nothing but the knowledge of it gives away.
func TestAppOldToken(t *testing.T) {
	w := newAppWorld(t)
	const old = "1f699f1069f60f3beefc0de"
	w.AddFault(fake.Fault{Path: minted, Status: 201, Raw: `{"token":"` + old + `","expires_at":"2199-01-01T00:00:00Z"}`})
	w.AddFault(fake.Fault{Path: "/issues/1", Status: 403, Message: "not for " + old})
	_, err := w.Get(w.ctx(), Ref{w.repo, KindIssue, 1})
	w.refuses(err, fault.Denied, "not for")
	if strings.Contains(err.Error(), old) {
		t.Errorf("it shows in %v", err)
	}
}

func TestAppConfig(t *testing.T) {
	key := appKey()
	good := keyFile(key)
	eight, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := New(Config{Provider: GitHub, App: &App{1, 2, inPEM("PRIVATE KEY", eight)}}); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	for name, c := range map[string]Config{
		"both":      {Provider: GitHub, Token: "x", App: &App{1, 2, good}},
		"gitlab":    {Provider: GitLab, App: &App{1, 2, good}},
		"no id":     {Provider: GitHub, App: &App{0, 2, good}},
		"no number": {Provider: GitHub, App: &App{1, -2, good}},
		"no key":    {Provider: GitHub, App: &App{1, 2, nil}},
		"no PEM":    {Provider: GitHub, App: &App{1, 2, good[40:]}},
		"public":    {Provider: GitHub, App: &App{1, 2, inPEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&key.PublicKey))}},
		"curve":     {Provider: GitHub, App: &App{1, 2, inPEM("PRIVATE KEY", other)}},
		"damaged":   {Provider: GitHub, App: &App{1, 2, inPEM("RSA PRIVATE KEY", []byte("hunter2"))}},
		"locked":    {Provider: GitHub, App: &App{1, 2, inPEM("ENCRYPTED PRIVATE KEY", eight)}},
		"locked too": {Provider: GitHub, App: &App{1, 2, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: eight,
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}})}},
	} {
		f, err := New(c)
		if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" || strings.Contains(err.Error(), "hunter2") ||
			f != nil {
			t.Errorf("%s: %v (%s)", name, err, fault.Hint(err))
		}
		if strings.HasPrefix(name, "locked") && !strings.Contains(err.Error(), "password") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := App{1, 2, []byte("hunter2")}
	text, _ := json.Marshal(a)
	if shown := fmt.Sprintf("%v %+v %#v %s %x %v %s", a, a, &a, a, a, []App{a}, text); strings.Contains(shown,
		"hunter2") || strings.Contains(shown, "104 117") || strings.Contains(shown, "6875") || strings.Contains(shown,
		"0x68") {
		t.Errorf("it shows: %s", shown)
	}
}
