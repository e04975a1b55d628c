package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The cookies of preferences. They do not identify anybody.
const (
	langCookie  = "hako_lang"
	themeCookie = "hako_theme"
)

// themes are the selectable themes; auto follows the system.
var themes = []string{"auto", "light", "dark"}

// prefer stores the choice of language or theme and redirects back.
func (c *console) prefer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	setPreference(w, r, langCookie, q.Get("lang"), languages)
	setPreference(w, r, themeCookie, q.Get("theme"), themes)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, localURL(q.Get("back")), http.StatusSeeOther)
}

func setPreference(w http.ResponseWriter, r *http.Request, name, value string, among []string) {
	if !slices.Contains(among, value) {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
}

// theme returns the chosen theme.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && slices.Contains(themes, c.Value) {
		return c.Value
	}
	return themes[0]
}

// localURL returns the address if it is on this server, else /, to prevent open redirects. Browsers take a backslash
// for a slash.
func localURL(address string) string {
	u, err := url.Parse(address)
	ours := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(address, "/") &&
		!strings.HasPrefix(address, "//") && !strings.Contains(address, `\`)
	if !ours || u.Path == "/login" || u.Path == "/prefer" {
		return "/"
	}
	return address
}
