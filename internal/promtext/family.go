package promtext

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Family is one metric with all its series. Its methods take one value for each label,
// in the order of the labels.
type Family struct {
	name, help, kind string
	labels           []string
	bounds           []float64 // of a histogram

	mu     sync.Mutex
	series map[string]*series // by labels, formatted
}

// A series is a metric for one combination of label values.
type series struct {
	value   float64  // the sum, of a summary or histogram
	count   uint64   // of a summary or histogram
	buckets []uint64 // of a histogram: observations up to each bound, and above the one before
}

// Add adds n, which is not negative, to a counter.
func (f *Family) Add(n float64, labels ...string) {
	f.change(labels, func(s *series) { s.value += n })
}

// Set sets a gauge, or a counter that is maintained elsewhere.
func (f *Family) Set(n float64, labels ...string) {
	f.change(labels, func(s *series) { s.value = n })
}

// SetSum sets a summary that is maintained elsewhere.
func (f *Family) SetSum(count uint64, sum float64, labels ...string) {
	f.change(labels, func(s *series) { s.count, s.value = count, sum })
}

// Observe adds an observation to a histogram or a summary.
func (f *Family) Observe(n float64, labels ...string) {
	f.change(labels, func(s *series) {
		s.count++
		s.value += n
		if i, _ := slices.BinarySearch(f.bounds, n); i < len(f.bounds) {
			s.buckets[i]++
		}
	})
}

// Replace replaces all series of a gauge with one label, or without: then the only key is
// "". Without any series the gauge is not written.
func (f *Family) Replace(values map[string]float64) {
	all := make(map[string]*series, len(values))
	for word, n := range values {
		all[f.key([]string{word})] = &series{value: n}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.series = all
}

func (f *Family) change(labels []string, with func(*series)) {
	key := f.key(labels)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.series[key]
	if s == nil {
		s = &series{buckets: make([]uint64, len(f.bounds))}
		f.series[key] = s
	}
	with(s)
}

// key formats the labels as they are written between the braces.
func (f *Family) key(values []string) string {
	var b strings.Builder
	for i, name := range f.labels {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + `="` + escaped(values[i], true) + `"`)
	}
	return b.String()
}

func (f *Family) write(out *strings.Builder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.series) == 0 {
		return
	}
	out.WriteString("# HELP " + f.name + " " + escaped(f.help, false) + "\n# TYPE " + f.name + " " + f.kind + "\n")
	for _, key := range slices.Sorted(maps.Keys(f.series)) {
		f.writeSeries(out, key, f.series[key])
	}
}

func (f *Family) writeSeries(out *strings.Builder, key string, s *series) {
	if f.kind == "counter" || f.kind == "gauge" {
		line(out, f.name, key, s.value)
		return
	}
	if f.kind == "histogram" {
		f.writeBuckets(out, key, s)
	}
	line(out, f.name+"_sum", key, s.value)
	line(out, f.name+"_count", key, float64(s.count))
}

// writeBuckets writes the cumulative number of observations up to each bound.
func (f *Family) writeBuckets(out *strings.Builder, key string, s *series) {
	if key != "" {
		key += ","
	}
	sum := uint64(0)
	for i, bound := range f.bounds {
		sum += s.buckets[i]
		line(out, f.name+"_bucket", key+`le="`+number(bound)+`"`, float64(sum))
	}
	line(out, f.name+"_bucket", key+`le="+Inf"`, float64(s.count))
}

func line(out *strings.Builder, name, labels string, n float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	out.WriteString(name + labels + " " + number(n) + "\n")
}

func number(n float64) string {
	if math.IsInf(n, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// escaped escapes line breaks and backslashes, and quotes in the value of a label.
func escaped(text string, quotes bool) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "\n", `\n`)
	if quotes {
		text = strings.ReplaceAll(text, `"`, `\"`)
	}
	return text
}
