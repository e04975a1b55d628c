package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"hako/internal/app/access"
	"hako/internal/web/auth"
	"hako/run/fault"
)

// An identity is who a request comes from, and how it was authenticated.
type identity struct {
	access.Actor
	key     auth.Key
	secret  string // of the cookie; empty means that a token was sent
	session auth.Session
}

func (v identity) byCookie() bool { return v.secret != "" }

// quotas are the limits of open streams: per session or token, per token with all its sessions, and in total.
func (v identity) quotas(l *limits) []quota {
	way := "token " + v.caller()
	if v.byCookie() {
		way = "session " + v.secret
	}
	return []quota{{way, l.sessionStreams}, {"holder " + v.caller(), l.tokenStreams}, {"", l.allStreams}}
}

// caller is a name that is unique to the token.
func (v identity) caller() string { return v.key.Named(v.Name) }

// identify authenticates a request. A token has precedence over a cookie, because it was sent on purpose.
func (s *Server) identify(r *http.Request) (identity, error) {
	if r.Header.Get("Authorization") != "" {
		return s.identifyByToken(r)
	}
	return s.identifyByCookie(r)
}

func (s *Server) identifyByToken(r *http.Request) (identity, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return identity{}, unauthenticated("no token was shown")
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") || secret == "" {
		return identity{}, unauthenticated("the Authorization header is not of the form: Bearer TOKEN")
	}
	who, key, ok, err := s.verify(secret)
	if err != nil {
		return identity{}, err
	}
	if !ok {
		return identity{}, s.wrongToken(&s.guesses, r, unauthenticated("there is no such token"))
	}
	s.idleConns.Authenticated(r)
	return identity{Actor: who, key: key}, nil
}

// identifyByCookie tries all cookies of our name: a page of another port or path of the same host can set one before
// ours.
func (s *Server) identifyByCookie(r *http.Request) (v identity, err error) {
	err = unauthenticated("nobody has logged in")
	for _, cookie := range r.CookiesNamed(s.cookie) {
		if v, err = s.identifyBySession(cookie.Value); err == nil {
			s.idleConns.Authenticated(r)
			return v, nil
		}
	}
	return identity{}, err
}

func (s *Server) identifyBySession(secret string) (identity, error) {
	session, ok := s.sessions.Use(secret)
	if !ok {
		return identity{}, unauthenticated("the session has ended")
	}
	who, ok, err := s.holder(session.Key)
	switch {
	case err != nil:
		return identity{}, err
	case !ok:
		s.sessions.Close(secret)
		return identity{}, unauthenticated("the token of the session was removed")
	}
	return identity{who, session.Key, secret, session}, nil
}

func unauthenticated(why string) error {
	return refuse(http.StatusUnauthorized, &fault.Error{Kind: fault.Denied, Op: "log in", Why: why,
		Hint: "use the token that hako serve printed when it started, or one of hako serve token add"})
}

// wrongToken counts a wrong token. After too many, the client must wait.
func (s *Server) wrongToken(tries *auth.Throttle, r *http.Request, err error) error {
	from := clientNetwork(r.RemoteAddr)
	if wait := tries.Wait(from); wait > 0 {
		s.refused(r, unknownActor, "too many tries", "too many tries")
		return &refusal{&fault.Error{Kind: fault.Exhausted, Op: "log in", Why: "too many wrong tokens",
			Hint: "wait " + seconds(wait) + " seconds"}, http.StatusTooManyRequests, wait}
	}
	tries.Wrong(from)
	s.refused(r, unknownActor, "wrong token at "+r.URL.Path, "wrong token")
	s.log().Warn("wrong token", "from", from, "path", r.URL.Path)
	return err
}

func (s *Server) verify(secret string) (access.Actor, auth.Key, bool, error) {
	if s.Tokens == nil {
		return access.Actor{}, auth.Key{}, false, nil
	}
	who, key, ok, err := s.Tokens.Verify(secret)
	return who, key, ok, s.tokensUnavailable(err)
}

func (s *Server) holder(k auth.Key) (access.Actor, bool, error) {
	if s.Tokens == nil {
		return access.Actor{}, false, nil
	}
	who, ok, err := s.Tokens.Holder(k)
	return who, ok, s.tokensUnavailable(err)
}

// tokensUnavailable logs an error of the token file and hides it from clients.
func (s *Server) tokensUnavailable(err error) error {
	if err == nil {
		return nil
	}
	s.log().Error("tokens cannot be read", "error", err, "hint", fault.Hint(err))
	return &fault.Error{Kind: fault.Unavailable, Op: "log in", Why: "the tokens cannot be read",
		Hint: "the log of the server says why"}
}

