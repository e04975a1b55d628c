package setup

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"hako/internal/config"
	"hako/quota"
	"hako/run/fault"
)

// Settings tell where settings come from, with the flags that override them.
type Settings struct {
	File   string   // the settings file; empty means where hako looks for it
	NoFile bool     // read no settings file
	Llmcmd bool     // the settings of llmcmd count too
	Audit  string   // overrides audit.path
	Rules  string   // overrides policy.rules
	Limits []string // NAME=VALUE, override limits.NAME
}

// Load reads the settings and applies the flags.
func (o Settings) Load() (*config.Config, error) {
	c, err := config.Load(config.Source{File: o.File, NoFile: o.NoFile, Llmcmd: o.Llmcmd})
	if err != nil {
		return nil, err
	}
	for _, pair := range o.Limits {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "set limit", Subject: pair, Why: "it has no value",
				Hint: "write it as time=30s", FlagHint: "write it as --limit time=30s"}
		}
		var scratch quota.ScriptLimits
		if err := scratch.Set(name, value); err != nil {
			return nil, err
		}
		if err := c.Set("limits."+name, "--limit", value); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct{ key, flag, value string }{{"audit.path", "--audit", o.Audit},
		{"policy.rules", "--rules", o.Rules}} {
		if f.value != "" {
			if err := c.Set(f.key, f.flag, f.value); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// Register defines the flags of a closed shell.
func (o *ShellOptions) Register(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.Inputs, "input", "i", nil, "grant the real `FILE` for reading")
	f.StringArrayVarP(&o.Outputs, "output", "o", nil,
		"grant the real `FILE` for reading and writing, or set an option such as pipefail")
	f.StringArrayVar(&o.Roots, "root", nil, "grant the real `DIR` for reading, and start in it")
	f.StringArrayVar(&o.Writable, "rw", nil, "grant the real `DIR` for reading and writing")
	f.BoolVar(&o.Strict, "strict", false, "apply the profile for models: text files only, up to file_size")
	f.Uint64Var(&o.Seed, "seed", 0, "make chance repeatable; each `N` gives another")
	f.StringVar(&o.Clock, "clock", "", "fix the clock at `TIME` (2006-01-02T15:04:05Z)")
	for _, s := range setFlags {
		f.BoolFuncP(s.name, s.letter, s.help, func(value string) error {
			on, err := strconv.ParseBool(value)
			if on {
				o.Set = append(o.Set, s.name)
			}
			return err
		})
	}
}

// setFlags are the options of bash that are flags as well.
var setFlags = []struct{ letter, name, help string }{
	{"e", "errexit", "end the script when a command fails, as set -e"},
	{"u", "nounset", "treat unset variables as errors, as set -u"},
	{"x", "xtrace", "print each command before it runs, as set -x"},
}

// optionNames are the words after -o that are options of bash and no files.
var optionNames = []string{"pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber", "errtrace"}

// takeOptions moves options of the shell from the granted files: -o pipefail is one, -o ./pipefail is a file.
func (o *ShellOptions) takeOptions() {
	o.Outputs = slices.DeleteFunc(o.Outputs, func(name string) bool {
		if slices.Contains(optionNames, name) {
			o.Set = append(o.Set, name)
			return true
		}
		return false
	})
}

// CommandWords takes the words after -c SCRIPT apart, as bash does: the first one is $0. In -ce SCRIPT the letters
// behind c are options.
func (o *ShellOptions) CommandWords(script string, words []string) (text, name string, args []string) {
	if len(words) > 0 && script != "" && strings.Trim(script, "eux") == "" {
		for _, s := range setFlags {
			if strings.Contains(script, s.letter) {
				o.Set = append(o.Set, s.name)
			}
		}
		script, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return script, "", nil
	}
	return script, words[0], words[1:]
}
