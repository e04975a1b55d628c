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

// A visit is who a request comes from, and how they came in.
type identity struct {
	access.Actor
	key     auth.Key
	secret  string // of the cookie; empty means that a token was shown
	session auth.Session
}

func (v identity) byCookie() bool { return v.secret != "" }

// slotKeys are by what the streams of a caller are counted: nobody takes all by
// logging in often.
func (v identity) slotKeys(l *limits) []slots {
	way := "token " + v.caller()
	if v.byCookie() {
		way = "session " + v.secret
	}
	return []slots{{way, l.each}, {"holder " + v.caller(), l.holder}, {"", l.all}}
}

// caller is a name of the visitor that no other token has.
func (v identity) caller() string { return v.key.Named(v.Name) }

// identify finds out who a request comes from. A token goes before a cookie: it
// was put there on purpose.
func (s *Server) identify(r *http.Request) (identity, error) {
	if r.Header.Get("Authorization") != "" {
		return s.byToken(r)
	}
	return s.byCookie(r)
}

func (s *Server) byToken(r *http.Request) (identity, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return identity{}, unknown("no token was shown")
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") || secret == "" {
		return identity{}, unknown("the Authorization header is not of the form: Bearer TOKEN")
	}
	who, key, ok, err := s.verify(secret)
	if err != nil {
		return identity{}, err
	}
	if !ok {
		return identity{}, s.wrong(&s.guesses, r, unknown("there is no such token"))
	}
	s.silent.Authenticated(r)
	return identity{Actor: who, key: key}, nil
}

// byCookie tries all cookies of our name: a page of another port or path of the
// same host can put one before ours.
func (s *Server) byCookie(r *http.Request) (v identity, err error) {
	err = unknown("nobody has logged in")
	for _, cookie := range r.CookiesNamed(s.cookie) {
		if v, err = s.bySecret(cookie.Value); err == nil {
			s.silent.Authenticated(r)
			return v, nil
		}
	}
	return identity{}, err
}

func (s *Server) bySecret(secret string) (identity, error) {
	session, ok := s.sessions.Use(secret)
	if !ok {
		return identity{}, unknown("the session has ended")
	}
	who, ok, err := s.holder(session.Key)
	switch {
	case err != nil:
		return identity{}, err
	case !ok:
		s.sessions.Close(secret)
		return identity{}, unknown("the token of the session was removed")
	}
	return identity{who, session.Key, secret, session}, nil
}

func unknown(why string) error {
	return refuse(http.StatusUnauthorized, &fault.Error{Kind: fault.Denied, Op: "log in", Why: why,
		Hint: "use the token that hako serve printed when it started, or one of hako serve token add"})
}

// wrong counts a wrong token. Who has used up all tries is told to wait.
func (s *Server) wrong(tries *auth.Tries, r *http.Request, err error) error {
	from := addressOf(r.RemoteAddr)
	if wait := tries.Wait(from); wait > 0 {
		s.refused(r, stranger, "too many tries", "too many tries")
		return &refusal{&fault.Error{Kind: fault.Exhausted, Op: "log in", Why: "too many wrong tokens",
			Hint: "wait " + seconds(wait) + " seconds"}, http.StatusTooManyRequests, wait}
	}
	tries.Wrong(from)
	s.refused(r, stranger, "wrong token at "+r.URL.Path, "wrong token")
	s.log().Warn("wrong token", "from", from, "path", r.URL.Path)
	return err
}

func (s *Server) verify(secret string) (access.Actor, auth.Key, bool, error) {
	if s.Tokens == nil {
		return access.Actor{}, auth.Key{}, false, nil
	}
	who, key, ok, err := s.Tokens.Verify(secret)
	return who, key, ok, s.tokensTrouble(err)
}

func (s *Server) holder(k auth.Key) (access.Actor, bool, error) {
	if s.Tokens == nil {
		return access.Actor{}, false, nil
	}
	who, ok, err := s.Tokens.Holder(k)
	return who, ok, s.tokensTrouble(err)
}

// tokensTrouble keeps what is wrong with the file of tokens from strangers.
func (s *Server) tokensTrouble(err error) error {
	if err == nil {
		return nil
	}
	s.log().Error("tokens cannot be read", "error", err, "hint", fault.Hint(err))
	return &fault.Error{Kind: fault.Unavailable, Op: "log in", Why: "the tokens cannot be read",
		Hint: "the log of the server says why"}
}

