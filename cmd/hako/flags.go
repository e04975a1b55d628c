package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/config"
	"hako/internal/setup"
	"hako/quota"
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
	return setup.Settings{File: o.config, NoFile: o.noConfig, Llmcmd: o.llmcmd, Audit: o.audit, Rules: o.rules,
		Limits: o.limits}.Load()
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
	json   bool
}

func (o *modelFlags) register(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "ask `MODEL`: a name, openai:NAME, chat:NAME, ollama:NAME, builtin, script:FILE")
	f.StringVar(&o.record, "record", "", "write the model's turns to `FILE`, to be replayed with --model script:FILE")
	f.BoolVar(&o.stats, "stats", false, "print time, tokens and cost at the end")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines (docs/events.md)")
}
