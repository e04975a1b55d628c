package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/secretary/sessions"
	"hako/internal/fakes/browser"
)

// TestBrowser uses the pages the way a person does. One browser serves all, each
// visit has a world of its own.
func TestBrowser(t *testing.T) {
	browser := browser.Start(t)
	for _, visit := range []struct {
		name string
		does func(*tab)
	}{
		{"login", login}, {"approve", approve}, {"approval answered elsewhere", answeredElsewhere},
		{"new question", newQuestion}, {"chat", chat}, {"chat breaks off", chatBreaks}, {"hostile chat", hostileChat},
		{"chat laid out", chatLaidOut},
		{"approve in the conversation", approveInChat}, {"come back to the conversation", comeBack},
		{"opened again", openedAgain}, {"moments", moments},
		{"voice", voice}, {"todo by mouse", todoByMouse}, {"todo by keys", todoByKeys}, {"todo added and deleted", todoAdded},
		{"audit search", auditSearch}, {"policy", policyTried},
		{"language and look", languageAndLook}, {"task", taskWatched}, {"sandboxes", boxesWatched}, {"shortcuts", shortcuts},
		{"live", liveList}, {"hostile live", hostileLive}, {"many events", manyEvents},
		{"session over", sessionOver}, {"real door", throughRealDoor}, {"phone", phone}, {"small phone", smallPhone},
		{"audit form", auditForm}, {"reader's to-dos", readersTodos}, {"focus", focus}, {"access", accessible},
		{"access finds", accessFinds}, {"live regions", liveRegions}, {"no motion", still}, {"closed", closed},
		{"first paint", firstPaint}, {"asked later", askedLater},
	} {
		t.Run(visit.name, func(t *testing.T) {
			b := open(t, browser, openDoor(t, newWorld(false)))
			b.Cookie(langCookie, "en")
			visit.does(b)
			b.quiet()
		})
	}
}

func login(b *tab) {
	b.Cookie("hako_session", "none")
	b.Visit("/audit?text=git")
	for _, lang := range languages {
		b.Cookie(langCookie, lang)
		b.Do(chromedp.SendKeys("#token", "wrong"), chromedp.Click(".login .primary"))
		b.Until("document.documentElement.lang === '" + lang +
			"' && document.querySelector('#login-error').textContent.trim() === '" + catalogues()[lang]["login.failed"] + "'")
		// The field says that it is wrong, and is soon ready for another try: the browser sets the focus when it has drawn.
		b.Until("document.querySelector('#token').getAttribute('aria-invalid') + document.querySelector('#token').value + document.activeElement.id === 'truetoken'")
	}
	b.Do(chromedp.SetValue("#token", goodToken), chromedp.Click(".login .primary"))
	b.Until("location.pathname + location.search === '/audit?text=git' && document.querySelector('#events')")
	if strings.Contains(browser.JS[string](b.Tab, "document.cookie"), "session") {
		b.t.Error("a script can read the session")
	}
}

func approve(b *tab) {
	b.Visit("/approvals")
	b.Until("/\\d/.test(document.querySelector('.countdown').textContent)")
	// What has just come or moved cannot be clicked: the click was meant for something else.
	b.Until("document.querySelector('.moving') && (r => !document.elementFromPoint(r.x + 5, r.y + 5).closest('button'))(document.querySelector('.ask button[value=once]').getBoundingClientRect())")
	b.Insist("!document.querySelector('#ask-q7Hk2') && document.querySelector('#ask-q9Zp4')",
		chromedp.Click("#ask-q7Hk2 button[value=once]"))
	b.Until("document.querySelector('#waiting').textContent === '1'")
	b.Insist("document.querySelector('#questions .calm') && document.querySelector('#waiting').hidden",
		chromedp.Click("#ask-q9Zp4 button[value=deny]"))
	b.world.Lock()
	defer b.world.Unlock()
	if b.answers["q7Hk2"] != gate.Once || b.answers["q9Zp4"] != gate.No {
		b.t.Errorf("answers: %v", b.answers)
	}
}

