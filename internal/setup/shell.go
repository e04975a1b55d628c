// Package setup builds a closed shell with its gate from settings and grants: its
// file system, policy, limits, audit log and secrets. Package app builds on it;
// llmsh uses it directly.
package setup

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

// ShellOptions describe a closed shell. The zero value grants nothing.
type ShellOptions struct {
	Inputs, Outputs []string // files granted for reading; for reading and writing
	Roots, Writable []string // directories, likewise
	Protect         []string // names in Writable that cannot be changed; nil means the default
	Set             []string // options of the shell that are on from the start, as set -o names them
	Strict          bool     // the profile for models; false means the one for people
	Seed            uint64   // makes chance repeatable; zero means that it is not
	Clock           string   // fixes the clock; empty means the real one

	Dir    string                    // where it starts; empty means the first granted directory, or /box
	Only   func(shell.Set) shell.Set // which commands there are; nil means all of them
	Limits func() quota.ScriptLimits // nil means those of the profile
	Budget quota.Limits              // of everything together; zero means what the settings say, or no limit
	Texts  map[string][]byte         // files that are only in memory, by name
	Ask    func(context.Context, gate.Question) (gate.Answer, error)
	Hint   func(error) string // words hints in scripts; nil means for readers that cannot give flags
}

// A Shell is a closed shell behind its gate.
type Shell struct {
	Log     *audit.File
	Secrets *redact.Set
	Budget  *quota.Budget
	Limiter *quota.Limiter
	Policy  *policy.Policy
	Session *shell.Session
	Runner  run.Runner // the gate before Session
	Granted []string   // names of the granted files, for $1, $2…
}

// Close closes the record.
func (s *Shell) Close() { _ = s.Log.Close() }

// Open makes the shell and the gate before it.
func (o *ShellOptions) Open(conf *config.Config) (*Shell, error) {
	o.takeOptions()
	limits := conf.Limits(o.limits())
	// The collector works harder as the heap nears what a session may hold.
	debug.SetMemoryLimit(limits.Memory + limits.Memory/4)
	debug.SetGCPercent(300)
	if err := CheckGrants(conf, slices.Concat(o.Writable, o.Outputs)...); err != nil {
		return nil, err
	}
	o.Protect = ProtectedFiles(conf, o.Writable...)
	s := &Shell{Limiter: quota.NewLimiter(limits), Secrets: Secrets(conf), Granted: slices.Concat(o.Inputs, o.Outputs)}
	var err error
	if s.Session, err = o.NewSession(s.Limiter); err != nil {
		return nil, err
	}
	if s.Policy, err = LoadPolicy(conf, "virtual"); err != nil {
		return nil, err
	}
	if s.Log, err = audit.Open(config.AuditPath.Of(conf).V, audit.Options{Secrets: s.Secrets}); err != nil {
		return nil, err
	}
	budget := o.Budget
	if budget.Calls == 0 {
		budget = conf.Budget(quota.Unlimited())
	}
	s.Budget = quota.New(budget)
	s.Runner = gate.New(s.Session, gate.Options{
		Policy: s.Policy, Log: s.Log, Budget: s.Budget, Ask: o.Ask, AskTimeout: config.ApprovalTimeout.Of(conf).V,
		Pause: s.Limiter.Pause, Secrets: s.Secrets,
	})
	return s, nil
}

func (o *ShellOptions) limits() quota.ScriptLimits {
	switch {
	case o.Limits != nil:
		return o.Limits()
	case o.Strict:
		return quota.Strict()
	}
	return quota.Lenient()
}

// NewSession makes the session with its files, without a gate.
func (o *ShellOptions) NewSession(limiter *quota.Limiter) (*shell.Session, error) {
	now, err := clock(o.Clock)
	if err != nil {
		return nil, err
	}
	tree := vfs.New(vfs.Options{Limiter: limiter, Strict: o.Strict, Now: now, Seed: o.Seed, Protect: o.Protect})
	if err := o.grant(tree); err != nil {
		return nil, err
	}
	set := command.All()
	if o.Only != nil {
		set = o.Only(set)
	}
	return shell.New(shell.Options{
		Hint: o.Hint,
		FS:   tree, Commands: set, Limiter: limiter, Dir: o.Dir, Now: now, Seed: o.Seed, Parse: policy.ParseScript,
		Set: o.Set,
	}), nil
}

// Secrets returns the secrets of the environment and of the settings.
func Secrets(conf *config.Config) *redact.Set {
	set := knownSecrets(os.Environ())
	set.Add(conf.Secrets()...)
	return set
}

// knownSecrets returns the values of environment variables that are named like secrets.
func knownSecrets(environ []string) *redact.Set {
	var set redact.Set
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToUpper(name)
		for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "PASSWORD", "_PASS", "_CREDENTIALS"} {
			if strings.HasSuffix(name, end) && len(value) >= 8 {
				set.Add(value)
			}
		}
	}
	return &set
}

// grant grants real files to the file system.
func (o *ShellOptions) grant(tree *vfs.FS) error {
	for _, g := range []struct {
		names []string
		write bool
	}{{o.Roots, false}, {o.Writable, true}} {
		for _, name := range g.names {
			if err := o.mount(tree, name, g.write); err != nil {
				return err
			}
		}
	}
	if o.Dir == "" {
		o.Dir = "/box"
	}
	for _, g := range []struct {
		names []string
		write bool
	}{{o.Inputs, false}, {o.Outputs, true}} {
		for _, name := range g.names {
			if err := tree.Inject(Within(o.Dir, name), name, g.write); err != nil {
				return err
			}
		}
	}
	for name, text := range o.Texts {
		at := Within(o.Dir, name)
		if err := errors.Join(tree.MkdirAll(path.Dir(at), 0o755), tree.WriteFile(at, text, 0o444)); err != nil {
			return err
		}
	}
	return nil
}

// mount grants a directory under its own path; the shell starts in the first one.
func (o *ShellOptions) mount(tree *vfs.FS, name string, write bool) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	at := filepath.ToSlash(abs)
	if o.Dir == "" {
		o.Dir = at
	}
	return tree.Mount(at, abs, write)
}

// clock returns the real clock or a fixed one.
func clock(text string) (func() time.Time, error) {
	if text == "" {
		return time.Now, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "set clock", Subject: text, Why: "it is not a time",
			Hint: "write it as 2006-01-02T15:04:05Z"}
	}
	return func() time.Time { return t }, nil
}
