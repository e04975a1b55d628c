package console

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"hako/internal/app/records"
)

// auditView is the content of the page.
type auditView struct {
	There    bool
	Form     url.Values
	Events   []records.Entry
	Older    string // the sequence number before which the next page begins, or empty
	Err      error
	Stats    *records.Stats
	StatsErr error
	Chain    *records.Chain
	ChainErr error
	Asked    bool // the chain is to be verified
}

const eventsOfPage = 25

// statsSpan is the period of the statistics.
const statsSpan = 30 * 24 * time.Hour

func (c *console) drawAudit(ctx context.Context, p *page, q url.Values) templ.Component {
	v := auditView{There: c.Sources.Record != nil, Form: q, Asked: q.Has("verify")}
	if !v.There {
		return auditPage(p, v)
	}
	v.Events, v.Err = c.Sources.Record.Search(ctx, p.query(q))
	if n := len(v.Events); n >= eventsOfPage {
		v.Older = strconv.FormatInt(v.Events[n-1].Seq, 10)
	}
	if stats, err := c.Sources.Record.Stats(ctx, c.now().Add(-statsSpan)); err == nil {
		v.Stats = &stats
	} else {
		v.StatsErr = err
	}
	if v.Asked { // reads the whole record
		chain, err := c.Sources.Record.Verify(ctx)
		v.Chain, v.ChainErr = &chain, err
	}
	return auditPage(p, v)
}

// query returns the filter of the form.
func (p *page) query(q url.Values) records.Query {
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	return records.Query{Text: q.Get("text"), Actor: q.Get("actor"), What: q.Get("what"), Command: q.Get("command"),
		Since: p.day(q.Get("since"), 0), Until: p.day(q.Get("until"), 1), Before: max(0, before), Most: eventsOfPage}
}

// day returns the beginning of a date, some days later; zero without a date.
func (p *page) day(date string, later int) time.Time {
	t, err := time.ParseInLocation(time.DateOnly, date, p.Zone)
	if err != nil {
		return time.Time{}
	}
	return t.AddDate(0, 0, later)
}

// older is the URL of the next page.
func (v auditView) older() templ.SafeURL {
	return address("/audit", "text", v.Form.Get("text"), "actor", v.Form.Get("actor"), "what", v.Form.Get("what"),
		"command", v.Form.Get("command"),
		"since", v.Form.Get("since"), "until", v.Form.Get("until"), "before", v.Older)
}

// daily is the chart of requests per day.
func (p *page) daily(days []records.Counted) chart {
	good, bad := series{p.T("audit.good"), nil}, series{p.T("audit.bad"), nil}
	c := chart{Title: p.T("audit.daily"), Label: p.T("col.day")}
	for _, d := range days {
		c.Days = append(c.Days, shortDay(d.Name))
		good.Values = append(good.Values, float64(d.Count-d.Failed))
		bad.Values = append(bad.Values, float64(d.Failed))
	}
	c.Series = []series{good, bad}
	return c
}

// topOf is the largest count of a list.
func topOf(all []records.Counted) int64 {
	top := int64(1)
	for _, c := range all {
		top = max(top, c.Count)
	}
	return top
}

// firstOf returns the first few of a list.
func firstOf(all []records.Counted) []records.Counted { return all[:min(len(all), 5)] }

// isLong reports whether a command may not fit into its row and must be scrollable. Browsers are slow with many
// scrollable elements.
func isLong(command string) bool {
	return len(command) > 100 || strings.Count(command, "\n") > 2
}

// about returns the error or reason of an event.
func about(e records.Entry) string {
	switch {
	case e.Error != "":
		return e.Error
	case e.Reason != "":
		return e.Reason
	}
	return ""
}