func answeredElsewhere(b *tab) {
	b.Visit("/approvals")
	b.Until("document.querySelector('#waiting').textContent === '2'")
	desk{b.world}.Answer(b, access.Actor{}, "q7Hk2", gate.No)
	b.Until("document.querySelectorAll('.ask').length === 1")
	browser.JS[chromedp.Void](b.Tab,
		"document.querySelector('#ask-q9Zp4 form').dataset.api = '/api/v1/approvals/q7Hk2/answer'")
	b.Insist("document.querySelector('.toast')?.textContent.includes('answered already')",
		chromedp.Click("#ask-q9Zp4 button[value=session]"))
	b.Forgive("status of 400")
}

func newQuestion(b *tab) {
	b.Visit("/budget")
	b.Until("document.title.startsWith('(2)')") // it listens
	b.world.Lock()
	b.questions = append(b.questions, questions.Question{ID: "new", Question: gate.Question{Actor: "x", Command: "ls"},
		Asked: b.now, Ends: b.now.Add(time.Minute)})
	desk{b.world}.tell()
	b.world.Unlock()
	b.Until("document.querySelector('#waiting').textContent === '3' && document.title.startsWith('(3)') && document.querySelector('#say').textContent.includes('3')")
	b.Until("document.querySelector('a.toast[href=\"/approvals\"]')?.textContent === '3 waitingls'")
	b.Visit("/approvals")
	b.Do(chromedp.Focus("#ask-q9Zp4 button[value=session]"))
	b.world.Lock()
	b.questions = append(b.questions, questions.Question{ID: "newer", Question: gate.Question{Actor: "x", Command: "pwd"},
		Asked: b.now, Ends: b.now.Add(30 * time.Second)})
	desk{b.world}.tell()
	b.world.Unlock()
	b.Until("document.querySelector('#ask-newer')")
	if !browser.JS[bool](b.Tab,
		"document.activeElement.value === 'session' && !!document.activeElement.closest('#ask-q9Zp4')") {
		b.t.Error("a new question takes the focus from the one that is read")
	}
	if browser.JS[string](b.Tab, "document.querySelector('.ask').id") != "ask-newer" {
		b.t.Error("the one that ends first is not first")
	}
}

