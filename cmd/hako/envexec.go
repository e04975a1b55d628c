package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"hako/container"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/term"
	"hako/run"
	"hako/run/fault"
)

// envExecOptions are the flags of hako env exec.
type envExecOptions struct {
	envFlags
	dir        string
	timeout    time.Duration
	background bool
}

func newEnvExec(s streams) *cobra.Command {
	var o envExecOptions
	cmd := command("env exec", nil, func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) })
	o.ofTask(cmd)
	f := cmd.Flags()
	f.Var((*nonEmpty)(&o.dir), "dir", "run it in `DIR`, in /workspace; relative to /workspace/project")
	f.Var((*positiveDuration)(&o.timeout), "timeout",
		"stop it after `TIME`, as 90s (default command_executor.execution.timeout_seconds, 30m)")
	f.Lookup("timeout").DefValue = "" // zero means the setting, which the usage names
	o.registerJSON(f, "{exit_code, stdout, stderr, duration_ms}")
	f.BoolVar(&o.background, "background", false, "start it and print its handle; see hako env jobs")
	return cmd
}

// positiveDuration is a flag for a duration above zero; a bare number means seconds.
type positiveDuration time.Duration

// Set implements [pflag.Value].
func (v *positiveDuration) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, nerr := strconv.ParseFloat(text, 64); nerr == nil && n < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d <= 0 {
		return errors.New("it is not a time above zero such as 90s or 5m")
	}
	*v = positiveDuration(d)
	return nil
}

// String implements [pflag.Value].
func (v *positiveDuration) String() string { return time.Duration(*v).String() }

// Type implements [pflag.Value].
func (v *positiveDuration) Type() string { return "time" }

// scriptOf makes a script of the arguments: one is a script, several are a command and its arguments.
func scriptOf(cmd *cobra.Command, words []string) (string, error) {
	if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
		return "", &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Why: "there is no command", Hint: quoteHint(cmd)}
	}
	if len(words) == 1 {
		return words[0], nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return "", &fault.Error{Kind: fault.Invalid, Op: "read command", Why: "a word of it cannot be quoted for a shell",
				Err: err, Hint: quoteHint(cmd)}
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " "), nil
}

func (o *envExecOptions) run(cmd *cobra.Command, s streams, words []string) error {
	text, err := scriptOf(cmd, words)
	if err != nil {
		return err
	}
	b, err := o.openContainers(s)
	if err != nil {
		return err
	}
	defer b.Close()
	req := &run.Request{Actor: "user", Script: text, Dir: o.dir, Timeout: o.timeout, Stdout: s.out, Stderr: s.err}
	if !isTerminal(s.in) {
		req.Stdin = s.in
	}
	switch {
	case o.background:
		return o.begin(cmd.Context(), s, b, req)
	case o.json:
		return o.runJSON(cmd.Context(), s, b, req)
	}
	res, err := b.Runner(o.task).Run(cmd.Context(), req)
	if res.TimedOut {
		return stopped(s, cmp.Or(o.timeout, b.Timeout), ", or run it with --background")
	}
	return finished(res, err)
}

// begin starts a command in the background.
func (o *envExecOptions) begin(ctx context.Context, s streams, b *app.Containers, req *run.Request) error {
	if !o.json {
		_, err := b.Background(o.task).Run(ctx, req)
		return err
	}
	var handle strings.Builder
	req.Stdout = &handle
	if _, err := b.Background(o.task).Run(ctx, req); err != nil {
		return err
	}
	return encode(s.out, map[string]string{"handle": strings.TrimSpace(handle.String())})
}

// envResult is what env exec prints with --json.
type envResult struct {
	container.Result
	Redacted int          `json:"redacted"`        // always 0: the user can read the files anyway
	Error    *fault.Error `json:"error,omitempty"` // why it did not run to its end
}

func (o *envExecOptions) runJSON(ctx context.Context, s streams, b *app.Containers, req *run.Request) error {
	res, err := b.ExecuteIn(ctx, o.task, req)
	out := envResult{Result: res}
	if err != nil {
		if !errors.As(err, &out.Error) {
			return err
		}
		if out.ExitCode == 0 {
			out.ExitCode = -1
		}
	}
	if err := encode(s.out, out); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case out.Error != nil:
		return exitStatus(term.ExitStatus(fault.KindOf(err)))
	case res.ExitCode < 0:
		return exitStatus(124)
	case res.ExitCode > 0:
		return exitStatus(res.ExitCode)
	}
	return nil
}

func newEnvEdit(s streams) *cobra.Command {
	var o envFlags
	cmd := command("env edit", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.edit(cmd.Context(), s)
	})
	o.ofTask(cmd)
	cmd.Flags().BoolVar(&o.json, "json", true, "the call and its result are JSON; there is no other form")
	return cmd
}

// maxCall limits a call of the editor.
const maxCall = 32 << 20

func (o *envFlags) edit(ctx context.Context, s streams) error {
	call, err := io.ReadAll(io.LimitReader(s.in, maxCall+1))
	if err != nil {
		return err
	}
	if len(call) > maxCall {
		return &fault.Error{Kind: fault.TooLarge, Op: "edit", Why: "the call is larger than 32 MB",
			Hint: "make smaller edits"}
	}
	b, err := o.openContainers(s)
	if err != nil {
		return err
	}
	defer b.Close()
	answer, err := b.Edit(ctx, o.task, call)
	if err != nil {
		return err
	}
	var result struct{ Success bool }
	if err := json.Unmarshal(answer, &result); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "%s\n", answer); err != nil || result.Success {
		return err
	}
	return exitStatus(1)
}

