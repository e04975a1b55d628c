package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/app/coder/tasks"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
	"hako/internal/app/secretary/sessions"
	"hako/run/fault"
)

// elements calls a function for every element of a page.
func elements(t testing.TB, page string, see func(*html.Node)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			see(n)
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// views are pages in all their forms.
var views = []string{"/now", "/approvals", "/secretary", "/secretary?session=s2", "/tasks",
	"/tasks?id=github/acme/shop-api/issue/9", "/sandboxes", "/sandboxes?box=b&job=j1",
	"/budget", "/budget?days=7", "/audit", "/audit?verify=1", "/audit?text=git&what=asked", "/policy",
	"/policy?command=curl+x+|+sh", "/nothing-here"}

// TestPages: each is whole, strict about script and style, and says who it is.
func TestPages(t *testing.T) {
	d := openDoor(t, newWorld(false))
	for _, path := range views {
		resp, page := d.get(t, path)
		if want := 200; resp.StatusCode != want && path != "/nothing-here" {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
		if resp.Header.Get("Content-Security-Policy") != csp || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, resp.Header)
		}
		heads, mains := 0, 0
		elements(t, page, func(n *html.Node) {
			switch n.Data {
			case "h1":
				heads++
			case "main":
				mains++
			}
		})
		if heads != 1 || mains != 1 || !strings.Contains(page, "<title>") || !strings.Contains(page, ">mika<") {
			t.Errorf("%s: %d h1, %d main", path, heads, mains)
		}
		inline(t, path, page)
	}
	if resp, _ := d.get(t, "/nothing-here"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a page that is not there: %d", resp.StatusCode)
	}
}

// inline fails for what the strict policy forbids, and for what would reach out.
func inline(t testing.TB, path, page string) {
	t.Helper()
	ids := map[string]bool{}
	elements(t, page, func(n *html.Node) {
		if n.Data == "style" || n.Data == "iframe" || n.Data == "script" && attr(n, "src") == "" {
			t.Errorf("%s: inline <%s>", path, n.Data)
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
			case a.Key == "src" && !strings.HasPrefix(value, "/assets/"):
				t.Errorf("%s: loads %s", path, a.Val)
			case (a.Key == "href" || a.Key == "action") && strings.HasPrefix(value, "javascript:"):
				t.Errorf("%s: goes to %s", path, a.Val)
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("%s: id %s twice", path, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			}
		}
	})
}

const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>` + "\u202e\u2066\x1b[31m"

// poison puts hostile text wherever a text of others is shown.
func poison(w *world) {
	bad := hostile
	w.events = []records.Entry{{Seq: 1, Time: w.now, ID: bad, Actor: bad, What: bad, Text: bad, Effect: bad, Rule: bad,
		Reason: bad, Error: bad}}
	w.questions = []questions.Question{{ID: "a/../b?" + bad, Question: gate.Question{Actor: bad, Command: bad, Dir: bad,
		Reason: bad, Why: bad, Rule: bad}, Asked: w.now, Ends: w.now.Add(time.Minute)}}
	w.todos = []sessions.Todo{{ID: 1, Title: bad, Note: bad, Status: "open", Priority: bad, Due: bad}}
	w.tasks = []tasks.Status{{ID: bad, Name: bad, Title: bad, URL: "javascript:alert(1)", State: bad, Phase: bad,
		Worker: bad, Plan: []string{bad}, Goal: bad, Why: bad, Summary: bad, Proposal: "javascript:alert(2)", Changed: w.now}}
	w.boxes = []sandboxes.Sandbox{{ID: bad, Kind: bad, Environment: bad, State: bad, Owner: bad, Network: bad,
		Created: w.now, Jobs: []sandboxes.Job{{ID: bad, Command: bad, State: bad}}}}
}

// TestHostile: text of others stays text, wherever it is, and shows what hides
// in it.
func TestHostile(t *testing.T) {
	w := newWorld(false)
	poison(w)
	d := openDoor(t, w)
	query := "<script>alert(1)</script>%22%3E%E2%80%AE"
	for _, path := range append(slices.Clone(views), "/policy?filter="+query+"&command="+query+"&profile="+query,
		"/audit?text="+query+"&before=-9&since=x&actor="+query,
		"/secretary?session="+query, "/tasks?id="+query, "/sandboxes?box="+query+"&job="+query, "/budget?days=-1", "/"+query,
		"/login?next="+query+"&failed="+query) {
		_, page := d.get(t, path)
		inline(t, path, page)
		elements(t, page, func(n *html.Node) {
			if n.Data == "img" || n.Data == "script" && attr(n, "src") == "" {
				t.Errorf("%s: text became <%s>", path, n.Data)
			}
		})
		text := regexp.MustCompile(`(?s)(value|data-[a-z]+|href|id|action|aria-[a-z]+)="[^"]*"`).ReplaceAllString(page, "")
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && deceptive(r) }); i >= 0 {
			t.Errorf("%s: a hidden character: …%q", path, text[max(0, i-60):i+5])
		}
	}
	_, page := d.get(t, "/approvals")
	if !strings.Contains(page, "‹U+202E›") || !strings.Contains(page, `class="t-ctl"`) {
		t.Error("an approver does not see what turns the command around")
	}
	if !strings.Contains(page, "/api/v1/approvals/a%2F..%2Fb%3F") {
		t.Error("the id of a question is not escaped in its address")
	}
}

