package fakes

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	googleAsk  = "GET /customsearch/v1?key=google-key-0123456789abcdef&cx=cx-0123456789&q="
	braveAsk   = "GET /res/v1/web/search?q="
	searxngAsk = "GET /search?format=json&q="
	braveToken = "X-Subscription-Token: brave-key-0123456789abcdef"
)

// TestSearch checks where each engine puts titles, addresses and snippets.
func TestSearch(t *testing.T) {
	tests := []struct{ on, what, title, url, snippet string }{
		{onGoogle, googleAsk, "items.0.title", "items.0.link", "items.0.snippet"},
		{onBrave, braveAsk, "web.results.0.title", "web.results.0.url", "web.results.0.description"},
		{onSearxng, searxngAsk, "results.0.title", "results.0.url", "results.0.content"},
	}
	for _, tt := range tests {
		s := play(t, `{steps: [{on: `+tt.on+
			`, want: {query: {q: 箱}}, altered: 箱庭, hits: [{title: A <b>, url: "https://a.example/x?y", snippet: S}, {title: B, url: "::"}]}, {on: `+tt.on+`}]}`)
		g := ask(t, s, tt.what+"%E7%AE%B1", "", braveToken)
		var v any
		if err := json.Unmarshal([]byte(must(t, g)), &v); err != nil {
			t.Fatal(err)
		}
		if digText(v, tt.title) != "A <b>" || digText(v, tt.url) != "https://a.example/x?y" ||
			digText(v, tt.snippet) != "S" || !strings.Contains(g.body, "箱庭") {
			t.Errorf("%s: %s", tt.on, g.body)
		}
		out := must(t, ask(t, s, tt.what+"x", "", braveToken))
		if strings.Contains(out, `"items"`) || strings.Contains(out, `"web"`) {
			t.Errorf("%s has hits: %s", tt.on, out)
		}
		if tt.on == onBrave && g.header.Get("X-RateLimit-Policy") != "1;w=1, 15000;w=2592000" {
			t.Errorf("%v", g.header)
		}
		// Only Brave's own key may go to Brave, so the others complain.
		if tt.on == onBrave {
			finish(t, s)
		} else {
			finish(t, s, "a key went", "a key went")
		}
	}
}

// TestSearchRefusals checks what the engines do not accept.
func TestSearchRefusals(t *testing.T) {
	tests := []struct {
		on, what string
		headers  []string
		status   int
		has      string
	}{
		{onGoogle, strings.Replace(googleAsk, "google-key", "other-key", 1) + "x", nil, 400, `"status":"INVALID_ARGUMENT"`},
		{onGoogle, "GET /customsearch/v1?cx=cx-0123456789&q=x", nil, 403, `"status":"PERMISSION_DENIED"`},
		{onGoogle, strings.Replace(googleAsk, "cx-0", "cx-1", 1) + "x", nil, 400, "badRequest"},
		{onGoogle, googleAsk + "x&num=11", nil, 400, "num: must be an integer from 1 to 10"},
		{onGoogle, googleAsk + "x&num=10&start=95", nil, 400, "over 100"},
		{onGoogle, googleAsk + "x&lr=ja", nil, 400, "lr: must match"},
		{onGoogle, googleAsk + "x&verbose=1", nil, 400, "unknown parameter: 'verbose'"},
		{onBrave, braveAsk + "x", nil, 422, `"code":"SUBSCRIPTION_TOKEN_INVALID"`},
		{onBrave, braveAsk + "x", []string{"X-Subscription-Token: wrong"}, 422, `"code":"SUBSCRIPTION_TOKEN_INVALID"`},
		{onBrave, braveAsk + "x&search_lang=ja", []string{braveToken}, 422, `"loc":["query","search_lang"]`},
		{onBrave, braveAsk + "x&count=21", []string{braveToken}, 422, `"code":"VALIDATION"`},
		{onBrave, braveAsk + strings.Repeat("a", 401), []string{braveToken}, 422, "over 400 characters"},
		{onBrave, braveAsk + "x", []string{braveToken, "Accept: text/html"}, 422, "accept: must be"},
		{onSearxng, "GET /search?q=x", nil, 400, "missing required parameter: 'format'"},
		{onSearxng, searxngAsk + "x&q=y", nil, 400, "is there twice"},
		{onPage, "POST /pages/x", nil, 405, "405"},
	}
	for _, tt := range tests {
		path := ""
		if tt.on == onPage {
			path = ", path: /pages/x"
		}
		s := play(t, "{steps: [{on: "+tt.on+", refused: "+json.Number(mustMarshal(tt.status)).String()+path+"}]}")
		if g := ask(t, s, tt.what, "", tt.headers...); g.status != tt.status ||
			!strings.Contains(strings.ReplaceAll(g.body, "&#39;", "'"), tt.has) {
			t.Errorf("%s: %d %s", tt.what, g.status, g.body)
		}
		finish(t, s)
	}
}

// TestSearchFailures checks how each engine spells an error.
func TestSearchFailures(t *testing.T) {
	tests := []struct{ step, what, has string }{
		{`on: google, status: 429, error: {message: "Queries per day"}`, googleAsk + "x",
			`{"error":{"code":429,"message":"Queries per day","errors":[{"message":"Queries per day","domain":"global","reason":"rateLimitExceeded"}],"status":"RESOURCE_EXHAUSTED"}}`},
		{`on: brave, status: 429, error: {code: QUOTA_LIMITED, message: no more}`, braveAsk + "x",
			`"status":429,"code":"QUOTA_LIMITED","detail":"no more"`},
		{`on: brave, status: 429, variant: errors_list`, braveAsk + "x", `"errors":[{"id"`},
		{`on: brave, variant: bad_results, hits: [{title: x}]`, braveAsk + "x", `"bad_results":true`},
		{`on: searxng, status: 403`, searxngAsk + "x", "<h1>Forbidden</h1>"},
	}
	for _, tt := range tests {
		s := play(t, "{steps: [{"+tt.step+"}]}")
		headers := []string{braveToken}
		if !strings.Contains(tt.step, "brave") {
			headers = nil
		}
		if g := ask(t, s, tt.what, "", headers...); !strings.Contains(g.body, tt.has) || strings.Contains(g.body, `"web":`) {
			t.Errorf("%s: %s", tt.step, g.body)
		}
		finish(t, s)
	}
}

// TestPages checks that a page is what the step says.
func TestPages(t *testing.T) {
	s := play(t, `{steps: [{on: page, path: "/pages/日本?a=b", type: text/plain, body: x, headers: {ETag: y}}, {on: page, path: /pages/old, status: 302, headers: {Location: $FAKE_URL/pages/new}}, {on: page, path: /pages/none, status: 404}]}`)
	if g := ask(t, s, "GET /pages/日本?a=b", ""); g.body != "x" || g.header.Get("Content-Type") != "text/plain" ||
		g.header.Get("ETag") != "y" {
		t.Errorf("%+v", g)
	}
	if g := ask(t, s, "GET /pages/old", ""); g.status != 302 || g.header.Get("Location") != s.URL()+"/pages/new" {
		t.Errorf("%+v", g)
	}
	if g := ask(t, s, "GET /pages/none", ""); g.status != 404 {
		t.Errorf("%+v", g)
	}
	finish(t, s)
}
