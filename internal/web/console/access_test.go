package console

import (
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hako/gate"
	"hako/internal/app/questions"
	"hako/internal/fakes/browser"
)

// accessible: every page in every language and look can be used by those who
// hear it, who need contrast, and who have no mouse.
func accessible(b *tab) {
	check := b.accessCheck()
	for _, look := range []struct{ lang, theme string }{{"en", "light"}, {"ja", "dark"}} {
		b.world.ja = look.lang == "ja"
		b.world.fillWork()
		b.Cookie("hako_session", goodCookie)
		b.Cookie(langCookie, look.lang)
		b.Cookie(themeCookie, look.theme)
		for _, name := range navigation {
			b.prepare(name)
			b.report(check, look.lang, look.theme, name)
		}
		for _, path := range []string{"/policy?command=curl+x+%7C+sh", "/sandboxes?box=b&job=j1", "/nothing-here"} {
			b.Visit(path)
			b.report(check, look.lang, look.theme, path)
		}
		b.broken = os.ErrDeadlineExceeded
		b.Visit("/policy")
		b.report(check, look.lang, look.theme, "broken")
		b.broken = nil
		b.Visit("/empty") // which asks for nothing any more
		b.Cookie("hako_session", "none")
		b.Visit("/login?failed=denied")
		b.report(check, look.lang, look.theme, "login")
		b.Forgive("status of 404")
	}
}

func (b *tab) accessCheck() string {
	b.t.Helper()
	check, err := os.ReadFile("testdata/access.js")
	if err != nil {
		b.t.Fatal(err)
	}
	return string(check)
}

// accessFinds: the check finds what it is there for.
func accessFinds(b *tab) {
	b.Visit("/policy")
	browser.JS[chromedp.Void](b.Tab, `(() => {
		const add = (html, style) => { const e = document.createElement('div'); e.innerHTML = html; for (const k in style) e.firstChild.style[k] = style[k]; document.querySelector('main').append(e); };
		add('<input>'); add('<button><svg></svg></button>'); add('<h4>x</h4>'); add('<p>grey</p>', { color: '#999', background: '#fff' }); add('<p>fine</p>', { color: '#767676', background: '#fff' });
		add('<b aria-labelledby="nowhere">x</b>'); add('<b tabindex="3">x</b>'); add('<div>a<br>b<br>c</div>', { height: '10px', overflowY: 'auto' });
	})()`)
	found := strings.Join(browser.JS[[]string](b.Tab, b.accessCheck()), "\n")
	for _, want := range []string{"has no name: <input>", "has no name: <button>", "neither named nor hidden",
		"level 4 after 2", "contrast 2.85", "names nowhere", "before its turn", "by mouse alone"} {
		if !strings.Contains(found, want) {
			b.t.Errorf("does not find %q", want)
		}
	}
	if n := strings.Count(found, "\n") + 1; n != 8 {
		b.t.Errorf("finds %d:\n%s", n, found)
	}
}

func (b *tab) report(check string, at ...string) {
	b.t.Helper()
	for _, wrong := range browser.JS[[]string](b.Tab, check) {
		b.t.Errorf("%v: %s", at, wrong)
	}
}

// focus: with the Tab key alone one comes to everything in the order in
// which it is seen, and sees where one is.
func focus(b *tab) {
	for _, name := range navigation {
		path := "/" + name
		b.Visit(path)
		b.Until("!document.querySelector('[data-load^=\"/\"]')") // what comes later may replace what has the focus
		browser.JS[chromedp.Void](b.Tab, "window.been = []")
		want := browser.JS[int](b.Tab,
			`[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, [tabindex="0"], summary')].filter(e => e.checkVisibility() && e.tabIndex >= 0).length`)
		for tabs := 0; tabs < want+20 && browser.JS[int](b.Tab, "been.length") < want; tabs++ {
			b.Do(chromedp.KeyEvent(kb.Tab))
			// A field for a date has several places inside, which the browser shows by itself.
			browser.JS[chromedp.Void](b.Tab,
				`(() => { const e = document.activeElement, s = getComputedStyle(e); if (e !== been.at(-1)?.e) been.push({ e, seen: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 }); })()`)
		}
		if got := browser.JS[int](b.Tab, "new Set(been.map(x => x.e)).size"); got != want {
			b.t.Errorf("%s: Tab reaches %d of %d", path, got, want)
		}
		if blind := browser.JS[string](b.Tab,
			"been.filter(x => !x.seen).map(x => x.e.outerHTML.slice(0, 90)).join('\\n')"); blind != "" {
			b.t.Errorf("%s: the focus is not seen on\n%s", path, blind)
		}
		if order := browser.JS[string](b.Tab,
			"been.filter((x, i) => i && !(been[i - 1].e.compareDocumentPosition(x.e) & 4)).map(x => x.e.outerHTML.slice(0, 90)).join('\\n')"); order != "" {
			b.t.Errorf("%s: out of order:\n%s", path, order)
		}
	}
	b.Visit("/approvals")
	b.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.Until("location.hash === '#main'")
	b.Do(chromedp.KeyEvent(kb.Tab))
	b.Until("document.activeElement.closest('.ask')")
}

