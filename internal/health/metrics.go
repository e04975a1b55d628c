package health

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hako/internal/fault"
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

// Metrics count what the daemon does, in a registry of their own. A nil *Metrics
// counts nothing. It is safe for concurrent use. Words become labels as they
// are, up to a number; any further ones are counted together as "other".
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	log      *slog.Logger

	tasks       *prometheus.CounterVec
	taskSeconds *prometheus.HistogramVec
	phases      *prometheus.HistogramVec
	turns       prometheus.Counter
	tokens      *prometheus.CounterVec
	cost        prometheus.Counter
	calls       *prometheus.CounterVec
	errors      *prometheus.CounterVec
	polls       *prometheus.CounterVec
	pollSeconds *prometheus.HistogramVec
	found       *prometheus.GaugeVec
	missed      *prometheus.CounterVec

	providers, states, phaseNames, models, tools words
}

// NewMetrics returns metrics that begin at zero.
func NewMetrics(from Sources) *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		log:         orNobody(from.Log),
		tasks:       counters("hako_agent_tasks_total", "Tasks that ended, by the state they ended in.", "provider", "state"),
		taskSeconds: histograms("hako_agent_task_seconds", "How long a task took until it ended.", taskBuckets(), "state"),
		phases:      histograms("hako_agent_phase_seconds", "How long a phase of a task took.", phaseBuckets(), "phase"),
		turns:       counters("hako_agent_turns_total", "Answers of models.").WithLabelValues(),
		tokens:      counters("hako_agent_tokens_total", "Tokens used; input does not include cached.", "model", "kind"),
		cost:        counters("hako_agent_cost_dollars_total", "What models cost, by the price list.").WithLabelValues(),
		calls:       counters("hako_agent_tool_calls_total", "Calls of tools by models.", "tool", "ok"),
		errors:      counters("hako_agent_errors_total", "Errors, by kind.", "kind"),
		polls:       counters("hako_forge_polls_total", "Times a forge was asked for tasks.", "provider", "result"),
		pollSeconds: histograms("hako_forge_poll_seconds", "How long asking a forge for tasks took.", pollBuckets(), "provider"),
		found:       gauges("hako_forge_tasks_found", "Tasks the last successful poll found.", "provider"),
		missed:      counters("hako_scrape_failures_total", "Times a figure was missing because its source gave no answer.", "source"),
		providers:   words{most: 10}, states: words{most: 20}, phaseNames: words{most: 20},
		models: words{most: 50}, tools: words{most: 100},
	}
	m.register(from)
	// One figure that cannot be had does not hide the others.
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

func taskBuckets() []float64 {
	return []float64{5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}
}

func phaseBuckets() []float64 {
	return []float64{0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600}
}

func pollBuckets() []float64 {
	return []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func (m *Metrics) register(from Sources) {
	m.registry.MustRegister(m.tasks, m.taskSeconds, m.phases, m.turns, m.tokens, m.cost, m.calls, m.errors,
		m.polls, m.pollSeconds, m.found, m.missed, buildInfo(from.Version),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if from.Queue != nil {
		m.registry.MustRegister(m.queueSource(from))
	}
	if from.Containers != nil {
		m.registry.MustRegister(m.containerSource(from))
	}
}

func buildInfo(version string) prometheus.Collector {
	if version == "" {
		version = "unknown"
	}
	info := gauges("hako_build_info", "Always 1; the version is the label.", "version")
	info.WithLabelValues(strings.ToValidUTF8(version, "?")).Set(1) // anything else would panic
	return info
}

// Handler serves the metrics in the format of Prometheus; of a nil *Metrics it
// is nil.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return m.handler
}

// TaskEnded counts a task of a forge that reached its last state after d.
func (m *Metrics) TaskEnded(provider, state string, d time.Duration) {
	if m == nil {
		return
	}
	state = m.states.label(state)
	m.tasks.WithLabelValues(m.providers.label(provider), state).Inc()
	m.taskSeconds.WithLabelValues(state).Observe(seconds(d))
}

// PhaseEnded counts a phase of a task that took d.
func (m *Metrics) PhaseEnded(phase string, d time.Duration) {
	if m == nil {
		return
	}
	m.phases.WithLabelValues(m.phaseNames.label(phase)).Observe(seconds(d))
}

// TurnEnded counts an answer of a model and what it used. Input does not include
// cached. The cost of a model without a price is zero.
func (m *Metrics) TurnEnded(model string, input, cached, output int64, dollars float64) {
	if m == nil {
		return
	}
	m.turns.Inc()
	model = m.models.label(model)
	for kind, n := range map[string]int64{"input": input, "cached": cached, "output": output} {
		m.tokens.WithLabelValues(model, kind).Add(float64(max(n, 0)))
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
	m.calls.WithLabelValues(m.tools.label(tool), strconv.FormatBool(ok)).Inc()
}

// Failed counts an error by its kind; nil is none.
func (m *Metrics) Failed(err error) {
	if m == nil || err == nil {
		return
	}
	m.errors.WithLabelValues(fault.KindOf(err).String()).Inc()
}

// Polled counts one look at a forge, which took d and found so many tasks. An
// error is counted by its kind and leaves the number found as it was.
func (m *Metrics) Polled(provider string, found int, d time.Duration, err error) {
	if m == nil {
		return
	}
	provider = m.providers.label(provider)
	m.pollSeconds.WithLabelValues(provider).Observe(seconds(d))
	if err != nil {
		m.polls.WithLabelValues(provider, fault.KindOf(err).String()).Inc()
		return
	}
	m.polls.WithLabelValues(provider, "ok").Inc()
	m.found.WithLabelValues(provider).Set(float64(found))
}

// seconds is what histograms take. A clock that was set back makes no negative
// duration, which would lower the sum.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }
