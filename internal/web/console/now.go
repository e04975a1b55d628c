package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"hako/internal/app/records"
)

// A request summarizes the events of one request.
type request struct {
	ID, Actor, Text string
	Verdict         string // allow, ask, deny, approved, refused, or empty
	State           string // running, waiting or ended; moment means a single event
	What            string // the event that determines the state
	Exit            *int
	Error           string
	Micros          int64
	Seq             int64 // of its first event
	Time            time.Time
}

// strength orders verdicts; the strongest of a request is shown.
var strength = map[string]int{"allow": 1, "ask": 2, "approved": 3, "refused": 4, "deny": 5}

// requests groups events, newest first, by request. The script does the same with live events.
func requests(events []records.Entry) []*request {
	var all []*request
	known := map[string]*request{}
	for _, e := range slices.Backward(events) {
		key := e.ID
		if key == "" {
			key = "#" + strconv.FormatInt(e.Seq, 10)
		}
		if r := known[key]; r == nil || !r.active() && begins(e) { // an id may be reused
			known[key] = &request{ID: e.ID, Actor: e.Actor, Seq: e.Seq, Time: e.Time, State: "moment"}
			all = append(all, known[key])
		}
		known[key].apply(e)
	}
	slices.Reverse(all)
	return all
}

// apply applies an event.
func (r *request) apply(e records.Entry) {
	if r.Text == "" || e.What == "asked" {
		r.Text = e.Text
	}
	if v := verdictOf(e); strength[v] > strength[r.Verdict] {
		r.Verdict = v
	}
	switch {
	case ends(e):
		r.State, r.Exit, r.Error, r.Micros = "ended", e.Exit, e.Error, e.Micros
	case r.State == "ended":
		return
	case e.ID == "":
	case e.What == "judged":
		r.State = "waiting"
	case begins(e) || r.active():
		r.State = "running"
	}
	r.What = e.What
}

// active reports whether the request has not ended.
func (r *request) active() bool { return r.State == "running" || r.State == "waiting" }

// begins reports whether another event will end what this one begins.
func begins(e records.Entry) bool {
	return e.What == "asked" || e.What == "called" || e.What == "started"
}

// ends reports whether an event is the last of its request.
func ends(e records.Entry) bool {
	return e.What == "ended" || e.What == "model" || e.What == "answered" || e.Error != ""
}

// verdictOf returns the verdict of an event.
func verdictOf(e records.Entry) string {
	switch e.What {
	case "approved", "refused":
		return e.What
	case "denied":
		return "deny"
	case "started", "allowed":
		return "allow"
	}
	return e.Effect
}

// Outcome is the outcome, as a class of the style sheet.
func (r *request) Outcome() string {
	switch {
	case r.State != "ended":
		return r.State
	case r.Error != "" || r.Exit != nil && *r.Exit != 0:
		return "failed"
	}
	return "good"
}

// nowView is the content of the page.
type nowView struct {
	Live     bool
	Requests []*request
	After    string // the number of the event before the first
	Stats    *records.Stats
	Waiting  int
	Err      error
}

const newestEvents = 300

func (c *console) drawNow(ctx context.Context, p *page, _ url.Values) templ.Component {
	v := nowView{Live: c.Sources.Live != nil, After: "0", Waiting: p.Waiting}
	if c.Sources.Record != nil {
		events, err := c.Sources.Record.Search(ctx, records.Query{Most: newestEvents})
		if n := len(events); n > 0 {
			v.After = strconv.FormatInt(events[n-1].Seq-1, 10)
		}
		v.Requests, v.Err = requests(events), err
		if stats, err := c.Sources.Record.Stats(ctx, c.now().Add(-24*time.Hour)); err == nil {
			v.Stats = &stats
		}
	}
	return nowPage(p, v)
}

// initialRowCount is the number of rows on a large screen.
const initialRowCount = 30

// initialRows are the requests that are rendered at once. The script renders the others when they are scrolled to, so
// that the first ones appear sooner.
func (v nowView) initialRows() []*request {
	if !v.Live {
		return v.Requests
	}
	return v.Requests[:min(len(v.Requests), initialRowCount)]
}

// remainingRows are the other requests, for browsers without the script.
func (v nowView) remainingRows() []*request { return v.Requests[len(v.initialRows()):] }
