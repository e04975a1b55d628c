package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/container"
	"hako/internal/app"
	"hako/internal/config"
	"hako/run/fault"
)

func newEnv(s streams) *cobra.Command {
	cmd := command("env", nil, needSubcommand)
	for _, sub := range []func(streams) *cobra.Command{
		newEnvList, newEnvBuild, newEnvUp, newEnvExec, newEnvEdit, newEnvJobs, newEnvInfo, newEnvDown, newEnvPrune,
		newEnvPool, newEnvPrompt, newEnvKeep,
	} {
		cmd.AddCommand(sub(s))
	}
	return cmd
}

// envFlags are what every command about containers has.
type envFlags struct {
	common
	task string
}

func (o *envFlags) register(f *pflag.FlagSet) {
	o.common.register(f)
	_ = f.MarkHidden("limit") // containers have limits of their own
}

// ofTask adds the flag for a task, which is required.
func (o *envFlags) ofTask(cmd *cobra.Command) {
	o.register(cmd.Flags())
	cmd.Flags().Var((*filled)(&o.task), "task", "the `ID` of the task")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if o.task != "" {
			return nil
		}
		e := &fault.Error{Kind: fault.Invalid, Op: called(cmd), Why: "it is not said for which task",
			Hint: "add --task ID: one that hako env list shows, or a new one for hako env up"}
		if len(args) == 1 && container.CheckTask(args[0]) == nil {
			e.Hint = "add --task: " + cmd.CommandPath() + " --task " + args[0]
		}
		return e
	}
}

// berth opens a dock with the settings. Change may be nil.
func (o *envFlags) berth(s streams, change func(*config.Config, *container.Options) error) (*app.Containers, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	options, err := app.ContainerOptions(conf)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if err := change(conf, &options); err != nil {
			return nil, err
		}
	}
	return app.OpenContainers(conf, options, askFor(s, conf))
}

// telling shows what is being done: turning in place on a terminal, in lines
// elsewhere.
func telling(s streams, quiet bool) (say func(string), end func()) {
	w := newShow(s, quiet, false)
	w.spinner.Start("working")
	terminal := isTerminal(s.err)
	return func(line string) {
		if line = strings.TrimSpace(line); line == "" {
			return
		}
		w.spinner.Label(line)
		if !terminal && !quiet {
			fmt.Fprintln(s.err, line)
		}
	}, w.spinner.Stop
}