// valid reports whether the token or session is still valid. It also keeps the session of an open page from becoming
// idle.
func (s *Server) valid(v identity) bool {
	if v.byCookie() {
		if _, ok := s.sessions.Use(v.secret); !ok {
			return false
		}
	}
	who, ok, err := s.holder(v.key)
	return err == nil && ok && who == v.Actor
}

// Session returns who has logged in with a browser, and the CSRF token of the session. It is for Pages.
func (s *Server) Session(r *http.Request) (who access.Actor, csrf string, ok bool) {
	v, err := s.identifyByCookie(r)
	return v.Actor, v.session.CSRF, err == nil && checkRole(v.Actor, access.Reader) == nil
}

type identityKey struct{}

// Caller returns a name of the token of a request to a mounted handler; empty means none. It is unique: a token that
// was added after another of the same name was removed does not inherit from it.
func Caller(r *http.Request) string {
	v, ok := r.Context().Value(identityKey{}).(identity)
	if !ok {
		return ""
	}
	return v.caller()
}

// checkRole refuses requests that a role does not allow.
func checkRole(who access.Actor, wanted access.Role) error {
	if who.Role == access.Operator || who.Role == wanted {
		return nil
	}
	e := &fault.Error{Kind: fault.Denied, Op: "allow", Subject: who.Name, Why: "a reader may look but change nothing",
		Hint: "use the token of an operator"}
	switch {
	case who.Role == access.Client:
		e.Why, e.Hint = "a client may use /mcp and nothing else", "use the token of a reader or an operator"
	case wanted == access.Client:
		e.Hint = "use the token of a client or an operator"
	}
	return e
}

// checkHost stops DNS rebinding: a page whose name resolves to this machine would have our origin.
func (s *Server) checkHost(r *http.Request) error {
	if s.isOwnHost(r.Host) {
		return nil
	}
	return refuse(http.StatusMisdirectedRequest, &fault.Error{Kind: fault.Denied, Op: "answer for", Subject: r.Host,
		Why:  "it is not a name of this server",
		Hint: "use the address that was printed at the start, or add the name to the server's names"})
}

// checkOrigin stops requests of other pages in the user's browser, also of other ports of the same host, which cookies
// do not distinguish.
func (s *Server) checkOrigin(r *http.Request) error {
	e := &fault.Error{Kind: fault.Denied, Op: "answer", Why: "the request comes from a page of somebody else",
		Hint: "use the pages of this server, or a program with a token"}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if origin == "null" && site == "same-origin" {
		return nil // a form of ours: pages without a referrer have no origin either
	}
	if origin != "" && !s.sameOrigin(origin, r.Host) {
		e.Subject = origin
		return e
	}
	switch {
	case site == "", site == "same-origin", site == "none":
		return nil
	case r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !isAPI(r.URL.Path):
		return nil // a link to our pages; the cookie is not sent with it
	}
	return e
}

func (s *Server) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(u.Host, host) {
		return false
	}
	// A proxy may use https where we use http.
	return u.Scheme == "https" || u.Scheme == "http" && !s.secure()
}

func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/mcp" || strings.HasPrefix(path, "/mcp/") || path == "/metrics"
}

// checkCSRF stops requests that a foreign page makes a browser send: they have the cookie but not the CSRF token.
func (c *call) checkCSRF() error {
	if !c.identity.byCookie() || c.identity.session.Allows(c.csrf()) {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Op: "change", Why: "the request does not show the CSRF token of the session",
		Hint: "send it in the header X-CSRF-Token; GET /api/v1/session tells it"}
}

// canceledError replaces the error of a request that was canceled: its outcome is unknown.
func canceledError(err error) error {
	if err == context.Canceled {
		return &fault.Error{Kind: fault.Unavailable, Op: "answer", Why: "who asked did not wait for the answer"}
	}
	return err
}

// record records a change, and done its outcome. If that fails, the change must not be made.
func (s *Server) record(actor, what string) (done func(error), err error) {
	told := func(error) {}
	err = errors.New("there is no record")
	if s.Record != nil {
		told, err = s.Record(actor, what)
	}
	if err == nil {
		return func(err error) { told(canceledError(err)) }, nil
	}
	s.log().Error("not put on record", "actor", actor, "what", what, "error", err)
	return nil, &fault.Error{Kind: fault.Unavailable, Op: "record", Subject: what,
		Why: "it cannot be put on record, so it is not done", Hint: "the log of the server says why"}
}
