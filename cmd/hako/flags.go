package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/app"
	"hako/internal/config"
	"hako/quota"
	"hako/run/fault"
)

// common are the flags that every command with a box has.
type common struct {
	llmcmd   bool // the settings of llmcmd count too
	config   string
	noConfig bool
	audit    string
	rules    string
	limits   []string
}

func (o *common) register(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "read the settings from `FILE`")
	o.registerRest(f)
}

// registerRest is for commands that have a --config of their own.
func (o *common) registerRest(f *pflag.FlagSet) {
	f.BoolVar(&o.noConfig, "no-config", false, "read no settings file")
	f.StringVar(&o.audit, "audit", "", "write the record to `FILE`")
	f.StringVar(&o.rules, "rules", "", "add the rules of `FILE`")
	f.StringArrayVar(&o.limits, "limit", nil, "set a limit, `NAME=VALUE`: "+strings.Join(quota.ScriptLimitNames, ", "))
}

// load reads the settings and takes in the flags.
func (o *common) load() (*config.Config, error) {
	c, err := config.Load(config.Source{File: o.config, NoFile: o.noConfig, Llmcmd: o.llmcmd})
	if err != nil {
		return nil, err
	}
	for _, pair := range o.limits {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "set limit", Subject: pair, Why: "it has no value", Hint: "write it as --limit time=30s"}
		}
		var scratch quota.ScriptLimits
		if err := scratch.Set(name, value); err != nil {
			return nil, err
		}
		if err := c.Set("limits."+name, "--limit", value); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct{ key, flag, value string }{{"audit.path", "--audit", o.audit}, {"policy.rules", "--rules", o.rules}} {
		if f.value != "" {
			if err := c.Set(f.key, f.flag, f.value); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// boxFlags are the flags of commands with a virtual shell.
type boxFlags struct {
	common
	app.ShellOptions
}

func (o *boxFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.common.register(f)
	f.StringArrayVarP(&o.Inputs, "input", "i", nil, "grant the real `FILE` for reading")
	f.StringArrayVarP(&o.Outputs, "output", "o", nil, "grant the real `FILE` for reading and writing")
	f.StringArrayVar(&o.Roots, "root", nil, "grant the real `DIR` for reading, and start in it")
	f.StringArrayVar(&o.Writable, "rw", nil, "grant the real `DIR` for reading and writing")
	f.BoolVar(&o.Strict, "strict", false, "apply the profile for models: text files only, up to file_size")
	f.Uint64Var(&o.Seed, "seed", 0, "make chance repeatable; each `N` gives another")
	f.StringVar(&o.Clock, "clock", "", "fix the clock at `TIME` (2006-01-02T15:04:05Z)")
}
