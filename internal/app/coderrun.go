package app

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hako/gate"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/config"
	"hako/llm"
	"hako/quota"
	"hako/run/fault"
)

// CheckForges asks the forges for our account, so that a wrong token is reported at
// once. A forge that does not answer now may do so later.
func (w *Coder) CheckForges(ctx context.Context) error {
	for _, f := range w.Client.Forges {
		over := w.o.Waiting("asking " + f.Provider + " who we are")
		_, err := f.CurrentUser(ctx)
		over()
		switch kind := fault.KindOf(err); {
		case kind == fault.Denied || kind == fault.Invalid:
			return err
		case err != nil:
			w.o.Trouble(err)
		}
	}
	return nil
}

// Once polls the forges, works until nothing is left, and returns how the tasks ended.
func (w *Coder) Once(ctx context.Context) ([]dispatch.Ending, error) {
	defer w.sweep(ctx)()
	over := w.o.Waiting("asking for issues to work on; a forge that does not answer is asked again for some seconds")
	_, polling := w.producer.Poll(ctx) // a forge that does not answer does not stop the others
	over()
	endings, err := w.worker.Drain(ctx)
	for _, f := range w.Client.Forges { // tasks that were given up are reported now, not with the next poll
		if _, telling := w.producer.ReportDead(ctx, f.Provider); telling != nil && ctx.Err() == nil {
			w.o.Trouble(telling)
		}
	}
	if ctx.Err() != nil {
		return endings, ctx.Err()
	}
	return endings, cmp.Or(err, polling, unfinished(endings))
}

// unfinished is the error of a task that could not be finished.
func unfinished(endings []dispatch.Ending) error {
	for _, e := range endings {
		if e.Err != nil && !errors.Is(e.Err, coder.ErrLost) {
			return &fault.Error{Kind: fault.Unavailable, Op: "work on", Subject: e.Task.Thread(),
				Why: "it could not be finished now", Err: e.Err,
				Hint: "it stays in the queue; hako agent once continues it"}
		}
	}
	return nil
}

// Serve picks up issues, works, or both, until ctx ends.
func (w *Coder) Serve(ctx context.Context) (err error) {
	defer w.sweep(ctx)()
	var loops []func(context.Context) error
	if w.producer != nil {
		loops = append(loops, w.producer.Run)
	}
	if w.worker != nil {
		loops = append(loops, w.worker.Run)
	}
	done := make(chan error, len(loops))
	for _, run := range loops {
		go func() { done <- run(ctx) }()
	}
	for range loops {
		err = errors.Join(err, <-done)
	}
	return err
}

// sweep removes containers of killed processes from time to time, and returns a
// function that ends that and removes our own.
func (w *Coder) sweep(ctx context.Context) (end func()) {
	if w.manager == nil {
		return func() {}
	}
	sweeping, enough := context.WithCancel(ctx)
	go w.manager.Watch(sweeping, time.Duration(config.CleanupInterval.Of(w.Conf).V)*time.Hour)
	return func() {
		enough()
		if err := w.manager.CleanupAll(context.WithoutCancel(ctx)); err != nil {
			w.o.Trouble(err)
		}
	}
}

// Ready returns what keeps the coder from working.
func (w *Coder) Ready(ctx context.Context) error {
	_, err := w.Queue.Stats(ctx)
	if w.manager != nil {
		down := w.options.Engine.Ping(ctx)
		err = errors.Join(err, down)
	}
	return err
}

// Containers counts the containers of tasks.
func (w *Coder) Containers(ctx context.Context) (int, error) {
	if w.manager == nil {
		return 0, nil
	}
	list, err := w.manager.Tasks(ctx)
	return len(list), err
}

// note reports a note about a task.
func (w *Coder) note(task, text string) {
	w.o.Observe(dispatch.Event{Type: "work", Task: task,
		Work: &coder.Event{Task: task, Type: "note", Text: w.Secrets.Text(text)}})
}

// A countedModel reports the turns of a model.
type countedModel struct {
	llm.Model
	count func(*llm.Turn)
}

// Next implements [llm.Model].
func (c countedModel) Next(ctx context.Context, d *llm.Dialog) (*llm.Turn, error) {
	t, err := c.Model.Next(ctx, d)
	if err == nil {
		c.count(t)
	}
	return t, err
}

func (w *Coder) counted(m llm.Model) llm.Model {
	return countedModel{m, func(t *llm.Turn) {
		cost, _ := w.prices(t.Model, t.Usage)
		w.o.Turn(t.Model, t.Usage, cost)
	}}
}

// approver returns who answers questions about the commands of a task.
func (w *Coder) approver(string) Asker {
	if w.o.Ask != nil {
		return w.o.Ask
	}
	return PageAsker(w.Conf, func(gate.Question) {})
}

// book books what a task has used of the model since the last time, for hako quota.
// What could not be booked is booked the next time.
func (w *Coder) book(e *taskResources) error {
	if e.bill.Cap != nil {
		return nil // every call was booked with it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	used := e.bill.Total().Usage
	fresh := used.Less(e.booked)
	if fresh == (quota.Usage{}) {
		return nil
	}
	err := UsageState(w.Conf).Add(quota.Day(time.Now()), w.model.Name, fresh)
	if err == nil {
		e.booked = used
	}
	return err
}

// settleUsage books at the end, where an error can only be reported.
func (w *Coder) settleUsage(e *taskResources) {
	if err := w.book(e); err != nil {
		w.o.Trouble(err)
	}
}
