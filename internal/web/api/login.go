package api

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hako/internal/app/access"
	"hako/run/fault"
)

// A LoginRequest is what somebody shows at the door.
type LoginRequest struct {
	Token string `json:"token"`
	Next  string `json:"next,omitempty"` // where a form wants to go on
}

// A Login is who has logged in, and what requests that change something must
// show.
type Login struct {
	access.Actor
	CSRF string    `json:"csrf,omitempty"` // empty means that none is needed: a token was shown
	Ends time.Time `json:"ends,omitzero"`  // zero means with the token
}

// login exchanges a token for a cookie. Forms are sent on to a page, JSON is
// answered with JSON.
func (s *Server) login(c *call) error {
	kind, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if kind == formType {
		return s.loginForm(c)
	}
	var in LoginRequest
	if err := c.read(&in); err != nil {
		return err
	}
	made, err := s.admitToken(c, in.Token)
	if err != nil {
		return err
	}
	send(c.w, http.StatusOK, made)
	return nil
}

func (s *Server) loginForm(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return invalid("read form", "", "it is not well formed", "")
	}
	next := back(form, "next")
	if _, err := s.admitToken(c, form.Get("token")); err != nil {
		status := statusOf(err)
		if status != http.StatusUnauthorized && status != http.StatusTooManyRequests && status != http.StatusForbidden {
			return err
		}
		why := bodyOf(err).Error.Kind
		if status == http.StatusForbidden {
			why = "client" // it is a token, but not for the page
		}
		failed := url.Values{"failed": {why}, "next": {next}}
		http.Redirect(c.w, c.Request, "/login?"+failed.Encode(), http.StatusSeeOther)
		return nil
	}
	http.Redirect(c.w, c.Request, next, http.StatusSeeOther)
	return nil
}

// admitToken opens a session for who shows a token. Wrong ones are slowed down; a
// right one is always let in, or whoever sends wrong ones would keep others out.
func (s *Server) admitToken(c *call, token string) (Login, error) {
	who, key, ok, err := s.verify(token)
	switch {
	case err != nil:
		return Login{}, err
	case !ok:
		return Login{}, s.wrong(&s.logins, c.Request, unknown("there is no such token"))
	}
	note(c.Request, who.Name)
	if err := may(who, access.Reader); err != nil {
		s.refused(c.Request, who.Name, "log in", "a login")
		return Login{}, err
	}
	done, err := s.record(who.Name, "log in")
	if err != nil {
		return Login{}, err
	}
	secret, made, err := s.sessions.Open(key)
	done(err)
	if err != nil {
		return Login{}, err
	}
	s.forget(c)
	s.setCookie(c, secret, made.Ends)
	return Login{who, made.CSRF, made.Ends}, nil
}

// forget ends the session that the browser had before.
func (s *Server) forget(c *call) {
	for _, old := range c.CookiesNamed(s.cookie) {
		s.sessions.Close(old.Value)
	}
}

func (s *Server) setCookie(c *call, secret string, ends time.Time) {
	cookie := &http.Cookie{Name: s.cookie, Value: secret, Path: "/", HttpOnly: true, Secure: s.secure() ||
		s.proxied(c.Request), SameSite: http.SameSiteStrictMode, Expires: ends}
	if secret == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.w, cookie)
}

// proxied tells whether a browser reaches us over TLS that a proxy has. Only
// where a proxy is meant to be its word counts.
func (s *Server) proxied(r *http.Request) bool {
	return s.Public && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// logout ends a session.
func (s *Server) logout(c *call, _ nothing) (nothing, error) {
	s.sessions.Close(c.identity.secret)
	s.setCookie(c, "", time.Unix(1, 0))
	return nothing{}, nil
}

// bySession refuses who shows a token, before anything is put on record: a
// session can be ended once, but a program could fill the record.
func bySession(handle func(*Server, *call) error) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		if !c.identity.byCookie() {
			return &fault.Error{Kind: fault.Invalid, Op: "log out", Why: "a token has no session",
				Hint: "remove the token instead"}
		}
		return handle(s, c)
	}
}

// whoami tells a script what it needs to know before it changes something.
func (s *Server) whoami(c *call) (Login, error) {
	return Login{c.identity.Actor, c.identity.session.CSRF, c.identity.session.Ends}, nil
}
