package api

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hako/internal/app/records"
)

// BudgetReport is what models were used for, and what is left.
type BudgetReport struct {
	Left records.Left  `json:"left"`
	Days []records.Day `json:"days"` // the oldest first
}

const usualDays, mostDays = 30, 3660

func (s *Server) budget(c *call) (BudgetReport, error) {
	slots, err := available(s.Sources.Budget, "budget", "start the server with a record")
	if err != nil {
		return BudgetReport{}, err
	}
	newest, err := c.number("days", usualDays, 1, mostDays)
	if err != nil {
		return BudgetReport{}, err
	}
	days, err := slots.Days(c.Context(), int(newest))
	if err != nil {
		return BudgetReport{}, err
	}
	for i := range days {
		days[i].Models = some(days[i].Models)
	}
	left, err := slots.Left(c.Context())
	return BudgetReport{left, some(days)}, err
}

// Events are some of the record.
type Events struct {
	Events []records.Entry `json:"events"` // the newest first
}

const usualEvents, mostEvents = 100, 1000

func (s *Server) audit() (Record, error) {
	return available(s.Sources.Record, "audit", "start the server with a record")
}

func (s *Server) search(c *call) (Events, error) {
	record, err := s.audit()
	if err != nil {
		return Events{}, err
	}
	q, err := c.wanted()
	if err != nil {
		return Events{}, err
	}
	all, err := record.Search(c.Context(), q)
	return Events{some(all)}, err
}

// wanted reads which events are asked for.
func (c *call) wanted() (q records.Query, err error) {
	q = records.Query{Text: c.query.Get("text"), Actor: c.query.Get("actor"), What: c.query.Get("what"),
		Command: c.query.Get("command")}
	if kinds := records.Kinds(); q.What != "" && !slices.Contains(kinds, q.What) {
		return q, invalid("read query", "what", fmt.Sprintf("there are no events %q", q.What),
			"there are "+strings.Join(kinds, ", "))
	}
	if q.Since, err = c.when("since"); err != nil {
		return q, err
	}
	if q.Until, err = c.when("until"); err != nil {
		return q, err
	}
	if q.Before, err = c.number("before", 0, 1, math.MaxInt64); err != nil {
		return q, err
	}
	most, err := c.number("most", usualEvents, 1, mostEvents)
	q.Most = int(most)
	return q, err
}

const usualStats = 30 * 24 * time.Hour

func (s *Server) stats(c *call) (records.Stats, error) {
	record, err := s.audit()
	if err != nil {
		return records.Stats{}, err
	}
	since, err := c.when("since")
	if err != nil {
		return records.Stats{}, err
	}
	if since.IsZero() {
		since = time.Now().Add(-usualStats)
	}
	figures, err := record.Stats(c.Context(), since)
	figures.Commands, figures.Denials = some(figures.Commands), some(figures.Denials)
	figures.Actors, figures.Days = some(figures.Actors), some(figures.Days)
	return figures, err
}

func (s *Server) verifyChain(c *call) (records.Chain, error) {
	record, err := s.audit()
	if err != nil {
		return records.Chain{}, err
	}
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

func (s *Server) rules(c *call) (Rules, error) {
	policy, err := s.policy()
	if err != nil {
		return Rules{}, err
	}
	all, err := policy.Rules(c.Context(), c.query.Get("profile"))
	return Rules{some(all)}, err
}

// A PolicyQuery is a command that somebody would like to know about.
type PolicyQuery struct {
	Profile string `json:"profile,omitempty"` // empty means the usual one
	Command string `json:"command"`
}

// Verdicts are what the rules say, command by command.
type Verdicts struct {
	Verdicts []records.Verdict `json:"verdicts"`
}

func (s *Server) check(c *call, in PolicyQuery) (Verdicts, error) {
	policy, err := s.policy()
	if err != nil {
		return Verdicts{}, err
	}
	all, err := policy.Check(c.Context(), in.Profile, in.Command)
	return Verdicts{some(all)}, err
}
