package promtext

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Family is one figure with all the values of its labels. Its methods take
// one value for each label, in the order of the labels.
type Family struct {
	name, help, kind string
	labels           []string
	bounds           []float64 // of a histogram

	mu     sync.Mutex
	series map[string]*series // by its labels, as they are written
}

// A series is what a family knows of one choice of labels.
type series struct {
	value  float64  // of a summary or histogram the sum
	count  uint64   // of a summary or histogram
	within []uint64 // how many were within each bound of a histogram, and above the one before
}

// Add adds n, which is not negative, to a counter.
func (f *Family) Add(n float64, labels ...string) {
	f.change(labels, func(s *series) { s.value += n })
}

// Set says what a gauge is now, or what a counter that is kept elsewhere has
// come to.
func (f *Family) Set(n float64, labels ...string) {
	f.change(labels, func(s *series) { s.value = n })
}

// SetSum says what a summary that is kept elsewhere has come to.
func (f *Family) SetSum(count uint64, sum float64, labels ...string) {
	f.change(labels, func(s *series) { s.count, s.value = count, sum })
}

// Observe takes n into a histogram or a summary.
func (f *Family) Observe(n float64, labels ...string) {
	f.change(labels, func(s *series) {
		s.count++
		s.value += n
		if i, _ := slices.BinarySearch(f.bounds, n); i < len(f.bounds) {
			s.within[i]++
		}
	})
}

// Replace makes these all there is of a gauge with one label, or with none: then
// the only key is "". Nothing makes the gauge vanish from the page.
func (f *Family) Replace(figures map[string]float64) {
	all := make(map[string]*series, len(figures))
	for word, n := range figures {
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
		s = &series{within: make([]uint64, len(f.bounds))}
		f.series[key] = s
	}
	with(s)
}

// key spells the labels as they stand between the braces.
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

func (f *Family) write(page *strings.Builder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.series) == 0 {
		return
	}
	page.WriteString("# HELP " + f.name + " " + escaped(f.help, false) + "\n# TYPE " + f.name + " " + f.kind + "\n")
	for _, key := range slices.Sorted(maps.Keys(f.series)) {
		f.writeSeries(page, key, f.series[key])
	}
}

func (f *Family) writeSeries(page *strings.Builder, key string, s *series) {
	if f.kind == "counter" || f.kind == "gauge" {
		line(page, f.name, key, s.value)
		return
	}
	if f.kind == "histogram" {
		f.writeBounds(page, key, s)
	}
	line(page, f.name+"_sum", key, s.value)
	line(page, f.name+"_count", key, float64(s.count))
}

// writeBounds writes how many were at most as large as each bound, those below
// it included, and ends with all of them.
func (f *Family) writeBounds(page *strings.Builder, key string, s *series) {
	if key != "" {
		key += ","
	}
	before := uint64(0)
	for i, bound := range f.bounds {
		before += s.within[i]
		line(page, f.name+"_bucket", key+`le="`+number(bound)+`"`, float64(before))
	}
	line(page, f.name+"_bucket", key+`le="+Inf"`, float64(s.count))
}

func line(page *strings.Builder, name, labels string, n float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	page.WriteString(name + labels + " " + number(n) + "\n")
}

func number(n float64) string {
	if math.IsInf(n, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// escaped keeps a text on its line; in a label's value quotes are escaped too.
func escaped(text string, quotes bool) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "\n", `\n`)
	if quotes {
		text = strings.ReplaceAll(text, `"`, `\"`)
	}
	return text
}
