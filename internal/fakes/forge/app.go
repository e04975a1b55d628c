package forge

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An appRegistry has the GitHub Apps, and the tokens of their installations.
type appRegistry struct {
	all    []*app
	grants map[string]grant // by token
	life   time.Duration    // of the next tokens; zero means an hour
	skew   time.Duration    // of the forge's clock
}

type app struct {
	id, installation int64
	key              *rsa.PublicKey
	login            string
}

type grant struct {
	login string
	end   time.Time
}

// App registers a GitHub App with one installation. Its account is the name of the App
// with [bot] appended; [Server.Member] sets its permissions.
func (s *Server) App(id, installation int64, key *rsa.PublicKey, login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user(login)
	s.apps.all = append(s.apps.all, &app{id, installation, key, login})
}

// SetTokenLifetime sets the lifetime of the tokens that Apps get from now on.
func (s *Server) SetTokenLifetime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps.life = d
}

// ExpireTokens revokes all tokens of Apps.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.apps.grants)
}

// SetClockSkew sets the forge's clock ahead of that of its callers.
func (s *Server) SetClockSkew(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps.skew = d
}

// now is the forge's time.
func (d *appRegistry) now() time.Time { return time.Now().Add(d.skew) }

// grant makes a token.
func (d *appRegistry) grant(login string) (token string, end time.Time) {
	life := d.life
	if life == 0 {
		life = time.Hour
	}
	if d.grants == nil {
		d.grants = map[string]grant{}
	}
	token, end = "ghs_"+rand.Text()+rand.Text()[:10], d.now().Add(life)
	d.grants[token] = grant{login, end}
	return token, end
}

// loginOf returns the account of a token that has not expired.
func (d *appRegistry) loginOf(token string) string {
	if g, ok := d.grants[token]; ok && d.now().Before(g.end) {
		return g.login
	}
	return ""
}

// identifyApp finds out which App makes a request for itself: it sends a signed
// assertion instead of a token.
func (c *call) identifyApp() bool {
	if path := strings.TrimPrefix(c.r.URL.Path, c.prefix()); c.provider != GitHub || path != "/app" &&
		!strings.HasPrefix(path, "/app/") {
		return true
	}
	assertion, _ := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	a, status, why := c.apps.check(assertion)
	if a == nil {
		c.login = ""
		c.refuse(status, why)
		return false
	}
	c.app, c.login = a, a.login
	return true
}

func githubApp(c *call) {
	slug := strings.TrimSuffix(c.app.login, "[bot]")
	c.json(http.StatusOK, map[string]any{"id": c.app.id, "slug": slug, "name": slug, "owner": c.githubPerson("acme"),
		"html_url":    c.base() + "/apps/" + slug,
		"permissions": appRights, "events": []string{}})
}

var appRights = map[string]string{"contents": "write", "issues": "write", "metadata": "read", "pull_requests": "write"}

func githubToken(c *call) {
	if c.r.PathValue("installation") != strconv.FormatInt(c.app.installation, 10) {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	token, end := c.apps.grant(c.app.login)
	c.json(http.StatusCreated, map[string]any{"token": token, "expires_at": when(end), "permissions": appRights,
		"repository_selection": "selected"})
}

// githubInstalled lists the repositories of an installation.
func githubInstalled(c *call) {
	if !c.granted {
		c.refuse(http.StatusForbidden,
			"You must authenticate with an installation access token in order to list repositories for an installation.")
		return
	}
	all := slices.DeleteFunc(c.sortedRepos(), func(r *repo) bool { return rank(r.members[c.login]) == 0 })
	paged(c, all, func(r *repo) any { return c.githubRepo(r) })
	if c.status == http.StatusOK {
		c.json(http.StatusOK, map[string]any{"total_count": len(all), "repository_selection": "selected",
			"repositories": json.RawMessage(c.body)})
	}
}
