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

// outsidePolicy returns the policy for tools that reach beyond this machine.
func outsidePolicy(conf *config.Config) (*policy.Policy, error) {
	return setup.AddRules(policy.Outside(), config.PolicyRules.Of(conf).V, policy.Parse)
}

// containerPolicy returns the policy for commands in containers, which have their own paths.
func containerPolicy(conf *config.Config) (*policy.Policy, error) {
	p, err := setup.LoadPolicy(conf, "container")
	if err != nil {
		return nil, err
	}
	return p.For("container", policy.Options{Root: container.Workspace, Dir: container.Project, Home: container.Workspace +
		"/.home"}), nil
}

// allowedCommands lists the allowed commands, for prompts.
func allowedCommands(p *policy.Policy) container.Allowed {
	out := container.Allowed{Commands: make(map[string][]string), Text: p.AllowedText()}
	for _, group := range p.Allowed() {
		out.Commands[group.Name] = group.Commands
	}
	return out
}

// HostPolicy returns the policy for programs below a root. A whitelist replaces the rules that allow, not those
// that deny.
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

// rulesOf lists the rules of all profiles and judges commands in a worker.
func rulesOf(conf *config.Config, workers *worker.Pool) records.Policy {
	return records.Policy{
		Load: func(profile string) (*policy.Policy, error) { return profilePolicy(conf, profile) },
		Judge: func(ctx context.Context, profile, command string) ([]policy.Verdict, error) {
			var a judgeResult
			err := workers.Judge(ctx, JudgeRequest{Profile: profile, Script: command, Fresh: true}, &a)
			return a.verdicts(), err
		},
	}
}

// profilePolicy loads the policy of a profile; "" means host.
func profilePolicy(conf *config.Config, profile string) (*policy.Policy, error) {
	switch profile {
	case "", "host":
		options, err := hostOptions(conf)
		if err != nil {
			return nil, err
		}
		return HostPolicy(conf, options.Root)
	case "container":
		return containerPolicy(conf)
	case "outside":
		return outsidePolicy(conf)
	}
	return setup.LoadPolicy(conf, profile)
}
