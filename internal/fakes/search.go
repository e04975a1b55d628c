package fakes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	googlePath = "/customsearch/v1"
	bravePath  = "/res/v1/web/search"
)

// checkQuery checks the parameters of a query against a record of requests.txt.
func checkQuery(name string, q url.Values) string {
	fields := map[string]any{}
	for param, all := range q {
		fields[param] = all[0]
		if len(all) > 1 {
			return param + ": is there twice"
		}
	}
	return shapes()[name]("", fields)
}

// queryNumber returns a number of the query.
func (x *exchange) queryNumber(name string, usual int) int {
	if n, err := strconv.Atoi(x.query.Get(name)); err == nil {
		return n
	}
	return usual
}

// hits returns the requested number of results.
func (x *exchange) hits(most int) []Hit { return x.step.Hits[:min(most, len(x.step.Hits))] }

func checkGoogle(x *exchange) *refusal {
	key := cmp.Or(x.query.Get("key"), x.r.Header.Get("X-Goog-Api-Key"))
	why := checkQuery(onGoogle, x.query)
	switch {
	case key == "":
		return &refusal{status: http.StatusForbidden, code: "forbidden",
			message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	case key != x.sc.googleKey():
		return bad("API key not valid. Please pass a valid API key.")
	case why != "":
		return bad("%s", why)
	case x.query.Get("cx") != x.sc.googleCX():
		return bad("Request contains an invalid argument.")
	case x.queryNumber("start", 1)+x.queryNumber("num", 10) > 100:
		return bad("Request contains an invalid argument: start + num is over 100.")
	}
	return nil
}

// googleStatuses are Google's names of a status.
var googleStatuses = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
	http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusInternalServerError: "INTERNAL",
	http.StatusServiceUnavailable: "UNAVAILABLE",
}

// googleReasons are the names in the list of errors.
var googleReasons = map[int]string{
	http.StatusBadRequest: "badRequest", http.StatusForbidden: "forbidden",
	http.StatusTooManyRequests:     "rateLimitExceeded",
	http.StatusInternalServerError: "backendError", http.StatusServiceUnavailable: "backendError",
}

func refuseGoogle(_ *exchange, r *refusal) *reply {
	reason := cmp.Or(r.code, googleReasons[r.status])
	one := object("message", r.message, "domain", "global", "reason", reason)
	return &reply{status: r.status, mime: "application/json; charset=UTF-8",
		body: object("error", object("code", r.status, "message", r.message,
			"errors", []json.RawMessage{one}, "status", cmp.Or(r.kind, googleStatuses[r.status])))}
}

func answerGoogle(x *exchange) *reply {
	q, hits := x.query.Get("q"), x.hits(x.queryNumber("num", 10))
	total := fmt.Sprint(len(x.step.Hits))
	request := object("title", "Google Custom Search - "+q, "totalResults", total, "searchTerms", q, "count", len(hits),
		"startIndex", x.queryNumber("start", 1), "inputEncoding", "utf8", "outputEncoding", "utf8", "safe", "off", "cx",
		x.sc.googleCX())
	kv := []any{"kind", "customsearch#search", "url", object("type", "application/json", "template",
		"https://www.googleapis.com/customsearch/v1?q={searchTerms}"),
		"queries", object("request", []json.RawMessage{request}), "context", object("title", "fake"),
		"searchInformation", object("searchTime", 0.25, "formattedSearchTime", "0.25", "totalResults", total,
			"formattedTotalResults", total)}
	if x.step.Altered != "" {
		kv = append(kv, "spelling", object("correctedQuery", x.step.Altered, "htmlCorrectedQuery",
			"<b><i>"+x.step.Altered+"</i></b>"))
	}
	var items []json.RawMessage
	for _, h := range hits {
		items = append(items, object("kind", "customsearch#result", "title", h.Title, "htmlTitle", "<b>"+h.Title+"</b>",
			"link", h.URL,
			"displayLink", h.parsed().Host, "snippet", h.Snippet, "htmlSnippet", h.Snippet, "formattedUrl", h.URL,
			"htmlFormattedUrl", h.URL))
	}
	if items != nil {
		kv = append(kv, "items", items) // absent when there are none
	}
	return &reply{mime: "application/json; charset=UTF-8", body: object(kv...)}
}

// parsed is the URL of a hit; empty if it is none.
func (h Hit) parsed() *url.URL {
	u, err := url.Parse(h.URL)
	if err != nil {
		return &url.URL{}
	}
	return u
}

func checkBrave(x *exchange) *refusal {
	q := x.query.Get("q")
	why := checkQuery(onBrave, x.query)
	accept := x.r.Header.Get("Accept")
	switch {
	case x.r.Header.Get("X-Subscription-Token") != x.sc.braveKey():
		return &refusal{status: http.StatusUnprocessableEntity, code: "SUBSCRIPTION_TOKEN_INVALID",
			message: "The provided subscription token is invalid."}
	case why == "" && (utf8.RuneCountInString(q) > 400 || len(strings.Fields(q)) > 50):
		why = "q: is over 400 characters or 50 words"
	case why == "" && accept != "" && accept != "*/*" && accept != "application/json":
		why = "accept: must be application/json"
	}
	if why == "" {
		return nil
	}
	name, _, _ := strings.Cut(why, ":")
	return &refusal{status: http.StatusUnprocessableEntity, code: "VALIDATION", message: why, param: name}
}

