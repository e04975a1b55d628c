package forge

import (
	"context"
	"strings"
	"testing"
	"time"

	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// A world is a forge with two repositories, and a client whose pauses take no
// time.
type world struct {
	*testing.T
	*fake.Server
	Forge
	provider string
	repo     string
	token    string
	waits    []time.Duration
	asleep   func() // what happens while the client waits
	config   Config
}

// both runs a test against GitHub and against GitLab.
func both(t *testing.T, test func(w *world)) {
	for _, provider := range []string{GitHub, GitLab} {
		t.Run(provider, func(t *testing.T) { test(newWorld(t, provider)) })
	}
}

func newWorld(t *testing.T, provider string) *world {
	w := &world{T: t, Server: fake.ForTest(t, provider), provider: provider, repo: "acme/app"}
	if provider == GitLab {
		w.repo = "acme/tools/inner/app"
	}
	w.token = w.User("hako-bot")
	w.Repo(w.repo)
	w.Member(w.repo, "hako-bot", "write")
	w.config = Config{Provider: provider, APIURL: w.API(), Token: w.token, RetryDelay: time.Millisecond,
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.waits = append(w.waits, d)
			if w.asleep != nil {
				w.asleep()
			}
			return ctx.Err()
		}}
	w.reopen()
	return w
}

// reopen is a client that knows nothing yet.
func (w *world) reopen() {
	w.Helper()
	f, err := New(w.config)
	if err != nil {
		w.Fatal(err)
	}
	w.Forge = f
	w.Cleanup(f.Close)
}

func (w *world) ctx() context.Context { return w.Context() }

// issue adds one and names it.
func (w *world) issue(i fake.Item) Ref {
	i.Kind = fake.Issue
	return Ref{w.repo, KindIssue, w.Add(w.repo, i)}
}

func (w *world) pull(i fake.Item) Ref {
	i.Kind = fake.Pull
	return Ref{w.repo, KindPullRequest, w.Add(w.repo, i)}
}

// item is what the forge has now.
func (w *world) item(ref Ref) fake.Item {
	w.Helper()
	i, ok := w.Item(w.repo, string(ref.Kind), ref.Number)
	if !ok {
		w.Fatalf("%v is not there", ref)
	}
	return i
}

// fine fails on an error.
func (w *world) fine(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v (%s)", err, fault.Hint(err))
	}
}

// refuses wants an error of a kind with all of some words, a hint, and nothing secret.
func (w *world) refuses(err error, kind fault.Kind, words ...string) {
	w.Helper()
	if fault.KindOf(err) != kind || err == nil {
		w.Fatalf("got %v (%v), want %v", err, fault.KindOf(err), kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error()+" "+fault.Hint(err), word) {
			w.Errorf("%q and its hint %q do not say %q", err, fault.Hint(err), word)
		}
	}
	if strings.Contains(err.Error()+fault.Hint(err), w.token) {
		w.Errorf("the token is in %q", err)
	}
}
