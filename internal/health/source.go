package health

import (
	"cmp"
	"context"

	"hako/internal/promtext"
)

// A Figure is a gauge that is read whenever the metrics are.
type Figure struct {
	Name  string // of the metric, such as hako_sandboxes
	About string
	Label string // by which Ask counts; empty means one number, under the key ""
	Ask   func(context.Context) (map[string]int, error)

	source string // its name in hako_scrape_failures_total; empty means Name
}

// A source is a [Figure] with what reads it.
type source struct {
	name    string
	gauge   *promtext.Family
	call    *boundedCall
	labels  *labelSet // nil means that the gauge has no label
	missed  *promtext.Family
	changed func(error) // called with the outcome of every read
}

// Show adds a figure to the metrics.
func (m *Metrics) Show(f Figure) {
	name := cmp.Or(f.source, f.Name)
	s := &source{name: name, call: newBoundedCall(f.Ask), missed: m.missed,
		changed: logChanges(m.log, name+" cannot be counted", name+" can be counted again")}
	if f.Label == "" {
		s.gauge = m.registry.Gauge(f.Name, f.About)
	} else {
		s.gauge, s.labels = m.registry.Gauge(f.Name, f.About, f.Label), &labelSet{limit: 20}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sources = append(m.sources, s)
}

// update reads the figure. If that fails the gauge disappears: an old value would look
// like a new one.
func (s *source) update(ctx context.Context) {
	values, err := s.call.do(ctx)
	if ctx.Err() != nil {
		return // the client left
	}
	if s.changed(err); err != nil {
		s.missed.Add(1, s.name)
		s.gauge.Replace(nil)
		return
	}
	sums := map[string]float64{}
	if s.labels == nil {
		sums[""] = float64(values[""])
	} else {
		for word, n := range values { // several may be "other"
			sums[s.labels.label(word)] += float64(n)
		}
	}
	s.gauge.Replace(sums)
}
