// Package promtext keeps figures and writes them down the way Prometheus reads
// them: text format 0.0.4.
//
// It exists because the official client costs every start of hako a
// millisecond, also those that show no figure to anybody. The rule to keep: a
// package variable here is paid for by `hako sh -c 'echo hi'`.
package promtext

import (
	"io"
	"slices"
	"strings"
	"sync"
)

// ContentType is what a server says of what [Book.WriteTo] writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Registry is a page of figures. Its zero value is empty. It is safe for
// concurrent use, as its families are.
type Registry struct {
	mu       sync.Mutex
	families []*Family
}

// Runner adds a figure that only grows. Without labels it begins at zero; with
// labels, which say what it is counted by, it shows what was counted at all.
func (b *Registry) Counter(name, help string, labels ...string) *Family {
	f := b.add(&Family{name: name, help: help, kind: "counter", labels: labels})
	if len(labels) == 0 {
		f.Add(0)
	}
	return f
}

// Gauge adds a figure that goes up and down.
func (b *Registry) Gauge(name, help string, labels ...string) *Family {
	return b.add(&Family{name: name, help: help, kind: "gauge", labels: labels})
}

// Summary adds a figure of which number and sum are kept.
func (b *Registry) Summary(name, help string, labels ...string) *Family {
	return b.add(&Family{name: name, help: help, kind: "summary", labels: labels})
}

// Histogram adds a figure of which number and sum are kept, and how many were at
// most as large as each bound. The bounds are in order.
func (b *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Family {
	return b.add(&Family{name: name, help: help, kind: "histogram", labels: labels, bounds: bounds})
}

func (b *Registry) add(f *Family) *Family {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.series = map[string]*series{}
	b.families = append(b.families, f)
	return f
}

// WriteTo writes every figure that there is, in the order of their names.
func (b *Registry) WriteTo(w io.Writer) (int64, error) {
	b.mu.Lock()
	families := slices.Clone(b.families)
	b.mu.Unlock()
	slices.SortFunc(families, func(a, b *Family) int { return strings.Compare(a.name, b.name) })
	var page strings.Builder
	for _, f := range families {
		f.write(&page)
	}
	n, err := io.WriteString(w, page.String())
	return int64(n), err
}