// still: who wants no motion sees none; others see some, or this would say
// nothing.
func still(b *tab) {
	const moving = `[...document.querySelectorAll('*')].flatMap(e => ['', '::before', '::after'].map(p => getComputedStyle(e, p || null))).filter(s => s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0).length`
	for _, wish := range []string{"no-preference", "reduce"} {
		browser.Call(b.Tab, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: wish}}})
		moves := 0
		for _, name := range []string{"approvals", "secretary", "now"} {
			b.Visit("/" + name)
			moves += browser.JS[int](b.Tab, moving)
		}
		b.Until("document.querySelector('.state.live')") // which breathes
		moves += browser.JS[int](b.Tab, moving)
		if (moves > 0) != (wish == "no-preference") {
			b.t.Errorf("%s: %d things move", wish, moves)
		}
	}
}

// closed: what gets into a page all the same can neither run nor reach out, and
// the browser says so.
func closed(b *tab) {
	b.Visit("/secretary")
	browser.JS[chromedp.Void](b.Tab, `(() => {
		window.stopped = [];
		document.addEventListener('securitypolicyviolation', e => stopped.push(e.effectiveDirective));
		const add = (tag, props) => document.body.append(Object.assign(document.createElement(tag), props));
		add('script', { textContent: 'window.ran = true' });
		add('script', { src: 'http://192.0.2.1/x.js' });
		add('img', { src: 'http://192.0.2.1/x.png' });
		add('style', { textContent: 'body { display: none }' });
		add('iframe', { src: 'http://192.0.2.1/' });
		add('div', {}); document.body.lastChild.setAttribute('onclick', 'window.ran = true'); document.body.lastChild.click();
		fetch('http://192.0.2.1/').catch(() => { });
	})()`)
	b.Until("['script-src-elem', 'script-src-attr', 'img-src', 'style-src-elem', 'frame-src', 'connect-src'].every(d => stopped.includes(d))")
	if browser.JS[bool](b.Tab, "'ran' in window || getComputedStyle(document.body).display === 'none'") {
		b.t.Error("something ran")
	}
	if len(b.Complaints()) == 0 {
		b.t.Error("the console says nothing about it, so other tests would not notice")
	}
	b.Forgive("Content Security Policy")
}

// liveRegions: what happens by itself is told to who does not see it, urgent
// things at once, and long output not at all.
func liveRegions(b *tab) {
	for path, regions := range map[string][]string{
		"/approvals": {"#say[role=status][aria-live=polite]", "#toasts[role=alert]"},
		"/secretary": {"#messages[role=log][aria-live=polite]", "#say[role=status]"},
		"/tasks":     {"#steps[role=log][aria-live=off]"},
		"/policy":    {"#verdicts[aria-live=polite]"},
	} {
		b.Visit(path)
		for _, region := range regions {
			if !b.Holds("document.querySelector('" + region + "')") {
				b.t.Errorf("%s: no %s", path, region)
			}
		}
	}
	b.Visit("/approvals")
	b.Until("document.querySelector('#waiting').textContent === '2'")
	b.world.Lock()
	b.questions = append(b.questions, questions.Question{ID: "new", Question: gate.Question{Actor: "x", Command: "ls"},
		Asked: b.now, Ends: b.now.Add(time.Minute)})
	desk{b.world}.tell()
	b.world.Unlock()
	b.Until("document.querySelector('#say').textContent.includes('3') && document.querySelector('#ask-new')")
}
