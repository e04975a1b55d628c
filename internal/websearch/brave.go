package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const braveURL = "https://api.search.brave.com/res/v1/web/search"

// Limits of Brave, and the longest pause that is waited for.
const (
	braveChars = 400
	braveWords = 50
	braveWait  = 3 * time.Second
	bravePace  = time.Second
)

// brave is the engine of the Brave Search API. It sends one request at a time, at the rate of the lowest plan.
type brave struct {
	*client
	turn chan time.Time // holds when the last request was sent
	pace time.Duration
}

func newBrave(o Options) (Engine, error) {
	l, err := newClient("brave", cmp.Or(o.BraveURL, braveURL), o, o.BraveKey)
	if err != nil {
		return nil, err
	}
	l.header.Set("X-Subscription-Token", o.BraveKey)
	b := &brave{client: l, turn: make(chan time.Time, 1), pace: cmp.Or(max(o.Pace, 0), bravePace)}
	b.turn <- time.Time{}
	return b, nil
}

// Search implements [Engine].
func (b *brave) Search(ctx context.Context, q Query) ([]Hit, error) {
	q, err := q.check()
	if err != nil {
		return nil, err
	}
	if n, w := utf8.RuneCountInString(q.Text), len(strings.Fields(q.Text)); n > braveChars || w > braveWords {
		return nil, b.refused(fmt.Sprintf("the query has %d characters and %d words; brave takes %d and %d", n, w, braveChars,
			braveWords), "search for fewer words")
	}
	a, err := b.inTurn(ctx, b.values(q))
	if err != nil {
		return nil, err
	}
	var found struct {
		Web struct { // absent when there are no hits
			Results []struct {
				Title, URL, Description, Age string
				PageAge                      string `json:"page_age"`
			}
		}
	}
	if err := b.decode(a, &found, b.trouble); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range found.Web.Results {
		hits = append(hits, Hit{Title: r.Title, URL: r.URL, Snippet: r.Description, Age: cmp.Or(r.Age, day(r.PageAge))})
	}
	return tidy(hits, q.Count), nil
}

// day removes the time from a date.
func day(date string) string {
	date, _, _ = strings.Cut(date, "T")
	return date
}

func (b *brave) values(q Query) url.Values {
	v := url.Values{"q": {q.Text}, "count": {strconv.Itoa(q.Count)}, "result_filter": {"web"},
		"text_decorations": {"false"}}
	if q.Lang != "" {
		lang, country := braveLang(q.Lang)
		v.Set("search_lang", lang)
		if country != "" {
			v.Set("country", country)
		}
	}
	if q.Freshness != "" {
		v.Set("freshness", "p"+q.Freshness[:1]) // pd, pw, pm, py
	}
	return v
}

// braveCodes are the languages for which Brave has codes of its own, with the country that they imply.
var braveCodes = map[string][2]string{"ja": {"jp", "JP"}, "ja-jp": {"jp", "JP"}, "zh": {"zh-hans"}, "zh-cn": {"zh-hans"},
	"zh-hans": {"zh-hans"}, "zh-sg": {"zh-hans"}, "zh-hant": {"zh-hant"}, "zh-tw": {"zh-hant", "TW"},
	"zh-hk": {"zh-hant", "HK"}, "en-gb": {"en-gb", "GB"}, "pt": {"pt-br", "BR"}, "pt-br": {"pt-br", "BR"},
	"pt-pt": {"pt-pt", "PT"}, "no": {"nb"}, "nn": {"nb"}, "nb": {"nb"}, "iw": {"he"}}

// braveLang returns Brave's code of a language, and the country if the language implies one.
func braveLang(code string) (lang, country string) {
	if own, ok := braveCodes[code]; ok {
		return own[0], own[1]
	}
	lang, _, _ = strings.Cut(code, "-") // it knows no other regions
	return lang, ""
}

// inTurn waits for its turn, sends a request, and retries once if Brave asks for a short pause.
func (b *brave) inTurn(ctx context.Context, v url.Values) (*answer, error) {
	var last time.Time
	select {
	case last = <-b.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { b.turn <- last }()
	if err := pause(ctx, time.Until(last.Add(b.pace))); err != nil {
		return nil, err
	}
	last = time.Now()
	a, err := b.ask(ctx, v)
	if err != nil || a.status != http.StatusTooManyRequests || b.complaint(a).Code == "QUOTA_LIMITED" {
		return a, err
	}
	wait, ok := firstReset(a.header)
	if !ok || wait > braveWait {
		return a, nil
	}
	if err := pause(ctx, wait); err != nil {
		return nil, err
	}
	last = time.Now()
	return b.ask(ctx, v)
}

// firstReset reads after how many seconds the shortest of Brave's limits is reset: the header lists one number for
// each.
func firstReset(h http.Header) (time.Duration, bool) {
	first, _, _ := strings.Cut(h.Get("X-RateLimit-Reset"), ",")
	n, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || n < 0 || n > 1<<20 {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// An apiError is an error of Brave.
type apiError struct {
	Code, Detail string
	Meta         struct{ Errors []struct{ Loc []any } }
}

// complaint decodes the error of a response. Brave sends one, and documents a list.
func (b *brave) complaint(a *answer) apiError {
	var e struct {
		Error  apiError
		Errors []apiError
	}
	_ = json.Unmarshal(a.body, &e) // without it there is only the status
	if e.Error.Code == "" && len(e.Errors) > 0 {
		return e.Errors[0]
	}
	return e.Error
}

// trouble explains an error of Brave by its code; a bad key is 422 like a bad query.
func (b *brave) trouble(a *answer) error {
	c := b.complaint(a)
	switch c.Code {
	case "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_TOKEN_MISSING":
		return b.badKey(a.status)
	case "SUBSCRIPTION_NOT_FOUND":
		return b.fault("the key in BRAVE_API_KEY has no plan for web search", "subscribe to one, the free one will do")
	case "QUOTA_LIMITED":
		return b.fault("the queries of this month are used up",
			"wait for next month, raise the plan, or use another engine: SEARXNG_URL")
	case "RATE_LIMITED":
		return b.fault("too many queries at once", "try again in a few seconds")
	case "VALIDATION":
		return b.refused("brave does not understand "+b.places(c), "check the language and the query")
	}
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return b.badKey(a.status)
	case http.StatusTooManyRequests:
		return b.fault("too many queries", "try again later")
	}
	return b.odd(a.status, c.Detail)
}

func (b *brave) badKey(status int) error {
	return b.fault("brave refused the key in BRAVE_API_KEY ("+strconv.Itoa(status)+")",
		"check the key; it must be one for web search")
}

// places names the parameters of a validation error.
func (b *brave) places(c apiError) string {
	var at []string
	for _, e := range c.Meta.Errors {
		if n := len(e.Loc); n > 0 {
			at = append(at, b.words(fmt.Sprint(e.Loc[n-1])))
		}
	}
	if len(at) == 0 {
		return "the query: " + b.words(c.Detail)
	}
	return "the parameter " + some(at)
}
