package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/app/llmcmd/plan"
	"hako/internal/app/llmcmd/preset"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/run/fault"
)

// cmdOptions are the flags of hako cmd.
type cmdOptions struct {
	boxFlags
	model, record string
	prompt        string
	preset        string
	list          bool
	output        string
	verbose       bool
	stats         string // "", text or json
	metrics       string
	noStdin       bool
	version       bool
	dryRun        bool

	planModel, execModel string
	planOnly             bool
	planFile             string
}

func newCmd(s streams) *cobra.Command {
	var o cmdOptions
	cmd := &cobra.Command{
		Use:   "cmd [-i FILE]... [-o FILE] INSTRUCTIONS",
		Short: "Have a model work over files and pipes, for scripts (llmcmd)",
		Long: `cmd gives a model instructions and file descriptors: standard input, the files
given with -i, and an output. It reads, writes and runs scripts in closed shells
between them, and ends with the status that the model gave to exit. The output
file is replaced when all went well, and not touched otherwise.`,
		Example: `  cat app.log | hako cmd "list the hosts with errors, most errors first"
  hako cmd -i a.csv -i b.csv -o merged.csv "join them on the first column"
  hako cmd -r diff_patch -i old.txt -i new.txt "show what changed"
  hako cmd --plan-model gpt-4.1 --exec-model gpt-4.1-mini -i app.log "summarise the incidents"
  hako cmd --list-presets`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	o.register(cmd.Flags())
	cmd.Flags().SetInterspersed(true)
	return cmd
}

func (o *cmdOptions) register(f *pflag.FlagSet) {
	f.StringVarP(&o.config, "config", "c", "", "read the settings from `FILE`")
	o.registerRest(f)
	f.StringVarP(&o.prompt, "prompt", "p", "", "put `TEXT` before the instructions, instead of a preset")
	f.StringVarP(&o.preset, "preset", "r", "", "put the preset `NAME` before the instructions; auto picks one by the input")
	f.BoolVar(&o.list, "list-presets", false, "list the presets")
	f.StringArrayVarP(&o.Inputs, "input", "i", nil, "give `FILE` to read, from fd 3 on; - is standard input")
	f.StringVarP(&o.output, "output", "o", "", "write the result to `FILE` instead of standard output, which - is")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the calls")
	f.StringVarP(&o.stats, "stats", "s", "", "print what was used at the end, as `FORM`: text or json")
	f.Lookup("stats").NoOptDefVal = "text"
	f.StringVar(&o.metrics, "metrics", "", "leave what was used in `FILE`, as JSON, for scrapers")
	f.BoolVarP(&o.noStdin, "no-stdin", "n", false, "do not offer standard input")
	f.BoolVarP(&o.version, "version", "V", false, "print the version")
	f.Bool("virtual", true, "scripts see private files in memory beside the given ones (always so)")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the request that would be sent")
	f.StringVar(&o.model, "model", "", "ask `MODEL`, as in hako run")
	f.StringVar(&o.record, "record", "", "write the model's turns to `FILE`")
	f.StringVar(&o.planModel, "plan-model", "", "have `MODEL` make a plan first")
	f.StringVar(&o.execModel, "exec-model", "", "have `MODEL` carry the plan out")
	f.BoolVar(&o.planOnly, "plan-only", false, "print the plan and stop")
	f.StringVar(&o.planFile, "execute-plan", "", "carry out the plan in `FILE`")
}

func (o *cmdOptions) run(ctx context.Context, s streams, args []string) error {
	o.llmcmd = true
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
	if err := o.check(args); err != nil {
		return err
	}
	if o.output == "-" {
		o.output = ""
	}
	c, err := o.clerk(s, conf)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, stop := withHangup(ctx)
	defer stop()
	err = c.work(ctx, strings.Join(args, " "))
	c.tell(o.stats)
	return err
}

// check refuses what cannot go together.
func (o *cmdOptions) check(args []string) error {
	bad := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "cmd", Why: why, Hint: hint}
	}
	empty := strings.TrimSpace(strings.Join(args, " ")) == ""
	switch {
	case o.prompt != "" && o.preset != "":
		return bad("-p and -r are both given", "a prompt takes the place of a preset: leave one out")
	case empty && o.prompt == "" && o.planFile == "":
		return bad("there are neither instructions nor a prompt", `say what to do: hako cmd -i app.log "count the errors by host"`)
	case o.planFile != "" && !empty:
		return bad("--execute-plan and instructions are both given", "the plan says what to do: leave the instructions out")
	case o.planFile != "" && (o.planModel != "" || o.planOnly):
		return bad("--execute-plan is for a plan that is there already", "leave --plan-model and --plan-only out")
	case o.planOnly && o.planModel == "" && o.model == "":
		return bad("--plan-only needs a model to make the plan", "name it with --plan-model")
	case o.noStdin && slices.Contains(o.Inputs, "-"):
		return bad("-i - and -n are both given", "-n leaves standard input out, -i - makes it an input: leave one of them out")
	case o.stats != "" && o.stats != "text" && o.stats != "json":
		return bad(fmt.Sprintf("--stats is %q", o.stats), "it is text or json: --stats=json")
	}
	return nil
}

func listPresets(w io.Writer, conf *config.Config) error {
	for _, p := range preset.All(userPresets(conf)) {
		if _, err := fmt.Fprintf(w, "%-14s %s\n", visible(p.Name), visible(p.About)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%-14s %s\n", preset.Choose, "picks one of them by what the input is")
	return err
}

func userPresets(conf *config.Config) (list []preset.Preset) {
	for _, p := range conf.Presets() {
		list = append(list, preset.Preset{Name: p.Name, About: p.About, Text: p.Text})
	}
	return list
}

// readPlan reads the plan of --execute-plan.
func readPlan(name string) (*plan.Plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &fault.Error{Kind: fault.NotFound, Op: "read plan", Subject: name, Err: setup.ReasonOf(err), Hint: "--plan-only prints one"}
	}
	p, err := plan.Parse(string(text))
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) && f.Subject == "" {
			f.Subject = name
		}
		return nil, err
	}
	return p, nil
}