// TestMissing: a source that is not there has a page that says how to get it.
func TestMissing(t *testing.T) {
	c := New(Options{Session: func(*http.Request) (access.Actor, string, bool) {
		return access.Actor{Name: "x", Role: access.Operator}, "", true
	}})
	for _, name := range navigation {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil))
		how := catalogues()["en"]["missing."+name+".how"]
		if w.Code != 200 || how == "" || !strings.Contains(html.UnescapeString(w.Body.String()), how) {
			t.Errorf("/%s: %d, does not say %q", name, w.Code, how)
		}
	}
}

// TestBroken: what goes wrong in a source is shown with what to do about it.
func TestBroken(t *testing.T) {
	w := newWorld(false)
	w.broken = &fault.Error{Kind: fault.Unavailable, Op: "open record", Why: "the database is locked",
		Hint: "end the other <program>"}
	d := openDoor(t, w)
	for _, name := range navigation {
		_, page := d.get(t, "/"+name)
		if !strings.Contains(page, "the database is locked") || !strings.Contains(page, "end the other &lt;program&gt;") {
			t.Errorf("/%s hides the error", name)
		}
	}
	w.broken = errors.New("plain")
	if _, page := d.get(t, "/audit"); !strings.Contains(page, "plain") {
		t.Error("an error without a hint is not shown")
	}
}

// TestReader: who only looks has nothing to press.
func TestReader(t *testing.T) {
	d := openDoor(t, newWorld(false))
	d.role = access.Reader
	for _, path := range views {
		_, page := d.get(t, path)
		elements(t, page, func(n *html.Node) {
			api := attr(n, "data-api") + attr(n, "data-delete") + attr(n, "data-voice")
			if api != "" && api != logoutRoute || attr(n, "id") == "compose" {
				t.Errorf("%s: a reader could press %s", path, api)
			}
		})
	}
}

// TestForms: without the script a form still carries its proof and comes back.
func TestForms(t *testing.T) {
	d := openDoor(t, newWorld(false))
	for _, path := range views {
		_, page := d.get(t, path)
		elements(t, page, func(n *html.Node) {
			if n.Data != "form" || attr(n, "method") != "post" {
				return
			}
			fields := map[string]string{}
			for f := range n.Descendants() {
				if f.Type == html.ElementNode && f.Data == "input" {
					fields[attr(f, "name")] = attr(f, "value")
				}
			}
			if fields["csrf"] != goodCSRF || fields["back"] != path && !strings.Contains(path, "?") ||
				attr(n, "action") != attr(n, "data-api") {
				t.Errorf("%s: form to %s has %v", path, attr(n, "action"), fields)
			}
		})
	}
}

