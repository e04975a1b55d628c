package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/agent/tool"
	"hako/internal/app/ask"
	"hako/internal/config"
	"hako/internal/term"
	"hako/run/fault"
)

// runOptions are the flags of hako run.
type runOptions struct {
	common
	modelFlags
	ask.Options
	stdin   bool
	dryRun  bool
	verbose bool
}

func newRun(s streams) *cobra.Command {
	var o runOptions
	cmd := command("run", nil, func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) })
	o.register(cmd.Flags())
	return cmd
}

// newChat is run without tools: one request, one answer.
func newChat(s streams) *cobra.Command {
	var o runOptions
	cmd := command("chat", nil, func(cmd *cobra.Command, args []string) error {
		o.NoTools = true
		return o.run(cmd, s, args)
	})
	o.registerModel(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.Files, "file", nil, "tell the model the name of `FILE`, which it cannot read")
	return cmd
}

// registerModel adds the flags of run and chat.
func (o *runOptions) registerModel(f *pflag.FlagSet) {
	o.common.register(f)
	o.modelFlags.register(f)
	f.BoolVar(&o.json, "json", false, "print events as JSON lines (docs/events.md)")
	f.StringVar(&o.System, "system", "", "add the instructions in `FILE`")
	f.StringVar(&o.Thread, "continue", "", "continue and store the conversation `NAME` (default NAME: last)")
	f.Lookup("continue").NoOptDefVal = "last"
}

func (o *runOptions) register(f *pflag.FlagSet) {
	o.registerModel(f)
	f.StringArrayVar(&o.Files, "file", nil, "grant the real `FILE` for reading")
	f.StringArrayVar(&o.URLs, "allow-url", nil, "allow URLs below `PREFIX`")
	f.BoolVar(&o.stdin, "stdin", false, "grant standard input as the file stdin")
	f.IntVar(&o.Turns, "turns", 0, "ask the model at most `N` times, 1 to 32 (default 4)")
	f.IntVar(&o.Calls, "max-tool-calls", 0, "execute at most `N` calls of a turn, 1 to 64 (default 8)")
	f.IntVar(&o.Threads, "tool-threads", 0, "execute up to `N` calls at a time, 1 to 16 (default 4)")
	f.BoolVar(&o.NoTools, "disable-all-tools", false, "offer no tools")
	f.StringSliceVar(&o.Tools, "available-tools", nil, "offer only these `TOOLS`, as execute,web_fetch")
	f.StringVar(&o.Force, "force-tool", "", "make the model call `TOOL` first")
	f.BoolVar(&o.AutoSearch, "auto-search", false, "search the web first if the model finds it necessary")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the request that would be sent, and its fixed tokens")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the calls also when not at a terminal")
}

// applySettings takes limits from the flags, else from the settings.
func (o *runOptions) applySettings(cmd *cobra.Command, conf *config.Config) error {
	for _, n := range []struct {
		flag, key string
		to        *int
		of        config.Key[int]
	}{
		{"turns", "run.turns", &o.Turns, config.RunTurns},
		{"max-tool-calls", "run.max_tool_calls", &o.Calls, config.RunMaxToolCalls},
		{"tool-threads", "run.tool_threads", &o.Threads, config.RunToolThreads},
	} {
		if cmd.Flags().Changed(n.flag) {
			if err := conf.Set(n.key, "--"+n.flag, fmt.Sprint(*n.to)); err != nil {
				return err
			}
		}
		*n.to = n.of.Of(conf).V
	}
	if o.System == "" {
		o.System = config.RunSystem.Of(conf).V
	}
	o.MaxOutput = int64(config.ModelMaxOutput.Of(conf).V)
	return nil
}

