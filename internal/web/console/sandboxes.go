package console

import (
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"hako/internal/app/sandboxes"
)

// sandboxesView is the content of the page.
type sandboxesView struct {
	There  bool
	Boxes  []sandboxes.Sandbox
	Trails map[string][]sample
	Err    error

	Box, Job  string // whose output is shown
	Output    string
	OutputErr error
}

// maxOutput is how much of the end of an output is shown.
const maxOutput = 64 << 10

func (c *console) drawSandboxes(ctx context.Context, p *page, q url.Values) templ.Component {
	v := sandboxesView{There: c.Sources.Sandboxes != nil, Box: q.Get("box"), Job: q.Get("job")}
	if v.There {
		v.Boxes, v.Err = c.Sources.Sandboxes.List(ctx)
		slices.SortStableFunc(v.Boxes, func(a, b sandboxes.Sandbox) int { return b.Created.Compare(a.Created) })
		v.Trails = c.usageHistory.record(v.Boxes)
	}
	if v.There && v.Job != "" {
		v.Output, _, v.OutputErr = c.Sources.Sandboxes.Output(ctx, v.Box, v.Job, -maxOutput, maxOutput)
	}
	return sandboxesPage(p, v)
}

func sandboxRoute(b sandboxes.Sandbox) string { return boxesRoute + "/" + url.PathEscape(b.ID) }
