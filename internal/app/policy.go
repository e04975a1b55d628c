package app

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"hako/container"
	"hako/internal/app/records"
	"hako/internal/config"
	"hako/internal/worker"
	"hako/policy"
	"hako/run/fault"
)

// OutsidePolicy are the rules for tools that reach beyond this machine.
func OutsidePolicy(conf *config.Config) (*policy.Policy, error) {
	return addRules(policy.Outside(), config.PolicyRules.Of(conf).V, policy.Parse)
}

// ContainerPolicy returns the rules for commands in containers, whose paths have
// nothing to do with those of this machine.
func ContainerPolicy(conf *config.Config) (*policy.Policy, error) {
	p, err := LoadPolicy(conf, "container")
	if err != nil {
		return nil, err
	}
	return p.For("container", policy.Options{Root: container.Workspace, Dir: container.Project, Home: container.Workspace + "/.home"}), nil
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
	opts := policy.Options{Root: root, Dir: root, Resolve: Resolve}
	list := config.BashWhitelist.Of(conf).V
	if list == "" {
		p, err := LoadPolicy(conf, "host")
		if err != nil {
			return nil, err
		}
		return p.For("host", opts), nil
	}
	names, err := readRules(list, policy.Whitelist)
	if err != nil {
		return nil, err
	}
	p, err := names.Instead("host", opts)
	if err != nil {
		return nil, err
	}
	if p, err = addRules(p, config.PolicyRules.Of(conf).V, policy.Parse); err != nil {
		return nil, err
	}
	return teachPrograms(p, conf)
}

// teachPrograms adds what the file of policy.programs describes.
func teachPrograms(p *policy.Policy, conf *config.Config) (*policy.Policy, error) {
	path := config.PolicyPrograms.Of(conf).V
	if path == "" {
		return p, nil
	}
	programs, err := readTrusted(path, "name a file that describes programs; docs/policy.md has its form", policy.ParsePrograms)
	if err != nil {
		return nil, err
	}
	return p.Teach(programs), nil
}

// LoadPolicy returns the policy of a profile with what the user added.
func LoadPolicy(conf *config.Config, profile string) (*policy.Policy, error) {
	if v := config.PolicyProfile.Of(conf).V; profile == "" {
		profile = v
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root = Resolve(root) // the shell may have come here through a link
	home, _ := os.UserHomeDir()
	allowed := policy.AllowedCommands{
		UseDefault: config.AllowedUseDefault.Of(conf).V, Additional: config.AllowedAdditional.Of(conf).V,
		Exclude: config.AllowedExclude.Of(conf).V, CustomList: config.AllowedCustom.Of(conf).V,
	}
	p, err := allowed.Compile(profile, policy.Options{Root: root, Dir: root, Home: home, Resolve: Resolve})
	if err != nil {
		return nil, err
	}
	for _, more := range []struct {
		path string
		read rulesReader
	}{
		{config.PolicyWhitelist.Of(conf).V, policy.Whitelist},
		{config.PolicyRules.Of(conf).V, policy.Parse},
	} {
		if p, err = addRules(p, more.path, more.read); err != nil {
			return nil, err
		}
	}
	return teachPrograms(p, conf)
}

type rulesReader = func(name string, r io.Reader) (*policy.Policy, error)

func addRules(p *policy.Policy, path string, read rulesReader) (*policy.Policy, error) {
	if path == "" {
		return p, nil
	}
	more, err := readRules(path, read)
	if err != nil {
		return nil, err
	}
	return p.With(more), nil
}

func readRules(path string, read rulesReader) (*policy.Policy, error) {
	return readTrusted(path, "name a file of rules; docs/policy.md says how they are written", read)
}

// readTrusted reads a file that nobody else can change.
func readTrusted[T any](path, hint string, read func(name string, r io.Reader) (T, error)) (none T, _ error) {
	f, err := os.Open(path)
	if err != nil {
		return none, &fault.Error{Kind: fault.NotFound, Op: "read policy", Subject: path, Err: ReasonOf(err), Hint: hint}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return none, &fault.Error{Kind: fault.Invalid, Op: "read policy", Subject: path, Why: "others could change it", Hint: "chmod go-w " + path}
	}
	return read(filepath.Base(path), f)
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
	return LoadPolicy(conf, profile)
}
