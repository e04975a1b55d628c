package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hako/policy"
	"hako/run/fault"
)

// Policy lists the rules and judges commands without running them.
type Policy struct {
	// Load loads the policy of a profile; "" is the default one. It is called each time, because files change.
	Load func(profile string) (*policy.Policy, error)

	// Judge judges a command by the current policy of a profile.
	Judge func(ctx context.Context, profile, command string) ([]policy.Verdict, error)
}

// Rules implements [hako/internal/web/api.Policy], in the order of the files.
func (p Policy) Rules(_ context.Context, profile string) ([]Rule, error) {
	rules, err := p.Load(profile)
	if err != nil {
		return nil, err
	}
	var out []Rule
	for _, c := range rules.Categories() {
		for _, r := range c.Commands {
			out = append(out, Rule{Effect: r.Effect.String(), Words: r.Name, Reason: r.Why, Where: r.Where})
		}
	}
	return out, nil
}

// Limits of one check.
const (
	maxCommand  = 16 << 10
	maxVerdicts = 1000
)

// Check implements [hako/internal/web/api.Policy], strictest verdicts first. A command that cannot be parsed is
// denied.
func (p Policy) Check(ctx context.Context, profile, command string) ([]Verdict, error) {
	if len(command) > maxCommand {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "check command",
			Why:  fmt.Sprintf("it has %d bytes, and %d are looked at here", len(command), maxCommand),
			Hint: "check its parts, or use hako policy check"}
	}
	all, err := p.Judge(ctx, profile, command)
	if err != nil && notAboutCommand(err) {
		return nil, err
	}
	if err != nil {
		all = []policy.Verdict{{Argv: []string{command}, Why: err.Error(), Where: "syntax", Hint: fault.Hint(err)}}
	}
	slices.SortStableFunc(all, func(a, b policy.Verdict) int { return int(a.Effect) - int(b.Effect) })
	all = all[:min(len(all), maxVerdicts)]
	return verdicts(all), nil
}

// notAboutCommand reports whether an error is about the policy or the judge rather than about the command.
func notAboutCommand(err error) bool {
	var e *fault.Error
	return !errors.As(err, &e) || e.Op != "parse script" && fault.KindOf(err) != fault.Denied
}

func verdicts(all []policy.Verdict) []Verdict {
	out := make([]Verdict, 0, len(all))
	for _, v := range all {
		out = append(out, Verdict{Command: strings.Join(v.Argv, " "), Effect: v.Effect.String(), Why: v.Why, Rule: v.Where,
			Hint: v.Hint})
	}
	return out
}