// TestOneDayUsed: charts of a new installation have all days, and the page says
// what the missing limit is about.
func TestOneDayUsed(t *testing.T) {
	w := newWorld(false)
	d := openDoor(t, w)
	d.console.Sources.Budget = thrifty{w.now}
	_, page := d.get(t, "/budget?days=30")
	elements(t, page, func(n *html.Node) {
		if x := attr(n, "x"); attr(n, "class") == "s0" && x != "" && x != "291.50" {
			t.Errorf("the only column is at %s, not at the right end", x)
		}
	})
	for _, want := range []string{`viewBox="0 0 300.00 100"`, ">$1.00</span>", ">$0.50</span>", ">2</span>", ">1</span>",
		"Left, all runs together", "no limit is set", "quota.total_tokens"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// thrifty has used a model once.
type thrifty struct{ now time.Time }

func (b thrifty) Days(context.Context, int) ([]records.Day, error) {
	return []records.Day{{Day: b.now.Format(time.DateOnly),
		Models: []records.ModelUsage{{Model: "m", Calls: 1, Tokens: 90, Cost: 0.9}}}}, nil
}

func (thrifty) Left(context.Context) (records.Left, error) {
	return records.Left{Tokens: -1, Total: -1}, nil
}

// TestProfiles: the rules to choose from are named by what they are for, and the
// choice has a label that is seen.
func TestProfiles(t *testing.T) {
	w := newWorld(false)
	d := openDoor(t, w)
	d.console.Profiles = []string{"virtual", "container", "outside", "mine"}
	_, page := d.get(t, "/policy?profile=container")
	for _, want := range []string{`<label for="profile">Rules for</label>`,
		`<option value="">programs of this machine</option>`, `<option value="virtual">the closed shell (virtual)</option>`,
		`<option value="container" selected>containers</option>`,
		`<option value="outside">tools beyond this machine</option>`, `<option value="mine">mine</option>`} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestStranger: who has not logged in sees the login and nothing else.
func TestStranger(t *testing.T) {
	d := openDoor(t, newWorld(false))
	for _, c := range []http.Handler{New(Options{Sources: d.world.sources()}),
		New(Options{Sources: d.world.sources(), Session: func(*http.Request) (access.Actor, string,
			bool) {
			return access.Actor{}, "", false
		}})} {
		for _, path := range views {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/login?next=%2F") {
				t.Errorf("%s: %d to %s", path, w.Code, w.Header().Get("Location"))
			}
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest("GET", "/login?next=/audit&failed=denied", nil))
		page := w.Body.String()
		if !strings.Contains(page, `name="next" value="/audit"`) || !strings.Contains(page, "There is no such token") ||
			strings.Contains(page, "mika") {
			t.Errorf("login: %s", page)
		}
		inline(t, "/login", page)
	}
}

// TestLocal: no link to us leads elsewhere.
func TestLocal(t *testing.T) {
	for in, want := range map[string]string{"/audit?text=a": "/audit?text=a", "": "/", "https://evil": "/", "//evil": "/",
		`/\evil`: "/", "javascript:alert(1)": "/", "evil": "/", "/login?next=/x": "/", "/prefer?lang=ja": "/", "/a\x00": "/",
		"%zz": "/"} {
		if got := localURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestPrefer: choices are kept in cookies, others are not.
func TestPrefer(t *testing.T) {
	d := openDoor(t, newWorld(false))
	resp, _ := d.get(t, "/prefer?lang=ja&theme=dark&back=/audit%3Ftext%3Da")
	if resp.Header.Get("Location") != "/audit?text=a" || len(resp.Cookies()) != 2 || !resp.Cookies()[0].HttpOnly {
		t.Errorf("%v", resp.Header)
	}
	if resp, _ := d.get(t, "/prefer?lang=xx&theme=%22&back=//evil"); len(resp.Cookies()) != 0 ||
		resp.Header.Get("Location") != "/" {
		t.Errorf("%v", resp.Header)
	}
	_, page := d.get(t, "/audit", "Cookie", langCookie+"=ja; "+themeCookie+"=dark")
	if !strings.Contains(page, `<html lang="ja" data-theme="dark"`) || !strings.Contains(page, "監査") {
		t.Error("the choice is not followed")
	}
}

// TestAssets: small, kept by browsers under their own mark, and only ours.
func TestAssets(t *testing.T) {
	script, err := os.ReadFile("assets/console.js")
	if err != nil || len(script) > 30_000 {
		t.Errorf("the script has %d bytes, most is 30 KB (%v)", len(script), err)
	}
	if bytes.Contains(script, []byte("innerHTML")) || bytes.Contains(script, []byte("eval(")) ||
		bytes.Contains(script, []byte("http://")) {
		t.Error("the script makes markup of text, or reaches out")
	}
	d := openDoor(t, newWorld(false))
	address := loadAssets().address("console.js")
	resp, body := d.get(t, address)
	if body != string(script) || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") ||
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("%s: %v", address, resp.Header)
	}
	if resp, _ := d.get(t, address, "If-None-Match", resp.Header.Get("ETag")); resp.StatusCode != http.StatusNotModified {
		t.Errorf("known content: %d", resp.StatusCode)
	}
	if resp, _ := d.get(t, "/assets/console.js?v=old"); strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
		t.Error("an old address is kept")
	}
	for _, path := range []string{"/assets/none.js", "/assets/..%2fconsole.go", "/assets/"} {
		if resp, _ := d.get(t, path); resp.StatusCode == 200 &&
			resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// TestStyle: the style sheet loads nothing.
func TestStyle(t *testing.T) {
	style, err := os.ReadFile("assets/console.css")
	if err != nil || bytes.Contains(style, []byte("url(")) || bytes.Contains(style, []byte("@import")) {
		t.Errorf("the style sheet loads something (%v)", err)
	}
}

// TestQuick: the server draws every page within a small part of the time there
// is for the first paint.
func TestQuick(t *testing.T) {
	d := openDoor(t, newWorld(false))
	for _, path := range views {
		best := time.Hour
		for range 3 {
			began := time.Now()
			d.get(t, path)
			best = min(best, time.Since(began))
		}
		t.Logf("%-45s %v", path, best.Round(10*time.Microsecond))
		if best > 40*time.Millisecond {
			t.Errorf("%s took %v", path, best)
		}
	}
}

// TestSlow: a source that never answers does not hold a page for ever.
func TestSlow(t *testing.T) {
	w := newWorld(false)
	s := w.sources()
	s.Policy = stuck{}
	c := New(Options{Sources: s, Wait: 20 * time.Millisecond, Session: func(*http.Request) (access.Actor, string,
		bool) {
		return access.Actor{Name: "x"}, "", true
	}})
	rec := httptest.NewRecorder()
	c.ServeHTTP(rec, httptest.NewRequest("GET", "/policy", nil))
	if !strings.Contains(rec.Body.String(), "did not answer in time") {
		t.Errorf("the page does not say that it waited: %s", rec.Body.String())
	}
}

// TestFew: pages with a long record behind them draw a screenful at first. What
// is left out is told to the script, or is a link away.
func TestFew(t *testing.T) {
	w := newWorld(false)
	for i := range 500 {
		w.write(records.Entry{Time: w.now, ID: fmt.Sprint("f", i), Actor: "x", What: "asked", Text: "ls"})
	}
	d, newest := openDoor(t, w), len(w.events)
	_, now := d.get(t, "/now")
	first, rest, _ := strings.Cut(now, "<noscript>")
	if n, m := strings.Count(first, `role="option"`), strings.Count(rest, `role="option"`); n != initialRowCount ||
		n+m != newestEvents {
		t.Errorf("now draws %d requests, and %d for those without the script", n, m)
	}
	if !strings.Contains(now, fmt.Sprintf(`data-after="%d"`, newest-newestEvents)) {
		t.Error("the script does not get what is not drawn")
	}
	if all := (nowView{Requests: make([]*request, 50)}).initialRows(); len(all) != 50 {
		t.Errorf("of a list that the script does not draw %d are drawn", len(all))
	}
	_, record := d.get(t, "/audit")
	if n := strings.Count(record, `class="event `); n != 25 ||
		!strings.Contains(record, fmt.Sprintf("before=%d", newest-24)) {
		t.Errorf("audit draws %d events, or does not lead to older ones", n)
	}
	_, budget := d.get(t, "/budget?days=90")
	if n := strings.Count(budget, "<rect"); n > 280 { // for 90 days three times, and what is left
		t.Errorf("budget draws %d boxes", n)
	}
}
