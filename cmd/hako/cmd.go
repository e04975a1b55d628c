package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/app/llmcmd"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/config"
	"hako/quota"
	"hako/run/fault"
)

// cmdOptions are the flags of hako cmd.
type cmdOptions struct {
	common
	llmcmd.Options
	list    bool
	verbose bool
	stats   string // "", text or json
	version bool
}

func newCmd(s streams) *cobra.Command {
	var o cmdOptions
	cmd := command("cmd", nil, func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) })
	o.register(cmd.Flags())
	cmd.Flags().SetInterspersed(true)
	return cmd
}

func (o *cmdOptions) register(f *pflag.FlagSet) {
	f.StringVarP(&o.File, "config", "c", "", "read the settings from `FILE`")
	o.registerRest(f)
	f.StringVarP(&o.Prompt, "prompt", "p", "", "put `TEXT` before the instructions, instead of a preset")
	f.StringVarP(&o.Preset, "preset", "r", "",
		"put the preset `NAME` before the instructions; auto picks one by the input")
	f.BoolVar(&o.list, "list-presets", false, "list the presets")
	f.StringArrayVarP(&o.Inputs, "input", "i", nil, "give `FILE` to read, from fd 3 on; - is standard input")
	f.StringVarP(&o.Output, "output", "o", "", "write the result to `FILE` instead of standard output, which - is")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the calls")
	f.StringVarP(&o.stats, "stats", "s", "", "print the usage at the end, as `FORM`: text or json")
	f.Lookup("stats").NoOptDefVal = "text"
	f.StringVar(&o.Metrics, "metrics", "", "write the usage to `FILE` as JSON, for scrapers")
	f.BoolVarP(&o.NoStdin, "no-stdin", "n", false, "do not offer standard input")
	f.BoolVarP(&o.version, "version", "V", false, "print the version")
	f.Bool("virtual", true, "scripts see private files in memory beside the given ones (always so)")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the request that would be sent")
	f.StringVar(&o.Model, "model", "", "ask `MODEL`, as in hako run")
	f.StringVar(&o.Record, "record", "", "write the model's turns to `FILE`")
	f.StringVar(&o.PlanModel, "plan-model", "", "let `MODEL` make a plan first")
	f.StringVar(&o.ExecModel, "exec-model", "", "let `MODEL` execute the plan")
	f.BoolVar(&o.PlanOnly, "plan-only", false, "print the plan and stop")
	f.StringVar(&o.PlanFile, "execute-plan", "", "execute the plan in `FILE`")
}

func (o *cmdOptions) run(ctx context.Context, s streams, args []string) error {
	o.Llmcmd = true
	if o.version {
		fmt.Fprintln(s.out, "hako", version)
		return nil
	}
	conf, err := o.load()
	if err != nil {
		return err
	}
	if o.list {
		return listPresets(s.out, conf)
	}
	if o.stats != "" && o.stats != "text" && o.stats != "json" {
		return &fault.Error{Kind: fault.Invalid, Op: "cmd", Why: fmt.Sprintf("--stats is %q", o.stats),
			Hint: "it is text or json: --stats=json"}
	}
	if err := o.Check(args); err != nil {
		return err
	}
	if o.Output == "-" {
		o.Output = ""
	}
	w := newTranscript(s, false, o.verbose)
	session, err := llmcmd.Open(conf, &o.Options, llmcmdEnvironment(s, w))
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, stop := withHangup(ctx)
	defer stop()
	err = session.Run(ctx, strings.Join(args, " "))
	w.printUsage(session, o.stats)
	return err
}

// llmcmdEnvironment connects a session to the streams.
func llmcmdEnvironment(s streams, w *transcript) llmcmd.Environment {
	return llmcmd.Environment{
		Stdin: s.in, Terminal: isTerminal(s.in), Stdout: s.out, Stderr: s.err,
		Observe: w.event, Busy: w.busy, Watch: func(g *quota.Limiter) func() { return watchdog(g, s.err) },
	}
}

// printUsage prints the usage of a session and writes it to the metrics file.
func (w *transcript) printUsage(session *llmcmd.Session, form string) {
	b := session.Bill()
	if err := session.WriteMetrics(b); err != nil {
		w.note(err.Error())
	}
	switch form {
	case "json":
		text, _ := json.Marshal(b)
		fmt.Fprintln(w.notes, string(text))
	case "text":
		for _, line := range b.Lines() {
			w.note(line)
		}
	}
}

// withHangup also cancels the context on SIGHUP, unless that is ignored (nohup).
func withHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

func listPresets(w io.Writer, conf *config.Config) error {
	for _, p := range preset.All(llmcmd.Presets(conf)) {
		if _, err := fmt.Fprintf(w, "%-14s %s\n", visible(p.Name), visible(p.About)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%-14s %s\n", preset.Choose, "picks one of them by what the input is")
	return err
}
