package policy

import (
	"embed"
	"strings"

	"hako/run/fault"
)

//go:embed rules
var ruleFiles embed.FS

// Profiles lists the names that [Default] knows.
func Profiles() []string { return []string{"virtual", "host", "container", "outside"} }

// Virtual allows every command, for a virtual file system that leads nowhere else.
// Background jobs and process substitution are denied.
func Virtual() *Policy { return Default("virtual", Options{}) }

// Strict allows the everyday commands of [Host] in a virtual file system: options
// by list, no background jobs, no variables that control programs.
func Strict() *Policy { return Default("host", Options{Root: "/"}) }

// Host allows the everyday commands, with options by list and paths inside of
// opts.Root.
func Host(opts Options) *Policy { return Default("host", opts) }

// Container allows the same commands, without judging options and paths. Commands
// in the arguments of other programs are judged, too.
func Container(opts Options) *Policy { return Default("container", opts) }

// Outside is for tools that reach beyond this machine. Their calls are spelled as
// commands: forge add_comment '{…}'.
func Outside() *Policy { return Default("outside", Options{}) }

// Default returns the policy of a profile, one of [Profiles]. An unknown profile
// denies everything.
func Default(profile string, opts Options) *Policy {
	rules, err := defaultRules(profile)
	if err != nil {
		return nil
	}
	return (&Policy{rules: newRuleSet(rules)}).For(profile, opts)
}

func defaultRules(profile string) ([]rule, error) {
	name := profile + ".policy"
	text, err := ruleFiles.ReadFile("rules/" + name)
	if err != nil {
		return nil, unknownProfile(profile)
	}
	return readRules(name, strings.NewReader(string(text)))
}

func unknownProfile(profile string) error {
	hint := "use virtual, host, container or outside"
	if near, ok := fault.Nearest(profile, Profiles()); ok {
		hint = "did you mean " + near + "?"
	}
	return &fault.Error{Kind: fault.Invalid, Op: "choose profile", Subject: profile, Why: "there is no such profile",
		Hint: hint}
}

// For returns the same rules with the checks of a profile.
func (p *Policy) For(profile string, opts Options) *Policy {
	q := *p
	q.profile, q.opts = profile, opts
	switch profile {
	case "host":
		q.checks = checks{strict: true, foreground: true, jobs: true}
	case "container":
		q.opts.Root = "" // the container is the wall
		q.checks = checks{opaque: true}
	default:
		q.opts.Root = "" // the virtual tree is all there is
		q.checks = checks{foreground: true, callback: true}
	}
	return &q
}

// Profile returns the name of the profile whose checks p applies.
func (p *Policy) Profile() string {
	if p == nil {
		return ""
	}
	return p.profile
}
