package api

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hako/internal/app/records"
)

// BudgetReport is the usage of models and the remaining budget.
type BudgetReport struct {
	Left records.Left  `json:"left"`
	Days []records.Day `json:"days"` // oldest first
}

const defaultDays, maxDays = 30, 3660

func (s *Server) budget() (Budget, error) {
	return available(s.Sources.Budget, "budget", "start the server with a record")
}

func budgetReport(from Budget, c *call) (BudgetReport, error) {
	newest, err := c.number("days", defaultDays, 1, maxDays)
	if err != nil {
		return BudgetReport{}, err
	}
	days, err := from.Days(c.Context(), int(newest))
	if err != nil {
		return BudgetReport{}, err
	}
	for i := range days {
		days[i].Models = nonNil(days[i].Models)
	}
	left, err := from.Left(c.Context())
	return BudgetReport{left, nonNil(days)}, err
}

// Events are some events of the record.
type Events struct {
	Events []records.Entry `json:"events"` // newest first
}

const defaultEvents, maxEvents = 100, 1000

func (s *Server) audit() (Record, error) {
	return available(s.Sources.Record, "audit", "start the server with a record")
}

func search(record Record, c *call) (Events, error) {
	q, err := c.eventQuery()
	if err != nil {
		return Events{}, err
	}
	all, err := record.Search(c.Context(), q)
	return Events{nonNil(all)}, err
}

// eventQuery reads the filter of events from the query.
func (c *call) eventQuery() (q records.Query, err error) {
	q = records.Query{Text: c.query.Get("text"), Actor: c.query.Get("actor"), What: c.query.Get("what"),
		Command: c.query.Get("command")}
	if kinds := records.Kinds(); q.What != "" && !slices.Contains(kinds, q.What) {
		return q, invalid("read query", "what", fmt.Sprintf("there are no events %q", q.What),
			"there are "+strings.Join(kinds, ", "))
	}
	if q.Since, err = c.time("since"); err != nil {
		return q, err
	}
	if q.Until, err = c.time("until"); err != nil {
		return q, err
	}
	if q.Before, err = c.number("before", 0, 1, math.MaxInt64); err != nil {
		return q, err
	}
	most, err := c.number("most", defaultEvents, 1, maxEvents)
	q.Most = int(most)
	return q, err
}

const defaultStats = 30 * 24 * time.Hour

func stats(record Record, c *call) (records.Stats, error) {
	since, err := c.time("since")
	if err != nil {
		return records.Stats{}, err
	}
	if since.IsZero() {
		since = time.Now().Add(-defaultStats)
	}
	all, err := record.Stats(c.Context(), since)
	all.Commands, all.Denials = nonNil(all.Commands), nonNil(all.Denials)
	all.Actors, all.Days = nonNil(all.Actors), nonNil(all.Days)
	return all, err
}

func verifyChain(record Record, c *call) (records.Chain, error) {
	withoutDeadlines(c.w) // a long record takes its time
	return record.Verify(c.Context())
}

// Rules are those of a policy.
type Rules struct {
	Rules []records.Rule `json:"rules"`
}

func (s *Server) policy() (Policy, error) {
	return available(s.Sources.Policy, "policy", "start the server with rules")
}

func policyRules(of Policy, c *call) (Rules, error) {
	all, err := of.Rules(c.Context(), c.query.Get("profile"))
	return Rules{nonNil(all)}, err
}

// A PolicyQuery is a command to judge.
type PolicyQuery struct {
	Profile string `json:"profile,omitempty"` // empty means the default one
	Command string `json:"command"`
}

// Verdicts are the verdicts of the rules, command by command.
type Verdicts struct {
	Verdicts []records.Verdict `json:"verdicts"`
}

func check(by Policy, c *call, in PolicyQuery) (Verdicts, error) {
	all, err := by.Check(c.Context(), in.Profile, in.Command)
	return Verdicts{nonNil(all)}, err
}
