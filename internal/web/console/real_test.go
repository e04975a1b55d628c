package console

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/web/api"
	"hako/internal/web/auth"
)

// realDoor is a door with the real HTTP API behind it.
func realDoor(t testing.TB, w *world) (d *door, token string, recorded func() []string) {
	t.Helper()
	var mu sync.Mutex
	var told []string
	s := &api.Server{Sources: w.sources(), Tokens: &auth.Store{}, Record: func(actor, what string) (func(error), error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, actor+": "+what)
		return func(error) {}, nil
	}}
	token, err := s.Tokens.Ephemeral("mika", access.Operator)
	if err != nil {
		t.Fatal(err)
	}
	s.Pages = New(Options{Sources: w.sources(), Session: s.Session})
	addr, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(context.Background()) })
	return &door{world: w, Server: &httptest.Server{URL: "http://" + addr}}, token, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(told)
	}
}

// throughRealDoor: pages and the real API understand each other.
func throughRealDoor(fake *tab) {
	d, token, recorded := realDoor(fake.t, fake.world)
	b := open(fake.t, fake.Context, d)
	defer b.quiet()
	b.Visit("/approvals")
	b.Do(chromedp.SendKeys("#token", "wrong"), chromedp.Click(".login .primary"))
	b.Until("document.querySelector('#login-error').textContent.includes('token')")
	b.Forgive("status of 401")
	b.Do(chromedp.SetValue("#token", token), chromedp.Click(".login .primary"))
	b.Until("document.querySelector('#ask-q7Hk2')")
	b.Insist("!document.querySelector('#ask-q7Hk2') && document.querySelector('#waiting').textContent === '1'",
		chromedp.Click("#ask-q7Hk2 button[value=session]"))
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#text", "How many?"), chromedp.Click("#compose button"))
	b.Until("document.querySelector('.did') && !document.querySelector('.message[aria-busy]') && document.querySelector('#todo-90')")
	b.Until("document.querySelector('.message:last-child .said > p')") // the server has laid it out
	b.Do(chromedp.Click("#voice"))
	b.Until("document.querySelector('#voice').getAttribute('aria-pressed') === 'true'")
	b.Insist("document.querySelector('.lane-done #todo-4') && document.querySelector('#say').textContent.includes('Done')",
		chromedp.Focus("#todo-4 .grip"), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(" "))
	b.Visit("/tasks")
	b.Until("document.querySelectorAll('.step').length === 9")
	b.Do(chromedp.Click(".orders form:nth-child(1) button"))
	b.Until("document.querySelector('.orders').textContent.includes('Resume')")
	b.Visit("/now")
	b.Until("document.querySelector('#live-state').textContent === 'live' && document.querySelector('.virtual .row')")
	b.Do(chromedp.Click(".person button"))
	b.Until("location.pathname === '/login'")
	for _, want := range []string{"mika: log in", "mika: answer question q7Hk2 session",
		"mika: pause task github/acme/shop-api/issue/12", "mika: change to-do 4"} {
		if told := recorded(); !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, want) }) {
			b.t.Errorf("not on record: %s in %q", want, told)
		}
	}
}

// TestWithoutScript: forms alone do what is needed.
func TestWithoutScript(t *testing.T) {
	w := newWorld(false)
	d, token, _ := realDoor(t, w)
	jar, _ := cookiejar.New(nil)
	c := &http.Client{Jar: jar}
	post := func(path string, form url.Values) (*http.Response, string) {
		resp, err := c.PostForm(d.URL+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		page, _ := io.ReadAll(resp.Body)
		return resp, string(page)
	}
	if _, page := post("/login", url.Values{"token": {"wrong"}, "next": {"/approvals"}}); !strings.Contains(page,
		"There is no such token") || !strings.Contains(page, `value="/approvals"`) {
		t.Error("a wrong token is not said to be wrong")
	}
	resp, page := post("/login", url.Values{"token": {token}, "next": {"/approvals"}})
	_, rest, found := strings.Cut(page, `name="csrf" value="`)
	if resp.Request.URL.Path != "/approvals" || !found {
		t.Fatalf("logged in at %s", resp.Request.URL)
	}
	csrf, _, _ := strings.Cut(rest, `"`)
	resp, page = post(answerRoute(w.questions[0]), url.Values{"csrf": {csrf}, "back": {"/approvals"}, "answer": {"once"}})
	if resp.Request.URL.Path != "/approvals" || strings.Contains(page, "ask-q7Hk2") || w.answers["q7Hk2"] != gate.Once {
		t.Errorf("answered at %s: %v", resp.Request.URL, w.answers)
	}
	resp, page = post(todosRoute, url.Values{"csrf": {csrf}, "back": {"/secretary"}, "title": {"By form"},
		"priority": {"low"}})
	if resp.Request.URL.Path != "/secretary" || !strings.Contains(page, "By form") {
		t.Errorf("added at %s", resp.Request.URL)
	}
}
