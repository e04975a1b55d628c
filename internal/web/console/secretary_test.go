package console

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hako/gate"
	"hako/internal/app/questions"
	"hako/internal/app/records"
	"hako/internal/app/secretary/sessions"
	"hako/internal/fakes/browser"
	"hako/internal/testload"
)

// asked lays a question of the secretary on the desk.
func (b *tab) asked(q questions.Question) {
	b.world.Lock()
	defer b.world.Unlock()
	q.Asked, q.Ends = b.now, b.now.Add(time.Minute)
	b.questions = append(b.questions, q)
	desk{b.world}.tell()
}

// approveInChat: one tab is enough to talk and to approve what she wants. The
// questions of others with the same words, also of another conversation, stay
// where they are.
func approveInChat(b *tab) {
	goOn := make(chan struct{})
	b.chat = func(tell func(sessions.Turn)) {
		tell(sessions.Turn{Type: "action", Action: []byte(`{"command":"ls\ntouch made","reason":"to leave a mark"}`)})
		b.asked(questions.Question{ID: "other", Question: gate.Question{Actor: "agent:coder", Command: "touch made",
			Script: "ls\ntouch made"}})
		b.asked(questions.Question{ID: "elsewhere", Question: gate.Question{Actor: "secretary", Command: "touch made",
			Script: "ls\ntouch made"}, Session: "s2"})
		b.asked(questions.Question{ID: "mine", Question: gate.Question{Actor: "secretary", Command: "touch made",
			Script: "ls\ntouch made", Why: "it makes files"}, Session: "s1"})
		<-goOn
		tell(sessions.Turn{Type: "result", Result: &sessions.Outcome{Command: "ls\ntouch made", Seconds: 0.5}})
		tell(sessions.Turn{Type: "done"})
	}
	b.Visit("/secretary")
	b.Do(chromedp.SendKeys("#text", "x"), chromedp.Click("#compose button"))
	b.Until("document.querySelector('.action .end').textContent === 'waits for an answer' && document.querySelectorAll('.action .answers button').length === 3")
	if card := browser.JS[string](b.Tab, "document.querySelector('.action').innerText"); !strings.Contains(card,
		"it makes files") || !strings.Contains(card, " s") {
		b.t.Errorf("the card says %s", card)
	}
	if browser.JS[bool](b.Tab, "document.querySelector('#stop').hidden") {
		b.t.Error("she cannot be stopped")
	}
	b.Do(chromedp.Click(".action button[value=once]"))
	b.Until("document.querySelector('.action .end').textContent === 'running' && !document.querySelector('.action .answers')")
	close(goOn)
	b.Until("document.querySelector('.action .end').textContent === 'exit 0 · 500 ms' && document.querySelector('#stop').hidden")
	b.world.Lock()
	defer b.world.Unlock()
	if b.answers["mine"] != gate.Once || len(b.answers) != 1 {
		b.t.Errorf("answers: %v", b.answers)
	}
}

// comeBack: who opens a conversation in which she is answering sees so, can answer
// what she asks and stop her, and sees what she has said when it is done.
func comeBack(b *tab) {
	b.busy, b.messages = true, []sessions.Message{{Role: "user", Text: "make it", Time: b.now}}
	b.asked(questions.Question{ID: "elsewhere", Question: gate.Question{Actor: "secretary", Command: "touch made"},
		Session: "s2"})
	b.Visit("/secretary")
	b.Until("document.querySelector('#answering').textContent.includes('still answering') && !document.querySelector('#stop').hidden && document.querySelector('#answering #ask-q9Zp4') && document.querySelectorAll('#answering .ask').length === 1")
	b.report(b.accessCheck(), "answering")
	b.Do(chromedp.Click("#answering button[value=deny]"))
	b.Until("!document.querySelector('#answering .ask')")
	b.Do(chromedp.Click("#stop"))
	b.Until("document.querySelector('#answering')")
	for end := time.Now().Add(testload.Bound(5 * time.Second)); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b.world.Lock()
		stopped := len(b.stopped) == 1 && b.stopped[0] == "s1"
		b.world.Unlock()
		if stopped {
			break
		}
	}
	b.world.Lock()
	if len(b.stopped) != 1 {
		b.t.Errorf("stopped %v", b.stopped)
	}
	b.busy, b.messages = false, append(b.messages, sessions.Message{Role: "assistant", Text: "It is made.", Time: b.now})
	b.world.Unlock()
	b.Until("document.querySelector('#messages').textContent.includes('It is made.') && !document.querySelector('#answering').firstChild && document.querySelector('#stop').hidden")
	b.chat = func(tell func(sessions.Turn)) { tell(sessions.Turn{Type: "text", Text: "again"}) }
	b.Do(chromedp.SendKeys("#text", "x"), chromedp.Click("#compose button"))
	b.Until("document.querySelector('.message:last-child .said').textContent === 'again'")
}

