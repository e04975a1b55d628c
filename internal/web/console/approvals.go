package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"hako/internal/app/questions"
)

func (c *console) drawApprovals(ctx context.Context, p *page, _ url.Values) templ.Component {
	if c.Sources.Approvals == nil {
		return approvalsPage(p, nil, nil, false)
	}
	all, err := c.Sources.Approvals.Pending(ctx)
	slices.SortStableFunc(all, func(a, b questions.Question) int { return a.Ends.Compare(b.Ends) })
	return approvalsPage(p, all, err, true)
}

// answerRoute is the route for the answer to a question.
func answerRoute(q questions.Question) string {
	return approvalsRoute + "/" + url.PathEscape(q.ID) + "/answer"
}

// seconds returns the timeout of a question and what is left of it.
func (p *page) seconds(q questions.Question) (all, left string) {
	total, rest := q.Ends.Sub(q.Asked), q.Ends.Sub(p.Now)
	return strconv.Itoa(max(1, int(total.Seconds()))), strconv.Itoa(max(0, int(rest.Seconds())))
}

func (p *page) allSeconds(q questions.Question) string  { all, _ := p.seconds(q); return all }
func (p *page) leftSeconds(q questions.Question) string { _, left := p.seconds(q); return left }

// isPart reports whether the command is only a part of its script. White space does not count.
func isPart(q questions.Question) bool {
	return q.Script != "" && strings.Join(strings.Fields(q.Script), " ") != strings.Join(strings.Fields(q.Command), " ")
}