func chat(b *tab) {
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#text", "How many reports?"), chromedp.KeyEvent(kb.Enter))
	b.Until("document.querySelector('.did') && !document.querySelector('.message[aria-busy]')")
	if got := browser.JS[string](b.Tab,
		"document.querySelector('.message.user:nth-last-child(2) .said').textContent"); got != "How many reports?" {
		b.t.Errorf("said %q", got)
	}
	card := browser.JS[string](b.Tab, "document.querySelector('.action').innerText")
	for _, want := range []string{"ls -1 reports | wc -l", "to count the reports", "exit 0 · 12 ms", "42"} {
		if !strings.Contains(card, want) {
			b.t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
	if got := browser.JS[string](b.Tab,
		"[...document.querySelectorAll('.message:last-child > .said')].map(e => e.textContent).join('|')"); got != "Let me look at the reports. |There are 42. I put the cleaning on your list." {
		b.t.Errorf("answered %q", got)
	}
	b.Until("document.querySelector('#todo-90')")
	b.Visit("/secretary?session=")
	b.Do(chromedp.SendKeys("#text", "a"), chromedp.Click("#compose button"))
	b.Until("location.search.startsWith('?session=web-')")
	// Return that ends a Japanese word is no message.
	count := browser.JS[int](b.Tab, "document.querySelectorAll('.message').length")
	browser.JS[chromedp.Void](b.Tab,
		"text.value = 'x'; text.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))")
	if browser.JS[int](b.Tab, "document.querySelectorAll('.message').length") != count {
		b.t.Error("a word that is being put in was sent")
	}
}

func chatBreaks(b *tab) {
	b.chat = func(tell func(sessions.Turn)) {
		tell(sessions.Turn{Type: "text", Text: "first"})
		tell(sessions.Turn{Type: "again"})
		tell(sessions.Turn{Type: "text", Text: "second"})
		tell(sessions.Turn{Type: "result", Result: &sessions.Outcome{Command: "rm x", Denied: "a rule says no"}})
		tell(sessions.Turn{Type: "warning", Text: "careful"})
	}
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#text", "x"), chromedp.Click("#compose button"))
	b.Until("document.querySelector('.message:last-child .notice')?.textContent === 'careful' && document.querySelector('.message:last-child').innerText.includes('Not run')")
	if got := browser.JS[string](b.Tab, "document.querySelector('.message:last-child').innerText"); strings.Contains(got,
		"first") || !strings.Contains(got, "second") || !strings.Contains(got, "a rule says no") || !strings.Contains(got,
		"Not run") {
		b.t.Errorf("shows %q", got)
	}
}

func hostileChat(b *tab) {
	b.chat = func(tell func(sessions.Turn)) {
		tell(sessions.Turn{Type: "text", Text: hostile})
		tell(sessions.Turn{Type: "action", Action: []byte(`{"command":"<img src=x onerror=alert(1)>\u202e"}`)})
		tell(sessions.Turn{Type: "result", Result: &sessions.Outcome{Command: hostile, Stdout: hostile, Stderr: hostile}})
		tell(sessions.Turn{Type: "todo", Text: hostile})
		tell(sessions.Turn{Type: "done"})
	}
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#text", "x"), chromedp.Click("#compose button"))
	b.Until("document.querySelector('.did') && !document.querySelector('.message[aria-busy]')")
	if browser.JS[int](b.Tab, "document.querySelectorAll('main img, main script').length") != 0 ||
		!strings.Contains(browser.JS[string](b.Tab, "document.querySelector('.message:last-child').textContent"),
			"‹U+202E›") {
		b.t.Error("text of a model became markup, or hides something")
	}
}

// chatLaidOut: lists and code in an answer are seen as such once she has said
// it, and again when the page is opened anew.
func chatLaidOut(b *tab) {
	const answer = "Two steps:\n\n1. run `go test`\n2. **read** it\n\n```\ngo test ./...\n```\nSee [the docs](https://example.com/x)."
	b.chat = func(tell func(sessions.Turn)) {
		for _, word := range strings.SplitAfter(answer, " ") {
			tell(sessions.Turn{Type: "text", Text: word})
		}
		tell(sessions.Turn{Type: "done"})
	}
	b.messages = []sessions.Message{{Role: "assistant", Text: answer}}
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#text", "x"), chromedp.Click("#compose button"))
	b.Until("document.querySelectorAll('.message').length === 3 && !document.querySelector('.message[aria-busy]')")
	if old, fresh := browser.JS[string](b.Tab, "document.querySelector('.message .said').innerHTML"),
		browser.JS[string](b.Tab, "document.querySelector('.message:last-child .said').innerHTML"); old != fresh ||
		!strings.Contains(fresh, "<ol start=\"1\"><li>run <code>go test</code></li>") {
		b.t.Errorf("laid out as %s\nfrom the start %s", fresh, old)
	}
	if got := browser.JS[string](b.Tab,
		"getComputedStyle(document.querySelector('.said ol li')).listStyleType"); got != "decimal" {
		b.t.Errorf("the items are marked with %s", got)
	}
	if browser.JS[int](b.Tab, "document.querySelectorAll('.said a').length") != 0 ||
		!strings.Contains(browser.JS[string](b.Tab, "document.querySelector('.message:last-child').textContent"),
			"the docs (https://example.com/x)") {
		b.t.Error("a link is not shown with its address, or can be pressed")
	}
	b.report(b.accessCheck(), "laid out")
}

func voice(b *tab) {
	b.Visit("/secretary")
	b.Do(chromedp.Click("#voice"))
	b.Until("document.querySelector('#voice').getAttribute('aria-pressed') === 'true'")
	b.Visit("/secretary") // which remembers it
	b.Until("document.querySelector('#voice').getAttribute('aria-pressed') === 'true'")
	b.Do(chromedp.Click("#voice"))
	b.Until("document.querySelector('#voice').getAttribute('aria-pressed') === 'false'")
}

// todo is how a to-do is now.
func (b *tab) todo(id int64) sessions.Todo {
	b.world.Lock()
	defer b.world.Unlock()
	for _, t := range b.todos {
		if t.ID == id {
			return t
		}
	}
	return sessions.Todo{}
}

// centre is where an element is on the screen.
func (b *tab) centre(selector string) (x, y float64) {
	at := browser.JS[[]float64](b.Tab,
		fmt.Sprintf("(r => [r.x + r.width / 2, r.y + Math.min(r.height / 2, 40)])(document.querySelector(%q).getBoundingClientRect())", selector))
	return at[0], at[1]
}

func todoByMouse(b *tab) {
	b.Visit("/secretary")
	fromX, fromY := b.centre("#todo-3 .title")
	toX, toY := b.centre(".lane-done")
	b.Do(chromedp.DragAndDropXY(fromX, fromY, toX, toY))
	b.Until("document.querySelector('.lane-done #todo-3')")
	b.Until("document.querySelector('#say').textContent.includes('Done')")
	if t := b.todo(3); t.Status != "done" || t.Title != "Book the train to Kyoto" {
		b.t.Errorf("it is %+v", t)
	}
	fromX, fromY = b.centre("#todo-3 .grip")
	toX, toY = b.centre(".lane-high")
	b.Do(chromedp.DragAndDropXY(fromX, fromY, toX, toY))
	b.Until("document.querySelector('.lane-high #todo-3')")
	if t := b.todo(3); t.Status != "open" || t.Priority != "high" {
		b.t.Errorf("it is %+v", t)
	}
	// Outside of the board it stays where it was.
	fromX, fromY = b.centre("#todo-4 .title")
	b.Do(chromedp.DragAndDropXY(fromX, fromY, 300, 300))
	b.Until("document.querySelector('.lane-low #todo-4') && !document.querySelector('.held')")
}

func todoByKeys(b *tab) {
	b.Visit("/secretary")
	b.Do(chromedp.Focus("#todo-4 .grip"), chromedp.KeyEvent(" "))
	b.Until("document.querySelector('#say').textContent.includes('picked up')")
	b.Do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(" "))
	b.Until("document.querySelector('.lane-high #todo-4') && document.activeElement.closest('#todo-4')")
	if t := b.todo(4); t.Priority != "high" || t.Status != "open" {
		b.t.Errorf("it is %+v", t)
	}
	b.Do(chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Escape))
	b.Until("document.querySelector('.lane-high #todo-4') && document.activeElement.closest('#todo-4')")
	if t := b.todo(4); t.Priority != "high" {
		b.t.Errorf("Escape did not leave it: %+v", t)
	}
	b.Do(chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown),
		chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(" "))
	b.Until("document.querySelector('.lane-done #todo-4')")
	b.Until("document.activeElement.closest('#todo-4')")
	b.Do(chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Tab)) // who leaves lets go
	b.Until("document.querySelector('.lane-done #todo-4') && !document.querySelector('.lifted')")
}

