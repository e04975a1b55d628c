package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/quota"
)

// common are the flags of nearly every command.
type common struct {
	setup.Settings
	json bool
}

// register adds the flags of commands that run something.
func (o *common) register(f *pflag.FlagSet) {
	f.StringVar(&o.File, "config", "", "read the settings from `FILE`")
	o.registerRest(f)
}

// registerRest is for commands with a --config of their own.
func (o *common) registerRest(f *pflag.FlagSet) {
	f.BoolVar(&o.NoFile, "no-config", false, "read no settings file")
	o.registerAudit(f)
	f.StringVar(&o.Rules, "rules", "", "add the rules of `FILE`")
	f.StringArrayVar(&o.Settings.Limits, "limit", nil,
		"set a limit, `NAME=VALUE`: "+strings.Join(quota.ScriptLimitNames[:], ", "))
}

func (o *common) registerAudit(f *pflag.FlagSet) {
	f.StringVar(&o.Audit, "audit", "", "write the record to `FILE`")
}

// registerSettings adds the flags of commands that run nothing.
func (o *common) registerSettings(f *pflag.FlagSet) {
	f.StringVar(&o.File, "config", "", "read the settings from `FILE`")
	f.BoolVar(&o.NoFile, "no-config", false, "read no settings file")
}

// registerJSON adds --json; an empty what means all that is printed.
func (o *common) registerJSON(f *pflag.FlagSet, what string) {
	usage := "print JSON"
	if what != "" {
		usage = "print " + what + " as JSON"
	}
	f.BoolVar(&o.json, "json", false, usage)
}

// load reads the settings and applies the flags.
func (o *common) load() (*config.Config, error) { return o.Settings.Load() }

// openApp loads the settings and opens the record.
func (o *common) openApp() (*config.Config, *app.App, error) {
	conf, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	b, err := app.Open(conf)
	return conf, b, err
}

// boxFlags are the flags of commands with a virtual shell.
type boxFlags struct {
	common
	setup.ShellOptions
}

func (o *boxFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.common.register(f)
	o.ShellOptions.Register(f)
}

// modelFlags are the flags of every command that asks a model.
type modelFlags struct {
	model  string
	record string
	stats  bool
}

func (o *modelFlags) register(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "ask `MODEL`: a name, openai:NAME, chat:NAME, ollama:NAME, builtin, script:FILE")
	f.StringVar(&o.record, "record", "", "write the model's turns to `FILE`, to be replayed with --model script:FILE")
	f.BoolVar(&o.stats, "stats", false, "print time, tokens and cost at the end")
}
