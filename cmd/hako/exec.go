package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hako/agent/tool"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/term"
	"hako/run"
)

// execOptions are the flags of hako exec.
type execOptions struct {
	common
	app.ReadOnlyOptions
	start int64
	size  int64
}

func newExec(s streams) *cobra.Command {
	var o execOptions
	cmd := command("exec", oneCommand, func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args[0]) })
	f := cmd.Flags()
	o.common.register(f)
	f.StringArrayVar(&o.Files, "file", nil, "grant the real `FILE` for reading")
	f.StringArrayVar(&o.URLs, "allow-url", nil, "allow curl for URLs below `PREFIX`")
	f.Int64Var(&o.start, "start", 0, "start at byte `N` of the output")
	f.Int64Var(&o.size, "size", tool.MaxPage, "print at most `N` bytes, 1 to 4096")
	o.registerJSON(f, "the whole answer")
	return cmd
}

func (o *execOptions) run(cmd *cobra.Command, s streams, command string) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("size") {
		o.size = int64(config.ExecuteSize.Of(conf).V)
	}
	o.Ask = askPage(conf, newTranscript(s, false, false).note)
	e, b, err := o.Executor(conf, "user")
	if err != nil {
		return err
	}
	if !isTerminal(s.in) {
		e.Stdin = s.in
	}
	defer b.Close()
	defer watchdog(b.Limiter, s.err)()
	out := e.Call(cmd.Context(), tool.Input{Command: command, Start: o.start, Size: &o.size})
	if o.json {
		return printAnswer(s, out, o.Dir)
	}
	if _, err := io.WriteString(s.out, out.StdoutText); err != nil {
		return err
	}
	_, _ = io.WriteString(s.err, out.StderrText)
	if out.NextStart != nil {
		fmt.Fprintf(s.err, "hako: %d of %d bytes; the next page: --start %d\n", *out.NextStart, out.TotalBytes,
			*out.NextStart)
	}
	return answerStatus(out)
}

// An execAnswer is the result with --json.
type execAnswer struct {
	tool.Output
	Effects []run.Effect `json:"effects"`
}

func printAnswer(s streams, out tool.Output, dir string) error {
	if err := encode(s.out, execAnswer{out, from(dir, out.Effects)}); err != nil {
		return err
	}
	if out.Error != nil {
		return exitStatus(term.ExitStatus(out.Error.Kind))
	}
	return answerStatus(out)
}

// from makes paths below dir relative to it.
func from(dir string, effects []run.Effect) []run.Effect {
	seen := []run.Effect{} // not null
	for _, e := range effects {
		e.Path = strings.TrimPrefix(e.Path, strings.TrimSuffix(dir, "/")+"/")
		seen = append(seen, e)
	}
	return seen
}

func answerStatus(out tool.Output) error {
	switch {
	case out.Error != nil:
		return out.Error
	case out.ExitCode != 0:
		return exitStatus(out.ExitCode)
	}
	return nil
}