func todoAdded(b *tab) {
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#todo-title", "Water the plants"), chromedp.SetValue("#todo-priority", "low"),
		chromedp.Click(".add button"))
	b.Until("[...document.querySelectorAll('.lane-low .title')].some(e => e.textContent === 'Water the plants')")
	b.Do(chromedp.Click("#todo-4 [data-delete]"))
	b.Until("!document.querySelector('#todo-4')")
}

func auditSearch(b *tab) {
	b.Visit("/audit")
	b.Until("document.querySelector('.chain .good')?.textContent.includes('48,210')")
	b.Do(chromedp.SendKeys("#f-text", "shadow"), chromedp.SetValue("#f-what", "denied"),
		chromedp.Click(".filters .primary"))
	b.Until("location.search.includes('text=shadow') && document.querySelectorAll('.events tbody tr').length === 3")
	if !browser.JS[bool](b.Tab,
		"[...document.querySelectorAll('.events tbody .one')].every(e => e.textContent === 'cat ../../etc/shadow')") {
		b.t.Error("other events are shown")
	}
	b.Do(chromedp.SetValue("#f-text", "no such thing"), chromedp.KeyEvent(""), chromedp.Click(".filters .primary"))
	b.Until("document.querySelector('#events .empty')")
	b.Visit("/audit")
	b.Do(chromedp.Click(".more a"))
	b.Until("location.search.includes('before=')")
}

