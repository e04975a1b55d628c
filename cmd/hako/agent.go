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

// agentFlags are the flags of every command of the coding agent.
type agentFlags struct {
	common
	modelFlags
}

func newAgent(s streams) *cobra.Command {
	var o agentFlags
	cmd := command("agent", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return needSubcommand(cmd, args)
		}
		return o.serve(cmd.Context(), s, true, true)
	})
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
	return command("agent once", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		v, err := o.open(cmd.Context(), s, app.CoderOptions{Produce: true, Work: true})
		if err != nil {
			return err
		}
		defer v.Close()
		return v.once(cmd.Context())
	})
}

func (o *agentFlags) produce(s streams) *cobra.Command {
	return command("agent produce", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.serve(cmd.Context(), s, true, false)
	})
}

func (o *agentFlags) work(s streams) *cobra.Command {
	return command("agent work", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.serve(cmd.Context(), s, false, true)
	})
}

// open opens the agent and the view that shows its work.
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

// serve queues issues, works on tasks, or both, until it is interrupted.
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
	v.logStarted(produce, work)
	return v.serve(ctx)
}

// once carries out all waiting tasks.
func (v *view) once(ctx context.Context) error {
	end, err := v.health(ctx)
	if err != nil {
		return err
	}
	defer end()
	endings, err := v.Once(ctx)
	switch {
	case ctx.Err() != nil:
		v.noteReturned(endings)
		return err
	case err != nil:
		return err
	case len(endings) == 0:
		v.noteNoTasks(v.Client.Forges)
	case slices.ContainsFunc(endings, func(e dispatch.Ending) bool { return e.Record.State == coder.Failed }):
		return exitStatus(1) // the reason is in the task and in the issue
	}
	return nil
}

// serve runs the agent until it is interrupted.
func (v *view) serve(ctx context.Context) error {
	end, err := v.health(ctx)
	if err != nil {
		return err
	}
	defer end()
	err = v.Serve(ctx)
	v.logStopped()
	return err
}

// orderTexts are what is printed for an order.
var orderTexts = map[queue.Command]string{queue.Pause: "pausing", queue.Resume: "resuming", queue.Stop: "stopping"}

// order returns the command that pauses, resumes or stops a task.
func (o *agentFlags) order(s streams, what queue.Command) *cobra.Command {
	name := string(what)
	oneTask := func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		why := "TASK is missing"
		if len(args) > 1 {
			why = fmt.Sprintf("there are %d tasks where one is wanted", len(args))
		}
		return &fault.Error{Kind: fault.Invalid, Op: "agent " + name, Why: why, Hint: "name one: hako agent " + name +
			" owner/project#12; hako agent status lists them"}
	}
	return command("agent "+name, oneTask, func(cmd *cobra.Command, args []string) error {
		return o.sendOrder(cmd.Context(), s, args[0], what)
	})
}

func (o *agentFlags) sendOrder(ctx context.Context, s streams, name string, what queue.Command) error {
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
	_, err = fmt.Fprintln(s.out, orderTexts[what]+": "+t.Thread+orderNote(t, what))
	return err
}

// orderNote says why an order may have no effect yet.
func orderNote(t dispatch.TaskStatus, what queue.Command) string {
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