// braveHeaders are the headers of each response of Brave: limits by the second and by
// the month.
func braveHeaders() map[string]string {
	return map[string]string{
		"X-RateLimit-Limit": "1, 15000", "X-RateLimit-Policy": "1;w=1, 15000;w=2592000",
		"X-RateLimit-Remaining": "1, 1000", "X-RateLimit-Reset": "1, 1419704",
	}
}

// braveCodes are the defaults for a status.
var braveCodes = map[int]string{
	http.StatusTooManyRequests: "RATE_LIMITED", http.StatusNotFound: "SUBSCRIPTION_NOT_FOUND",
	http.StatusUnprocessableEntity: "VALIDATION",
	http.StatusInternalServerError: "INTERNAL",
}

func refuseBrave(x *exchange, r *refusal) *reply {
	meta := object("component", "authentication")
	if r.param != "" {
		meta = object("errors", []json.RawMessage{object("type", "value_error", "loc", []string{"query", r.param}, "msg",
			r.message)})
	}
	one := object("id", x.id("", 0), "status", r.status, "code", cmp.Or(r.code, braveCodes[r.status]), "detail", r.message,
		"meta", meta)
	body := object("type", "ErrorResponse", "error", one, "time", startTime.Unix())
	if x.step != nil && x.step.Variant == "errors_list" {
		body = object("type", "ErrorResponse", "errors", []json.RawMessage{one}, "time", startTime.Unix())
	}
	return &reply{status: r.status, header: braveHeaders(), body: body}
}

func answerBrave(x *exchange) *reply {
	useless := x.step.Variant == "bad_results"
	q := object("original", x.query.Get("q"), "altered", orNull(x.step.Altered), "show_strict_warning", false,
		"is_navigational", false,
		"is_news_breaking", false, "spellcheck_off", false, "country", "us", "bad_results", useless, "should_fallback", false,
		"more_results_available", len(x.step.Hits) > x.queryNumber("count", 20))
	var results, order []json.RawMessage
	for i, h := range x.hits(x.queryNumber("count", 20)) {
		u := h.parsed()
		results = append(results, object("title", h.Title, "url", h.URL, "is_source_local", false, "is_source_both", false,
			"description", h.Snippet, "page_age", orNull(h.Age), "age", orNull(h.Age), "language", "en", "family_friendly", true,
			"profile", object("name", u.Host, "url", h.URL, "long_name", u.Host, "img", ""), "type", "search_result", "subtype",
			"generic",
			"meta_url", object("scheme", u.Scheme, "netloc", u.Host, "hostname", u.Hostname(), "favicon", "", "path", u.Path)))
		order = append(order, object("type", "web", "index", i, "all", false))
	}
	kv := []any{"query", q, "mixed", object("type", "mixed", "main", array(order), "top", []any{}, "side", []any{}),
		"type", "search"}
	if !useless && len(results) > 0 {
		kv = append(kv, "web", object("type", "search", "results", results, "family_friendly", true))
	}
	return &reply{header: braveHeaders(), body: object(kv...)}
}

func checkSearxng(x *exchange) *refusal {
	if why := checkQuery(onSearxng, x.query); why != "" {
		return bad("%s", why)
	}
	return nil
}

// refuseSearxng formats an error of SearXNG: an HTML page.
func refuseSearxng(_ *exchange, r *refusal) *reply {
	return &reply{status: r.status, mime: "text/html; charset=utf-8", body: fmt.Appendf(nil,
		"<!doctype html>\n<html lang=en>\n<title>%d %s</title>\n<h1>%[2]s</h1>\n<p>%s</p>\n", r.status,
		http.StatusText(r.status), r.message)}
}

func answerSearxng(x *exchange) *reply {
	var results []json.RawMessage
	for i, h := range x.step.Hits {
		u := h.parsed()
		results = append(results, object("url", h.URL, "title", h.Title, "content", h.Snippet, "publishedDate", orNull(h.Age),
			"thumbnail", "",
			"engine", "duckduckgo", "template", "default.html", "parsed_url", []string{u.Scheme, u.Host, u.Path, "", u.RawQuery,
				u.Fragment},
			"engines", []string{"duckduckgo"}, "positions", []int{i + 1}, "score", 1/float64(i+1), "category", "general"))
	}
	corrections := []string{}
	if x.step.Altered != "" {
		corrections = append(corrections, x.step.Altered)
	}
	return &reply{body: object("query", x.query.Get("q"), "number_of_results", 0, "results", array(results), "answers",
		[]any{},
		"corrections", corrections, "infoboxes", []any{}, "suggestions", []any{}, "unresponsive_engines", []any{})}
}

func answerPage(x *exchange) *reply {
	return &reply{mime: cmp.Or(x.step.Type, "text/html; charset=utf-8"), body: []byte(x.step.Body)}
}

func refusePage(_ *exchange, r *refusal) *reply {
	return &reply{status: r.status, mime: "text/html; charset=utf-8", body: fmt.Appendf(nil, "<h1>%d %s</h1>\n", r.status,
		r.message)}
}
