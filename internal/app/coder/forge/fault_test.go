package forge

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fake "hako/internal/fakes/forge"
	"hako/run/fault"
)

// TestToken has one that is not valid, and one that may too little.
func TestToken(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		w.Member(w.repo, "hako-bot", "read")
		w.refuses(w.ChangeLabels(w.ctx(), ref, []string{"x"}, nil), fault.Denied, "403", "permission")
		_, err := w.OpenPullRequest(w.ctx(), Draft{Repo: w.repo, Branch: "x", Target: "main", Title: "a"})
		w.refuses(err, fault.Denied, "403")
		w.Private(w.repo)
		w.Member(w.repo, "hako-bot", "none")
		_, err = w.Get(w.ctx(), ref)
		w.refuses(err, fault.NotFound, "404")
		if len(w.waits) > 0 {
			t.Errorf("it was asked for again after %v", w.waits)
		}
		w.config.Token = "glpat-wrong"
		w.token = w.config.Token
		w.reopen()
		_, err = w.CurrentUser(w.ctx())
		w.refuses(err, fault.Denied, "401", tokenVariable(w.provider))
		_, err = w.List(w.ctx(), Query{Repo: w.repo, Label: "x"})
		w.refuses(err, fault.Denied, "401")
	})
}

// TestTrouble asks again when that helps, and does no harm.
func TestTrouble(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		for _, f := range []fake.Fault{{Status: 500}, {Status: 502}, {Status: 503, Raw: "<html>busy</html>"}, {Status: 504},
			{Cut: true, Done: true}, {Cut: true}} {
			w.waits = nil
			f.Method, f.Times = "GET", 2
			w.AddFault(f)
			if _, err := w.Get(w.ctx(), ref); err != nil || len(w.waits) != 2 {
				t.Errorf("%+v: %v after %v", f, err, w.waits)
			}
		}
		w.AddFault(fake.Fault{Method: "GET", Status: 503, Times: 4, Message: "token " + w.token + " is busy"})
		w.waits = nil
		_, err := w.Get(w.ctx(), ref)
		w.refuses(err, fault.Unavailable, "busy")
		if len(w.waits) != 3 {
			t.Errorf("it waited %v", w.waits)
		}
		w.AddFault(fake.Fault{Method: "POST", Status: 502})
		_, err = w.AddComment(w.ctx(), ref, Mark{}, "once")
		w.refuses(err, fault.Unavailable, "502")
		if n := w.Count("POST", ""); n != 1 {
			t.Errorf("a comment was sent %d times", n)
		}
		w.AddFault(fake.Fault{Method: map[string]string{GitHub: "POST", GitLab: "PUT"}[w.provider], Status: 502})
		w.fine(w.ChangeLabels(w.ctx(), ref, []string{"x"}, nil))
	})
}

// TestNonsense is an answer that is not what was asked for.
func TestNonsense(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		for _, raw := range []string{"<html>log in</html>", `{"number":"x","iid":"x"}`, `[1,2`, `"text"`, `[]`} {
			w.AddFault(fake.Fault{Status: 200, Raw: raw})
			_, err := w.Get(w.ctx(), ref)
			w.refuses(err, fault.Unavailable, "no sense", "api_url")
		}
		for _, raw := range []string{`{}`, `null`} {
			w.AddFault(fake.Fault{Status: 200, Raw: raw})
			_, err := w.Get(w.ctx(), ref)
			w.refuses(err, fault.Unavailable, "no sense")
		}
		for _, raw := range []string{`[null]`, `[{}]`, `null`, `[]`} {
			w.AddFault(fake.Fault{Path: "issues", Status: 200, Raw: raw})
			if got, err := w.List(w.ctx(), Query{Repo: w.repo}); err != nil || len(got) != 0 {
				t.Errorf("%s: got %v, %v", raw, got, err)
			}
			w.AddFault(fake.Fault{Path: map[string]string{GitHub: "comments", GitLab: "notes"}[w.provider], Status: 200, Raw: raw})
			if _, err := w.Comments(w.ctx(), ref, time.Time{}); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
		}
		w.AddFault(fake.Fault{Method: "POST", Status: 201, Raw: `null`})
		_, err := w.AddComment(w.ctx(), ref, Mark{}, "x")
		w.refuses(err, fault.Unavailable, "no sense")
		w.AddFault(fake.Fault{Method: "POST", Status: 201, Raw: `null`})
		_, err = w.OpenPullRequest(w.ctx(), Draft{Repo: w.repo, Branch: "x", Target: "main", Title: "a"})
		w.refuses(err, fault.Unavailable, "no sense")
		w.AddFault(fake.Fault{Status: 302, Raw: "x", Header: http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}}})
		_, err = w.Get(w.ctx(), ref)
		w.refuses(err, fault.Unavailable, "elsewhere")
		w.AddFault(fake.Fault{Status: 301, Raw: "x",
			Header: http.Header{"Location": {w.API() + map[string]string{GitHub: "/repos/acme/app/issues/1",
				GitLab: "/projects/100/issues/1"}[w.provider]}}})
		got, err := w.Get(w.ctx(), ref)
		if err != nil || got.Ref() != ref {
			t.Errorf("after it was renamed: %+v, %v", got, err)
		}
	})
}

