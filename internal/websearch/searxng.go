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
)

// searxPages is the maximal number of pages of hits.
const searxPages = 2

// searxng is the engine of an instance of SearXNG.
type searxng struct{ *client }

func newSearxng(o Options) (Engine, error) {
	l, err := newClient("searxng", strings.TrimSpace(o.SearxngURL), o)
	if err != nil {
		return nil, err
	}
	if u := l.base.User; u != nil {
		password, _ := u.Password()
		l.secrets.Add(password)
		req := http.Request{Header: l.header}
		req.SetBasicAuth(u.Username(), password)
		l.base.User = nil
	}
	l.base.Path = strings.TrimSuffix(strings.TrimRight(l.base.Path, "/"), "/search") + "/search"
	l.base.RawPath = ""
	return &searxng{l}, nil
}

// Search implements [Engine].
func (s *searxng) Search(ctx context.Context, q Query) ([]Hit, error) {
	q, err := q.check()
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for page := 1; page <= searxPages && len(hits) < q.Count; page++ {
		more, err := s.page(ctx, q, page)
		if err != nil && page == 1 {
			return nil, err
		}
		if len(more) == 0 {
			break
		}
		hits = append(hits, more...)
	}
	return tidy(hits, q.Count), nil
}

func (s *searxng) page(ctx context.Context, q Query, page int) ([]Hit, error) {
	v := url.Values{"format": {"json"}, "q": {q.Text}, "language": {searxLang(q.Lang)}}
	if q.Freshness != "" {
		v.Set("time_range", q.Freshness)
	}
	if page > 1 {
		v.Set("pageno", strconv.Itoa(page))
	}
	a, err := s.ask(ctx, v)
	if err != nil {
		return nil, err
	}
	var found struct {
		Results []struct {
			Title, URL, Content string
			PublishedDate       string
		}
		Silent []json.RawMessage `json:"unresponsive_engines"`
	}
	if err := s.decode(a, &found, s.trouble); err != nil {
		return nil, err
	}
	if len(found.Results) == 0 && len(found.Silent) > 0 {
		return nil, s.fault("there are no hits, and these of its engines did not answer: "+s.silent(found.Silent),
			"try again later, or switch on other engines in its settings.yml")
	}
	var hits []Hit
	for _, r := range found.Results {
		hits = append(hits, Hit{Title: r.Title, URL: r.URL, Snippet: r.Content, Age: day(r.PublishedDate)})
	}
	return hits, nil
}

// searxLang returns SearXNG's code of a language.
func searxLang(code string) string {
	return cmp.Or(map[string]string{"": "all", "zh-hans": "zh-CN", "zh-hant": "zh-TW"}[code], withRegion(code))
}

// silent names the engines that did not answer. Each is a list: name, reason.
func (s *searxng) silent(list []json.RawMessage) string {
	var names []string
	for _, raw := range list {
		var pair []string
		if json.Unmarshal(raw, &pair) != nil || len(pair) == 0 {
			continue
		}
		names = append(names, s.words(strings.Join(pair, ": ")))
	}
	return some(names)
}

func (s *searxng) trouble(a *answer) error {
	switch a.status {
	case http.StatusForbidden:
		return s.fault("it answers people but not programs (403)",
			"add json to search.formats in its settings.yml and restart it")
	case http.StatusTooManyRequests:
		return s.fault("its limiter takes us for a robot (429)",
			"switch off server.limiter in its settings.yml, or let our address pass")
	case http.StatusUnauthorized:
		return s.fault("it wants a name and a password (401)", "write them into SEARXNG_URL: https://name:password@host")
	case http.StatusNotFound:
		return s.fault(fmt.Sprintf("there is no search at its address (%d)", a.status), "check SEARXNG_URL")
	}
	return s.odd(a.status, "")
}
