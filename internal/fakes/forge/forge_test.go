package forge

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A peer asks by hand.
type peer struct {
	*testing.T
	*Server
	token string
}

func newPeer(t *testing.T, provider, path string) *peer {
	p := &peer{T: t, Server: ForTest(t, provider)}
	p.token = p.User("bot")
	p.Repo(path)
	p.Member(path, "bot", "write")
	return p
}

// ask returns status, headers and text of an answer.
func (p *peer) ask(method, path, body string, header ...string) (int, http.Header, string) {
	p.Helper()
	req, err := http.NewRequest(method, p.API()+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// TestStrict notices what is asked wrongly.
func TestStrict(t *testing.T) {
	for provider, asks := range map[string][][3]string{
		GitHub: {
			{"GET", "/repos/a/b/nothing", ""}, {"PATCH", "/repos/a/b", ""}, {"GET", "/repos/a/b/issues?colour=red", ""},
			{"GET", "/repos/a/b/issues?per_page=101", ""},
			{"POST", "/repos/a/b/issues/1/comments", `{}`}, {"POST", "/repos/a/b/issues/1/comments", `{"body":"x","extra":1}`},
			{"POST", "/repos/a/b/issues/1/comments", `{"body":""}`},
			{"POST", "/repos/a/b/issues/1/labels", `{"x":1}`}, {"GET", "/repos/a/b/issues/1", "body"},
			{"POST", "/repos/a/b/pulls", `{"title":"x","head":"y"}`}, {"GET", "/repos/a/b/issues/1/comments?since=now", ""},
		},
		GitLab: {
			{"GET", "/projects/a/b", ""}, {"GET", "/issues", ""}, {"GET", "/projects/a%2Fb/issues?assignee=x", ""},
			{"PUT", "/projects/a%2Fb/issues/1", `{"label":"x"}`},
			{"POST", "/projects/a%2Fb/merge_requests", `{"title":"x"}`}, {"POST", "/projects/a%2Fb/issues/1/notes", "/close"},
			{"POST", "/projects/a%2Fb/issues/1/notes", `{"body":"/close"}`},
		},
	} {
		p := newPeer(t, provider, "a/b")
		p.Add("a/b", Item{Kind: Issue, Title: "x"})
		for _, one := range asks {
			p.ask(one[0], one[1], one[2])
			if got := p.TakeViolations(); len(got) == 0 {
				t.Errorf("%s %s %s: %q", one[0], one[1], one[2], got)
			}
		}
		p.ask("GET", "/user", "", "Accept", "text/html")
		if got := p.TakeViolations(); len(got) != 1 {
			t.Errorf("an Accept of text/html: %q", got)
		}
	}
}

// TestPages has neighbours, and what GitHub asks of those who go far.
func TestPages(t *testing.T) {
	p := newPeer(t, GitHub, "a/b")
	for range 25 {
		p.Add("a/b", Item{Kind: Issue, Title: "x"})
	}
	_, h, body := p.ask("GET", "/repos/a/b/issues?per_page=10&page=2", "")
	var list []struct{ Number int }
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 10 || list[0].Number != 15 {
		t.Errorf("got %s", body)
	}
	for _, want := range []string{`page=1&per_page=10>; rel="prev"`, `page=3&per_page=10>; rel="next"`, `rel="last"`,
		`rel="first"`, p.API() + "/repos/a/b/issues"} {
		if !strings.Contains(h.Get("Link"), want) {
			t.Errorf("%s is not in %s", want, h.Get("Link"))
		}
	}
	if status, _, _ := p.ask("GET", "/repos/a/b/issues?per_page=1&page=12", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("page 12 by its number alone: %d", status)
	}
	l := newPeer(t, GitLab, "a/b/c")
	for range 3 {
		l.Add("a/b/c", Item{Kind: Issue, Title: "x"})
	}
	_, h, _ = l.ask("GET", "/projects/a%2Fb%2Fc/issues?per_page=2", "")
	if h.Get("X-Next-Page") != "2" || h.Get("X-Total") != "3" || !strings.Contains(h.Get("Link"), "a%2Fb%2Fc") {
		t.Errorf("got %v", h)
	}
}

// TestTagsAndLimits charges what is sent, not what is unchanged.
func TestTagsAndLimits(t *testing.T) {
	for _, provider := range []string{GitHub, GitLab} {
		p := newPeer(t, provider, "a/b")
		name := pick(provider, "X-RateLimit-Remaining", "RateLimit-Remaining")
		_, first, _ := p.ask("GET", "/user", "")
		status, second, text := p.ask("GET", "/user", "", "If-None-Match", first.Get("Etag"))
		if status != http.StatusNotModified || text != "" || second.Get(name) != first.Get(name) {
			t.Errorf("%d %q, %s left of %s", status, text, second.Get(name), first.Get(name))
		}
		p.SetRateLimit(1, 0)
		p.ask("GET", "/user", "")
		status, h, _ := p.ask("GET", "/user", "")
		if status != pick(provider, 403, 429) || h.Get(name) != "0" {
			t.Errorf("%d, %s left", status, h.Get(name))
		}
		p.ResetRateLimit()
		if status, _, _ = p.ask("GET", "/user", ""); status != http.StatusOK {
			t.Errorf("after the reset: %d", status)
		}
	}
}

// TestGit clones and pushes with git itself.
func TestGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	p := newPeer(t, GitLab, "a/b/c")
	p.Private("a/b/c")
	p.SetGitRoot(t.TempDir())
	if err := p.Seed("a/b/c", map[string]string{"src/a.txt": "一\n"}); err != nil {
		t.Fatal(err)
	}
	reader := p.User("reader")
	p.Member("a/b/c", "reader", "read")
	dir := t.TempDir()
	run := func(token string, args ...string) error {
		login := base64.StdEncoding.EncodeToString([]byte("oauth2:" + token))
		_, err := git(dir, append([]string{"-c", "http.extraHeader=Authorization: Basic " + login}, args...)...)
		return err
	}
	if run("wrong", "clone", p.URL+"/a/b/c.git", "x") == nil {
		t.Error("anybody can clone")
	}
	if err := run(reader, "clone", p.URL+"/a/b/c.git", "x"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x/src/a.txt"), []byte("二\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("", "-C", "x", "-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-qam",
		"change"); err != nil {
		t.Fatal(err)
	}
	if run(reader, "-C", "x", "push", "origin", "HEAD:topic") == nil {
		t.Error("a reader can push")
	}
	if status, _, body := p.ask("POST", "/projects/a%2Fb%2Fc/merge_requests",
		`{"title":"x","source_branch":"topic","target_branch":"main"}`); status != http.StatusBadRequest {
		t.Errorf("a merge request of no branch: %d %s", status, body)
	}
	if err := run(p.token, "-C", "x", "push", "origin", "HEAD:topic"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.File("a/b/c", "topic", "src/a.txt"); err != nil || got != "二" ||
		p.Head("a/b/c", "topic") == p.Head("a/b/c", "main") {
		t.Errorf("pushed %q, %v", got, err)
	}
	if status, _, body := p.ask("POST", "/projects/a%2Fb%2Fc/merge_requests",
		`{"title":"x","source_branch":"topic","target_branch":"main"}`); status != http.StatusCreated ||
		!strings.Contains(body, p.Head("a/b/c", "topic")) {
		t.Errorf("%d %s", status, body)
	}
	if n := p.Count("POST", "git-receive-pack"); n != 1 {
		t.Errorf("%d pushes", n)
	}
}

// TestNothingToPull has GitHub refuse a pull request without commits.
func TestNothingToPull(t *testing.T) {
	p := newPeer(t, GitHub, "a/b")
	p.SetGitRoot(t.TempDir())
	if err := p.Seed("a/b", map[string]string{"a": "1"}); err != nil {
		t.Skip(err)
	}
	if _, err := git(p.gitRoot, "-C", p.repos["a/b"].git, "branch", "topic"); err != nil {
		t.Fatal(err)
	}
	if status, _, body := p.ask("POST", "/repos/a/b/pulls",
		`{"title":"x","head":"topic","base":"main"}`); status != http.StatusUnprocessableEntity || !strings.Contains(body,
		"No commits between") {
		t.Errorf("%d %s", status, body)
	}
}
