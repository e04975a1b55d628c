// Package console serves the web console: current activity, questions, the secretary, tasks, sandboxes, budget, record
// and rules.
//
// It has the pages, their texts in two languages, a style sheet and a script. The pages only read; changes go to the
// HTTP API, which checks and records them. Every text of a model or a client must pass templ's escaping, with its
// control characters made visible.
package console

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"hako/internal/app/access"
	"hako/internal/web/api"
)

//go:generate go tool templ generate

// Options configure the console.
type Options struct {
	Sources  api.Sources      // for a nil one the page says how to get it
	Session  Session          // nil means that nobody is logged in
	Profiles []string         // policy profiles besides the default one; nil means none
	Now      func() time.Time // nil means time.Now
	Zone     *time.Location   // time zone of pages without the script; nil means time.Local
	Wait     time.Duration    // timeout of a source; zero means 5 s
}

// A Session returns who has logged in and the CSRF token of changes. False means nobody.
type Session func(*http.Request) (who access.Actor, csrf string, ok bool)

// console is the handler of all pages.
type console struct {
	Options
	words        map[string]catalogue
	reasons      map[string]catalogue
	assets       assets
	usageHistory usageHistory
}

// New returns the handler of all pages, to be mounted at the root.
func New(o Options) http.Handler { return newConsole(o).routes() }

func newConsole(o Options) *console {
	c := &console{Options: o, words: catalogues(), reasons: reasons(), assets: loadAssets()}
	c.usageHistory.now = c.now
	return c
}

func (c *console) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/now", http.StatusSeeOther) })
	mux.HandleFunc("GET /login", c.login)
	mux.HandleFunc("GET /prefer", c.prefer)
	mux.HandleFunc("GET /assets/{name}", c.assets.serve)
	mux.HandleFunc("POST "+renderRoute, c.serveRendered)
	for _, one := range c.pages() {
		mux.HandleFunc("GET /"+one.name, c.page(one))
	}
	mux.HandleFunc("GET /", c.page(navItem{name: "lost", draw: c.notFound}))
	return mux
}

// A navItem is one page of the console.
type navItem struct {
	name string
	draw func(context.Context, *page, url.Values) templ.Component
}

// pages are the pages in the order of the navigation.
func (c *console) pages() []navItem {
	return []navItem{
		{"now", c.drawNow}, {"approvals", c.drawApprovals}, {"secretary", c.drawSecretary}, {"tasks", c.drawTasks},
		{"sandboxes", c.drawSandboxes}, {"budget", c.drawBudget}, {"audit", c.drawAudit}, {"policy", c.drawPolicy},
	}
}

// page serves a page, or redirects to the login.
func (c *console) page(one navItem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, csrf, ok := c.session(r)
		if !ok {
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), c.wait())
		defer cancel()
		p := c.newPage(r, one.name)
		p.Who, p.CSRF, p.Waiting = who, csrf, c.waiting(ctx)
		if c.Sources.Approvals != nil {
			p.Questions = approvalsRoute + "/events"
		}
		status := http.StatusOK
		if one.name == "lost" {
			status = http.StatusNotFound
		}
		send(w, status, frame(p, one.draw(ctx, p, r.URL.Query())))
	}
}

func (c *console) session(r *http.Request) (access.Actor, string, bool) {
	if c.Session == nil {
		return access.Actor{}, "", false
	}
	return c.Session(r)
}

// waiting is the number of pending questions, which every page shows.
func (c *console) waiting(ctx context.Context) int {
	if c.Sources.Approvals == nil {
		return 0
	}
	all, _ := c.Sources.Approvals.Pending(ctx) // the page of approvals shows the error
	return len(all)
}

// login serves the login page.
func (c *console) login(w http.ResponseWriter, r *http.Request) {
	next := localURL(r.URL.Query().Get("next"))
	if _, _, ok := c.session(r); ok {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	send(w, http.StatusOK, loginPage(c.newPage(r, "login"), next, r.URL.Query().Get("failed")))
}

func (c *console) notFound(_ context.Context, p *page, _ url.Values) templ.Component {
	return notFoundPage(p)
}

func (c *console) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c *console) wait() time.Duration {
	if c.Wait == 0 {
		return 5 * time.Second
	}
	return c.Wait
}

// csp lets a page load its own style and script only, so that injected text would not run.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// send renders the whole page before it sends the first byte.
func send(w http.ResponseWriter, status int, c templ.Component) {
	var b bytes.Buffer
	if err := c.Render(context.Background(), &b); err != nil {
		http.Error(w, "the page could not be drawn", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", csp)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}
