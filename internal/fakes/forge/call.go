package forge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A call is a request to the API and its response.
type call struct {
	*Server
	r       *http.Request
	login   string
	app     *app   // that makes the request for itself; nil means that an account does
	granted bool   // the token is one of an App's installation
	kind    string // of the item, as the path says; empty at GitHub
	given   url.Values
	fields  map[string]any // of a body that is an object
	listed  []any          // a body that is a list

	cursors bool // the list needs cursors from some page on

	status int
	header http.Header
	body   []byte
}

// A route is one endpoint of the API.
type route struct {
	pattern string // method and path after the prefix
	query   string // parameters that are allowed
	fields  string // of the body; a star marks required ones, "[]" means a list
	serve   func(*call)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, ".git/") {
		s.serveGit(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	c := &call{Server: s, r: r, header: http.Header{}}
	c.login, c.granted = s.loginOf(r)
	fault := s.takeFault(r)
	if fault.Cut {
		r.Header.Del("If-None-Match") // a 304 has no body that could break off
	}
	if fault.Status == 0 && !fault.Cut || fault.Done {
		c.answer()
	}
	if fault.Status != 0 {
		c.applyFault(fault)
	}
	if c.header.Get("Date") == "" {
		c.header.Set("Date", s.apps.now().UTC().Format(http.TimeFormat))
	}
	s.requests = append(s.requests, Request{r.Method, r.URL.RequestURI(), c.login, c.status})
	s.mu.Unlock()
	select {
	case <-time.After(fault.Delay):
	case <-r.Context().Done():
		return
	}
	c.send(w, fault.Cut)
}

func (c *call) applyFault(f Fault) {
	c.header = http.Header{}
	c.limits()
	for name, values := range f.Header {
		c.header[name] = values
	}
	if f.Raw != "" {
		c.status, c.body = f.Status, []byte(f.Raw)
		return
	}
	c.refuse(f.Status, f.Message)
}

func (c *call) send(w http.ResponseWriter, cut bool) {
	for name, values := range c.header {
		w.Header()[name] = values
	}
	if cut {
		w.Header().Set("Content-Length", itoa(len(c.body)+1000))
		w.WriteHeader(max(c.status, http.StatusOK))
		w.Write(c.body[:len(c.body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(c.status)
	if c.status != http.StatusNotModified && c.status != http.StatusNoContent {
		w.Write(c.body)
	}
}

// loginOf returns the account of a request's token, and whether the token is one of
// an App's installation.
func (s *Server) loginOf(r *http.Request) (login string, granted bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	name, password, basic := r.BasicAuth()
	if basic {
		token = password
	}
	if private := r.Header.Get("PRIVATE-TOKEN"); private != "" {
		token = private
	}
	if login := s.apps.loginOf(token); login != "" && (!basic || name == "x-access-token") {
		return login, true
	}
	return s.tokens[token], false
}

// answer carries out a call, if there is a token, a rate limit left and a route.
func (c *call) answer() {
	if time.Now().After(c.reset) {
		c.left, c.reset = budget, time.Now().Add(time.Hour)
	}
	switch {
	case !c.identifyApp():
		return
	case c.login == "":
		c.refuse(http.StatusUnauthorized, pick(c.provider, "Bad credentials", "401 Unauthorized"))
		return
	case c.left <= 0:
		c.limits()
		c.refuse(pick(c.provider, http.StatusForbidden, http.StatusTooManyRequests),
			pick(c.provider, "API rate limit exceeded for user ID 1.", "Retry later"))
		return
	}
	c.checkHeader()
	c.route()
	c.tag()
	if c.status != http.StatusNotModified {
		c.left--
	}
	c.limits()
}

func pick[V any](provider string, hub, lab V) V {
	if provider == GitLab {
		return lab
	}
	return hub
}

// checkHeader requires the headers that the providers require.
func (c *call) checkHeader() {
	if c.r.Header.Get("User-Agent") == "" {
		c.violate("%s %s has no User-Agent", c.r.Method, c.r.URL.Path)
	}
	if accept := c.r.Header.Get("Accept"); !strings.Contains(accept, "json") &&
		!strings.HasPrefix(accept, "application/vnd.github.") {
		c.violate("%s %s accepts %q", c.r.Method, c.r.URL.Path, accept)
	}
}

// limits sets the headers of the rate limit, which every response has.
func (c *call) limits() {
	prefix := pick(c.provider, "X-RateLimit-", "RateLimit-")
	c.header.Set(prefix+"Limit", itoa(budget))
	c.header.Set(prefix+"Remaining", itoa(max(c.left, 0)))
	c.header.Set(prefix+"Reset", strconv.FormatInt(c.reset.Unix(), 10))
}

// tag answers with 304 if the client has this response already.
func (c *call) tag() {
	if c.r.Method != http.MethodGet || c.status != http.StatusOK {
		return
	}
	sum := sha256.Sum256(append(c.body, c.header.Get("Link")...))
	tag := `W/"` + hex.EncodeToString(sum[:16]) + `"`
	c.header.Set("Etag", tag)
	if c.r.Header.Get("If-None-Match") == tag {
		c.status, c.body = http.StatusNotModified, nil
	}
}

type callKey struct{}

// routes registers the provider's API. A pattern with {kind} is registered for issues
// and for merge requests.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range pick(s.provider, githubRoutes, gitlabRoutes) {
		if !strings.Contains(r.pattern, "{kind}") {
			s.register(mux, r, r.pattern, "")
			continue
		}
		s.register(mux, r, strings.Replace(r.pattern, "{kind}", "issues", 1), Issue)
		s.register(mux, r, strings.Replace(r.pattern, "{kind}", "merge_requests", 1), Pull)
	}
	mux.HandleFunc("/", func(_ http.ResponseWriter, req *http.Request) {
		c := req.Context().Value(callKey{}).(*call)
		c.violate("%s %s: there is nothing at this address", req.Method, req.URL.Path)
		c.refuse(http.StatusNotFound, "Not Found")
	})
	return mux
}

func (s *Server) register(mux *http.ServeMux, r route, pattern, kind string) {
	method, path, _ := strings.Cut(pattern, " ")
	mux.HandleFunc(method+" "+s.prefix()+path, func(_ http.ResponseWriter, req *http.Request) {
		c := req.Context().Value(callKey{}).(*call)
		c.r, c.kind = req, kind
		if c.valid(r) {
			r.serve(c)
		}
	})
}

func (c *call) route() {
	c.mux.ServeHTTP(discard{}, c.r.WithContext(context.WithValue(c.r.Context(), callKey{}, c)))
}

// valid checks a request against its route.
func (c *call) valid(r route) bool {
	before := len(c.violations)
	for name := range c.r.URL.Query() {
		if !slices.Contains(strings.Fields(r.query), name) {
			c.violate("%s: parameter %s is not expected", r.pattern, name)
		}
	}
	if per, _ := strconv.Atoi(c.r.URL.Query().Get("per_page")); per > 100 {
		c.violate("%s: there are at most a hundred on a page", r.pattern)
	}
	c.checkBody(r)
	if len(c.violations) > before {
		c.refuse(http.StatusUnprocessableEntity, c.violations[before])
	}
	return len(c.violations) == before
}

func (c *call) checkBody(r route) {
	body, _ := io.ReadAll(c.r.Body)
	if r.fields == "" {
		if len(body) > 0 {
			c.violate("%s: a body is not expected", r.pattern)
		}
		return
	}
	if !strings.HasPrefix(c.r.Header.Get("Content-Type"), "application/json") {
		c.violate("%s: the body is %q", r.pattern, c.r.Header.Get("Content-Type"))
	}
	if r.fields == "[]" {
		if json.Unmarshal(body, &c.listed) != nil {
			c.violate("%s: the body is no list: %s", r.pattern, body)
		}
		return
	}
	if json.Unmarshal(body, &c.fields) != nil {
		c.violate("%s: the body is no object: %s", r.pattern, body)
	}
	known := strings.Fields(strings.ReplaceAll(r.fields, "*", ""))
	for name := range c.fields {
		if !slices.Contains(known, name) {
			c.violate("%s: field %s is not expected", r.pattern, name)
		}
	}
	for _, name := range strings.Fields(r.fields) {
		if need, must := strings.CutSuffix(name, "*"); must && (c.fields[need] == nil || c.fields[need] == "") {
			c.violate("%s: field %s is missing", r.pattern, need)
		}
	}
}

// query parses the parameters once: a list uses them for each of its items.
func (c *call) query() url.Values {
	if c.given == nil {
		c.given = c.r.URL.Query()
	}
	return c.given
}

func (c *call) text(field string) string {
	text, _ := c.fields[field].(string)
	return text
}

func (c *call) json(status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	c.status, c.body = status, b.Bytes()
	c.header.Set("Content-Type", "application/json; charset=utf-8")
}

func (c *call) refuse(status int, message string) {
	body := map[string]any{"message": message}
	if c.provider == GitHub {
		body["documentation_url"], body["status"] = "https://docs.github.com/rest", itoa(status)
	}
	c.json(status, body)
}

// base is the URL by which the client reached the server.
func (c *call) base() string {
	if c.r.TLS != nil {
		return "https://" + c.r.Host
	}
	return "http://" + c.r.Host
}
