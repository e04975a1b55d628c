package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/llmcmd"
	"hako/internal/setup"
	"hako/internal/term"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// shOptions are the flags of hako sh.
type shOptions struct {
	boxFlags
	script string
	llm    *llmcmd.Session // behind the command llmcmd
	show   *transcript
}

// open opens the shell with the command llmcmd.
func (o *shOptions) open() (*app.Shell, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	if o.Ask == nil {
		o.Ask = askPage(conf, o.show.note)
	}
	b, err := app.OpenShell(&o.ShellOptions, conf)
	if err != nil {
		return nil, err
	}
	o.llm.Attach(conf, b)
	return b, nil
}

func newSh(s streams) *cobra.Command {
	var o shOptions
	var virtual bool
	cmd := command("sh", nil, func(cmd *cobra.Command, args []string) error {
		if !virtual {
			return &fault.Error{Kind: fault.Invalid, Op: "sh --virtual=false", Why: "there is no other way",
				Hint: "--root DIR and --rw DIR grant real files; hako host exec runs programs of this machine"}
		}
		o.Ask, o.Hint = askAt(s), fault.FlagHint
		o.Llmcmd, o.show = true, newTranscript(s, false, false)
		o.llm = llmcmd.InShell(llmcmdEnvironment(s, o.show))
		o.Only = o.llm.Commands
		return runSh(cmd.Context(), s, &o, cmd.Flags().Changed("command"), args)
	})
	o.register(cmd)
	cmd.Flags().StringVarP(&o.script, "command", "c", "", "run `SCRIPT`")
	cmd.Flags().BoolVar(&virtual, "virtual", true, "paths that are not granted are private files in memory (always so)")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// runSh decides where the script comes from and runs it.
func runSh(ctx context.Context, s streams, o *shOptions, command bool, args []string) error {
	if !command && len(args) == 0 && isTerminal(s.in) {
		o.Limits = setup.TerminalLimits
		b, err := o.open()
		if err != nil {
			return err
		}
		defer b.Close()
		status, err := (&term.Prompt{Streams: s.screen, Name: "hako sh", Session: b.Session, Runner: b.Runner}).Run(ctx)
		if err == nil && status != 0 {
			err = exitStatus(status)
		}
		return err
	}
	req := &run.Request{Actor: "user", Stdin: s.keys, Stdout: s.out, Stderr: s.err}
	if command {
		req.Script, req.Name, req.Args = o.CommandWords(o.script, args)
	} else if err := s.screen.ReadScript("hako sh", args, req); err != nil {
		return err
	}
	b, err := o.open()
	if err != nil {
		return err
	}
	defer b.Close()
	if !o.Strict {
		req.Stdin = setup.PauseWhileReading(req.Stdin, b.Limiter)
	}
	req.Args = append(b.Granted, req.Args...)
	return runOnce(ctx, s, b, req)
}

// runOnce runs one script and passes on its status.
func runOnce(ctx context.Context, s streams, b *app.Shell, req *run.Request) error {
	defer watchdog(b.Limiter, s.err)()
	res, err := b.Runner.Run(ctx, req)
	if err != nil {
		return err
	}
	if res.Exit != 0 {
		return exitStatus(res.Exit)
	}
	return nil
}

// watchdog ends the process if a script exceeds its time limit: the last resort against a command that does not stop.
func watchdog(g *quota.Limiter, stderr io.Writer) (stop func()) {
	return setup.KillOverdue(g, func(err error) int { return report(err, stderr) })
}
