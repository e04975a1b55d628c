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

// answerRoute is where an answer to a question is sent.
func answerRoute(q questions.Question) string {
	return approvalsRoute + "/" + url.PathEscape(q.ID) + "/answer"
}

// seconds that a question has in all, and that are left of it.
func (p *page) seconds(q questions.Question) (all, left string) {
	total, rest := q.Ends.Sub(q.Asked), q.Ends.Sub(p.Now)
	return strconv.Itoa(max(1, int(total.Seconds()))), strconv.Itoa(max(0, int(rest.Seconds())))
}

func (p *page) allSeconds(q questions.Question) string  { all, _ := p.seconds(q); return all }
func (p *page) leftSeconds(q questions.Question) string { _, left := p.seconds(q); return left }

// isPart tells whether the command is not all of its script. Lines that are set
// off make no difference.
func isPart(q questions.Question) bool {
	return q.Script != "" && strings.Join(strings.Fields(q.Script), " ") != strings.Join(strings.Fields(q.Command), " ")
}
