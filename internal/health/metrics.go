package health

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"hako/internal/promtext"
	"hako/run/fault"
)

// Sources are figures that [Metrics] reads whenever the metrics are read. Each has two
// seconds and one caller at a time; without an answer its metrics are missing, and
// hako_scrape_failures_total counts it.
type Sources struct {
	Version    string                                        // of the program; empty means "unknown"
	Queue      func(context.Context) (map[string]int, error) // tasks in the queue by state; may be nil
	Containers func(context.Context) (int, error)            // running containers; may be nil
	Log        *slog.Logger                                  // for failures of the sources; nil means no log
}

// Metrics counts what the daemon does, in a registry of its own. A nil *Metrics counts
// nothing. It is safe for concurrent use. Words become labels up to a number of
// different ones; further ones are counted as "other".
type Metrics struct {
	registry promtext.Registry
	runtime  runtimeMetrics
	log      *slog.Logger

	mu      sync.Mutex
	sources []*source

	tasks, taskSeconds, phases *promtext.Family
	turns, tokens, cost, calls *promtext.Family
	errors                     *promtext.Family
	polls, pollSeconds, found  *promtext.Family
	missed                     *promtext.Family

	providers, states, phaseNames, models, tools labelSet
}

// NewMetrics returns metrics that begin at zero.
func NewMetrics(from Sources) *Metrics {
	m := &Metrics{log: orDiscard(from.Log),
		providers: labelSet{limit: 10}, states: labelSet{limit: 20}, phaseNames: labelSet{limit: 20},
		models: labelSet{limit: 50}, tools: labelSet{limit: 100}}
	m.runtime = newRuntimeMetrics(&m.registry)
	m.register(&m.registry)
	m.registry.Gauge("hako_build_info", "Always 1; the version is the label.", "version").Set(1,
		cmp.Or(from.Version, "unknown"))
	if from.Queue != nil {
		m.Show(Figure{Name: "hako_queue_tasks", About: "Tasks in the queue, by state.", Label: "state", Ask: from.Queue,
			source: "queue"})
	}
	if from.Containers != nil {
		m.Show(Figure{Name: "hako_containers", About: "Containers that run for tasks.", source: "containers",
			Ask: func(ctx context.Context) (map[string]int, error) {
				n, err := from.Containers(ctx)
				return map[string]int{"": n}, err
			}})
	}
	return m
}

func (m *Metrics) register(r *promtext.Registry) {
	taskBounds := []float64{5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}
	phaseBounds := []float64{0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600}
	pollBounds := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	m.tasks = r.Counter("hako_agent_tasks_total", "Tasks that ended, by the state they ended in.", "provider", "state")
	m.taskSeconds = r.Histogram("hako_agent_task_seconds", "Duration of a task until it ended.", taskBounds, "state")
	m.phases = r.Histogram("hako_agent_phase_seconds", "Duration of a phase of a task.", phaseBounds, "phase")
	m.turns = r.Counter("hako_agent_turns_total", "Answers of models.")
	m.tokens = r.Counter("hako_agent_tokens_total", "Tokens used; input does not include cached.", "kind", "model")
	m.cost = r.Counter("hako_agent_cost_dollars_total", "Cost of models, by the price list.")
	m.calls = r.Counter("hako_agent_tool_calls_total", "Calls of tools by models.", "ok", "tool")
	m.errors = r.Counter("hako_agent_errors_total", "Errors, by kind.", "kind")
	m.polls = r.Counter("hako_forge_polls_total", "Polls of a forge.", "provider", "result")
	m.pollSeconds = r.Histogram("hako_forge_poll_seconds", "Duration of a poll of a forge.", pollBounds, "provider")
	m.found = r.Gauge("hako_forge_tasks_found", "Tasks the last successful poll found.", "provider")
	m.missed = r.Counter("hako_scrape_failures_total", "Times a metric was missing because its source gave no answer.",
		"source")
}

// Handler serves the metrics in the format of Prometheus; of a nil *Metrics it is nil.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.update(r.Context())
		w.Header().Set("Content-Type", promtext.ContentType)
		m.registry.WriteTo(w) // fails only for a client that left
	})
}

// update reads all sources, concurrently.
func (m *Metrics) update(ctx context.Context) {
	m.mu.Lock()
	sources := slices.Clone(m.sources)
	m.mu.Unlock()
	m.runtime.update()
	var reading sync.WaitGroup
	for _, s := range sources {
		reading.Go(func() { s.update(ctx) })
	}
	reading.Wait()
}

// TaskEnded counts a task of a forge that reached its last state after d.
func (m *Metrics) TaskEnded(provider, state string, d time.Duration) {
	if m == nil {
		return
	}
	state = m.states.label(state)
	m.tasks.Add(1, m.providers.label(provider), state)
	m.taskSeconds.Observe(seconds(d), state)
}

// PhaseEnded counts a phase of a task that took d.
func (m *Metrics) PhaseEnded(phase string, d time.Duration) {
	if m == nil {
		return
	}
	m.phases.Observe(seconds(d), m.phaseNames.label(phase))
}

// TurnEnded counts an answer of a model and its usage. Input does not include cached.
// The cost of a model without a price is zero.
func (m *Metrics) TurnEnded(model string, input, cached, output int64, dollars float64) {
	if m == nil {
		return
	}
	m.turns.Add(1)
	model = m.models.label(model)
	for kind, n := range map[string]int64{"input": input, "cached": cached, "output": output} {
		m.tokens.Add(float64(max(n, 0)), kind, model)
	}
	if dollars > 0 && !math.IsInf(dollars, 0) { // an infinite price would spoil the sum for ever
		m.cost.Add(dollars)
	}
}

// ToolCalled counts a call of a tool. For a tool that does not exist pass "unknown": a
// model may invent any number of names.
func (m *Metrics) ToolCalled(tool string, ok bool) {
	if m == nil {
		return
	}
	m.calls.Add(1, strconv.FormatBool(ok), m.tools.label(tool))
}

// Failed counts an error by its kind, unless it is nil.
func (m *Metrics) Failed(err error) {
	if m == nil || err == nil {
		return
	}
	m.errors.Add(1, fault.KindOf(err).String())
}

// Polled counts a poll of a forge, which took d and found some tasks. An error is
// counted by its kind and leaves the number of tasks found as it was.
func (m *Metrics) Polled(provider string, found int, d time.Duration, err error) {
	if m == nil {
		return
	}
	provider = m.providers.label(provider)
	m.pollSeconds.Observe(seconds(d), provider)
	if err != nil {
		m.polls.Add(1, provider, fault.KindOf(err).String())
		return
	}
	m.polls.Add(1, provider, "ok")
	m.found.Set(float64(found), provider)
}

// seconds is never negative, which would lower the sum of a histogram: a clock may have
// been set back.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }
