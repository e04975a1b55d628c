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

// A LoginRequest is the body of a login.
type LoginRequest struct {
	Token string `json:"token"`
	Next  string `json:"next,omitempty"` // where to redirect a form
}

// A Login is the result of a login.
type Login struct {
	access.Actor
	CSRF string    `json:"csrf,omitempty"` // empty with a token, which needs none
	Ends time.Time `json:"ends,omitzero"`  // zero means as long as the token
}

// login exchanges a token for a cookie. A form is redirected to a page, JSON is answered with JSON.
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
	next := redirectTarget(form, "next")
	if _, err := s.admitToken(c, form.Get("token")); err != nil {
		status := statusOf(err)
		if status != http.StatusUnauthorized && status != http.StatusTooManyRequests && status != http.StatusForbidden {
			return err
		}
		why := bodyOf(err).Error.Kind
		if status == http.StatusForbidden {
			why = "client" // a valid token, but not for the pages
		}
		failed := url.Values{"failed": {why}, "next": {next}}
		http.Redirect(c.w, c.Request, "/login?"+failed.Encode(), http.StatusSeeOther)
		return nil
	}
	http.Redirect(c.w, c.Request, next, http.StatusSeeOther)
	return nil
}

// admitToken opens a session for a token. Wrong tokens are throttled. A correct token is always accepted, or others
// could lock its owner out by sending wrong ones.
func (s *Server) admitToken(c *call, token string) (Login, error) {
	who, key, ok, err := s.verify(token)
	switch {
	case err != nil:
		return Login{}, err
	case !ok:
		return Login{}, s.wrongToken(&s.logins, c.Request, unauthenticated("there is no such token"))
	}
	setLogName(c.Request, who.Name)
	if err := checkRole(who, access.Reader); err != nil {
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
	s.closeOldSessions(c)
	s.setCookie(c, secret, made.Ends)
	return Login{who, made.CSRF, made.Ends}, nil
}

// closeOldSessions closes earlier sessions of the browser.
func (s *Server) closeOldSessions(c *call) {
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

// proxied reports whether a browser reaches us through a proxy with TLS. The header counts only with Public.
func (s *Server) proxied(r *http.Request) bool {
	return s.Public && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

func (s *Server) logout(c *call, _ nothing) (nothing, error) {
	s.sessions.Close(c.identity.secret)
	s.setCookie(c, "", time.Unix(1, 0))
	return nothing{}, nil
}

// sessionOnly refuses tokens before anything is recorded: a session can be closed once, but a program with a token
// could fill the record.
func sessionOnly(handle func(*Server, *call) error) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		if !c.identity.byCookie() {
			return &fault.Error{Kind: fault.Invalid, Op: "log out", Why: "a token has no session",
				Hint: "remove the token instead"}
		}
		return handle(s, c)
	}
}

// whoami returns the actor and the CSRF token.
func (s *Server) whoami(c *call) (Login, error) {
	return Login{c.identity.Actor, c.identity.session.CSRF, c.identity.session.Ends}, nil
}