// TestLimits waits as long as a forge asks for.
func TestLimits(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		retry := func(seconds string) http.Header { return http.Header{"Retry-After": {seconds}} }
		for name, c := range map[string]struct {
			fault    fake.Fault
			from, to time.Duration
		}{
			"seconds": {fake.Fault{Status: 429, Header: retry("7")}, 7 * time.Second, 7 * time.Second},
			"a date": {fake.Fault{Status: 429,
				Header: http.Header{"Retry-After": {time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)},
					"Date": {time.Now().UTC().Format(http.TimeFormat)}}}, 19 * time.Second, 21 * time.Second},
			"no time":       {fake.Fault{Status: 429}, 0, time.Second},
			"secondary":     {fake.SecondaryRateLimit(30 * time.Second), 30 * time.Second, 30 * time.Second},
			"secondary 2":   {fake.SecondaryRateLimit(0), time.Minute, time.Minute},
			"busy for long": {fake.Fault{Status: 503, Header: retry("9"), Method: "GET"}, 9 * time.Second, 9 * time.Second},
		} {
			w.reopen()
			w.waits = nil
			w.AddFault(c.fault)
			if _, err := w.Get(w.ctx(), ref); err != nil || len(w.waits) == 0 || w.waits[0] < c.from || w.waits[0] > c.to {
				t.Errorf("%s: %v after %v", name, err, w.waits)
			}
		}
		w.reopen()
		w.AddFault(fake.Fault{Status: 429, Header: retry("3600")}) // longer than is worth waiting for: and then nobody asks
		for range 2 {
			_, err := w.Get(w.ctx(), ref)
			w.refuses(err, fault.Unavailable, "allows no requests")
			w.ClearRequests()
		}
		if _, err := w.AddComment(w.ctx(), ref, Mark{}, "x"); err == nil || len(w.Requests()) != 0 {
			t.Errorf("%d requests, %v", len(w.Requests()), err)
		}
		w.reopen()
		w.AddFault(fake.SecondaryRateLimit(5 * time.Second)) // nothing was done: a comment may be sent again
		_, err := w.AddComment(w.ctx(), ref, Mark{}, "once")
		w.fine(err)
		if n := len(w.item(ref).Comments); n != 1 {
			t.Errorf("there are %d comments", n)
		}
	})
}