// envJobsOptions are the flags of hako env jobs.
type envJobsOptions struct {
	envFlags
	output, wait, kill bool
	offset             int64
	log, stream        string
}

func newEnvJobs(s streams) *cobra.Command {
	var o envJobsOptions
	cmd := command("env jobs", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		return o.run(cmd.Context(), s, args)
	})
	o.ofTask(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.output, "output", false, "print its output, from --offset on")
	f.Int64Var(&o.offset, "offset", 0, "begin at byte `N`")
	f.BoolVar(&o.wait, "wait", false, "wait for its end and return its exit status")
	f.BoolVar(&o.kill, "kill", false, "kill it and its child processes")
	f.Var((*nonEmpty)(&o.log), "log", "print the whole output of the command whose result named the log `NAME`")
	f.StringVar(&o.stream, "stream", "stdout", "which output of it, `NAME`: stdout or stderr")
	o.registerJSON(f, "")
	cmd.MarkFlagsMutuallyExclusive("output", "wait", "kill", "log")
	return cmd
}

func (o *envJobsOptions) run(ctx context.Context, s streams, args []string) error {
	if o.stream != "stdout" && o.stream != "stderr" {
		return &fault.Error{Kind: fault.Invalid, Op: "env jobs", Subject: "--stream " + o.stream,
			Why: "there is no such output", Hint: "use stdout or stderr"}
	}
	b, err := o.openContainers(s)
	if err != nil {
		return err
	}
	defer b.Close()
	if o.log != "" {
		return o.printLog(s, b)
	}
	desk, err := b.Jobs(ctx, o.task)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if o.output || o.wait || o.kill {
			return &fault.Error{Kind: fault.Invalid, Op: "env jobs", Why: "HANDLE is missing",
				Hint: "name it: hako env jobs --task " + o.task + " job-a76fd033 --output"}
		}
		list, err := desk.Jobs(ctx)
		if err != nil {
			return err
		}
		return o.printJobs(s, list)
	}
	return o.one(ctx, s, desk, run.JobHandle(args[0]))
}

func (o *envJobsOptions) one(ctx context.Context, s streams, desk container.JobClient, h run.JobHandle) (err error) {
	var j run.Job
	switch {
	case o.output:
		return o.follow(ctx, s, desk, h)
	case o.wait:
		j, err = desk.Wait(ctx, h)
	case o.kill:
		j, err = desk.Kill(ctx, h)
	default:
		j, err = desk.Job(ctx, h)
	}
	if err != nil {
		return err
	}
	if err := o.printJobs(s, []run.Job{j}); err != nil || !o.wait || j.Exit == 0 {
		return err
	}
	if j.Exit < 0 {
		return exitStatus(124)
	}
	return exitStatus(j.Exit)
}

// follow prints all pages of the output.
func (o *envJobsOptions) follow(ctx context.Context, s streams, desk container.JobClient, h run.JobHandle) error {
	for at := o.offset; ; {
		p, err := desk.Output(ctx, h, at, 1<<20)
		if err != nil {
			return err
		}
		if o.json {
			return encode(s.out, struct {
				run.JobPage
				Text string `json:"text"`
			}{p, strings.ToValidUTF8(string(p.Data), "\uFFFD")})
		}
		if _, err := s.out.Write(p.Data); err != nil || !p.More {
			return err
		}
		at = p.Next
	}
}

func (o *envJobsOptions) printJobs(s streams, list []run.Job) error {
	if o.json {
		return encode(s.out, list)
	}
	rows := [][]string{{"JOB", "STATE", "EXIT", "SINCE", "BYTES", "COMMAND"}}
	for _, j := range list {
		exit := ""
		if j.State != run.JobRunning {
			exit = fmt.Sprint(j.Exit)
		}
		rows = append(rows, []string{visible(string(j.Handle)), visible(string(j.State)), exit,
			j.Began.Local().Format("15:04:05"), fmt.Sprint(j.Bytes), inOneLine(j.Command)})
	}
	return table(s.out, rows)
}

// inOneLine joins the lines of a script with ↵.
func inOneLine(script string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(script)) {
		lines = append(lines, visible(strings.TrimSpace(line)))
	}
	return strings.Join(lines, " ↵ ")
}

func (o *envJobsOptions) printLog(s streams, b *app.Containers) error {
	f, err := b.Manager.Log(o.task, o.log, o.stream)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(s.out, f)
	return err
}

// environmentByFlag refuses an environment as an argument and hints at the flag.
func environmentByFlag(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cobra.NoArgs(cmd, args)
	}
	return &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Why: fmt.Sprintf("%q is one word too many", args[0]),
		Hint: "name the environment with the flag: " + cmd.CommandPath() + " --environment " + visible(args[0])}
}

func newEnvPrompt(s streams) *cobra.Command {
	o := envFlags{change: func(_ *config.Config, c *container.Options) error {
		c.Enabled = true
		return nil
	}}
	var environment string
	prompt := func(_ context.Context, b *app.Containers, _ []string) error {
		name, err := environmentNamed(b, "env prompt", environment)
		if err != nil {
			return err
		}
		_, err = io.WriteString(s.out, b.SystemPrompt(name))
		return err
	}
	cmd := command("env prompt", environmentByFlag, o.run(s, prompt))
	o.register(cmd.Flags())
	cmd.Flags().Var((*nonEmpty)(&environment), "environment", "the `NAME` of the environment")
	return cmd
}
