package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/internal/app"
	"hako/internal/app/coder"
	"hako/internal/app/coder/dispatch"
	"hako/internal/config"
	"hako/internal/health"
	"hako/internal/redact"
	"hako/internal/text"
	"hako/quota"
	"hako/run/fault"
)

// A view shows the work of an agent as lines, JSON events or a log, and counts it in metrics.
type view struct {
	*app.Coder
	s       streams
	asJSON  bool
	daemon  bool // runs until it is interrupted and writes a log
	log     *slog.Logger
	secrets *redact.Set
	metrics *health.Metrics

	mu     sync.Mutex // guards the output and phases
	phases map[string]phase
}

// A phase is the current phase of a task.
type phase struct {
	name  coder.Phase
	since time.Time
}

// newView opens an agent over a queue. Closing it closes the queue.
func newView(ctx context.Context, s streams, q *app.TaskQueue, o app.CoderOptions, asJSON bool) (*view, error) {
	v := &view{s: s, asJSON: asJSON, phases: make(map[string]phase)}
	format := config.AgentLogFormat.Of(q.Conf).V
	if asJSON {
		format = health.JSON
	}
	v.log = health.Logger(s.err, format, nil, q.Secrets)
	v.metrics = health.NewMetrics(health.Sources{Version: version, Queue: v.queued, Containers: v.containers, Log: v.log})
	o.Version, o.Observe, o.Progress, o.Trouble, o.Waiting = version, v.event, v.progress, v.warn, s.waiting
	o.Turn = func(model string, u quota.Usage, cost float64) {
		v.metrics.TurnEnded(model, u.Input, u.Cached, u.Output, cost)
	}
	v.secrets = q.Secrets
	var err error
	v.Coder, err = app.NewCoder(ctx, q, o)
	return v, err
}

// queued returns the number of tasks by state, for the metrics.
func (v *view) queued(ctx context.Context) (map[string]int, error) {
	n, err := v.Queue.Stats(ctx)
	return map[string]int{"queued": int(n.Queued), "held": int(n.Held), "dead": int(n.Dead)}, err
}

func (v *view) containers(ctx context.Context) (int, error) { return v.Containers(ctx) }

// health serves the health endpoint at agent.health, if that is set.
func (v *view) health(ctx context.Context) (stop func(), err error) {
	addr := config.AgentHealth.Of(v.Conf).V
	if addr == "" {
		return func() {}, nil
	}
	server := &health.Server{Addr: addr, Public: config.AgentHealthPublic.Of(v.Conf).V, Ready: v.Ready,
		Metrics: v.metrics.Handler(), Secrets: v.Secrets, Log: v.log}
	at, end, err := server.Start(ctx)
	if err != nil {
		return nil, err
	}
	v.log.Info("health", "address", "http://"+at+"/healthz")
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = end(ctx) // whoever still asks is cut off
	}, nil
}

// event shows and counts one event of the dispatcher.
func (v *view) event(e dispatch.Event) {
	v.countEvent(e)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.asJSON && !v.daemon:
		_ = encode(v.s.out, eventOf(e)) // a closed output does not end the task
	case v.daemon:
		v.logEvent(e)
	default:
		v.printEvent(e)
	}
}

// countEvent updates the metrics.
func (v *view) countEvent(e dispatch.Event) {
	switch e.Type {
	case "polled":
		v.metrics.Polled(e.Provider, e.Found, e.Duration, e.Err)
	case "ended", "parked":
		v.metrics.TaskEnded(e.Provider, string(e.State), e.Duration)
		v.setPhase(e.Task, "")
	case "failed", "idle":
		v.metrics.Failed(e.Err)
		v.setPhase(e.Task, "")
	case "released", "lost":
		v.setPhase(e.Task, "")
	case "work":
		v.countWork(e.Task, e.Work)
	}
}

func (v *view) countWork(task string, e *coder.Event) {
	switch e.Type {
	case "phase":
		v.setPhase(task, e.Phase)
	case "result":
		v.metrics.ToolCalled(e.Name, e.OK != nil && *e.OK)
	}
}

// setPhase ends the current phase of a task and begins the next; an empty one ends the task.
func (v *view) setPhase(task string, next coder.Phase) {
	v.mu.Lock()
	was, ok := v.phases[task]
	if next == "" {
		delete(v.phases, task)
	} else {
		v.phases[task] = phase{next, time.Now()}
	}
	v.mu.Unlock()
	if ok {
		v.metrics.PhaseEnded(string(was.name), time.Since(was.since))
	}
}

