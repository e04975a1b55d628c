//go:build unix

package clone

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	work "hako/internal/app/coder/forge"
	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// newAppWorld is a world whose server is a forge with a GitHub App. The other
// server is not used.
func newAppWorld(t *testing.T) (*world, *fake.Server, work.Forge) {
	w := newWorld(t)
	f := fake.ForTest(t, fake.GitHub)
	root := filepath.Join(w.dir, "hub")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	f.SetGitRoot(root)
	f.Repo("acme/app")
	f.Private("acme/app")
	if err := f.Seed("acme/app", map[string]string{"README": "first\n"}); err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f.App(12, 34, &key.PublicKey, "robot[bot]")
	f.Member("acme/app", "robot[bot]", "write")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	hub, err := work.New(work.Config{Provider: work.GitHub, APIURL: f.API(),
		App: &work.App{ID: 12, Installation: 34, Key: text}, RetryDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	w.store.Keys = appRing(t, f, hub)
	return w, f, hub
}

func appRing(t *testing.T, f *fake.Server, hub work.Forge) *Keyring {
	t.Helper()
	k := &Keyring{}
	if err := k.Add(Account{API: f.API(), Name: "GitHub App 12", Token: hub.(work.Tokens).Token}); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestApp clones and pushes as a GitHub App, whose token ends again and again.
func TestApp(t *testing.T) {
	w, f, _ := newAppWorld(t)
	src := Source{URL: f.URL + "/acme/app.git"}
	f.SetTokenLifetime(4 * time.Minute) // so near to its end that the next one is made at once
	first := w.mustClone(src)
	if first.read("README") != "first\n" {
		t.Fatalf("cloned %q", first.read("README"))
	}
	f.ExpireTokens()
	second := w.mustClone(src)
	if !second.Cached {
		t.Error("what the App has fetched with one token is not there with the next")
	}
	f.ExpireTokens()
	second.write("README", "second\n")
	w.mustSave(second.origin(src), Save{Ref: hiddenRef, Mine: true})
	f.ExpireTokens()
	commit := w.mustSave(second.origin(src), Save{Ref: branchRef, Drop: hiddenRef})
	if f.Head("acme/app", strings.TrimPrefix(branchRef, heads)) != commit {
		t.Error("the branch is not there")
	}
	for _, secret := range w.store.Keys.Secrets() {
		if found := contains(t, w.dir, secret); len(found) > 0 || strings.Contains(strings.Join(w.steps, "\n"), secret) {
			t.Errorf("the token is in %q", found)
		}
	}
}

// TestAppRefused says what is wrong with the App, not with git.
func TestAppRefused(t *testing.T) {
	w, f, _ := newAppWorld(t)
	src := Source{URL: f.URL + "/acme/app.git"}
	f.AddFault(fake.Fault{Path: "/access_tokens", Status: 404, Message: "Not Found"})
	if _, err := w.clone(src); fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "installation 34") ||
		fault.Hint(err) == "" {
		t.Errorf("got %v", err)
	}
	here := w.mustClone(src)
	f.ExpireTokens() // before its time: it was taken from the App
	if _, err := w.clone(src); fault.KindOf(err) != fault.Denied ||
		!strings.Contains(err.Error(), "the token of GitHub App 12") {
		t.Errorf("got %v", err)
	}
	here.write("README", "second\n")
	if _, err := w.save(here.origin(src), Save{Ref: branchRef}); fault.KindOf(err) != fault.Denied ||
		!strings.Contains(err.Error(), "the token of GitHub App 12") {
		t.Errorf("got %v", err)
	}
}

// TestAppIsHidden cuts the token of the moment out of what a server says.
func TestAppIsHidden(t *testing.T) {
	w, f, hub := newAppWorld(t)
	token, err := hub.(work.Tokens).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := Credential{"x-access-token", token}
	src := Source{URL: f.URL + "/acme/app.git"}
	here := w.mustClone(src)
	hook := "#!/bin/sh\necho '" + strings.Join(c.secrets(), " ") + "' >&2; exit 1\n"
	hooks := filepath.Join(w.dir, "hub", "acme", "app.git", "hooks")
	if err := errors.Join(os.MkdirAll(hooks, 0o700), os.WriteFile(filepath.Join(hooks, "pre-receive"), []byte(hook),
		0o700)); err != nil {
		t.Fatal(err)
	}
	here.write("README", "second\n")
	w.store.Keys = appRing(t, f, hub) // one that has handed out nothing yet
	_, err = w.save(here.origin(src), Save{Ref: branchRef})
	if err == nil {
		t.Fatal("the hook did not run")
	}
	for _, secret := range c.secrets() {
		if all := err.Error() + fault.Hint(err) + strings.Join(w.steps, "\n"); strings.Contains(all, secret) {
			t.Errorf("%s shows in %s", secret, all)
		}
	}
}
