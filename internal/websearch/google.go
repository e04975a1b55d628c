package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const googleURL = "https://www.googleapis.com/customsearch/v1"

// googlePage is the number of hits of a page of Google.
const googlePage = 10

// google is the engine of Google's Custom Search JSON API.
type google struct {
	*client
	key, cx string
}

func newGoogle(o Options) (Engine, error) {
	l, err := newClient("google_cse", cmp.Or(o.GoogleURL, googleURL), o, o.GoogleKey, o.GoogleCX)
	return &google{l, o.GoogleKey, o.GoogleCX}, err
}

// Search implements [Engine].
func (g *google) Search(ctx context.Context, q Query) ([]Hit, error) {
	q, err := q.check()
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for start := 1; start <= q.Count; start += googlePage {
		page, more, err := g.page(ctx, q, start)
		if err != nil {
			return nil, err
		}
		hits = append(hits, page...)
		if !more {
			break
		}
	}
	return tidy(hits, q.Count), nil
}

// page returns the hits from number start on.
func (g *google) page(ctx context.Context, q Query, start int) (hits []Hit, more bool, err error) {
	num := min(q.Count-start+1, googlePage)
	v := url.Values{"key": {g.key}, "cx": {g.cx}, "q": {q.Text}, "num": {strconv.Itoa(num)}}
	if start > 1 {
		v.Set("start", strconv.Itoa(start))
	}
	if q.Lang != "" {
		lr, hl := googleLang(q.Lang)
		v.Set("lr", "lang_"+lr)
		v.Set("hl", hl)
	}
	if q.Freshness != "" {
		v.Set("dateRestrict", q.Freshness[:1]+"1") // d1, w1, m1, y1
	}
	a, err := g.ask(ctx, v)
	if err != nil {
		return nil, false, err
	}
	var found struct {
		Items []struct{ Title, Link, Snippet string } // absent when there are none
	}
	if err := g.decode(a, &found, g.trouble); err != nil {
		return nil, false, err
	}
	for _, it := range found.Items {
		hits = append(hits, Hit{Title: it.Title, URL: it.Link, Snippet: it.Snippet})
	}
	return hits, len(found.Items) == num, nil
}

// googleCodes are the languages for which Google has codes of its own.
var googleCodes = map[string]string{"zh": "zh-CN", "zh-cn": "zh-CN", "zh-hans": "zh-CN", "zh-sg": "zh-CN",
	"zh-tw": "zh-TW", "zh-hant": "zh-TW", "zh-hk": "zh-TW", "he": "iw", "nb": "no", "nn": "no"}

// googleLang returns the codes of a language for the parameters lr and hl.
func googleLang(code string) (lr, hl string) {
	if own := googleCodes[code]; own != "" {
		return own, own
	}
	lang, _, _ := strings.Cut(code, "-")
	return lang, withRegion(code)
}

// withRegion writes the region of a code in capitals.
func withRegion(code string) string {
	lang, region, ok := strings.Cut(code, "-")
	if !ok {
		return lang
	}
	return lang + "-" + strings.ToUpper(region)
}

// trouble explains an error of Google. The status alone says little: a bad key is 400 like a bad parameter, and 429 is
// both the limit per minute and per day.
func (g *google) trouble(a *answer) error {
	var e struct {
		Error struct {
			Message, Status string
			Errors          []struct{ Reason string }
			Details         []struct{ Reason string }
		}
	}
	if json.Unmarshal(a.body, &e) != nil {
		return g.odd(a.status, "")
	}
	said := e.Error.Message
	var reasons strings.Builder
	for _, r := range append(e.Error.Errors, e.Error.Details...) {
		reasons.WriteString(r.Reason + " ")
	}
	lower := strings.ToLower(said + " " + reasons.String())
	has := func(part string) bool { return strings.Contains(lower, part) }
	limited := a.status == http.StatusTooManyRequests || has("limitexceeded") // 403 of old
	switch {
	case a.status == http.StatusBadRequest && has("api key") || has("api_key_invalid") || has("keyinvalid") ||
		a.status == http.StatusUnauthorized:
		return g.fault("google refused the key in GOOGLE_API_KEY ("+strconv.Itoa(a.status)+")",
			"check the key, or use another engine: BRAVE_API_KEY or SEARXNG_URL")
	case limited && (has("per day") || has("dailylimit")):
		return g.fault("the queries of this day are used up",
			"wait until tomorrow, or use another engine: BRAVE_API_KEY or SEARXNG_URL")
	case limited:
		return g.fault("too many queries in this minute", "try again in a minute")
	case a.status == http.StatusForbidden:
		return g.fault("google does not let this key search: "+g.words(said),
			"switch on the Custom Search API for the key's project; "+googleEnds)
	case a.status == http.StatusBadRequest:
		return g.refused("google does not understand the query: "+g.words(said),
			"check GOOGLE_CSE_CX, the language and the query")
	}
	return g.odd(a.status, said)
}
