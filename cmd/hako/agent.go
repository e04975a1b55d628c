package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/run/fault"
)

// agentFlags are what every command of the coding agent has.
type agentFlags struct {
	common
	modelFlags
}

func newAgent(s streams) *cobra.Command {
	var o agentFlags
	cmd := &cobra.Command{
		Use:   "agent [once|produce|work|status|pause|resume|stop]",
		Short: "Work on issues of GitHub and GitLab, each in a container",
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
	cmd.AddCommand(o.once(s), o.produce(s), o.work(s), o.status(s), o.order(s, queue.Pause), o.order(s, queue.Resume),
		o.order(s, queue.Stop))
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
			v, err := o.open(cmd.Context(), s, app.CoderOptions{Produce: true, Work: true})
			if err != nil {
				return err
			}
			defer v.Close()
			return v.once(cmd.Context())
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

// open puts the agent together, with what shows its work.
func (o *agentFlags) open(ctx context.Context, s streams, c app.CoderOptions) (*view, error) {
	q, err := o.queue(ctx, s)
	if err != nil {
		return nil, err
	}
	c.Model = o.model
	return newView(ctx, s, q, c, o.json)
}

// queue opens the queue and the record.
func (o *agentFlags) queue(ctx context.Context, s streams) (*app.TaskQueue, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	return app.OpenTaskQueue(ctx, conf, s.waiting)
}

// serve picks up, works, or both, until it is interrupted.
func (o *agentFlags) serve(ctx context.Context, s streams, produce, work bool) error {
	v, err := o.open(ctx, s, app.CoderOptions{Produce: produce, Work: work})
	if err != nil {
		return err
	}
	defer v.Close()
	v.daemon = true
	if err := v.CheckForges(ctx); err != nil {
		return err
	}
	v.begun(produce, work)
	return v.serve(ctx)
}

// once does what there is to do.
func (v *view) once(ctx context.Context) error {
	end, err := v.health(ctx)
	if err != nil {
		return err
	}
	defer end()
	endings, err := v.Once(ctx)
	switch {
	case ctx.Err() != nil:
		v.interrupted(endings)
		return err
	case err != nil:
		return err
	case len(endings) == 0:
		v.nothing(v.Client.Forges)
	case slices.ContainsFunc(endings, func(e dispatch.Ending) bool { return e.Record.State == coder.Failed }):
		return exitStatus(1) // the task and the issue say why
	}
	return nil
}

// serve does its part until it is interrupted.
func (v *view) serve(ctx context.Context) error {
	end, err := v.health(ctx)
	if err != nil {
		return err
	}
	defer end()
	err = v.Serve(ctx)
	v.stopped()
	return err
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
		Use:   name + " TASK",
		Short: orderTexts[what][0],
		Long: orderTexts[what][0] +
			".\nTASK is an issue as owner/project#12, its address, or a name that hako agent status shows.",
		Example: fmt.Sprintf("  hako agent %s owner/project#12\n  hako agent %s issue-12-k3j9x2ab4q", name, name),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			why := "it is not said which task"
			if len(args) > 1 {
				why = "there are several; one can be told at a time"
			}
			return &fault.Error{Kind: fault.Invalid, Op: "agent " + name, Why: why, Hint: "name one: hako agent " + name +
				" owner/project#12; hako agent status lists them"}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.give(cmd.Context(), s, args[0], what)
		},
	}
}

func (o *agentFlags) give(ctx context.Context, s streams, name string, what queue.Command) error {
	l, err := o.queue(ctx, s)
	if err != nil {
		return err
	}
	defer l.Close()
	t, err := dispatch.Find(ctx, l.Queue, name)
	if err != nil {
		return err
	}
	done, err := l.RecordTask(t.Job.ID, "agent "+string(what))
	if err != nil {
		return err
	}
	err = dispatch.Order(ctx, l.Queue, t.Thread, what)
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
func orderAside(t dispatch.TaskStatus, what queue.Command) string {
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