// TestUsedUp stops asking when nothing is left, until the limit is reset.
func TestUsedUp(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		w.SetRateLimit(1, 5*time.Minute)
		w.asleep = w.ResetRateLimit
		_, err := w.Get(w.ctx(), ref)
		w.fine(err)
		w.ClearRequests()
		_, err = w.AddComment(w.ctx(), ref, Mark{}, "x")
		w.fine(err)
		if len(w.waits) != 1 || w.waits[0] < 4*time.Minute || w.waits[0] > 6*time.Minute || len(w.Requests()) != 1 {
			t.Errorf("it waited %v, with %d requests", w.waits, len(w.Requests()))
		}
		w.waits = nil
		w.reopen()
		w.SetRateLimit(0, 3*time.Minute) // used up by somebody else
		_, err = w.Get(w.ctx(), ref)
		w.fine(err)
		if len(w.waits) == 0 || w.waits[0] < 2*time.Minute {
			t.Errorf("it waited %v", w.waits)
		}
		w.asleep, w.waits = nil, nil
		w.reopen()
		w.SetRateLimit(0, time.Hour)
		_, err = w.Get(w.ctx(), ref)
		w.refuses(err, fault.Unavailable, "allows no requests", "later")
		w.ClearRequests()
		_, err = w.Get(w.ctx(), ref)
		w.refuses(err, fault.Unavailable, "allows no requests")
		if len(w.waits) != 0 || len(w.Requests()) != 0 {
			t.Errorf("it waited %v and asked %d times", w.waits, len(w.Requests()))
		}
	})
}

// TestContext bounds everything.
func TestContext(t *testing.T) {
	both(t, func(w *world) {
		ref := w.issue(fake.Item{Title: "a"})
		soon, cancel := context.WithTimeout(w.ctx(), time.Minute)
		defer cancel()
		w.AddFault(fake.Fault{Status: 429, Header: http.Header{"Retry-After": {"120"}}})
		_, err := w.Get(soon, ref)
		w.refuses(err, fault.Unavailable, "2m0s")
		if len(w.waits) != 0 {
			t.Errorf("it waited %v, longer than there is time", w.waits)
		}
		w.reopen()
		w.AddFault(fake.Fault{Delay: time.Minute})
		ctx, stop := context.WithTimeout(w.ctx(), 50*time.Millisecond)
		defer stop()
		_, err = w.Get(ctx, ref)
		w.refuses(err, fault.Timeout)
		w.AddFault(fake.Fault{Delay: time.Minute})
		gone, leave := context.WithCancel(w.ctx())
		time.AfterFunc(50*time.Millisecond, leave)
		if _, err = w.Get(gone, ref); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		w.config.Timeout, w.config.Attempts = 50*time.Millisecond, 2
		w.reopen()
		w.AddFault(fake.Fault{Delay: time.Minute})
		if _, err = w.Get(w.ctx(), ref); err != nil {
			t.Errorf("after one slow answer: %v", err)
		}
		w.AddFault(fake.Fault{Delay: time.Minute, Times: 2})
		_, err = w.Get(w.ctx(), ref)
		w.refuses(err, fault.Unavailable, "50ms")
	})
}

// TestNobody is a server that is not there.
func TestNobody(t *testing.T) {
	both(t, func(w *world) {
		w.config.APIURL = "http://127.0.0.1:1"
		var explainedError []RetryNotice
		w.config.Notify = func(x RetryNotice) { explainedError = append(explainedError, x) }
		w.reopen()
		_, err := w.CurrentUser(w.ctx())
		w.refuses(err, fault.Unavailable, "127.0.0.1:1", "reached")
		if len(explainedError) != 3 || explainedError[0].Provider != w.provider || explainedError[0].Why == "" {
			t.Errorf("was told %+v", explainedError)
		}
	})
}