// still tells whether a visitor would be let in again. It also keeps a session
// from becoming idle whose page is open.
func (s *Server) still(v identity) bool {
	if v.byCookie() {
		if _, ok := s.sessions.Use(v.secret); !ok {
			return false
		}
	}
	who, ok, err := s.holder(v.key)
	return err == nil && ok && who == v.Actor
}

// Session tells who has logged in with a browser, and the token that requests
// which change something must show. It is for Pages.
func (s *Server) Session(r *http.Request) (who access.Actor, csrf string, ok bool) {
	v, err := s.byCookie(r)
	return v.Actor, v.session.CSRF, err == nil && may(v.Actor, access.Reader) == nil
}

type visitorKey struct{}

// Visitor tells who a request that was passed on to MCP or Metrics comes from.
func Visitor(ctx context.Context) (access.Actor, bool) {
	v, ok := ctx.Value(visitorKey{}).(identity)
	return v.Actor, ok
}

// Caller names who a request comes from that was passed on; empty means nobody.
// Two tokens are two callers, whatever their names are: one that was made after
// another was removed does not inherit from it.
func Caller(r *http.Request) string {
	v, ok := r.Context().Value(visitorKey{}).(identity)
	if !ok {
		return ""
	}
	return v.caller()
}

// may refuses what a role is not for.
func may(who access.Actor, wanted access.Role) error {
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

// ownName stops DNS rebinding: a web page whose name suddenly means this machine
// would be in the same origin as we are.
func (s *Server) ownName(r *http.Request) error {
	if s.isOwn(r.Host) {
		return nil
	}
	return refuse(http.StatusMisdirectedRequest, &fault.Error{Kind: fault.Denied, Op: "answer for", Subject: r.Host,
		Why:  "it is not a name of this server",
		Hint: "use the address that was printed at the start, or add the name to the server's names"})
}

// ownOrigin stops other pages in the user's browser, also those of other ports
// of the same host, which cookies do not tell apart.
func (s *Server) ownOrigin(r *http.Request) error {
	e := &fault.Error{Kind: fault.Denied, Op: "answer", Why: "the request comes from a page of somebody else",
		Hint: "use the pages of this server, or a program with a token"}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if origin == "null" && site == "same-origin" {
		return nil // a form of ours: pages that tell no referrer tell no origin either
	}
	if origin != "" && !s.sameOrigin(origin, r.Host) {
		e.Subject = origin
		return e
	}
	switch {
	case site == "", site == "same-origin", site == "none":
		return nil
	case r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !isAPI(r.URL.Path):
		return nil // somebody follows a link to our pages; the cookie does not come with it
	}
	return e
}

func (s *Server) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || !strings.EqualFold(u.Host, host) {
		return false
	}
	// A proxy before us may speak https where we speak http.
	return u.Scheme == "https" || u.Scheme == "http" && !s.secure()
}

func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/mcp" || strings.HasPrefix(path, "/mcp/") || path == "/metrics"
}

// ownPage stops requests that a foreign page makes a browser send: they come
// with the cookie but cannot know what our pages know.
func (c *call) ownPage() error {
	if !c.identity.byCookie() || c.identity.session.Allows(c.csrf()) {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Op: "change", Why: "the request does not show the CSRF token of the session",
		Hint: "send it in the header X-CSRF-Token; GET /api/v1/session tells it"}
}

// left says what it means that nobody waited: whether it was done is not known.
func left(err error) error {
	if err == context.Canceled {
		return &fault.Error{Kind: fault.Unavailable, Op: "answer", Why: "who asked did not wait for the answer"}
	}
	return err
}

// record puts a change on record, and done what came of it. Without it nothing is
// changed.
func (s *Server) record(actor, what string) (done func(error), err error) {
	told := func(error) {}
	err = errors.New("there is no record")
	if s.Record != nil {
		told, err = s.Record(actor, what)
	}
	if err == nil {
		return func(err error) { told(left(err)) }, nil
	}
	s.log().Error("not put on record", "actor", actor, "what", what, "error", err)
	return nil, &fault.Error{Kind: fault.Unavailable, Op: "record", Subject: what,
		Why: "it cannot be put on record, so it is not done", Hint: "the log of the server says why"}
}
