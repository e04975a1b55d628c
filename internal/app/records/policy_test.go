package records

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"hako/policy"
	"hako/run/fault"
)

const rules = `allow cat # show a file
## Version control
ask git push # leaves this machine
deny git push -f # rewrites history
`

func profiles(profile string) (*policy.Policy, error) {
	switch profile {
	case "":
		return policy.Parse("own", strings.NewReader(rules))
	case "host":
		return policy.Host(policy.Options{}), nil
	}
	return nil, &fault.Error{Kind: fault.Invalid, Op: "load policy", Subject: profile, Why: "there is no such profile"}
}

func TestRules(t *testing.T) {
	p := locally(profiles)
	got, err := p.Rules(t.Context(), "")
	want := []Rule{
		{Effect: "allow", Words: "cat", Reason: "show a file", Where: "own:1"},
		{Effect: "ask", Words: "git push", Reason: "leaves this machine", Where: "own:3"},
		{Effect: "deny", Words: "git push -f", Reason: "rewrites history", Where: "own:4"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
	all, err := p.Rules(t.Context(), "host")
	if err != nil || len(all) < 50 {
		t.Errorf("%d rules, %v", len(all), err)
	}
	if _, err := p.Rules(t.Context(), "moon"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
}

func TestCheck(t *testing.T) {
	p := locally(profiles)
	for command, want := range map[string]string{
		"cat a":                        "allow own:1",
		"cat a; git push; git push -f": "deny own:4, ask own:3, allow own:1",
		"cat a; curl x":                "deny no rule, allow own:1",
		"cat 'a":                       "deny syntax",
		"":                             "",
	} {
		got, err := p.Check(t.Context(), "", command)
		var parts []string
		for _, v := range got {
			parts = append(parts, v.Effect+" "+v.Rule)
			if v.Effect == "deny" && v.Why == "" {
				t.Errorf("%s is denied without a reason: %+v", command, v)
			}
		}
		if text := strings.Join(parts, ", "); err != nil || text != want {
			t.Errorf("%q: %s, %v; want %s", command, text, err, want)
		}
	}
	if _, err := p.Check(t.Context(), "moon", "ls"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
}

// TestCheckIsBounded: a look at the rules costs little, whatever is asked.
func TestCheckIsBounded(t *testing.T) {
	p := locally(func(string) (*policy.Policy, error) { return policy.Host(policy.Options{}), nil })
	if _, err := p.Check(t.Context(), "", strings.Repeat("a;", maxCommand)); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("too long: %v", err)
	}
	if all, err := p.Check(t.Context(), "", strings.Repeat("a;", maxCommand/2)); err != nil ||
		len(all) != maxVerdicts {
		t.Errorf("%d verdicts, %v", len(all), err)
	}
}

// locally judges in the process of the test.
func locally(load func(string) (*policy.Policy, error)) Policy {
	return Policy{Load: load, Judge: func(_ context.Context, profile, command string) ([]policy.Verdict, error) {
		rules, err := load(profile)
		if err != nil {
			return nil, err
		}
		return rules.Script(command)
	}}
}
