package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/agent"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/term"
	"hako/run/fault"
)

// runOptions are the flags of hako run.
type runOptions struct {
	common
	app.ReadOnlyOptions
	modelFlags
	system     string
	stdin      bool
	turns      int
	calls      int
	threads    int
	noTools    bool
	tools      []string
	force      string
	autoSearch bool
	thread     string
	dryRun     bool
	verbose    bool
	maxOutput  int64
}

func newRun(s streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [--file F]... [--model M] REQUEST",
		Short: "Have a model answer, with read-only tools over the granted files",
		Long: `run gives a request to a model together with tools: it may run read-only
commands over the files given with --file (and no others), search the web and
fetch pages whose addresses were allowed. Without a key and without Ollama, the
built-in rules answer simple questions about files, offline.`,
		Example: `  hako run --file app.log "top 5 error messages"
  hako run --file sales.csv "個数の合計は？"
  hako run --model ollama:qwen3 --file notes.md "what is still open?"
  git log --oneline | hako run --stdin "what changed most?"
  hako run --auto-search "is there a new Go release this week?"
  hako run --continue --file a.csv "and the average?"
  hako run --json --file app.log "count the errors"     # events for programs`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) },
	}
	o.register(cmd.Flags())
	return cmd
}

func (o *runOptions) register(f *pflag.FlagSet) {
	o.common.register(f)
	o.modelFlags.register(f)
	f.StringArrayVar(&o.Files, "file", nil, "grant the real `FILE` for reading")
	f.StringArrayVar(&o.URLs, "allow-url", nil, "let pages below `PREFIX` be fetched")
	f.StringVar(&o.system, "system", "", "add the instructions in `FILE`")
	f.BoolVar(&o.stdin, "stdin", false, "grant standard input as the file stdin")
	f.IntVar(&o.turns, "turns", 0, "ask the model at most `N` times, 1 to 32 (default 4)")
	f.IntVar(&o.calls, "max-tool-calls", 0, "carry out at most `N` calls of a turn, 1 to 64 (default 8)")
	f.IntVar(&o.threads, "tool-threads", 0, "carry out up to `N` calls at a time, 1 to 16 (default 4)")
	f.BoolVar(&o.noTools, "disable-all-tools", false, "offer no tools")
	f.StringSliceVar(&o.tools, "available-tools", nil, "offer only these `TOOLS`, as execute,web_fetch")
	f.StringVar(&o.force, "force-tool", "", "have the model call `TOOL` first")
	f.BoolVar(&o.autoSearch, "auto-search", false, "search the web first if the model finds that needed")
	f.StringVar(&o.thread, "continue", "", "go on with the conversation `NAME` and keep it (default NAME: last)")
	f.Lookup("continue").NoOptDefVal = "last"
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be sent, and how many tokens are fixed")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the calls also when not at a terminal")
}

func (o *modelFlags) register(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "ask `MODEL`: a name, openai:NAME, chat:NAME, ollama:NAME, builtin, script:FILE")
	f.StringVar(&o.record, "record", "", "write the model's turns to `FILE`, to be replayed with --model script:FILE")
	f.BoolVar(&o.stats, "stats", false, "print time, tokens and cost at the end")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines (docs/events.md)")
}

// settle takes the numbers from the flags, else from the settings.
func (o *runOptions) settle(cmd *cobra.Command, conf *config.Config) error {
	for _, n := range []struct {
		flag, key string
		to        *int
		of        config.Key[int]
	}{
		{"turns", "run.turns", &o.turns, config.RunTurns},
		{"max-tool-calls", "run.max_tool_calls", &o.calls, config.RunMaxToolCalls},
		{"tool-threads", "run.tool_threads", &o.threads, config.RunToolThreads},
	} {
		if cmd.Flags().Changed(n.flag) {
			if err := conf.Set(n.key, "--"+n.flag, fmt.Sprint(*n.to)); err != nil {
				return err
			}
		}
		*n.to = n.of.Of(conf).V
	}
	if o.system == "" {
		o.system = config.RunSystem.Of(conf).V
	}
	o.maxOutput = int64(config.ModelMaxOutput.Of(conf).V)
	return nil
}

// requestFrom returns the words of the user: arguments, or standard input.
func requestFrom(s streams, args []string, stdinTaken bool) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" || len(args) == 0 && !stdinTaken && !isTerminal(s.in) {
		b, err := io.ReadAll(io.LimitReader(s.in, largestInput+1))
		if err != nil {
			return "", err
		}
		text = string(b)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", &fault.Error{Kind: fault.Invalid, Op: "read request", Why: "there is none", Hint: "write it as the last argument, or pipe it in"}
	case len(text) > largestInput:
		return "", tooMuchInput("read request")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// largestInput is how much of standard input is taken in.
const largestInput = 10 << 20

func tooMuchInput(op string) error {
	return &fault.Error{Kind: fault.TooLarge, Op: op, Subject: "standard input", Why: "it is larger than 10 MB", Hint: "save it to a file, cut it there, and grant that with --file"}
}

func (o *runOptions) run(cmd *cobra.Command, s streams, args []string) (err error) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	conf, err := o.load()
	if err != nil {
		return err
	}
	if err := o.settle(cmd, conf); err != nil {
		return err
	}
	request, err := requestFrom(s, args, o.stdin)
	if err != nil {
		return err
	}
	w := newShow(s, o.json, o.verbose)
	w.cancel = cancel
	job := &job{runOptions: o, conf: conf, show: w, request: agent.Request{Text: request}}
	defer func() { err = w.finish(err) }()
	defer job.close()
	if err := job.prepare(ctx, cmd); err != nil {
		return err
	}
	if o.dryRun {
		return job.describe(s.out)
	}
	return job.work(ctx)
}

// finish ends the show. Programs that read events have the failure there
// already, so only the status is left to tell.
func (w *show) finish(err error) error {
	w.close(err)
	if w.err != nil {
		return w.err
	}
	if w.json && err != nil && !errors.Is(err, context.Canceled) {
		return exitStatus(term.ExitStatus(fault.KindOf(err)))
	}
	return err
}
