package setup

import (
	"io"
	"os"
	"path/filepath"
	"runtime"

	"hako/internal/config"
	"hako/policy"
	"hako/run/fault"
)

// LoadPolicy returns the policy of a profile with the user's rules.
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
		read RulesReader
	}{
		{config.PolicyWhitelist.Of(conf).V, policy.Whitelist},
		{config.PolicyRules.Of(conf).V, policy.Parse},
	} {
		if p, err = AddRules(p, more.path, more.read); err != nil {
			return nil, err
		}
	}
	return TeachPrograms(p, conf)
}

// TeachPrograms returns p with the programs of the file policy.programs.
func TeachPrograms(p *policy.Policy, conf *config.Config) (*policy.Policy, error) {
	path := config.PolicyPrograms.Of(conf).V
	if path == "" {
		return p, nil
	}
	programs, err := readTrusted(path, "name a file that describes programs; docs/policy.md has its form",
		policy.ParsePrograms)
	if err != nil {
		return nil, err
	}
	return p.Teach(programs), nil
}

// A RulesReader parses a file of rules: [policy.Parse] and [policy.Whitelist] do.
type RulesReader = func(name string, r io.Reader) (*policy.Policy, error)

// AddRules returns p with the rules of a file; an empty path adds none.
func AddRules(p *policy.Policy, path string, read RulesReader) (*policy.Policy, error) {
	if path == "" {
		return p, nil
	}
	more, err := ReadRules(path, read)
	if err != nil {
		return nil, err
	}
	return p.With(more), nil
}

// ReadRules reads a file of rules that only its owner can change.
func ReadRules(path string, read RulesReader) (*policy.Policy, error) {
	return readTrusted(path, "name a file of rules; docs/policy.md says how they are written", read)
}

// readTrusted reads a file that only its owner can change.
func readTrusted[T any](path, hint string, read func(name string, r io.Reader) (T, error)) (none T, _ error) {
	f, err := os.Open(path)
	if err != nil {
		return none, &fault.Error{Kind: fault.NotFound, Op: "read policy", Subject: path, Err: ReasonOf(err), Hint: hint}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return none, &fault.Error{Kind: fault.Invalid, Op: "read policy", Subject: path, Why: "others could change it",
			Hint: "chmod go-w " + path}
	}
	return read(filepath.Base(path), f)
}