func policyTried(b *tab) {
	b.Visit("/policy")
	b.Do(chromedp.SendKeys("#command", "curl x | sh"), chromedp.Click(".try .primary"))
	b.Until("document.querySelector('.final .v-deny') && document.querySelector('.judged .hint')")
	b.Do(chromedp.SendKeys("#filter", "mcp"))
	b.Until("document.querySelectorAll('.rules tbody tr').length === 2 && document.querySelector('#rules-shown').textContent === '2 of 10'")
	b.Do(chromedp.SetValue("#profile", "strict"))
	b.Until("location.search === '?profile=strict'")
}

func languageAndLook(b *tab) {
	b.Visit("/audit?text=git")
	b.Do(chromedp.Click("a[hreflang=ja]"))
	b.Until("document.documentElement.lang === 'ja' && document.querySelector('h1').textContent === '監査' && location.search === '?text=git'")
	b.Visit("/now")
	b.Until("document.querySelector('#live-state').textContent === 'ライブ'")
	light := browser.JS[string](b.Tab, "getComputedStyle(document.body).backgroundColor")
	b.Do(chromedp.Click(".themes a:nth-child(3)"))
	b.Until("document.documentElement.dataset.theme === 'dark'")
	if dark := browser.JS[string](b.Tab, "getComputedStyle(document.body).backgroundColor"); dark == light {
		b.t.Errorf("dark is %s too", dark)
	}
	b.Do(chromedp.Click("a[hreflang=en]"))
	b.Until("document.documentElement.lang === 'en' && document.documentElement.dataset.theme === 'dark'")
}

func taskWatched(b *tab) {
	b.Visit("/tasks")
	b.Until("document.querySelectorAll('.step').length === 9 && document.querySelector('.steps .here span').textContent === 'Work'")
	b.Do(chromedp.Click(".orders form:nth-child(1) button"))
	b.Until("document.querySelector('.orders').textContent.includes('Resume')")
	b.Do(chromedp.Click(".orders form:nth-child(2) button"))
	b.Until("document.querySelector('dialog.sure[open]')")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Until("!document.querySelector('dialog.sure')")
	b.Do(chromedp.Click(".orders form:nth-child(2) button"))
	b.Until("document.querySelector('dialog.sure[open]')")
	b.Do(chromedp.Click("dialog.sure .danger"))
	b.Until("document.querySelector('.toast')?.textContent.includes('stop') || document.querySelectorAll('.toast').length > 1")
	b.world.Lock()
	got := strings.Join(b.orders, ", ")
	b.world.Unlock()
	if got != "pause github/acme/shop-api/issue/12, stop github/acme/shop-api/issue/12" {
		b.t.Errorf("orders: %s", got)
	}
}

func boxesWatched(b *tab) {
	b.Visit("/sandboxes")
	b.Do(chromedp.Click(".jobs a"))
	b.Until("document.querySelector('#output')?.textContent.includes('TestDiscount')")
	b.Visit("/sandboxes")
	b.Do(chromedp.Focus("#box-sb_6f1c09d2 [data-delete]"), chromedp.KeyEvent(kb.Enter))
	b.Until("document.querySelector('dialog.sure[open]')")
	b.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.Until("!document.querySelector('#box-sb_6f1c09d2') && document.querySelectorAll('.box').length === 2")
}

