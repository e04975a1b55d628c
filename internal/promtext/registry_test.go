package promtext

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func text(t testing.TB, b *Registry) string {
	t.Helper()
	var page strings.Builder
	n, err := b.WriteTo(&page)
	if err != nil || n != int64(page.Len()) {
		t.Fatalf("wrote %d of %d, %v", n, page.Len(), err)
	}
	return page.String()
}

// TestSameAsOfficial: every kind of figure is written to the letter as the
// official client writes it.
func TestSameAsOfficial(t *testing.T) {
	if got, want := text(t, ourBook()), official(t); got != want {
		t.Errorf("wrote\n%s\nnot\n%s", got, want)
	}
}

var odd = []string{"plain", `back\slash`, `"quoted"`, "two\nlines", "箱", ""}

var figures = []float64{0, 0.1, 0.25, 0.5, 1, 1.5, 10, 1e6, 123456789, 1e21, 0.000012, 3.0000000001}

func ourBook() *Registry {
	b := &Registry{}
	b.Counter("z_nothing_total", "Counted \\ by nothing.\nTwo lines.")
	b.Counter("never_total", "Nobody counted.", "label")
	counts, gauge := b.Counter("counted_total", "Counted.", "a", "b"), b.Gauge("gauge", "Up and down.", "a")
	histogram := b.Histogram("took_seconds", "Took.", []float64{0.1, 0.5, 1, 10}, "a")
	plain := b.Histogram("plain_seconds", "Took.", []float64{1})
	summary := b.Summary("sum_seconds", "Summed.", "a")
	for i, word := range odd {
		counts.Add(figures[i], word, "x")
		counts.Add(1, word, "x")
		gauge.Set(0-figures[i], word)
		for _, n := range figures {
			histogram.Observe(n, word)
			plain.Observe(n)
			summary.Observe(n, word)
		}
	}
	gauge.Set(math.Inf(1), "inf")
	gauge.Set(math.Inf(-1), "less")
	gauge.Set(math.NaN(), "nan")
	return b
}

func official(t *testing.T) string {
	counts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "counted_total", Help: "Counted."}, []string{"a", "b"})
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gauge", Help: "Up and down."}, []string{"a"})
	histogram := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "took_seconds", Help: "Took.",
		Buckets: []float64{0.1, 0.5, 1, 10}}, []string{"a"})
	plain := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "plain_seconds", Help: "Took.", Buckets: []float64{1}})
	summary := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "sum_seconds", Help: "Summed."}, []string{"a"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "z_nothing_total",
		Help: "Counted \\ by nothing.\nTwo lines."}),
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "never_total", Help: "Nobody counted."}, []string{"label"}),
		counts, gauge, histogram, plain, summary)
	for i, word := range odd {
		counts.WithLabelValues(word, "x").Add(figures[i])
		counts.WithLabelValues(word, "x").Inc()
		gauge.WithLabelValues(word).Set(0 - figures[i])
		for _, n := range figures {
			histogram.WithLabelValues(word).Observe(n)
			plain.Observe(n)
			summary.WithLabelValues(word).Observe(n)
		}
	}
	gauge.WithLabelValues("inf").Set(math.Inf(1))
	gauge.WithLabelValues("less").Set(math.Inf(-1))
	gauge.WithLabelValues("nan").Set(math.NaN())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&page, f); err != nil {
			t.Fatal(err)
		}
	}
	return page.String()
}

func TestReplace(t *testing.T) {
	b := &Registry{}
	states, one := b.Gauge("states", "By state.", "state"), b.Gauge("one", "One.")
	states.Replace(map[string]float64{"old": 1})
	states.Replace(map[string]float64{"b": 2, "a": 1})
	one.Replace(map[string]float64{"": 3})
	want := "# HELP one One.\n# TYPE one gauge\none 3\n# HELP states By state.\n# TYPE states gauge\nstates{state=\"a\"} 1\nstates{state=\"b\"} 2\n"
	if got := text(t, b); got != want {
		t.Errorf("wrote\n%s", got)
	}
	states.Replace(nil)
	one.Replace(nil)
	if got := text(t, b); got != "" {
		t.Errorf("still there:\n%s", got)
	}
}

func TestKeptElsewhere(t *testing.T) {
	b := &Registry{}
	b.Counter("kept_total", "Kept.").Set(7)
	b.Summary("pauses_seconds", "Pauses.").SetSum(3, 0.5)
	for _, want := range []string{"\nkept_total 7\n", "\npauses_seconds_sum 0.5\npauses_seconds_count 3\n"} {
		if got := text(t, b); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestConcurrent(t *testing.T) {
	b := &Registry{}
	counts, took := b.Counter("counted_total", "Counted.", "who"), b.Histogram("took_seconds", "Took.", []float64{1})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				counts.Add(1, fmt.Sprint(i%2))
				took.Observe(1)
				text(t, b)
			}
		})
	}
	all.Wait()
	for _, want := range []string{`counted_total{who="0"} 400`, `counted_total{who="1"} 400`,
		`took_seconds_bucket{le="1"} 800`, "took_seconds_sum 800"} {
		if got := text(t, b); !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// FuzzLabel: whatever a label and a help say, the page stays readable and says it.
func FuzzLabel(f *testing.F) {
	for _, word := range odd {
		f.Add(word, word, 1.5)
	}
	f.Fuzz(func(t *testing.T, word, help string, n float64) {
		b := &Registry{}
		b.Gauge("g", help, "l").Set(n, word)
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text(t, b)))
		if err != nil || len(families) != 1 {
			t.Fatalf("%d families, %v", len(families), err)
		}
		one := families["g"].Metric[0]
		if got := one.Label[0].GetValue(); got != strings.ToValidUTF8(word, "?") {
			t.Errorf("label %q is read as %q", word, got)
		}
		if got := one.Gauge.GetValue(); got != n && !math.IsNaN(n) {
			t.Errorf("%v is read as %v", n, got)
		}
	})
}
