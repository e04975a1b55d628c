package egress

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hako/run/fault"
)

// Headers of git's requests and responses. Others are dropped: X-HTTP-Method-Override would change the request that
// was checked, cookies would be a credential inside the container, and without Accept-Encoding the answer can be
// searched for secrets.
var (
	gitRequestHeaders = []string{"Accept", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Type",
		"Git-Protocol", "Pragma", "User-Agent"}
	gitResponseHeaders = []string{"Cache-Control", "Content-Encoding", "Content-Type", "Date", "Expires", "Location", "Pragma",
		"Retry-After", "Vary"}
)

// lend returns the route of a request for the endpoint, with its credential.
func (r *rules) lend(h *head, v *logEntry, a address) (*route, error) {
	w, err := parseGitRequest(h.method, a.path, a.query)
	if err != nil {
		return nil, err
	}
	repo, err := r.find(w)
	if err != nil {
		return nil, err
	}
	if h.method == http.MethodPost &&
		!slices.Equal(h.values("Content-Type"), []string{"application/x-" + w.service + "-request"}) {
		return nil, &fault.Error{Kind: fault.Denied, Op: "lend git credential", Subject: oneLine(w.at + w.path),
			Why: "it is not what git sends for " + w.service, Hint: "use git itself"}
	}
	v.setTarget(repo.at)
	v.Path, v.Credential = oneLine(w.path+w.suffix), true
	to := &route{address: address{repo.at, w.path + w.suffix, a.query}, header: only(h.header(), gitRequestHeaders), lent: repo}
	return to, to.addCredential()
}

func only(header http.Header, names []string) http.Header {
	kept := http.Header{"User-Agent": nil}
	for _, name := range names {
		if values := header[name]; values != nil {
			kept[name] = values
		}
	}
	return kept
}

// addCredential adds the credential to a request. Errors have no details, which could contain a part of it.
func (r *route) addCredential() error {
	name, value, err := r.lent.Header()
	if err != nil || !isToken(name) || value == "" || hasControl(value) {
		return &fault.Error{Kind: fault.Unavailable, Op: "lend git credential", Subject: r.lent.Host,
			Why:  "the credential is not available",
			Hint: "check the token outside the container"}
	}
	r.header[http.CanonicalHeaderKey(name)] = []string{value}
	r.secret = secrets(value)
	return nil
}

// cleanResponse makes a response safe to forward.
func (r *rules) cleanResponse(to *route, resp *http.Response) error {
	resp.Header = only(resp.Header, gitResponseHeaders)
	delete(resp.Header, "User-Agent")
	for name, values := range resp.Header {
		if slices.ContainsFunc(values, func(value string) bool { return holdsAny(value, to.secret) }) {
			delete(resp.Header, name)
		}
	}
	if holdsAny(resp.Status, to.secret) {
		resp.Status = ""
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusProxyAuthRequired:
		// If it were forwarded, git would ask for a name and a password.
		return &fault.Error{Kind: fault.Denied, Op: "lend git credential", Subject: to.lent.Host + to.lent.path,
			Why: "the server refused the credential", Hint: "check the token outside the container"}
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified:
		return r.redirect(to, resp)
	}
	resp.Header.Del("Location")
	return nil
}

// redirect lets git follow only to a repository with a credential. Git asks the endpoint again, and that request is
// checked like any other.
func (r *rules) redirect(to *route, resp *http.Response) error {
	moved := &fault.Error{Kind: fault.Denied, Op: "lend git credential", Subject: to.lent.Host + to.lent.path,
		Why:  "the server redirects to a repository without a credential",
		Hint: "use the present address of the repository"}
	base := &url.URL{Scheme: "https", Host: to.hostPort.hostHeader(443), Path: to.path}
	if to.lent.PlainHTTP {
		base.Scheme, base.Host = "http", to.hostPort.hostHeader(80)
	}
	u, err := base.Parse(resp.Header.Get("Location"))
	if err != nil || u.Scheme != base.Scheme || u.User != nil {
		return moved
	}
	w, err := parseGitRequest(resp.Request.Method, "/"+u.Host+u.EscapedPath(), u.RawQuery)
	if err != nil {
		return moved
	}
	if _, err := r.find(w); err != nil {
		return moved
	}
	location := "http://" + Endpoint + "/" + w.at + w.path + w.suffix
	if u.RawQuery != "" {
		location += "?" + u.RawQuery
	}
	resp.Header.Set("Location", location)
	return nil
}

// holdsAny reports whether a text contains one of the secrets, escaped or not.
func holdsAny(text string, secrets []string) bool {
	plain, err := url.QueryUnescape(text)
	return slices.ContainsFunc(secrets, func(s string) bool {
		return strings.Contains(text, s) || err == nil && strings.Contains(plain, s)
	})
}
