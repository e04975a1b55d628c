package console

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hako/internal/fakes/browser"
)

// TestPictures makes the pictures of docs/console.md, where they are wanted.
func TestPictures(t *testing.T) {
	if os.Getenv("HAKO_SCREENSHOTS") == "" {
		t.Skip("set HAKO_SCREENSHOTS=1 to make the pictures of docs/console.md")
	}
	browser := browser.Start(t)
	os.MkdirAll(pictures, 0o755)
	for _, lang := range languages {
		b := open(t, browser, openDoor(t, newWorld(lang == "ja")))
		b.Cookie(langCookie, lang)
		b.Cookie(themeCookie, "light")
		for _, name := range navigation {
			b.prepare(name)
			time.Sleep(200 * time.Millisecond)
			b.shot("console-" + name + "-" + lang)
		}
	}
	b := open(t, browser, openDoor(t, newWorld(false)))
	b.Cookie(themeCookie, "dark")
	for _, name := range []string{"now", "approvals", "budget"} {
		b.prepare(name)
		time.Sleep(200 * time.Millisecond)
		b.shot("console-" + name + "-dark")
	}
	b.Cookie("hako_session", "over")
	b.Visit("/login")
	b.shot("console-login-dark")
	b = open(t, browser, openDoor(t, newWorld(true)))
	b.Cookie(langCookie, "ja")
	b.Cookie(themeCookie, "dark")
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	for _, name := range []string{"now", "approvals", "secretary", "tasks"} {
		b.prepare(name)
		time.Sleep(200 * time.Millisecond)
		b.shot("console-" + name + "-phone")
	}
}

// prepare brings a page to where it has something to show.
func (b *tab) prepare(name string) {
	b.t.Helper()
	switch name {
	case "policy":
		b.Visit("/policy?command=git+fetch+origin+%26%26+git+push+--force+origin+main")
	case "sandboxes":
		b.watchBoxes()
	default:
		b.Visit("/" + name)
	}
	switch name {
	case "now":
		b.Until("document.querySelector('.virtual .row')")
		browser.JS[chromedp.Void](b.Tab, "document.querySelectorAll('.virtual .row')[2].click()")
	case "secretary":
		b.Do(chromedp.SendKeys("#text", b.say("How many reports are there?", "レポートは何件ありますか？")))
		b.Do(chromedp.Click("#compose button", chromedp.NodeVisible))
		b.Until("document.querySelector('.did') && !document.querySelector('.message[aria-busy]')")
	case "tasks":
		b.Until("document.querySelectorAll('.step').length > 8")
	case "audit":
		b.Until("document.querySelector('.chain .good')")
	}
}

// watchBoxes shows sandboxes that have been watched for a while.
func (b *tab) watchBoxes() {
	c := b.console
	at := b.now.Add(-3 * time.Minute)
	c.usageHistory.now = func() time.Time { return at }
	for i := range 58 {
		at = at.Add(3 * time.Second)
		boxes, _ := yard{b.world}.List(b.Context)
		for j := range boxes {
			if boxes[j].Usage != nil {
				u := *boxes[j].Usage
				u.CPUSeconds += 3 * (0.5*float64(i) + 4*math.Sin(float64(i+j*9)/7)/(1+float64(j)*2)) / float64(j*3+1)
				u.Memory += int64(i*9+(i*31)%40-300) << 20 / int64(j+1)
				u.Disk += int64(i*14) << 20
				boxes[j].Usage = &u
			}
		}
		c.usageHistory.record(boxes)
	}
	b.Visit("/sandboxes")
	c.usageHistory.now = c.now
}
