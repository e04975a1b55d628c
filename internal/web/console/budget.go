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

// spans are the selectable numbers of days.
var spans = []int{7, 30, 90}

// budgetView is the content of the page.
type budgetView struct {
	There  bool
	Span   int
	Left   *records.Left
	Charts []chart
	Models []records.ModelUsage // sums over all days
	Err    error
}

func (c *console) drawBudget(ctx context.Context, p *page, q url.Values) templ.Component {
	v := budgetView{There: c.Sources.Budget != nil, Span: 30}
	if n, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(spans, n) {
		v.Span = n
	}
	if v.There {
		v.Err = c.count(ctx, p, &v)
	}
	return budgetPage(p, v)
}

func (c *console) count(ctx context.Context, p *page, v *budgetView) error {
	used, err := c.Sources.Budget.Days(ctx, v.Span)
	if err != nil {
		return err
	}
	days := everyDay(used, v.Span, p.Now.In(p.Zone))
	v.Models = sums(days)
	v.Charts = []chart{
		p.usage(chart{Title: p.T("budget.tokens")}, days, v.Models,
			func(u records.ModelUsage) float64 { return float64(u.Tokens) }),
		p.usage(chart{Title: p.T("budget.cost"), Money: true}, days, v.Models,
			func(u records.ModelUsage) float64 { return u.Cost }),
		p.usage(chart{Title: p.T("budget.calls")}, days, v.Models,
			func(u records.ModelUsage) float64 { return float64(u.Calls) }),
	}
	left, err := c.Sources.Budget.Left(ctx)
	if err == nil {
		v.Left = &left
	}
	return err
}

// everyDay returns span days without gaps, up to the last one of used, or today.
func everyDay(used []records.Day, span int, today time.Time) []records.Day {
	last := today
	if n := len(used); n > 0 {
		told, err := time.Parse(time.DateOnly, used[n-1].Day)
		if err != nil {
			return used
		}
		last = told
	}
	all := make([]records.Day, span)
	for i := range all {
		all[i].Day = last.AddDate(0, 0, i-span+1).Format(time.DateOnly)
		if told := slices.IndexFunc(used, func(d records.Day) bool { return d.Day == all[i].Day }); told >= 0 {
			all[i] = used[told]
		}
	}
	return all
}

// sums returns the totals of each model, the one with the most tokens first.
func sums(days []records.Day) []records.ModelUsage {
	var all []records.ModelUsage
	for _, d := range days {
		for _, u := range d.Models {
			i := slices.IndexFunc(all, func(one records.ModelUsage) bool { return one.Model == u.Model })
			if i < 0 {
				all, i = append(all, records.ModelUsage{Model: u.Model}), len(all)
			}
			plus(&all[i], u)
		}
	}
	slices.SortStableFunc(all, func(a, b records.ModelUsage) int { return int(b.Tokens - a.Tokens) })
	return all
}

func plus(sum *records.ModelUsage, u records.ModelUsage) {
	sum.Calls += u.Calls
	sum.Input += u.Input
	sum.Cached += u.Cached
	sum.Output += u.Output
	sum.Tokens += u.Tokens
	sum.Cost += u.Cost
}

// maxSeries is how many models have their own colour.
const maxSeries = 4

// usage fills a chart with one value: the models with the most tokens, and the others together.
func (p *page) usage(c chart, days []records.Day, models []records.ModelUsage,
	of func(records.ModelUsage) float64) chart {
	c.Label = p.T("col.day")
	row := map[string]int{}
	for i, m := range models {
		row[m.Model] = min(i, maxSeries)
		if i < maxSeries {
			c.Series = append(c.Series, series{visible(m.Model), make([]float64, len(days))})
		} else if i == maxSeries {
			c.Series = append(c.Series, series{p.T("budget.others"), make([]float64, len(days))})
		}
	}
	for i, d := range days {
		c.Days = append(c.Days, shortDay(d.Day))
		for _, u := range d.Models {
			c.Series[row[u.Model]].Values[i] += of(u)
		}
	}
	return c
}

// used is how much of the budget was used.
func used(l records.Left) int64 { return max(0, l.Total-l.Tokens) }
