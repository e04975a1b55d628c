package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"hako/internal/app"
	"hako/internal/app/llmcmd"
	"hako/internal/config"
	"hako/internal/term"
	"hako/quota"
	"hako/run/fault"
	"hako/shell"
)

// mostNested is how much the model of a nested llmcmd may read itself, and write.
const mostNested = 1 << 20

// nested is llmcmd as a command of a script: another clerk, with what is left of
// the budget and a clock that stands still while the model thinks.
func (c *clerk) nested(ctx context.Context, call *shell.Call) error {
	if c.depth == maxDepth {
		return &fault.Error{Kind: fault.Exhausted, Op: "run llmcmd", Why: fmt.Sprintf("it is nested more than %d deep", maxDepth), Hint: "do the work in one call"}
	}
	o, instructions, err := nestedOptions(c.innerModel(), call.Args)
	if err == nil {
		err = c.funded()
	}
	if err != nil {
		return err
	}
	n := &clerk{cmdOptions: o, conf: c.conf, show: c.show, box: c.box, meter: c.meter.Child(quota.Limits{}), depth: c.depth + 1, boss: c, tape: c.tape, began: time.Now()}
	n.text, n.notes = call.Stdout, call.Stderr
	stdin := llmcmd.Input{Name: "stdin", Reader: call.Stdin, Size: -1}
	n.sources = []llmcmd.Input{stdin}
	n.desk = llmcmd.New(ctx, llmcmd.Options{
		Files: call.FS, Dir: call.Dir, Actor: "llmcmd", Secrets: c.box.Secrets,
		Spawn: func(context.Context) (llmcmd.Worker, error) {
			return c.box.Worker(call.FS, call.Dir, n.meter, n.commands(maps.Clone(c.box.Session.Commands))), nil
		},
		Refused: c.recordRefusal,
		Stdin:   stdin, Stdout: llmcmd.Output{Writer: n.text}, Stderr: llmcmd.Output{Writer: call.Stderr},
		Limits: llmcmd.Limits{NestedBytes: mostNested, ReadBytes: config.LlmcmdReadSize.Of(c.conf).V},
	})
	defer n.close()
	defer call.Limiter.Pause()()
	return nestedStatus(call, n.work(ctx, instructions))
}

// nestedStatus makes the end of a nested llmcmd that of a command: with the
// status that hako cmd would have. What ends everything stays an error.
func nestedStatus(call *shell.Call, err error) error {
	var code exitStatus
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

// funded sees to it that there is a budget: in the shell of a person there is
// none until llmcmd is called.
func (c *clerk) funded() error {
	c.funding.Lock()
	defer c.funding.Unlock()
	if c.meter != nil {
		return nil
	}
	budget, err := app.ModelBudget(c.conf, quota.DefaultLimits())
	if err == nil {
		c.meter = c.box.Meter.Child(budget)
	}
	return err
}

// innerModel is what a nested llmcmd asks.
func (c *clerk) innerModel() string {
	if name := config.LlmcmdInternalModel.Of(c.conf).V; name != "" {
		return name
	}
	return c.cmdOptions.model
}

// nestedOptions reads the words of a nested llmcmd.
func nestedOptions(inner string, args []string) (*cmdOptions, string, error) {
	o := &cmdOptions{model: inner}
	f := pflag.NewFlagSet("llmcmd", pflag.ContinueOnError)
	f.Usage = func() {} // the error says it
	f.StringVarP(&o.preset, "preset", "r", "", "")
	f.StringVarP(&o.prompt, "prompt", "p", "", "")
	err := f.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		err = errors.New("help llmcmd explains it")
	}
	if err != nil {
		return nil, "", &fault.Error{Kind: fault.Invalid, Op: "llmcmd", Err: err, Hint: "usage: llmcmd [-r preset] [-p prompt] instructions"}
	}
	if err := o.check(f.Args()); err != nil {
		return nil, "", err
	}
	return o, strings.Join(f.Args(), " "), nil
}
