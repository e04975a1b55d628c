package llmcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"hako/internal/app"
	"hako/internal/app/llmcmd/descriptors"
	"hako/internal/config"
	"hako/internal/term"
	"hako/quota"
	"hako/run/fault"
	"hako/shell"
)

// mostNested is how many bytes the model of a nested session may read and write.
const mostNested = 1 << 20

// nested implements the shell command llmcmd: another session with the rest of the budget. The clock of the script
// stops while the model works.
func (c *Session) nested(ctx context.Context, call *shell.Call) error {
	if c.depth == maxDepth {
		return &fault.Error{Kind: fault.Exhausted, Op: "run llmcmd", Why: fmt.Sprintf("it is nested more than %d deep",
			maxDepth), Hint: "do the work in one call"}
	}
	o, instructions, err := nestedOptions(c.innerModel(), call.Args)
	if err == nil {
		err = c.funded()
	}
	if err != nil {
		return err
	}
	n := &Session{Options: o, conf: c.conf, env: c.env, shell: c.shell, meter: c.meter.Child(quota.Limits{}),
		depth: c.depth + 1, parent: c, recorder: c.recorder, began: time.Now()}
	n.text, n.notes = call.Stdout, call.Stderr
	stdin := descriptors.Input{Name: "stdin", Reader: call.Stdin, Size: -1}
	n.sources = []descriptors.Input{stdin}
	n.table = descriptors.New(ctx, descriptors.Options{
		Files: call.FS, Dir: call.Dir, Actor: "llmcmd", Secrets: c.shell.Secrets,
		Spawn: func(context.Context) (descriptors.Worker, error) {
			return c.shell.Worker(call.FS, call.Dir, n.meter, n.Commands(maps.Clone(c.shell.Session.Commands))), nil
		},
		Refused: c.recordRefusal,
		Stdin:   stdin, Stdout: descriptors.Output{Writer: n.text}, Stderr: descriptors.Output{Writer: call.Stderr},
		Limits: descriptors.Limits{NestedBytes: mostNested, ReadBytes: config.LlmcmdReadSize.Of(c.conf).V},
	})
	defer n.Close()
	defer call.Limiter.Pause()()
	return nestedStatus(call, n.Run(ctx, instructions))
}

// nestedStatus converts the error of a nested session to an exit status. Errors that end everything stay errors.
func nestedStatus(call *shell.Call, err error) error {
	var code app.ExitStatus
	if errors.As(err, &code) {
		return shell.Status(code)
	}
	switch kind := fault.KindOf(err); kind {
	case fault.Invalid, fault.Unavailable, fault.NotFound, fault.TooLarge:
		if hint := fault.Hint(err); hint != "" {
			return call.Fail(term.ExitStatus(kind), "%v\nhint: %s", err, hint)
		}
		return call.Fail(term.ExitStatus(kind), "%v", err)
	}
	return err
}

// funded makes the budget on first use: an interactive shell has none until llmcmd is called.
func (c *Session) funded() error {
	c.funding.Lock()
	defer c.funding.Unlock()
	if c.meter != nil {
		return nil
	}
	budget, err := app.ModelBudget(c.conf, quota.DefaultLimits())
	if err == nil {
		c.meter = c.shell.Budget.Child(budget)
	}
	return err
}

// innerModel returns the model of nested sessions.
func (c *Session) innerModel() string {
	if name := config.LlmcmdInternalModel.Of(c.conf).V; name != "" {
		return name
	}
	return c.Model
}

// nestedOptions parses the arguments of a nested llmcmd.
func nestedOptions(inner string, args []string) (*Options, string, error) {
	o := &Options{Model: inner}
	f := pflag.NewFlagSet("llmcmd", pflag.ContinueOnError)
	f.Usage = func() {} // the error has it
	f.StringVarP(&o.Preset, "preset", "r", "", "")
	f.StringVarP(&o.Prompt, "prompt", "p", "", "")
	err := f.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		err = errors.New("help llmcmd explains it")
	}
	if err != nil {
		return nil, "", &fault.Error{Kind: fault.Invalid, Op: "llmcmd", Err: err,
			Hint: "usage: llmcmd [-r preset] [-p prompt] instructions"}
	}
	if err := o.Check(f.Args()); err != nil {
		return nil, "", err
	}
	return o, strings.Join(f.Args(), " "), nil
}
