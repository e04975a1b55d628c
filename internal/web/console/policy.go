package console

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"hako/internal/app/records"
)

// policyView is the content of the page.
type policyView struct {
	There    bool
	Profiles []string
	Profile  string
	Filter   string
	Rules    []records.Rule
	All      int // rules without the filter
	Err      error
	Command  string
	Verdicts []records.Verdict
	CheckErr error
}

func (c *console) drawPolicy(ctx context.Context, p *page, q url.Values) templ.Component {
	v := policyView{There: c.Sources.Policy != nil, Profiles: c.Profiles, Filter: q.Get("filter"),
		Command: q.Get("command")}
	if slices.Contains(c.Profiles, q.Get("profile")) {
		v.Profile = q.Get("profile")
	}
	if !v.There {
		return policyPage(p, v)
	}
	rules, err := c.Sources.Policy.Rules(ctx, v.Profile)
	v.Rules, v.All, v.Err = p.matching(rules, v.Filter), len(rules), err
	if strings.TrimSpace(v.Command) != "" {
		v.Verdicts, v.CheckErr = c.Sources.Policy.Check(ctx, v.Profile, v.Command)
	}
	return policyPage(p, v)
}

// matching returns the rules that contain a text.
func (p *page) matching(rules []records.Rule, text string) []records.Rule {
	text = strings.ToLower(strings.TrimSpace(text))
	return slices.DeleteFunc(slices.Clone(rules), func(r records.Rule) bool {
		return !strings.Contains(strings.ToLower(r.Effect+" "+r.Words+"\n"+r.Reason+"\n"+p.Reason(r.Reason)+"\n"+r.Where),
			text)
	})
}

// final is the strictest of the verdicts.
func final(all []records.Verdict) string {
	worst := "allow"
	for _, v := range all {
		if strength[v.Effect] > strength[worst] {
			worst = v.Effect
		}
	}
	return worst
}
