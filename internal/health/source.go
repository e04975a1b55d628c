package health

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// A source is a figure that is asked for whenever the page is looked at.
type source struct {
	name   string
	about  *prometheus.Desc
	ask    *question[map[string]int] // by label; the empty label is for a figure without any
	labels *words                    // nil: the figure has no label
	missed *prometheus.CounterVec
	tell   func(error) // of every answer
}

// A Figure is asked for whenever somebody looks, as those of [Sources] are.
type Figure struct {
	Name  string // as Prometheus wants it, such as hako_sandboxes
	About string
	Label string // what Ask counts by; empty means that there is one number, under the key ""
	Ask   func(context.Context) (map[string]int, error)
}

// Show adds a figure to the page.
func (m *Metrics) Show(f Figure) { m.registry.MustRegister(m.source(f, f.Name)) }

func (m *Metrics) source(f Figure, name string) *source {
	s := &source{name: name, ask: newQuestion(questionTime, f.Ask), missed: m.missed, tell: onChange(m.log, name+" cannot be counted", name+" can be counted again")}
	if f.Label == "" {
		s.about = prometheus.NewDesc(f.Name, f.About, nil, nil)
		return s
	}
	s.about, s.labels = prometheus.NewDesc(f.Name, f.About, []string{f.Label}, nil), &words{most: 20}
	return s
}

func (m *Metrics) queueSource(from Sources) *source {
	return m.source(Figure{Name: "hako_queue_tasks", About: "Tasks in the queue, by state.", Label: "state", Ask: from.Queue}, "queue")
}

func (m *Metrics) containerSource(from Sources) *source {
	return m.source(Figure{Name: "hako_containers", About: "Containers that run for tasks.", Ask: func(ctx context.Context) (map[string]int, error) {
		n, err := from.Containers(ctx)
		return map[string]int{"": n}, err
	}}, "containers")
}

// Describe implements [prometheus.Collector].
func (s *source) Describe(out chan<- *prometheus.Desc) { out <- s.about }

// Collect implements [prometheus.Collector].
func (s *source) Collect(out chan<- prometheus.Metric) {
	figures, err := s.ask.answer(context.Background()) // a collector is given no context
	s.tell(err)
	if err != nil {
		s.missed.WithLabelValues(s.name).Inc()
		return
	}
	if s.labels == nil {
		out <- s.figure(figures[""])
		return
	}
	sums := map[string]int{} // several words may share the label "other"
	for word, n := range figures {
		sums[s.labels.label(word)] += n
	}
	for word, n := range sums {
		out <- s.figure(n, word)
	}
}

func (s *source) figure(n int, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(s.about, prometheus.GaugeValue, float64(n), labels...)
}
