// Llmsh is hako sh as a small program of its own: no processes, no network, only the granted files. Interactive
// sessions and scripts that call llmcmd are handed over to hako, if it is in the same directory.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // for machines without a database of time zones

	"github.com/spf13/pflag"

	"hako/internal/config"
	"hako/internal/setup"
	"hako/internal/term"
	"hako/internal/text"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// version is set by the linker.
var version = "devel"

const usage = `llmsh runs bash scripts in a shell whose every command is built in. It starts no
process and sees no file but those granted: -i and -o give single files, --root
and --rw whole trees. Everything else is a private tree in memory that is gone
at the end. Granted files are $1, $2… in the order given; the first word after
-c SCRIPT is $0, as in bash.

Usage:
  llmsh [-i FILE]... [-o FILE]... [--root DIR] [--rw DIR] [-c SCRIPT | SCRIPT.sh | -] [ARG]...

Examples:
  llmsh -c 'seq 10 | awk "{s+=\$1} END {print s}"'
  llmsh -i access.log -c 'cut -d" " -f1 $1 | sort | uniq -c | sort -rn | head'
  llmsh --rw out -c 'echo hello > hi.txt'        # the shell starts in out
  llmsh                                          # interactive, with history and completion

Flags:
`

// options are the flags.
type options struct {
	setup.ShellOptions
	setup.Settings
	script                 string
	virtual, help, version bool
	flags                  *pflag.FlagSet
	words                  []string // all of them
}

func main() {
	term.OutliveReader()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, all := term.NewWritten(os.Stdout)
	status, err := llmsh(ctx, os.Args[1:], term.NewStreams(os.Stdin, out, os.Stderr))
	if err = all.Or(err); err != nil {
		status = term.Report(err, os.Stderr)
	}
	os.Exit(status)
}

// llmsh runs the program and returns the exit status.
func llmsh(ctx context.Context, words []string, s term.Streams) (int, error) {
	o, err := parse(words)
	switch {
	case err != nil:
		return 0, err
	case o.help:
		_, err := io.WriteString(s.Out, usage+o.flags.FlagUsagesWrapped(80))
		return 0, err
	case o.version:
		_, err := fmt.Fprintln(s.Out, "llmsh", version)
		return 0, err
	}
	for _, note := range config.MisspeltVariables(os.Environ()) {
		fmt.Fprintf(s.Err, "hako: note: %s\n", text.ForTerminal(note))
	}
	return o.run(ctx, s)
}

// parse reads the flags.
func parse(words []string) (*options, error) {
	o := &options{flags: pflag.NewFlagSet("llmsh", pflag.ContinueOnError), words: words}
	f := o.flags
	f.SetInterspersed(false)
	f.Usage = func() {}
	o.ShellOptions.Register(f)
	f.StringVarP(&o.script, "command", "c", "", "run `SCRIPT`")
	f.StringVar(&o.File, "config", "", "read the settings from `FILE`")
	f.BoolVar(&o.NoFile, "no-config", false, "read no settings file")
	f.StringVar(&o.Audit, "audit", "", "write the record to `FILE`")
	f.StringVar(&o.Rules, "rules", "", "add the rules of `FILE`")
	f.StringArrayVar(&o.Settings.Limits, "limit", nil, "set a limit, `NAME=VALUE`: "+strings.Join(quota.ScriptLimitNames,
		", "))
	f.BoolVar(&o.virtual, "virtual", true, "paths that are not granted are private files in memory (always so)")
	f.BoolVarP(&o.help, "help", "h", false, "describe llmsh")
	f.BoolVar(&o.version, "version", false, "print the version")
	if err := f.Parse(words); err != nil {
		return nil, flagError(f, err)
	}
	if !o.virtual {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "sh --virtual=false", Why: "there is no other way",
			Hint: "--root DIR and --rw DIR grant real files; hako host exec runs programs of this machine"}
	}
	return o, nil
}

// flagError adds the nearest flag to an error.
func flagError(f *pflag.FlagSet, err error) error {
	hint := "see llmsh --help"
	if _, name, ok := strings.Cut(err.Error(), "unknown flag: --"); ok {
		var names []string
		f.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near, ok := fault.Nearest(name, names); ok {
			hint = "did you mean --" + near + "? " + hint
		}
	}
	return &fault.Error{Kind: fault.Invalid, Op: "llmsh", Err: err, Hint: hint}
}

// run decides where the script comes from and runs it.
func (o *options) run(ctx context.Context, s term.Streams) (int, error) {
	args, command := o.flags.Args(), o.flags.Changed("command")
	typed := !command && len(args) == 0 && term.Is(s.In)
	req := &run.Request{Actor: "user", Stdin: s.Keys, Stdout: s.Out, Stderr: s.Err}
	switch {
	case command:
		req.Script, req.Name, req.Args = o.CommandWords(o.script, args)
	case !typed:
		if err := s.ReadScript("llmsh", args, req); err != nil {
			return 0, err
		}
	}
	if typed {
		o.ShellOptions.Limits = setup.TerminalLimits
		handOver(o.words)
	} else if strings.Contains(req.Script, "llmcmd") {
		words := o.words
		if !command && req.File == "" { // standard input was read
			words = append(words[:len(words)-len(args)], append([]string{"-c", req.Script, "--", "llmsh"}, req.Args...)...)
		}
		handOver(words)
	}
	o.Ask, o.Hint = s.Ask(), fault.FlagHint
	conf, err := o.Load()
	if err != nil {
		return 0, err
	}
	b, err := o.Open(conf)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	if typed {
		return (&term.Prompt{Streams: s, Name: "llmsh", Session: b.Session, Runner: b.Runner}).Run(ctx)
	}
	if !o.Strict {
		req.Stdin = setup.PauseWhileReading(req.Stdin, b.Limiter)
	}
	req.Args = append(b.Granted, req.Args...)
	defer setup.KillOverdue(b.Limiter, func(err error) int { return term.Report(err, s.Err) })()
	res, err := b.Runner.Run(ctx, req)
	return res.Exit, err
}
