package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"hako/internal/app/access"
)

// A page is the context of all parts of a page.
type page struct {
	Name      string // of the page
	Lang      string
	Theme     string
	Here      string // path and query
	Who       access.Actor
	CSRF      string
	Waiting   int    // questions
	Questions string // URL of their event stream; empty means none
	Now       time.Time
	Zone      *time.Location

	words   catalogue
	reasons catalogue // nil means that the rules are in this language
	assets  assets
}

func (c *console) newPage(r *http.Request, name string) *page {
	lang := languageOf(r)
	p := &page{Name: name, Lang: lang, Theme: theme(r), Here: r.URL.RequestURI(), Now: c.now(), Zone: c.Zone,
		words: c.words[lang], reasons: c.reasons[lang], assets: c.assets}
	if p.Zone == nil {
		p.Zone = time.Local
	}
	return p
}

// Operator reports whether the user may change something.
func (p *page) Operator() bool { return p.Who.Role == access.Operator }

// Title is the title of the window.
func (p *page) Title() string { return p.T("page."+p.Name) + " · hako" }

// Asset returns the URL of a style sheet or script.
func (p *page) Asset(name string) string { return p.assets.address(name) }

// Prefer returns the URL that changes a preference and redirects back.
func (p *page) Prefer(what, value string) templ.SafeURL {
	return templ.URL("/prefer?" + url.Values{what: {value}, "back": {p.Here}}.Encode())
}

// OtherLang is the language to switch to.
func (p *page) OtherLang() string {
	if p.Lang == "ja" {
		return "en"
	}
	return "ja"
}

// Names are the texts of a group as data attributes, for the script.
func (p *page) Names(group string) templ.Attributes {
	all := templ.Attributes{}
	for key, text := range p.words {
		if name, ok := strings.CutPrefix(key, group+"."); ok {
			all["data-"+strings.ReplaceAll(name, ".", "-")] = text
		}
	}
	return all
}

// address is the URL of a page with a query, without empty values.
func address(navItem string, pairs ...string) templ.SafeURL {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return templ.URL(navItem)
	}
	return templ.URL(navItem + "?" + q.Encode())
}
