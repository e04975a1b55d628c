package health

import (
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

// Sources are what [Metrics] asks when somebody looks, rather than being told.
// Each has two seconds and one caller at a time; without an answer its figures
// are missing from the page, and hako_scrape_failures_total says so.
type Sources struct {
	Version    string                                        // of the program; empty means "unknown"
	Queue      func(context.Context) (map[string]int, error) // tasks in the queue by state; nil means no such figures
	Containers func(context.Context) (int, error)            // containers that run; nil means no such figure
	Log        *slog.Logger                                  // gets why there is no answer, when that changes; nil means nobody does
}

// Metrics count what the daemon does, in a book of their own. A nil *Metrics
// counts nothing. It is safe for concurrent use. Words become labels as they
// are, up to a number; any further ones are counted together as "other".
type Metrics struct {
	book    promtext.Registry
	program *program
	log     *slog.Logger

	mu      sync.Mutex
	sources []*source

	tasks, taskSeconds, phases *promtext.Family
	turns, tokens, cost, calls *promtext.Family
	errors                     *promtext.Family
	polls, pollSeconds, found  *promtext.Family
	missed                     *promtext.Family

	providers, states, phaseNames, models, tools words
}

// NewMetrics returns metrics that begin at zero.
func NewMetrics(from Sources) *Metrics {
	m := &Metrics{log: orNobody(from.Log),
		providers: words{most: 10}, states: words{most: 20}, phaseNames: words{most: 20},
		models: words{most: 50}, tools: words{most: 100}}
	m.program = newProgram(&m.book)
	m.open(&m.book)
	m.buildInfo(from.Version)
	if from.Queue != nil {
		m.Show(queueFigure(from))
	}
	if from.Containers != nil {
		m.Show(containersFigure(from))
	}
	return m
}

func (m *Metrics) open(b *promtext.Registry) {
	m.tasks = b.Counter("hako_agent_tasks_total", "Tasks that ended, by the state they ended in.", "provider", "state")
	m.taskSeconds = b.Histogram("hako_agent_task_seconds", "How long a task took until it ended.", taskBounds(), "state")
	m.phases = b.Histogram("hako_agent_phase_seconds", "How long a phase of a task took.", phaseBounds(), "phase")
	m.turns = b.Counter("hako_agent_turns_total", "Answers of models.")
	m.tokens = b.Counter("hako_agent_tokens_total", "Tokens used; input does not include cached.", "kind", "model")
	m.cost = b.Counter("hako_agent_cost_dollars_total", "What models cost, by the price list.")
	m.calls = b.Counter("hako_agent_tool_calls_total", "Calls of tools by models.", "ok", "tool")
	m.errors = b.Counter("hako_agent_errors_total", "Errors, by kind.", "kind")
	m.polls = b.Counter("hako_forge_polls_total", "Times a forge was asked for tasks.", "provider", "result")
	m.pollSeconds = b.Histogram("hako_forge_poll_seconds", "How long asking a forge for tasks took.", pollBounds(),
		"provider")
	m.found = b.Gauge("hako_forge_tasks_found", "Tasks the last successful poll found.", "provider")
	m.missed = b.Counter("hako_scrape_failures_total", "Times a figure was missing because its source gave no answer.",
		"source")
}

func taskBounds() []float64 {
	return []float64{5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}
}

func phaseBounds() []float64 {
	return []float64{0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600}
}

func pollBounds() []float64 {
	return []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

func (m *Metrics) buildInfo(version string) {
	if version == "" {
		version = "unknown"
	}
	m.book.Gauge("hako_build_info", "Always 1; the version is the label.", "version").Set(1, version)
}

// Handler serves the metrics in the format of Prometheus; of a nil *Metrics it
// is nil.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.look(r.Context())
		w.Header().Set("Content-Type", promtext.ContentType)
		m.book.WriteTo(w) // the one that looked has gone if this fails
	})
}

// look brings up to date what is not told but asked for, all of it at once.
func (m *Metrics) look(ctx context.Context) {
	m.mu.Lock()
	sources := slices.Clone(m.sources)
	m.mu.Unlock()
	m.program.look()
	var asked sync.WaitGroup
	for _, s := range sources {
		asked.Go(func() { s.look(ctx) })
	}
	asked.Wait()
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

// TurnEnded counts an answer of a model and what it used. Input does not include
// cached. The cost of a model without a price is zero.
func (m *Metrics) TurnEnded(model string, input, cached, output int64, dollars float64) {
	if m == nil {
		return
	}
	m.turns.Add(1)
	model = m.models.label(model)
	for kind, n := range map[string]int64{"input": input, "cached": cached, "output": output} {
		m.tokens.Add(float64(max(n, 0)), kind, model)
	}
	if dollars > 0 && !math.IsInf(dollars, 0) { // neither must a bad price make the sum useless for ever
		m.cost.Add(dollars)
	}
}

// ToolCalled counts a call of a tool. For a name that is no tool's pass
// "unknown": a model may think up any number of names.
func (m *Metrics) ToolCalled(tool string, ok bool) {
	if m == nil {
		return
	}
	m.calls.Add(1, strconv.FormatBool(ok), m.tools.label(tool))
}

// Failed counts an error by its kind; nil is none.
func (m *Metrics) Failed(err error) {
	if m == nil || err == nil {
		return
	}
	m.errors.Add(1, fault.KindOf(err).String())
}

// Polled counts one look at a forge, which took d and found so many tasks. An
// error is counted by its kind and leaves the number found as it was.
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

// seconds is what histograms take. A clock that was set back makes no negative
// duration, which would lower the sum.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }
