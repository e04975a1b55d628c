package main

import (
	"context"
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

// envFlags are the flags of every command about containers.
type envFlags struct {
	common
	task   string
	change func(*config.Config, *container.Options) error // adapts the options; nil means that nothing is changed
}

// run returns the function of a command that works with the containers.
func (o *envFlags) run(s streams, do func(context.Context, *app.Containers, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		b, err := o.openContainers(s)
		if err != nil {
			return err
		}
		defer b.Close()
		return do(cmd.Context(), b, args)
	}
}

func (o *envFlags) register(f *pflag.FlagSet) {
	o.common.register(f)
	_ = f.MarkHidden("limit") // containers have limits of their own
}

// ofTask adds the required flag --task.
func (o *envFlags) ofTask(cmd *cobra.Command) {
	o.register(cmd.Flags())
	cmd.Flags().Var((*nonEmpty)(&o.task), "task", "the `ID` of the task")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if o.task != "" {
			return nil
		}
		e := &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Why: "--task is required",
			Hint: "add --task ID: one that hako env list shows, or a new one for hako env up"}
		if len(args) == 1 && container.CheckTask(args[0]) == nil {
			e.Hint = "add --task: " + cmd.CommandPath() + " --task " + args[0]
		}
		return e
	}
}

func (o *envFlags) openContainers(s streams) (*app.Containers, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	options, err := app.ContainerOptions(conf)
	if err != nil {
		return nil, err
	}
	if o.change != nil {
		if err := o.change(conf, &options); err != nil {
			return nil, err
		}
	}
	return app.OpenContainers(conf, options, askFor(s, conf))
}

// showProgress shows progress: a spinner on a terminal, lines elsewhere.
func showProgress(s streams, quiet bool) (say func(string), end func()) {
	w := newTranscript(s, quiet, false)
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
