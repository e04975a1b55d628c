package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/internal/worker"
	"hako/run/fault"
)

// agentFlags are what every command of the coding agent has.
type agentFlags struct {
	common
	modelFlags
	asked   app.Asker    // about what the rules want asked; nil means that nobody is there
	workers *worker.Pool // where scripts are judged; nil means in this process
}

func newAgent(s streams) *cobra.Command {
	var o agentFlags
	cmd := &cobra.Command{
		Use:   "agent [once|produce|work|status|pause|resume|stop]",
		Short: "Work on issues of GitHub and GitLab: each is planned, done in a container, verified and proposed",
		Long: `agent takes issues and pull requests that have the label "coding agent": a model
plans, works in a container of its own, the result is verified, pushed to a
branch and proposed as a draft. Alone it picks up issues and works on them until
it is interrupted; produce and work do one of the two, on as many machines as
share a queue. docs/agent.md says how to set it up.`,
		Example: `  export GITHUB_PERSONAL_ACCESS_TOKEN=… OPENAI_API_KEY=…
  hako agent once                        # what waits now, then end
  hako agent                             # for as long as it runs
  hako agent --config team.yaml work     # one of many workers
  hako agent status
  hako agent pause owner/project#12`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return needSubcommand(cmd, args)
			}
			return o.serve(cmd.Context(), s, true, true)
		},
	}
	f := cmd.PersistentFlags()
	o.common.register(f)
	_ = f.MarkHidden("limit") // tasks have limits of their own: planning.*
	f.StringVar(&o.model, "model", "", "the `MODEL` to ask, as in hako run")
	f.BoolVar(&o.json, "json", false, "print JSON: events as lines, lists as one")
	cmd.AddCommand(o.once(s), o.produce(s), o.work(s), o.status(s), o.order(s, queue.Pause), o.order(s, queue.Resume), o.order(s, queue.Stop))
	return cmd
}

func (o *agentFlags) once(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "once",
		Short: "Pick up what waits, work on it, and end",
		Long: `once looks at the forges once, works on what is there and on what the queue still
has, and ends. The exit status is 1 if a task failed, 3 if one could not be
brought to an end.`,
		Example: "  hako agent once\n  hako agent once --json | jq -r 'select(.type==\"ended\") | .thread + \" \" + .state'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := o.studio(cmd.Context(), s, true, true)
			if err != nil {
				return err
			}
			defer w.close()
			return w.once(cmd.Context())
		},
	}
}

func (o *agentFlags) produce(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "produce",
		Short:   "Pick issues up for workers elsewhere",
		Long:    "produce looks at the forges every agent.poll_seconds and queues what it finds. It\nneeds neither a model nor Docker.",
		Example: "  hako agent --config team.yaml produce",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), s, true, false) },
	}
}

func (o *agentFlags) work(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "work",
		Short:   "Work on what was picked up, here or elsewhere",
		Long:    "work takes tasks from the queue, agent.parallel at a time. What it has in hand when\nit is interrupted is given back, and goes on with another worker.",
		Example: "  hako agent --config team.yaml work",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), s, false, true) },
	}
}

// serve picks up, works, or both, until it is interrupted.
func (o *agentFlags) serve(ctx context.Context, s streams, produce, labour bool) error {
	w, err := o.studio(ctx, s, produce, labour)
	if err != nil {
		return err
	}
	defer w.close()
	w.view.daemon = true
	if err := w.known(ctx); err != nil {
		return err
	}
	w.view.begun(produce, labour)
	return w.serve(ctx)
}

// known asks the forges who we are, so that a wrong token is said at once.
// One that does not answer now may do so later.
func (w *studio) known(ctx context.Context) error {
	for _, f := range w.office.Forges {
		over := meanwhile(w.view.s, "asking "+f.Provider+" who we are")
		_, err := f.Self(ctx)
		over()
		switch kind := fault.KindOf(err); {
		case kind == fault.Denied || kind == fault.Invalid:
			return err
		case err != nil:
			w.view.trouble(err)
		}
	}
	return nil
}

