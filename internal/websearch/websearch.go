// Package websearch searches the web with a search engine, fetches pages whose URLs are on an allow-list, and converts
// them to text.
//
// There are no cookies, no scripts, and no method other than GET. A page is fetched without credentials and without the
// proxy of the environment; only the engines, whose addresses the user chose, get a key and use that proxy. Whatever a
// server sends is untrusted text, bounded and cleaned before it is shown. URLs are compared part by part after parsing,
// never as text, and again for every redirect.
package websearch

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
)

// An Engine searches the web. It is safe for concurrent use. No hits is no error.
type Engine interface {
	Search(ctx context.Context, q Query) ([]Hit, error)
}

// A Query is what is searched for.
type Query struct {
	Text      string
	Count     int    // of hits, 1 to 20; zero means 5
	Lang      string // "ja", "en", "pt-br"; empty means any
	Freshness string // "day", "week", "month" or "year"; empty means any
}

// A Hit is one page that was found.
type Hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
	Age     string `json:"age,omitempty"` // as the engine reports it
}

// Limits of a query.
const (
	defaultCount = 5
	maxCount     = 20
	maxQuery     = 2048 // bytes; engines take less
)

// Options are the settings of the engines.
type Options struct {
	GoogleKey, GoogleCX string
	BraveKey            string
	SearxngURL          string // of the instance, with or without /search

	GoogleURL, BraveURL string        // other endpoints; empty means the real ones
	Timeout             time.Duration // for one request; zero means 15 s
	Pace                time.Duration // between two requests to Brave; zero means 1 s

	// Proxy returns the proxy of a request; nil means that of HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
}

// A provider is an engine that can be chosen.
type provider struct {
	name    string
	also    string             // another name; empty means none
	needs   []string           // the variables that must be set
	missing func(Options) bool // whether one of needs is not set
	open    func(Options) (Engine, error)
}

// googleEnds is what users of Google should know.
const googleEnds = "Google closes the Custom Search JSON API on 2027-01-01"

// providers is the list of engines, in the order in which they replace one another. The first is the default.
var providers = []provider{
	{"google_cse", "google", []string{"GOOGLE_API_KEY", "GOOGLE_CSE_CX"},
		func(o Options) bool { return o.GoogleKey == "" || o.GoogleCX == "" }, newGoogle},
	{"brave", "", []string{"BRAVE_API_KEY"}, func(o Options) bool { return o.BraveKey == "" }, newBrave},
	{"searxng", "", []string{"SEARXNG_URL"}, func(o Options) bool { return o.SearxngURL == "" }, newSearxng},
}

// Choose returns the engine of a provider and its name. An empty name means google_cse. Unless the choice is explicit,
// an engine whose keys are not set is replaced by one whose keys are.
func Choose(name string, explicit bool, o Options) (Engine, string, error) {
	p, err := find(name)
	if err != nil {
		return nil, "", err
	}
	if p.missing(o) {
		if explicit {
			return nil, "", &fault.Error{Kind: fault.Unavailable, Op: "choose search provider", Subject: p.name,
				Why: "its key is not set", Hint: "set " + strings.Join(p.needs, " and ") + "; or choose another: " + howToSet()}
		}
		i := slices.IndexFunc(providers, func(p provider) bool { return !p.missing(o) })
		if i < 0 {
			return nil, "", &fault.Error{Kind: fault.Unavailable, Op: "choose search provider",
				Why: "no search engine has its key set", Hint: howToSet()}
		}
		p = providers[i]
	}
	e, err := p.open(o)
	return e, p.name, err
}

func find(name string) (provider, error) {
	if name == "" {
		return providers[0], nil
	}
	var names []string
	for _, p := range providers {
		if p.name == name || p.also == name {
			return p, nil
		}
		if names = append(names, p.name); p.also != "" {
			names = append(names, p.also)
		}
	}
	hint := "there are " + strings.Join(names, ", ")
	if near, ok := fault.Nearest(name, names); ok {
		hint = "did you mean " + near + "? " + hint
	}
	return provider{}, &fault.Error{Kind: fault.Invalid, Op: "choose search provider", Subject: cut(name),
		Why: "there is no such provider", Hint: hint}
}

// howToSet is the hint that names the variables of all engines.
func howToSet() string {
	var ways []string
	for _, p := range providers {
		ways = append(ways, strings.Join(p.needs, " and "))
	}
	return "set " + strings.Join(ways, ", or ") + " (" + googleEnds + ")"
}

// check validates the query and applies defaults.
func (q Query) check() (Query, error) {
	bad := func(why, hint string) (Query, error) {
		return q, &fault.Error{Kind: fault.Invalid, Op: "search", Subject: cut(q.Text), Why: why, Hint: hint}
	}
	q.Text = clean(q.Text)
	q.Lang = strings.ToLower(strings.ReplaceAll(q.Lang, "_", "-"))
	switch {
	case q.Text == "":
		return bad("there is nothing to search for", "give a few words")
	case len(q.Text) > maxQuery:
		return bad("the query is longer than "+strconv.Itoa(maxQuery)+" bytes", "search for fewer words")
	case q.Count < 0 || q.Count > maxCount:
		return bad("the count is "+strconv.Itoa(q.Count)+", outside 1 to "+strconv.Itoa(maxCount),
			"leave it out for "+strconv.Itoa(defaultCount))
	case !isLang(q.Lang):
		return bad("the language "+strconv.Quote(cut(q.Lang))+" is not a code", `write it as "ja", "en" or "pt-br"`)
	case !slices.Contains([]string{"", "day", "week", "month", "year"}, q.Freshness):
		return bad("the freshness "+strconv.Quote(cut(q.Freshness))+" is not known", "it is day, week, month or year")
	}
	q.Count = cmp.Or(q.Count, defaultCount)
	return q, nil
}

// isLang reports whether a text has the form of a language code: two or three letters, and perhaps a region or script.
func isLang(code string) bool {
	if code == "" {
		return true
	}
	lang, region, more := strings.Cut(code, "-")
	letters := func(s string, least, most int) bool {
		return len(s) >= least && len(s) <= most && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
	}
	return letters(lang, 2, 3) && (!more || letters(region, 2, 4))
}