func shortcuts(b *tab) {
	b.Visit("/budget")
	b.Do(chromedp.KeyEvent("?"))
	b.Until("document.querySelector('#help').open")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Until("!document.querySelector('#help').open")
	b.Do(chromedp.KeyEvent("g"), chromedp.KeyEvent("l"))
	b.Until("location.pathname === '/audit' && document.readyState === 'complete'") // the script listens from then on
	b.Do(chromedp.KeyEvent("/"))
	b.Until("document.activeElement.id === 'f-text'")
	browser.JS[chromedp.Void](b.Tab, "document.activeElement.value = ''") // a real keyboard would not have written it
	b.Do(chromedp.KeyEvent("g"), chromedp.KeyEvent("n"))                  // are letters here
	if got := browser.JS[string](b.Tab, "location.pathname + document.querySelector('#f-text').value"); got != "/auditgn" {
		b.t.Errorf("letters in a field: %s", got)
	}
	b.Visit("/tasks")
	b.Do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	b.Until("document.activeElement === document.querySelectorAll('.list a')[1]")
	browser.JS[chromedp.Void](b.Tab, "document.querySelector('#keys-on').click()")
	b.Do(chromedp.KeyEvent("g"), chromedp.KeyEvent("n"))
	time.Sleep(100 * time.Millisecond)
	if browser.JS[string](b.Tab, "location.pathname") != "/tasks" {
		b.t.Error("shortcuts that are off still work")
	}
}

func liveList(b *tab) {
	b.Visit("/now")
	b.Until("document.querySelector('#live-state').textContent === 'live' && document.querySelectorAll('.virtual .row').length > 5")
	exit := 3
	b.write(records.Entry{Time: b.now, ID: "fresh", Actor: "me", What: "asked", Text: "make all"})
	b.Until("document.querySelector('.row .what').textContent === 'make all' && document.querySelector('.row .end').textContent === 'running'")
	b.write(records.Entry{Time: b.now, ID: "fresh", Actor: "me", What: "ended", Exit: &exit})
	b.Until("document.querySelector('.row .end').textContent === 'exit 3'")
	b.Do(chromedp.Click("#live-pause"))
	b.write(records.Entry{Time: b.now, ID: "held", Actor: "me", What: "asked", Text: "held back"})
	b.Until("document.querySelector('#live-state').textContent.includes('1 new')")
	if browser.JS[string](b.Tab, "document.querySelector('.row .what').textContent") != "make all" {
		b.t.Error("a paused list goes on")
	}
	b.Do(chromedp.Click("#live-pause"))
	b.Until("document.querySelector('.row .what').textContent === 'held back'")
	b.Do(chromedp.SendKeys("#live-search", "shadow"))
	b.Until("[...document.querySelectorAll('.row:not([hidden]) .what')].filter(e => e.textContent).every(e => e.textContent.includes('shadow'))")
	b.Do(chromedp.Focus("#rows"), chromedp.KeyEvent(kb.ArrowDown))
	b.Until("document.querySelector('.row[aria-selected=true]') && !document.querySelector('#detail').hidden && document.querySelector('#detail').textContent.includes('default:12')")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Until("document.querySelector('#detail').hidden")
}

func hostileLive(b *tab) {
	b.Visit("/now")
	b.Until("document.querySelector('.virtual')")
	b.write(records.Entry{Time: b.now, ID: hostile, Actor: hostile, What: "asked", Text: hostile, Reason: hostile})
	b.Until("document.querySelector('.row .what').textContent.includes('‹U+202E›')")
	browser.JS[chromedp.Void](b.Tab, "document.querySelector('.row[role=option]').click()")
	b.Until("!document.querySelector('#detail').hidden")
	if browser.JS[int](b.Tab, "document.querySelectorAll('main img, main script').length") != 0 {
		b.t.Error("text became markup")
	}
}

func sessionOver(b *tab) {
	b.Visit("/policy")
	b.Until("document.title.startsWith('(2)')") // what it asks for by itself is answered
	b.Cookie("hako_session", "over")
	b.Do(chromedp.SendKeys("#command", "ls"), chromedp.Click(".try .primary"))
	b.Until("location.pathname === '/login' && location.search.includes('next=%2Fpolicy')")
	b.Forgive("status of 401")
}

