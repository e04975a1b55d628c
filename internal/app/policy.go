package app

import (
	"context"

	"hako/container"
	"hako/internal/app/records"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/internal/worker"
	"hako/policy"
)

// OutsidePolicy are the rules for tools that reach beyond this machine.
func OutsidePolicy(conf *config.Config) (*policy.Policy, error) {
	return setup.AddRules(policy.Outside(), config.PolicyRules.Of(conf).V, policy.Parse)
}

// ContainerPolicy returns the rules for commands in containers, whose paths have
// nothing to do with those of this machine.
func ContainerPolicy(conf *config.Config) (*policy.Policy, error) {
	p, err := setup.LoadPolicy(conf, "container")
	if err != nil {
		return nil, err
	}
	return p.For("container", policy.Options{Root: container.Workspace, Dir: container.Project, Home: container.Workspace +
		"/.home"}), nil
}

// AllowedCommands lists what the rules allow, for prompts.
func AllowedCommands(p *policy.Policy) container.Allowed {
	out := container.Allowed{Commands: make(map[string][]string), Text: p.AllowedText()}
	for _, group := range p.Allowed() {
		out.Commands[group.Name] = group.Commands
	}
	return out
}

// HostPolicy returns the rules for programs below a root. A whitelist takes the
// place of what is allowed by default, not of what is denied.
func HostPolicy(conf *config.Config, root string) (*policy.Policy, error) {
	opts := policy.Options{Root: root, Dir: root, Resolve: setup.Resolve}
	list := config.BashWhitelist.Of(conf).V
	if list == "" {
		p, err := setup.LoadPolicy(conf, "host")
		if err != nil {
			return nil, err
		}
		return p.For("host", opts), nil
	}
	names, err := setup.ReadRules(list, policy.Whitelist)
	if err != nil {
		return nil, err
	}
	p, err := names.Instead("host", opts)
	if err != nil {
		return nil, err
	}
	if p, err = setup.AddRules(p, config.PolicyRules.Of(conf).V, policy.Parse); err != nil {
		return nil, err
	}
	return setup.TeachPrograms(p, conf)
}

// RulesOf shows the rules of all profiles, and has a worker try commands on them.
func RulesOf(conf *config.Config, workers *worker.Pool) records.Policy {
	return records.Policy{
		Load: func(profile string) (*policy.Policy, error) { return profilePolicy(conf, profile) },
		Judge: func(ctx context.Context, profile, command string) ([]policy.Verdict, error) {
			var a JudgeResult
			err := workers.Judge(ctx, JudgeRequest{Profile: profile, Script: command, Fresh: true}, &a)
			return a.verdicts(), err
		},
	}
}

// profilePolicy reads the rules of a profile; "" is that for programs.
func profilePolicy(conf *config.Config, profile string) (*policy.Policy, error) {
	switch profile {
	case "", "host":
		options, err := hostOptions(conf)
		if err != nil {
			return nil, err
		}
		return HostPolicy(conf, options.Root)
	case "container":
		return ContainerPolicy(conf)
	case "outside":
		return OutsidePolicy(conf)
	}
	return setup.LoadPolicy(conf, profile)
}