// An agentEvent is a line of hako agent once --json.
type agentEvent struct {
	Time     time.Time `json:"time"`
	Type     string    `json:"type"`
	Provider string    `json:"provider,omitempty"`
	Thread   string    `json:"thread,omitempty"`
	Task     string    `json:"task,omitempty"`
	State    string    `json:"state,omitempty"`
	Phase    string    `json:"phase,omitempty"`
	Name     string    `json:"name,omitempty"`
	Text     string    `json:"text,omitempty"`
	Hint     string    `json:"hint,omitempty"`
	OK       *bool     `json:"ok,omitempty"`
	Found    int       `json:"found,omitempty"`
	New      int       `json:"new,omitempty"`
	Try      int       `json:"try,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
	Wait     float64   `json:"wait_seconds,omitempty"`
	Worker   string    `json:"worker,omitempty"`
	Tokens   int64     `json:"tokens,omitempty"`
	Cost     float64   `json:"cost_usd,omitempty"`
	Proposal string    `json:"proposal,omitempty"`
}

func eventOf(e dispatch.Event) agentEvent {
	line := agentEvent{Time: time.Now().UTC(), Type: e.Type, Provider: e.Provider, Thread: e.Thread, Task: e.Task,
		State: string(e.State), Phase: string(e.Phase),
		Text: e.Why, Hint: e.Hint, Found: e.Found, New: e.New, Try: e.Attempt, Seconds: e.Duration.Seconds(),
		Wait: e.Wait.Seconds(), Worker: e.Worker, Tokens: e.Spent.Tokens(), Cost: e.Spent.Cost, Proposal: e.Proposal}
	if w := e.Work; w != nil {
		line.Type, line.Phase, line.Name, line.Text, line.OK = w.Type, string(w.Phase), w.Name, w.Text, w.OK
	}
	return line
}

// logEvent writes an event to the log.
func (v *view) logEvent(e dispatch.Event) {
	line := eventOf(e)
	level := slog.LevelInfo
	switch e.Type {
	case "failed", "lost", "idle", "refused":
		level = slog.LevelWarn
	case "polled":
		if level = slog.LevelDebug; e.Err != nil {
			level = slog.LevelWarn
		} else if e.New > 0 {
			level = slog.LevelInfo
		}
	}
	var attrs []slog.Attr
	for _, a := range []slog.Attr{slog.String("thread", line.Thread), slog.String("task", line.Task),
		slog.String("provider", line.Provider), slog.String("state", line.State),
		slog.String("phase", line.Phase), slog.String("name", line.Name), slog.String("text", shortLine(line.Text, 500)),
		slog.String("hint", shortLine(line.Hint, 500))} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	if e.Duration > 0 {
		attrs = append(attrs, slog.Float64("seconds", e.Duration.Seconds()))
	}
	if e.Wait > 0 {
		attrs = append(attrs, slog.Float64("wait_seconds", e.Wait.Seconds()))
	}
	if line.OK != nil {
		attrs = append(attrs, slog.Bool("ok", *line.OK))
	}
	v.log.LogAttrs(context.Background(), level, line.Type, attrs...)
}

// printEvent prints an event for people: progress to standard error, outcomes to standard output.
func (v *view) printEvent(e dispatch.Event) {
	out, s := v.s.err, ""
	switch e.Type {
	case "picked", "requeued", "resumed":
		s = fmt.Sprintf("%s: %s", e.Type, e.Thread)
	case "taken":
		s = fmt.Sprintf("%s: %s", e.Task, e.Thread)
	case "ended", "parked":
		out, s = v.s.out, v.endLine(e)
	case "failed":
		s = fmt.Sprintf("%s: try %d came to nothing%s: %s", e.Thread, e.Attempt, retryText(e), shortLine(e.Why, 500))
	case "waiting":
		s = e.Thread + ": waiting" + waitText(e)
	case "released", "lost", "idle", "refused", "told":
		s = strings.TrimSpace(strings.Join([]string{e.Type + ":", e.Thread, e.Why}, " "))
	case "work":
		s = workLine(e.Task, e.Work)
	}
	if s != "" {
		fmt.Fprintln(out, text.ForTerminal(s))
	}
	if e.Hint != "" {
		fmt.Fprintln(v.s.err, text.ForTerminal("hako: hint: "+shortLine(e.Hint, 500)))
	}
}

// retryText says when hako agent once, or a later run, tries a failed task again.
func retryText(e dispatch.Event) string {
	switch {
	case e.Wait == 0:
		return ""
	case dispatch.Patient(e.Attempt):
		return ", it is tried again in " + e.Wait.String()
	}
	return fmt.Sprintf("; it stays in the queue, and try %d may come in %v", e.Attempt+1, e.Wait)
}

// waitText says what hako agent once waits for, and until when.
func waitText(e dispatch.Event) string {
	until := ""
	if e.Wait > 0 {
		until = " until " + time.Now().Add(e.Wait).Format(time.TimeOnly)
	}
	if e.Worker != "" {
		return until + " for a sign of " + e.Worker + ", which has the task; if none comes, it is taken over"
	}
	return until + fmt.Sprintf(" for try %d; the last came to nothing: %s", e.Attempt, shortLine(e.Why, 500))
}

func (v *view) endLine(e dispatch.Event) string {
	line := fmt.Sprintf("%s: %s in %v, %d tokens", e.Thread, e.State, e.Duration.Round(100*time.Millisecond),
		e.Spent.Tokens())
	for _, more := range []string{e.Proposal, shortLine(e.Why, 500)} {
		if more != "" {
			line += ": " + more
		}
	}
	return line
}

// workLine formats a step of a task.
func workLine(task string, e *coder.Event) string {
	switch e.Type {
	case "phase":
		return task + ": " + string(e.Phase)
	case "call":
		return task + ":   " + e.Name + " " + shortLine(e.Text, 160)
	case "result":
		if e.Text != "" {
			return task + ":   → " + e.Name + ": " + shortLine(e.Text, 200)
		}
	case "note":
		return task + ":   " + shortLine(e.Text, 400)
	case "ignored":
		return task + ":   a comment of " + e.Name + " is not followed: no write access"
	case "heard":
		return task + ":   " + e.Name + " said something"
	}
	return ""
}

// shortLine returns a text in one line of at most that many characters.
func shortLine(s string, most int) string { return text.Line(s, most) }

// progress shows the progress of starting a container.
func (v *view) progress(s string) {
	s = strings.TrimPrefix(s, "| ")
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.daemon:
		v.log.Debug("container", "text", s)
	case !v.asJSON:
		fmt.Fprintln(v.s.err, "container: "+text.ForTerminal(s))
	}
}

// warn reports an error that does not end the work.
func (v *view) warn(err error) {
	v.metrics.Failed(err)
	if v.daemon {
		v.log.LogAttrs(context.Background(), slog.LevelWarn, "trouble", errorAttrs(err)...)
		return
	}
	fmt.Fprintln(v.s.err, "hako: "+text.ForTerminal(v.secrets.Text(err.Error())))
}

func errorAttrs(err error) []slog.Attr {
	attrs := []slog.Attr{slog.Any("error", err)}
	if hint := fault.Hint(err); hint != "" {
		attrs = append(attrs, slog.String("hint", hint))
	}
	return attrs
}

// noteNoTasks says which label a task would have needed.
func (v *view) noteNoTasks(forges []dispatch.Forge) {
	if v.asJSON {
		return
	}
	for _, f := range forges {
		also := ""
		if f.NeedAssignee {
			also = " and is assigned to the agent"
		}
		fmt.Fprintf(v.s.err, "%s: no open issue has the label %q%s\n", f.Provider, f.Labels.WithDefaults().Ready, also)
	}
}

// noteReturned says that unfinished tasks are back in the queue.
func (v *view) noteReturned(endings []dispatch.Ending) {
	given := func(e dispatch.Ending) bool { return e.Err != nil && !errors.Is(e.Err, coder.ErrLost) }
	if slices.ContainsFunc(endings, given) {
		fmt.Fprintln(v.s.err, "hako: unfinished tasks are back in the queue; hako agent once continues them")
	}
}

func (v *view) logStarted(produce, labour bool) {
	var names []string
	for _, f := range v.Client.Forges {
		names = append(names, fmt.Sprintf("%s (label %q)", f.Provider, f.Labels.WithDefaults().Ready))
	}
	v.log.Info("started", "forges", strings.Join(names, ", "), "picks_up", produce, "works", labour, "poll_seconds",
		config.AgentPoll.Of(v.Conf).V)
}

func (v *view) logStopped() {
	if v.daemon {
		v.log.Info("stopped")
	}
}
