package console

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	frames "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"hako/internal/app/records"
	"hako/internal/fakes/browser"
)

// strict says that figures must be met, which is asked for with HAKO_BENCH. On a
// machine that is busy with other things they are only told: there they say
// nothing about the pages.
func (b *tab) strict(idle, most float64) bool {
	if os.Getenv("HAKO_BENCH") == "" {
		return false
	}
	if idle > most {
		b.t.Logf("the machine is too busy to tell: what should take %.0f ms takes %.0f ms", most, idle)
	}
	return idle <= most
}

// watchFrames notes the times between frames, and tasks that keep the page from
// answering for 50 ms or longer.
const watchFrames = `(() => {
	window.gaps = []; window.tasks = [];
	new PerformanceObserver(l => tasks.push(...l.getEntries().map(e => e.duration))).observe({ entryTypes: ['longtask'] });
	(function tick(last) { requestAnimationFrame(now => { if (last) gaps.push(now - last); tick(now); }); })();
})()`

// scrollAlong moves the list a little in every frame, like somebody who reads it.
const scrollAlong = `(() => {
	let by = 120;
	const rows = document.querySelector('#rows');
	(function on() { rows.scrollTop += by; if (rows.scrollTop === 0) by = 120; if (rows.scrollTop > 1e5) by = -120; requestAnimationFrame(on); })();
})()`

// manyEvents: ten thousand events come at once, more follow while somebody
// scrolls; the page keeps drawing.
func manyEvents(b *tab) {
	browser.Call(b.Tab, performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"})
	b.Visit("/now")
	b.Until("document.querySelector('.virtual')")
	browser.JS[chromedp.Void](b.Tab, watchFrames)
	time.Sleep(300 * time.Millisecond)
	idle := browser.JS[float64](b.Tab, "Math.max(...gaps)")
	b.flood(0, 12_000)
	b.Until("document.querySelector('.row .what').textContent === 'echo 5999'")
	rows := browser.JS[int](b.Tab, "document.querySelectorAll('.row').length")
	size := browser.JS[int](b.Tab,
		"parseInt(document.querySelector('.virtual .row:not([hidden])').getAttribute('aria-setsize'))")
	b.t.Logf("%d rows for %d requests; at once: %s", rows, size, b.frames())
	if rows > 80 || size > 10_000 || size < 4_000 {
		b.t.Error("the list draws or keeps too much")
	}
	browser.JS[chromedp.Void](b.Tab, scrollAlong)
	var longest, busy []float64 // task, and time of the processor, of every round
	for round := range 20 {
		browser.JS[chromedp.Void](b.Tab, "tasks.length = 0")
		before := b.worked()
		b.flood(12_000+round*500, 500)
		time.Sleep(50 * time.Millisecond)
		longest = append(longest, browser.JS[float64](b.Tab, "Math.max(0, ...tasks)"))
		busy = append(busy, b.worked()-before)
	}
	b.Until("parseInt(document.querySelector('.virtual .row:not([hidden])').getAttribute('aria-posinset')) > 1")
	slices.Sort(longest)
	slices.Sort(busy)
	p95 := longest[len(longest)*95/100-1]
	b.t.Logf("scrolling while 10 000 more come: %s; longest task of a round: p95 %.0f ms, worst %.0f ms (0 means less than 50); the page works %.0f ms for 500 events", b.frames(), p95, longest[len(longest)-1], busy[len(busy)/2])
	if half := busy[len(busy)/2]; half > 100 { // holds on a busy machine too
		b.t.Errorf("500 events take %.0f ms of the processor", half)
	}
	if b.strict(idle, 25) && p95 > 50 {
		b.t.Errorf("the list is not smooth: %.0f", longest)
	}
}

// worked is for how long the page has kept the processor busy, in milliseconds.
// Other programs do not count.
func (b *tab) worked() float64 {
	b.t.Helper()
	for _, m := range browser.Call(b.Tab, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	b.t.Fatal("the browser does not tell for how long it was busy")
	return 0
}

// flood puts events on record, two for each request.
func (b *tab) flood(from, count int) {
	for i := from; i < from+count; i++ {
		b.write(records.Entry{Time: b.now, ID: fmt.Sprint("m", i/2), Actor: "load", What: []string{"asked", "started"}[i%2],
			Text: fmt.Sprint("echo ", i/2), Effect: "allow"})
	}
}

// frames tells how the page has drawn since it was asked last.
func (b *tab) frames() string {
	gaps := browser.JS[[]float64](b.Tab, "gaps.splice(0)")
	slices.Sort(gaps)
	if len(gaps) == 0 {
		return "no frames"
	}
	return fmt.Sprintf("%d frames, p50 %.0f ms, p95 %.0f ms, worst %.0f ms", len(gaps), gaps[len(gaps)/2],
		gaps[len(gaps)*95/100], gaps[len(gaps)-1])
}

// firstPaint: every page shows something within 100 ms.
func firstPaint(b *tab) {
	b.highlighted("/login") // a browser that has just started is slow
	empty := b.paints("/empty")
	strict, told := b.strict(empty, 50), []string{fmt.Sprintf("empty %.0f", empty)}
	for _, name := range navigation {
		took := b.paints("/" + name)
		told = append(told, fmt.Sprintf("%s %.0f", name, took))
		if strict && took > 100 {
			b.t.Errorf("%s paints after %.0f ms", name, took)
		}
	}
	b.t.Logf("first paint in ms: %s", strings.Join(told, ", "))
}

// noteAsks notes when a page asks for something. The browser itself tells of a
// stream only when it has ended.
const noteAsks = "window.asks = []; (f => { window.fetch = (...all) => { asks.push(performance.now()); return f(...all); }; })(fetch)"

// askedLater: what a page asks for once it is there does not delay the first
// paint, and is asked for in any case if that takes long. The browser tells of
// paints in steps of a few milliseconds.
func askedLater(b *tab) {
	browser.Call(b.Tab, frames.AddScriptToEvaluateOnNewDocument,
		frames.AddScriptToEvaluateOnNewDocumentParams{Source: noteAsks})
	for _, name := range navigation {
		b.Visit("/" + name)
		b.Until("asks.length && performance.getEntriesByName('first-paint').length")
		first := browser.JS[float64](b.Tab, "asks[0]")
		if paint := browser.JS[float64](b.Tab, "performance.getEntriesByName('first-paint')[0].startTime"); first < min(
			paint-5, 300) {
			b.t.Errorf("%s asks after %.0f ms, and paints after %.0f", name, first, paint)
		}
	}
}

// paints is when something of a page is usually seen first.
func (b *tab) paints(path string) float64 {
	b.t.Helper()
	times := 1
	if os.Getenv("HAKO_BENCH") != "" {
		times = 7
	}
	all := make([]float64, times)
	for i := range all {
		all[i] = b.highlighted(path)
	}
	slices.Sort(all)
	return all[times/2]
}

// painted is when something of a page is seen first, in milliseconds.
func (b *tab) highlighted(path string) float64 {
	b.t.Helper()
	b.Visit(path)
	b.Until("performance.getEntriesByName('first-contentful-paint').length")
	return browser.JS[float64](b.Tab, "performance.getEntriesByName('first-contentful-paint')[0].startTime")
}
