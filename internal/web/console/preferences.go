package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The cookies of what a reader prefers. They say nothing about who it is.
const (
	langCookie  = "hako_lang"
	themeCookie = "hako_theme"
)

// themes are the looks to choose from; auto follows the system.
var themes = []string{"auto", "light", "dark"}

// prefer keeps a choice of language or look, and goes back to where it was made.
func (c *console) prefer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	keep(w, r, langCookie, q.Get("lang"), languages)
	keep(w, r, themeCookie, q.Get("theme"), themes)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, local(q.Get("back")), http.StatusSeeOther)
}

func keep(w http.ResponseWriter, r *http.Request, name, value string, among []string) {
	if !slices.Contains(among, value) {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
}

// theme is the look that was chosen.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && slices.Contains(themes, c.Value) {
		return c.Value
	}
	return themes[0]
}

// local makes sure that an address to go on to is one of ours: a link to us must
// not be a way to send people elsewhere (open redirect). Browsers read a
// backslash as a slash.
func local(address string) string {
	u, err := url.Parse(address)
	ours := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(address, "/") &&
		!strings.HasPrefix(address, "//") && !strings.Contains(address, `\`)
	if !ours || u.Path == "/login" || u.Path == "/prefer" {
		return "/"
	}
	return address
}