// smallPhone: nothing is behind the bar at the bottom, whose words are all there,
// and nothing leaves its column.
func smallPhone(b *tab) {
	b.Do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, lang := range languages {
		b.Cookie(langCookie, lang)
		b.Visit("/secretary")
		if out := browser.JS[float64](b.Tab,
			"document.querySelector('#compose').getBoundingClientRect().bottom - document.querySelector('.nav').getBoundingClientRect().top"); out > 0 {
			b.t.Errorf("%s: %v px of the message field are behind the bar", lang, out)
		}
		if cut := browser.JS[string](b.Tab,
			"[...document.querySelectorAll('.nav .label')].filter(e => { const r = e.getBoundingClientRect(), a = e.parentElement.getBoundingClientRect(); return r.width < 12 || r.left < a.left - 1 || r.right > a.right + 1 || a.right > 360 }).map(e => e.textContent).join()"); cut != "" {
			b.t.Errorf("%s: words that do not fit: %s", lang, cut)
		}
		b.Visit("/audit")
		if out := browser.JS[string](b.Tab,
			"[...document.querySelectorAll('.field :is(input, select)')].filter(e => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1).map(e => e.id).join()"); out != "" {
			b.t.Errorf("%s: out of their columns: %s", lang, out)
		}
	}
}

// auditForm: its fields stand on one line, and so do their labels.
func auditForm(b *tab) {
	for _, lang := range languages {
		b.Cookie(langCookie, lang)
		b.Do(chromedp.EmulateViewport(1200, 800))
		b.Visit("/audit")
		for _, what := range []string{".filters label", ".filters :is(input, select, button)"} {
			if n := browser.JS[int](b.Tab, "new Set([...document.querySelectorAll('"+what+
				"')].map(e => e.getBoundingClientRect().top)).size"); n != 1 {
				b.t.Errorf("%s: %s is at %d heights", lang, what, n)
			}
		}
	}
}

// readersTodos: who cannot move a to-do has room at the place of its handle.
func readersTodos(b *tab) {
	b.role = access.Reader
	b.Visit("/secretary")
	if gap := browser.JS[float64](b.Tab,
		"document.querySelector('.todo .title').getBoundingClientRect().left - document.querySelector('.todo').getBoundingClientRect().left"); gap < 8 {
		b.t.Errorf("the text begins %v px from the edge", gap)
	}
}

// phone: no page is wider than a phone, and what is to be touched is large
// enough.
func phone(b *tab) {
	b.Do(chromedp.EmulateViewport(360, 780, chromedp.EmulateMobile))
	for _, lang := range languages {
		b.Cookie(langCookie, lang)
		for _, path := range append(views[9:], "/now", "/approvals", "/secretary", "/tasks", "/sandboxes?box=b&job=j1") {
			b.Visit(path)
			if w := browser.JS[int](b.Tab, "document.documentElement.scrollWidth"); w > 360 {
				b.t.Errorf("%s %s is %d wide: %s", lang, path, w,
					browser.JS[string](b.Tab,
						"[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 361).slice(0, 5).map(e => e.outerHTML.slice(0, 90)).join('\\n')"))
			}
			small := browser.JS[string](b.Tab,
				`[...document.querySelectorAll('a, button, input, select, summary')].filter(e => { const r = e.getBoundingClientRect(); return r.width && r.height && (r.width < 24 || r.height < 22) && getComputedStyle(e).display !== 'inline' && !e.closest('p, .unseen') && e.type !== 'checkbox' }).map(e => e.outerHTML.slice(0, 80) + ' ' + Math.round(e.getBoundingClientRect().width) + 'x' + Math.round(e.getBoundingClientRect().height)).join('\n')`)
			if small != "" {
				b.t.Errorf("%s %s: too small to touch:\n%s", lang, path, small)
			}
		}
	}
	b.Forgive("status of 404")
	b.Visit("/empty") // which asks for nothing any more
	b.Cookie("hako_session", "none")
	b.Visit("/login?failed=denied")
	if w := browser.JS[int](b.Tab, "document.documentElement.scrollWidth"); w > 360 {
		b.t.Errorf("the login is %d wide", w)
	}
	b.Cookie("hako_session", goodCookie)
	b.Visit("/now")
	b.Until("document.querySelector('.virtual .row')")
	browser.JS[chromedp.Void](b.Tab, "document.querySelector('.virtual .row').click()")
	b.Until("!document.querySelector('#detail').hidden && document.querySelector('.virtual .what').getBoundingClientRect().width > 180")
}