// once does what there is to do.
func (w *studio) once(ctx context.Context) error {
	end, err := w.watched(ctx)
	if err != nil {
		return err
	}
	defer end()
	over := meanwhile(w.view.s, "asking for issues to work on; a forge that does not answer is asked again for some seconds")
	_, polling := w.producer.Poll(ctx) // one forge that is away keeps nobody from what the others have
	over()
	endings, err := w.worker.Drain(ctx)
	for _, f := range w.office.Forges { // who waits for what was given up is not left waiting for the next poll
		if _, telling := w.producer.TellDead(ctx, f.Provider); telling != nil && ctx.Err() == nil {
			w.view.trouble(telling)
		}
	}
	if err == nil && polling == nil && len(endings) == 0 {
		w.view.nothing(w.office.Forges)
	}
	if ctx.Err() != nil {
		w.view.interrupted(endings)
		return ctx.Err()
	}
	return cmp.Or(err, polling, verdict(endings))
}

// verdict is what once ends with.
func verdict(endings []dispatch.Ending) error {
	status := 0
	for _, e := range endings {
		switch {
		case e.Err != nil && !errors.Is(e.Err, coder.ErrLost):
			return &fault.Error{Kind: fault.Unavailable, Op: "work on", Subject: e.Task.Thread(), Why: "it could not be brought to an end now", Err: e.Err, Hint: "it stays in the queue; hako agent once goes on with it"}
		case e.Record.State == coder.Failed:
			status = 1
		}
	}
	if status != 0 {
		return exitStatus(status) // the task and the issue say why
	}
	return nil
}

// serve does its part until it is interrupted.
func (w *studio) serve(ctx context.Context) error {
	end, err := w.watched(ctx)
	if err != nil {
		return err
	}
	defer end()
	done := make(chan error, 2)
	parts := 0
	for _, run := range w.loops() {
		parts++
		go func() { done <- run(ctx) }()
	}
	for range parts {
		err = errors.Join(err, <-done)
	}
	w.view.stopped()
	return err
}

// loops are what this process does: pick up, work, or both.
func (w *studio) loops() (list []func(context.Context) error) {
	if w.producer != nil {
		list = append(list, w.producer.Run)
	}
	if w.worker != nil {
		list = append(list, w.worker.Run)
	}
	return list
}

// orderTexts are the words of the commands that give orders.
var orderTexts = map[queue.Command][2]string{
	queue.Pause:  {"Put a task aside; what it did so far is kept", "pausing"},
	queue.Resume: {"Go on with a task that was paused", "resuming"},
	queue.Stop:   {"Call a task off for good", "stopping"},
}

// order makes the command that tells a task something.
func (o *agentFlags) order(s streams, what queue.Command) *cobra.Command {
	name := string(what)
	return &cobra.Command{
		Use:     name + " TASK",
		Short:   orderTexts[what][0],
		Long:    orderTexts[what][0] + ".\nTASK is an issue as owner/project#12, its address, or a name that hako agent status shows.",
		Example: fmt.Sprintf("  hako agent %s owner/project#12\n  hako agent %s issue-12-k3j9x2ab4q", name, name),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			why := "it is not said which task"
			if len(args) > 1 {
				why = "there are several; one can be told at a time"
			}
			return &fault.Error{Kind: fault.Invalid, Op: "agent " + name, Why: why, Hint: "name one: hako agent " + name + " owner/project#12; hako agent status lists them"}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.give(cmd.Context(), s, args[0], what)
		},
	}
}

func (o *agentFlags) give(ctx context.Context, s streams, name string, what queue.Command) error {
	l, err := o.ledgers(ctx, s)
	if err != nil {
		return err
	}
	defer l.close()
	t, err := l.find(ctx, name)
	if err != nil {
		return err
	}
	done, err := l.RecordTask(t.Job.ID, "agent "+string(what))
	if err != nil {
		return err
	}
	err = dispatch.Order(ctx, l.queue, t.Thread, what)
	done(err)
	if err != nil {
		return err
	}
	if o.json {
		return encode(s.out, map[string]string{"thread": t.Thread, "order": string(what)})
	}
	_, err = fmt.Fprintln(s.out, orderTexts[what][1]+": "+t.Thread+orderAside(t, what))
	return err
}

// orderAside says why nothing may be seen of an order at once.
func orderAside(t dispatch.Standing, what queue.Command) string {
	switch {
	case what == queue.Pause && t.State == coder.Paused:
		return " (it is paused already)"
	case what == queue.Resume && t.State == coder.Processing:
		return " (it is being worked on)"
	case t.Worker == "":
		return " (nobody works on it now; whoever takes it obeys)"
	}
	return ""
}