// TestCertificates trusts whom a file names, and nobody unknown.
func TestCertificates(t *testing.T) {
	both(t, func(w *world) {
		server := httptest.NewUnstartedServer(w.Server)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		w.config.APIURL = server.URL
		w.reopen()
		_, err := w.CurrentUser(w.ctx())
		w.refuses(err, fault.Unavailable, "certificate", "ca_certificates")
		w.config.CAFile = filepath.Join(t.TempDir(), "ca.pem")
		_, err = New(w.config)
		w.refuses(err, fault.NotFound, "PEM")
		w.fine(os.WriteFile(w.config.CAFile, []byte("none"), 0o600))
		_, err = New(w.config)
		w.refuses(err, fault.Invalid, "PEM")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		w.fine(os.WriteFile(w.config.CAFile, text, 0o600))
		w.reopen()
		if got, err := w.CurrentUser(w.ctx()); err != nil || got != "hako-bot" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// TestTokenStaysHome sends the token nowhere else.
func TestTokenStaysHome(t *testing.T) {
	both(t, func(w *world) {
		seen := ""
		other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			for name, values := range r.Header {
				seen += name + strings.Join(values, " ")
			}
		}))
		defer other.Close()
		ref := w.issue(fake.Item{Title: "a"})
		w.AddFault(fake.Fault{Status: 307, Raw: "x", Header: http.Header{"Location": {other.URL + "/x"}}})
		_, err := w.Get(w.ctx(), ref)
		w.refuses(err, fault.Unavailable)
		if strings.Contains(seen, w.token) || seen != "" {
			t.Errorf("the other server saw %s", seen)
		}
	})
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"provider": {Provider: "gitea", Token: "x"},
		"token":    {Provider: GitHub},
		"broken":   {Provider: GitHub, Token: "a\nb"},
		"label":    {Provider: GitHub, Token: "x", Labels: Labels{Done: "a,b"}},
		"secret":   {Provider: GitLab, Token: "x", APIURL: "https://user:hunter2@example.com"},
		"scheme":   {Provider: GitLab, Token: "x", APIURL: "ftp://example.com"},
		"query":    {Provider: GitLab, Token: "x", APIURL: "https://example.com/?private_token=hunter2"},
		"no host":  {Provider: GitLab, Token: "x", APIURL: "example.com"},
	} {
		_, err := New(c)
		if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v (%s)", name, err, fault.Hint(err))
		}
	}
	if got := strings.Join(Labels{Done: "出来た"}.All(),
		"|"); got != "coding agent|coding agent processing|出来た|coding agent failed|coding agent paused|coding agent stopped" {
		t.Errorf("got %s", got)
	}
}

func TestAddress(t *testing.T) {
	for _, c := range [][3]string{
		{GitHub, "", "https://api.github.com/"},
		{GitHub, "https://github.com", "https://api.github.com/"},
		{GitHub, "https://www.github.com/", "https://api.github.com/"},
		{GitHub, "https://api.github.com/", "https://api.github.com/"},
		{GitHub, "https://ghe.example.com", "https://ghe.example.com/api/v3/"},
		{GitHub, "https://GHE.example.com/api", "https://ghe.example.com/api/v3/"},
		{GitHub, "https://ghe.example.com/api/v3", "https://ghe.example.com/api/v3/"},
		{GitHub, "https://ghe.example.com:8443/api/v3//", "https://ghe.example.com:8443/api/v3/"},
		{GitHub, "https://acme.ghe.com", "https://api.acme.ghe.com/"},
		{GitHub, "https://api.acme.ghe.com", "https://api.acme.ghe.com/"},
		{GitLab, "", "https://gitlab.com/api/v4/"},
		{GitLab, " https://gitlab.example.com/ ", "https://gitlab.example.com/api/v4/"},
		{GitLab, "http://gitlab.example.com/api/v4", "http://gitlab.example.com/api/v4/"},
		{GitLab, "https://example.com/gitlab", "https://example.com/gitlab/api/v4/"},
		{GitLab, "https://example.com/gitlab/api/v4/", "https://example.com/gitlab/api/v4/"},
	} {
		if got, err := apiAddress(c[0], c[1]); err != nil || got.String() != c[2] {
			t.Errorf("%s %q: got %v, %v; want %s", c[0], c[1], got, err, c[2])
		}
	}
}

// Every forge knows who asks: one that has nothing there is no forge, and not
// something that was deleted.
func TestSelfElsewhere(t *testing.T) {
	both(t, func(w *world) {
		elsewhere := httptest.NewServer(http.NotFoundHandler())
		w.Cleanup(elsewhere.Close)
		w.config.APIURL = elsewhere.URL + "/wrong"
		w.reopen()
		_, err := w.CurrentUser(w.ctx())
		w.refuses(err, fault.NotFound, "who we are", strings.ToUpper(w.provider)+"_API_URL", w.provider+".api_url",
			elsewhere.URL+"/wrong/api/v")
		if strings.Contains(fault.Hint(err), "deleted") {
			w.Error(fault.Hint(err))
		}
	})
}