// openedAgain: what came of commands is shown as it was, and not as the model
// reads it; what else she was told is folded.
func openedAgain(b *tab) {
	b.messages = []sessions.Message{
		{Role: "system", Text: "BASHコマンド実行結果:\nraw", Results: []sessions.Outcome{
			{Command: "ls -l", Reason: "to look", Exit: 2, Stdout: "a\n", Stderr: "b\n"},
			{Command: "rm x", Denied: "a rule says no"}}},
		{Role: "system", Text: "To-do list\n<b>milk</b>"},
	}
	b.Visit("/secretary")
	cards := browser.JS[string](b.Tab, "[...document.querySelectorAll('.action')].map(e => e.innerText).join('|')")
	for _, want := range []string{"ls -l", "to look", "exit 2", "a\nb", "|", "Not run", "a rule says no"} {
		if !strings.Contains(cards, want) {
			b.t.Errorf("the cards lack %q: %s", want, cards)
		}
	}
	all := browser.JS[string](b.Tab, "document.querySelector('#messages').innerText")
	if strings.Contains(all, "実行結果") || strings.Contains(all, "milk") || !strings.Contains(all, "What she was told") {
		b.t.Errorf("shown: %s", all)
	}
	b.report(b.accessCheck(), "opened again")
}

// moments: what has no end is shown as what it is, and one number may be used for
// many calls.
func moments(b *tab) {
	b.write(records.Entry{Time: b.now, ID: "o1", Actor: "serve:mika", What: "ordered", Text: "log in"})
	b.Visit("/now")
	b.Until("document.querySelector('.virtual .row .end').textContent === 'ordered'")
	for _, text := range []string{"first", "second"} {
		b.write(records.Entry{Time: b.now, ID: "m", Actor: "secretary", What: "asked", Text: text})
		b.Until("document.querySelector('.row .what').textContent === '" + text +
			"' && document.querySelector('.row .end').textContent === 'running'")
		b.write(records.Entry{Time: b.now, ID: "m", Actor: "secretary", What: "model", Text: text, Micros: 1500})
		b.Until("document.querySelector('.row .end').textContent === '1.50 ms'")
	}
	b.write(records.Entry{Time: b.now, Actor: "user", What: "opened", Text: "https://example.com"})
	b.Until("document.querySelector('.row .end').textContent === 'opened'")
	if got := browser.JS[string](b.Tab,
		"[...document.querySelectorAll('.virtual .row')].slice(0, 4).map(e => e.children[2].textContent + ' ' + e.children[4].textContent).join(', ')"); got != "https://example.com opened, second 1.50 ms, first 1.50 ms, log in ordered" {
		b.t.Errorf("shown: %s", got)
	}
	b.Do(chromedp.SetValue("#live-filter", "running"))
	browser.JS[chromedp.Void](b.Tab, "document.querySelector('#live-filter').onchange()")
	b.Until("![...document.querySelectorAll('.row:not([hidden]) .end')].some(e => ['ordered', 'opened'].includes(e.textContent))")
}

// TestMoments: the server folds as the script does.
func TestMoments(t *testing.T) {
	events := []records.Entry{ // newest first
		{Seq: 9, ID: "c/1", What: "called", Text: "tool", Error: "skipped"}, {Seq: 8, What: "denied", Text: "rm"},
		{Seq: 7, ID: "m", What: "model", Micros: 5}, {Seq: 6, ID: "m", What: "closed", Text: "file"},
		{Seq: 5, ID: "m", What: "asked", Text: "gpt"},
		{Seq: 4, ID: "m", What: "model", Error: "gone"}, {Seq: 3, ID: "m", What: "asked", Text: "gpt"},
		{Seq: 2, ID: "x", What: "opened", Text: "net"}, {Seq: 1, ID: "o", What: "ordered", Text: "log in"},
	}
	var got []string
	for _, r := range requests(events) {
		got = append(got, r.Text+" "+r.Outcome()+" "+r.What)
	}
	const want = "tool failed called, rm moment denied, gpt good model, gpt failed model, net moment opened, log in moment ordered"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestScriptIsMarked: a question about a part shows the whole, with every place
// that surely is the part.
func TestScriptIsMarked(t *testing.T) {
	for _, tt := range []struct{ script, part, want string }{
		{"ls; touch 'a b' && rm $x", "touch 'a b'", "touch 'a b'"}, {`touch "a b"; touch c`, "touch 'a b'", `touch "a b"`},
		{"rm $x", "rm y", ""}, {"touch a\ntouch a", "touch a", "touch atouch a"}, {"echo touch a", "touch a", ""},
		{"x=$(touch a)", "touch a", "touch a"}, {"if", "if", ""},
	} {
		var whole, part string
		for _, p := range marked(tt.script, tt.part) {
			if whole += p.Text; p.Marked {
				part += p.Text
			}
		}
		if whole != tt.script || part != tt.want {
			t.Errorf("%s: %q of %q", tt.script, part, whole)
		}
	}
	w := newWorld(false)
	w.questions = []questions.Question{
		{ID: "a", Question: gate.Question{Actor: "x", Command: "touch a", Script: "ls <b>; touch a"},
			Ends: w.now.Add(time.Minute)},
		{ID: "b", Question: gate.Question{Actor: "x", Command: "ls\n    ls", Script: "ls\nls"},
			Ends: w.now.Add(2 * time.Minute)},
	}
	_, page := openDoor(t, w).get(t, "/approvals")
	if !strings.Contains(page, `<mark><span class="t-cmd">touch</span></mark>`) ||
		strings.Count(page, "The whole script") != 2 || strings.Contains(page, "<b>") {
		t.Error("the script is not shown, or shown twice")
	}
}
