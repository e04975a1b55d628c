package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/internal/term"
	"hako/internal/text"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// hostFlags are the flags of every command that runs programs of this machine.
type hostFlags struct {
	common
	root    string
	timeout string
}

func (o *hostFlags) register(f *pflag.FlagSet) {
	o.common.register(f)
	_ = f.MarkHidden("limit") // programs have limits of their own
	f.Var((*nonEmpty)(&o.root), "root", "work in `DIR` and nowhere else (default the current directory)")
	f.Var((*nonEmpty)(&o.timeout), "timeout", "stop a command after `TIME`, as 5s (default bash_executor.timeout, 30s)")
}

// nonEmpty is a flag that must not be empty: --root "$UNSET" does not mean the current directory.
type nonEmpty string

// Set implements [pflag.Value].
func (v *nonEmpty) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty")
	}
	*v = nonEmpty(text)
	return nil
}

// String implements [pflag.Value].
func (v *nonEmpty) String() string { return string(*v) }

// Type implements [pflag.Value].
func (v *nonEmpty) Type() string { return "string" }

// load loads the settings and applies the flags.
func (o *hostFlags) load() (*config.Config, error) {
	if len(o.Limits) > 0 {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "set limit", Subject: o.Limits[0],
			Why:  "it is for the closed shell; programs have limits of their own",
			Hint: "use --timeout, or bash_executor.memory, .processes, .files and .file_size in hako.yaml"}
	}
	conf, err := o.common.load()
	if err != nil {
		return nil, err
	}
	for _, f := range []struct{ key, flag, value string }{{"bash_executor.root", "root", o.root},
		{"bash_executor.timeout", "timeout", o.timeout}} {
		if f.value == "" {
			continue
		}
		if err := conf.Set(f.key, "--"+f.flag, f.value); err != nil {
			return nil, err
		}
	}
	return conf, nil
}

func newHost(s streams) *cobra.Command {
	cmd := command("host", nil, needSubcommand)
	cmd.AddCommand(newHostExec(s), newHostStatus(s))
	return cmd
}

// hostExecOptions are the flags of hako host exec.
type hostExecOptions struct{ hostFlags }

func newHostExec(s streams) *cobra.Command {
	var o hostExecOptions
	cmd := command("host exec", oneCommand, func(cmd *cobra.Command, args []string) error {
		return o.run(cmd.Context(), s, args[0])
	})
	o.register(cmd.Flags())
	o.registerJSON(cmd.Flags(), "{stdout, stderr, exit_code, cwd}")
	return cmd
}

func (o *hostExecOptions) run(ctx context.Context, s streams, command string) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	w, err := app.OpenHost(conf, quota.Unlimited(), askFor(s, conf))
	if err != nil {
		return err
	}
	defer w.App.Close()
	w.Options.Limiter = w.TimedLimiter()
	h, err := w.NewRunner(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	defer setup.KillOverdue(w.Options.Limiter, func(error) int { return int(stopped(s, w.Options.Timeout, "")) })()
	req := &run.Request{Actor: "user", Script: command, Stdout: s.out, Stderr: s.err}
	if o.json {
		return o.runJSON(ctx, s, h, req, int(config.BashOutput.Of(conf).V))
	}
	res, err := h.Run(ctx, req)
	if res.TimedOut {
		return stopped(s, w.Options.Timeout, "")
	}
	return finished(res, err)
}

// stopped reports that a command reached its timeout.
func stopped(s streams, after time.Duration, alternative string) exitStatus {
	fmt.Fprintf(s.err, "hako: stopped after %v\nhako: hint: give it more time with --timeout%s\n", after, alternative)
	return exitStatus(124)
}

func finished(res run.Result, err error) error {
	if err == nil && res.Exit != 0 {
		return exitStatus(res.Exit)
	}
	return err
}

// hostResult is what host exec prints with --json.
type hostResult struct {
	Stdout    string       `json:"stdout"`
	Stderr    string       `json:"stderr"`
	ExitCode  int          `json:"exit_code"`
	Cwd       string       `json:"cwd"`
	TimedOut  bool         `json:"timed_out"`
	Truncated bool         `json:"truncated"` // the middle of a long output was left out
	Redacted  int          `json:"redacted"`  // always 0: the user can read the files anyway
	Duration  int64        `json:"duration_ms"`
	Error     *fault.Error `json:"error,omitempty"` // why it did not run to its end
}

func (o *hostExecOptions) runJSON(ctx context.Context, s streams, h app.HostRunner, req *run.Request, keep int) error {
	stdout, stderr := &text.HeadTail{Head: keep / 2, Tail: keep / 2}, &text.HeadTail{Head: keep / 2, Tail: keep / 2}
	req.Stdout, req.Stderr = stdout, stderr
	res, err := h.Run(ctx, req)
	_, _, cut := stdout.Bytes()
	_, _, lost := stderr.Bytes()
	out := hostResult{
		Stdout: strings.ToValidUTF8(stdout.String(), "\uFFFD"), Stderr: strings.ToValidUTF8(stderr.String(), "\uFFFD"),
		ExitCode: res.Exit, Cwd: res.Dir, TimedOut: res.TimedOut, Truncated: cut+lost > 0,
		Duration: res.Duration.Milliseconds(),
	}
	if err != nil && !errors.As(err, &out.Error) {
		return err
	}
	if out.Error != nil && out.ExitCode == 0 {
		out.ExitCode = term.ExitStatus(fault.KindOf(err))
	}
	if err := encode(s.out, out); err != nil {
		return err
	}
	switch {
	case res.TimedOut:
		return exitStatus(124)
	case out.Error != nil:
		return exitStatus(term.ExitStatus(fault.KindOf(err)))
	}
	return finished(res, nil)
}

// hostStatusOptions are the flags of hako host status.
type hostStatusOptions struct{ hostFlags }

func newHostStatus(s streams) *cobra.Command {
	var o hostStatusOptions
	cmd := command("host status", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.run(cmd.Context(), s)
	})
	o.register(cmd.Flags())
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

func (o *hostStatusOptions) run(ctx context.Context, s streams) error {
	conf, err := o.load()
	if err != nil {
		return err
	}
	st, err := app.ProbeHost(ctx, conf, "")
	if err != nil {
		return err
	}
	if o.json {
		err = encode(s.out, st)
	} else {
		err = printHostStatus(s.out, st)
	}
	if err == nil && !st.Enough {
		return exitStatus(term.ExitStatus(fault.Denied))
	}
	return err
}

func printHostStatus(w io.Writer, st app.HostStatus) error {
	landlock, seccomp, network := "not there", "not there", "none, not even this machine's"
	if st.Landlock > 0 {
		landlock = fmt.Sprintf("version %d", st.Landlock)
	}
	if st.Seccomp {
		seccomp = "on"
	}
	if st.Network {
		network = "that of this machine"
	}
	lines := []string{
		"sandbox:     " + st.Level.String() + " (at least " + st.Required.String() + " is required: bash_executor.sandbox)",
		"landlock:    " + landlock,
		"seccomp:     " + seccomp,
		"namespaces:  " + orNone(st.Spaces),
		"processes:   bounded by " + orNone(st.Counting),
		"network:     " + network,
		"root:        " + st.Root,
	}
	for _, m := range st.Missing {
		lines = append(lines, "missing:     "+m)
	}
	if !st.Enough {
		lines = append(lines, "Nothing will be run.")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