// requestFrom returns the request: the arguments, or standard input.
func requestFrom(s streams, args []string, stdinTaken bool) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" || len(args) == 0 && !stdinTaken && !isTerminal(s.in) {
		b, err := io.ReadAll(io.LimitReader(s.in, maxInput+1))
		if err != nil {
			return "", err
		}
		text = string(b)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", &fault.Error{Kind: fault.Invalid, Op: "read request", Why: "there is none",
			Hint: "write it as the last argument, or pipe it in"}
	case len(text) > maxInput:
		return "", inputTooLarge("read request")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// maxInput limits standard input.
const maxInput = 10 << 20

func inputTooLarge(op string) error {
	return &fault.Error{Kind: fault.TooLarge, Op: op, Subject: "standard input", Why: "it is larger than 10 MB",
		Hint: "save it to a file, cut it there, and grant that with --file"}
}

func (o *runOptions) run(cmd *cobra.Command, s streams, args []string) (err error) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	conf, err := o.load()
	if err != nil {
		return err
	}
	if err := o.applySettings(cmd, conf); err != nil {
		return err
	}
	if o.Request, err = requestFrom(s, args, o.stdin); err != nil {
		return err
	}
	w := newTranscript(s, o.json, o.verbose)
	w.cancel = cancel
	defer func() { err = w.finish(err) }()
	if o.Stdin, err = o.readStdin(s); err != nil {
		return err
	}
	session, err := o.open(ctx, conf, w, cmd)
	if err != nil {
		return err
	}
	defer session.Close()
	if o.dryRun {
		return o.describe(s.out, session)
	}
	defer watchdog(session.Shell.Limiter, s.err)()
	err = session.Run(ctx)
	if o.stats {
		w.endText()
		w.note(session.Model.Stats())
	}
	return err
}

// open opens a session whose events go to w.
func (o *runOptions) open(ctx context.Context, conf *config.Config, w *transcript, cmd *cobra.Command) (*ask.Session,
	error) {
	help := tool.CLIHelp(helpOf(w.s.treeOf(cmd)))
	o.Model, o.Record, o.Help = o.model, o.record, &help
	o.Ask, o.Observe, o.Busy = askPage(conf, w.note), w.event, w.spinner.Start
	return ask.Open(ctx, conf, o.Options)
}

// readStdin reads standard input for --stdin.
func (o *runOptions) readStdin(s streams) ([]byte, error) {
	if !o.stdin {
		return nil, nil
	}
	if isTerminal(s.in) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read standard input", Why: "it is the terminal",
			Hint: "pipe something in: git log | hako run --stdin …"}
	}
	b, err := io.ReadAll(io.LimitReader(s.in, maxInput+1))
	if len(b) > maxInput {
		err = inputTooLarge("read")
	}
	return append([]byte{}, b...), err
}

// describe prints the request that a run would send.
func (o *runOptions) describe(w io.Writer, session *ask.Session) error {
	d, err := session.Describe()
	if err != nil {
		return err
	}
	if o.json {
		return encode(w, d)
	}
	fmt.Fprintf(w, "model:    %s\nlimits:   %d turns, %d calls a turn, %d at a time\n", session.Model, o.Turns, o.Calls,
		o.Threads)
	fmt.Fprintf(w, "budget:   %s\n", d.Left)
	for _, f := range d.Files {
		fmt.Fprintf(w, "file:     %s (%d bytes)\n", visible(f.Name), f.Bytes)
	}
	fmt.Fprintf(w, "request:  %s\n", term.Brief(d.Request, 200))
	fmt.Fprintf(w, "fixed:    about %d tokens in every request:\n", d.Fixed)
	for _, p := range d.Parts {
		fmt.Fprintf(w, "          %5d  %s\n", p.Tokens, p.Name)
	}
	return nil
}

// finish closes the transcript. With --json the error is already an event, so only the exit status is left.
func (w *transcript) finish(err error) error {
	w.close(err)
	if w.err != nil {
		return w.err
	}
	if w.json && err != nil && !errors.Is(err, context.Canceled) {
		return exitStatus(term.ExitStatus(fault.KindOf(err)))
	}
	return err
}
