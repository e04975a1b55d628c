package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"hako/gate"
	"hako/host"
	"hako/host/sandbox"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/policy"
	"hako/quota"
	"hako/run"
)

// Asker puts a question to a person; nil means that nobody can be asked.
type Asker = func(context.Context, gate.Question) (gate.Answer, error)

// A HostRunner runs programs of the host behind a gate.
type HostRunner struct {
	run.Runner
	Close  func()
	status func() sandbox.Report
}

// A Host makes host runners from settings and policy.
type Host struct {
	*App
	Options host.Options
	Policy  *policy.Policy
	Ask     Asker
}

// NewRunner returns a runner.
func (w *Host) NewRunner(ctx context.Context) (HostRunner, error) {
	return w.HostRunner(ctx, w.Options, w.Policy, w.Ask)
}

// OpenHost opens the record and loads the policy.
func OpenHost(conf *config.Config, base quota.Limits, ask Asker) (*Host, error) {
	options, err := hostOptions(conf)
	if err != nil {
		return nil, err
	}
	if err := checkRoot(conf, options.Root); err != nil {
		return nil, err
	}
	judge, err := HostPolicy(conf, options.Root)
	if err != nil {
		return nil, err
	}
	b, err := Open(conf)
	if err != nil {
		return nil, err
	}
	budget, err := ModelBudget(conf, base)
	if err != nil {
		b.Close()
		return nil, err
	}
	b.Budget = quota.New(budget)
	return &Host{b, options, judge, ask}, nil
}

// hostOptions converts the settings.
func hostOptions(conf *config.Config) (host.Options, error) {
	o := host.Options{
		Root: config.BashRoot.Of(conf).V, Path: config.BashPath.Of(conf).V, Readable: config.BashReadable.Of(conf).V,
		Network: config.BashNetwork.Of(conf).V, Timeout: config.BashTimeout.Of(conf).V, Parse: policy.ParseScript,
		Limits: sandbox.Limits{
			Memory: int64(config.BashMemory.Of(conf).V), Processes: int64(config.BashProcesses.Of(conf).V),
			Files: int64(config.BashFiles.Of(conf).V), FileSize: int64(config.BashFileSize.Of(conf).V),
		},
	}
	if home, err := os.UserHomeDir(); err == nil {
		o.Env = host.Identity(home)
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, err
	}
	o.Root = setup.Resolve(root)
	o.Hide, o.Protect = setup.OwnFiles(conf), setup.ProtectedFiles(conf, o.Root)
	return o, o.Least.UnmarshalText([]byte(config.BashSandbox.Of(conf).V))
}

// TimedLimiter limits the shell around programs to the timeout of a command plus the time to stop it.
func (w *Host) TimedLimiter() *quota.Limiter {
	limits := host.ShellLimits()
	limits.Time = w.Options.Timeout + stopTime
	return quota.NewLimiter(limits)
}

// stopTime is how long programs may take to stop after a timeout.
const stopTime = 1300 * time.Millisecond

// HostStatus is the output of hako host status --json.
type HostStatus struct {
	sandbox.Report
	Required sandbox.Level `json:"required"`
	Enough   bool          `json:"enough"`
	Root     string        `json:"root"`
	Network  bool          `json:"network"`
}

// ProbeHost builds a sandbox and inspects it; an empty root means that of the settings.
func ProbeHost(ctx context.Context, conf *config.Config, root string) (HostStatus, error) {
	options, err := hostOptions(conf)
	if err != nil {
		return HostStatus{}, err
	}
	if root != "" {
		options.Root = root
	}
	report, err := host.Probe(ctx, options)
	return HostStatus{report, options.Least, report.Level >= options.Least, options.Root, options.Network}, err
}

// checkRootDir checks at the start what would fail at the first command.
func checkRootDir(conf *config.Config) error {
	o, err := hostOptions(conf)
	if err != nil {
		return err
	}
	if err := checkDirectory("work in", o.Root, "bash_executor.root", "--root"); err != nil {
		return err
	}
	return checkRoot(conf, o.Root)
}

// checkRoot is [setup.CheckGrants] for the root of programs. In a root that the runner refuses anyway, such as a
// home directory, everything else works; the first program reports the reason.
func checkRoot(conf *config.Config, root string) error {
	if host.Usable(root) != nil {
		return nil
	}
	return setup.CheckGrants(conf, root)
}
