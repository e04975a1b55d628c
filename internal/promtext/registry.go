// Package promtext is a registry of metrics in the text format 0.0.4 of Prometheus.
//
// It exists because the official client costs every start of hako a millisecond, also
// where no metrics are served. For the same reason it has no package variables.
package promtext

import (
	"io"
	"slices"
	"strings"
	"sync"
)

// ContentType is the media type of what [Registry.WriteTo] writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Registry is a set of metrics. Its zero value is empty. It is safe for concurrent
// use, as its families are.
type Registry struct {
	mu       sync.Mutex
	families []*Family
}

// Counter adds a metric that only grows. Without labels it begins at zero; with labels,
// a series appears when it is first counted.
func (r *Registry) Counter(name, help string, labels ...string) *Family {
	f := r.add(&Family{name: name, help: help, kind: "counter", labels: labels})
	if len(labels) == 0 {
		f.Add(0)
	}
	return f
}

// Gauge adds a metric that goes up and down.
func (r *Registry) Gauge(name, help string, labels ...string) *Family {
	return r.add(&Family{name: name, help: help, kind: "gauge", labels: labels})
}

// Summary adds a metric with a count and a sum.
func (r *Registry) Summary(name, help string, labels ...string) *Family {
	return r.add(&Family{name: name, help: help, kind: "summary", labels: labels})
}

// Histogram adds a metric with a count, a sum, and the number of observations up to each
// bound. The bounds are sorted.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Family {
	return r.add(&Family{name: name, help: help, kind: "histogram", labels: labels, bounds: bounds})
}

func (r *Registry) add(f *Family) *Family {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.series = map[string]*series{}
	r.families = append(r.families, f)
	return f
}

// WriteTo writes all metrics, sorted by name.
func (r *Registry) WriteTo(w io.Writer) (int64, error) {
	r.mu.Lock()
	families := slices.Clone(r.families)
	r.mu.Unlock()
	slices.SortFunc(families, func(a, b *Family) int { return strings.Compare(a.name, b.name) })
	var out strings.Builder
	for _, f := range families {
		f.write(&out)
	}
	n, err := io.WriteString(w, out.String())
	return int64(n), err
}
