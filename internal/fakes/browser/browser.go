// Package browser drives Chromium in tests: it visits pages, waits for conditions, and
// records what their consoles print and which other servers they contact. Nothing waits
// for a fixed time, and no message of a console is lost.
package browser

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A Tab is a page of a browser whose requests and console are recorded.
type Tab struct {
	context.Context
	T   testing.TB
	URL string // of the server; requests to others are recorded

	mu       sync.Mutex
	outside  []string // requests to others
	errors   []string // of its console
	forgiven []string // messages that a test expects
}

// find returns the browser, or skips the test if there is none.
func find(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("long: takes a browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	if os.Getenv("HAKO_REQUIRE_TOOLS") != "" {
		t.Fatal("no chromium: apt-get install chromium")
	}
	t.Skip("no chromium: apt-get install chromium")
	return ""
}

// Start starts a browser for a test.
func Start(t testing.TB) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(find(t)),
		chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-US"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Open opens a tab with its own cookies.
func Open(t testing.TB, browser context.Context, url string) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &Tab{Context: ctx, T: t, URL: url}
	Call(b, network.Enable, network.EnableParams{})
	go b.hearConsole(chromedp.Console(ctx))
	go b.hearNetwork(chromedp.Events(ctx, network.RequestWillBeSent))
	Call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
	b.Do(chromedp.EmulateViewport(1280, 800))
	return b
}

// Call sends a command of the DevTools protocol.
func Call[P, R any](b *Tab, c cdp.Command[P, R], params P) R {
	b.T.Helper()
	out, err := chromedp.Call(b.Context, c, params)
	if err != nil {
		b.T.Fatal(err)
	}
	return out
}

// JS evaluates an expression.
func JS[T any](b *Tab, expression string) T {
	b.T.Helper()
	out, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
	return out
}

func (b *Tab) hearConsole(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range messages {
		if err != nil {
			return
		}
		if m.Type == "error" || m.Type == "warning" || m.IsException() {
			b.mu.Lock()
			b.errors = append(b.errors, m.String())
			b.mu.Unlock()
		}
	}
}

func (b *Tab) hearNetwork(requests iter.Seq2[network.EventRequestWillBeSent, error]) {
	for e, err := range requests {
		if err != nil {
			return
		}
		if u := e.Request.URL; !strings.HasPrefix(u, b.URL) && !strings.HasPrefix(u, "about:") &&
			!strings.HasPrefix(u, "data:") {
			b.mu.Lock()
			b.outside = append(b.outside, u)
			b.mu.Unlock()
		}
	}
}

// Quiet fails the test if the console has errors or the page contacted other servers.
func (b *Tab) Quiet() {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		if !slices.ContainsFunc(b.forgiven, func(f string) bool { return strings.Contains(e, f) }) {
			b.T.Errorf("console: %s", e)
		}
	}
	for _, u := range b.outside {
		b.T.Errorf("request to the outside: %s", u)
	}
}

// Forgive ignores messages with a text, which may still arrive.
func (b *Tab) Forgive(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgiven = append(b.forgiven, text)
}

// Complaints returns the console's messages so far, and clears them.
func (b *Tab) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.errors
	b.errors, b.outside = nil, nil
	return all
}

// Cookie sets a cookie.
func (b *Tab) Cookie(name, value string) {
	b.T.Helper()
	Call(b, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: b.URL, Path: "/"})
}

// Do carries out actions in turn.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Context, 15*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.T.Fatal(err)
	}
}

// Visit opens a page and waits until its script has run.
func (b *Tab) Visit(path string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(b.URL+path), chromedp.WaitReady("main"))
}

// Until waits for an expression to become true.
func (b *Tab) Until(expression string) {
	b.T.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(
		30 * time.Millisecond) { // other tests may keep the machine busy
		if b.Holds(expression) {
			return
		}
		if time.Now().After(end) {
			b.T.Fatalf("never became true: %s\npage: %s", expression,
				JS[string](b, "document.querySelector('main').innerText.slice(0, 3000)"))
		}
	}
}

// Holds reports whether an expression is true now. A page that is loading has nothing
// yet, and may go away during the evaluation.
func (b *Tab) Holds(expression string) bool {
	yes, err := chromedp.Run(b.Context,
		chromedp.Evaluate[bool]("(() => { try { return !!("+expression+") } catch { return false } })()"))
	return err == nil && yes
}

// Insist repeats actions until an expression is true: a list that is drawn again may
// have taken the focus away.
func (b *Tab) Insist(expression string, steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	for range 5 {
		b.Do(steps...)
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
			if b.Holds(expression) {
				return
			}
		}
	}
	b.Until(expression)
}

// Picture returns a screenshot as PNG.
func (b *Tab) Picture() []byte {
	b.T.Helper()
	png, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
	if err != nil {
		b.T.Fatal(err)
	}
	return png
}
