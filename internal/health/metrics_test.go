package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hako/run/fault"
)

// look is what the handler serves.
func look(t *testing.T, m *Metrics) io.Reader {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("status %d, %s: %s", w.Code, w.Header(), w.Body)
	}
	return w.Body
}

func families(t *testing.T, r io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// page reads what the handler serves: series by their spelling, histograms by
// their sum and count.
func page(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	return series(t, look(t, m))
}

func series(t *testing.T, r io.Reader) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for name, f := range families(t, r) {
		for _, one := range f.Metric {
			key := name + labelsOf(one)
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				all[key] = one.Counter.GetValue()
			case dto.MetricType_GAUGE:
				all[key] = one.Gauge.GetValue()
			case dto.MetricType_HISTOGRAM:
				all[key+" sum"], all[key+" count"] = one.Histogram.GetSampleSum(), float64(one.Histogram.GetSampleCount())
			}
		}
	}
	return all
}

func labelsOf(one *dto.Metric) string {
	var list []string
	for _, l := range one.Label {
		list = append(list, l.GetName()+"="+l.GetValue())
	}
	if list == nil {
		return ""
	}
	return "{" + strings.Join(list, ",") + "}"
}

// ours keeps what is not about the Go program as such.
func ours(all map[string]float64) map[string]float64 {
	maps.DeleteFunc(all, func(name string, _ float64) bool { return !strings.HasPrefix(name, "hako_") })
	return all
}

// busy returns metrics in which everything happened once.
func busy() *Metrics {
	m := NewMetrics(Sources{
		Version: "1.2.3",
		Queue: func(context.Context) (map[string]int, error) {
			return map[string]int{"pending": 4, "processing": 2}, nil
		},
		Containers: func(context.Context) (int, error) { return 3, nil },
	})
	m.TaskEnded("github", "done", 90*time.Second)
	m.TaskEnded("gitlab", "failed", 10*time.Second)
	m.PhaseEnded("planning", 2*time.Second)
	m.TurnEnded("gpt-4.1-mini", 100, 20, 30, 0.25)
	m.TurnEnded("gpt-4.1-mini", 1, 0, 2, 0.5)
	m.ToolCalled("text_editor", true)
	m.ToolCalled("text_editor", false)
	m.Failed(&fault.Error{Kind: fault.Denied, Op: "run"})
	m.Failed(errors.New("what"))
	m.Polled("github", 7, time.Second, nil)
	m.Polled("github", 0, 2*time.Second, &fault.Error{Kind: fault.Unavailable, Op: "list"})
	return m
}

func TestMetrics(t *testing.T) {
	want := map[string]float64{
		"hako_build_info{version=1.2.3}":                             1,
		"hako_agent_tasks_total{provider=github,state=done}":         1,
		"hako_agent_tasks_total{provider=gitlab,state=failed}":       1,
		"hako_agent_task_seconds{state=done} sum":                    90,
		"hako_agent_task_seconds{state=done} count":                  1,
		"hako_agent_task_seconds{state=failed} sum":                  10,
		"hako_agent_task_seconds{state=failed} count":                1,
		"hako_agent_phase_seconds{phase=planning} sum":               2,
		"hako_agent_phase_seconds{phase=planning} count":             1,
		"hako_agent_turns_total":                                     2,
		"hako_agent_tokens_total{kind=input,model=gpt-4.1-mini}":     101,
		"hako_agent_tokens_total{kind=cached,model=gpt-4.1-mini}":    20,
		"hako_agent_tokens_total{kind=output,model=gpt-4.1-mini}":    32,
		"hako_agent_cost_dollars_total":                              0.75,
		"hako_agent_tool_calls_total{ok=true,tool=text_editor}":      1,
		"hako_agent_tool_calls_total{ok=false,tool=text_editor}":     1,
		"hako_agent_errors_total{kind=denied}":                       1,
		"hako_agent_errors_total{kind=other}":                        1,
		"hako_forge_polls_total{provider=github,result=ok}":          1,
		"hako_forge_polls_total{provider=github,result=unavailable}": 1,
		"hako_forge_poll_seconds{provider=github} sum":               3,
		"hako_forge_poll_seconds{provider=github} count":             2,
		"hako_forge_tasks_found{provider=github}":                    7,
		"hako_queue_tasks{state=pending}":                            4,
		"hako_queue_tasks{state=processing}":                         2,
		"hako_containers":                                            3,
	}
	got := ours(page(t, busy()))
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, not %v", name, got[name], value)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("nobody asked for %v", got)
	}
}

// TestGoAndProcess: dashboards look for these under the names, kinds and meanings
// that the official client gave them.
func TestGoAndProcess(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	page, ours := httptest.NewRecorder(), NewMetrics(Sources{})
	runtime.GC() // so that none comes between the two, which would change what is in use
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	text := look(t, ours)
	official, got := families(t, page.Body), families(t, text)
	known := 0
	for name, f := range got {
		if strings.HasPrefix(name, "hako_") {
			continue
		}
		known++
		if official[name].GetType() != f.GetType() || official[name] == nil {
			t.Errorf("%s is of type %v, the official one %v", name, f.GetType(), official[name].GetType())
		}
		if a, b := size(f), size(official[name]); a < 0.2*b-1 || a > 5*b+1 {
			t.Errorf("%s is %v, the official one %v", name, a, b)
		}
	}
	if size(got["hako_build_info"]) != 1 || got["hako_build_info"].Metric[0].Label[0].GetValue() != "unknown" {
		t.Errorf("the program is %v", got["hako_build_info"])
	}
	if runtime.GOOS == "linux" && known != 17 {
		t.Errorf("%d figures: %v", known, slices.Sorted(maps.Keys(got)))
	}
}

// size is the value of a family that has one.
func size(f *dto.MetricFamily) float64 {
	one := f.GetMetric()[0]
	return one.GetGauge().GetValue() + one.GetCounter().GetValue() + one.GetSummary().GetSampleSum()
}

func TestConventions(t *testing.T) {
	problems, err := promlint.New(look(t, busy())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Two daemons in one process do not share figures.
func TestNoGlobals(t *testing.T) {
	a, b := NewMetrics(Sources{}), NewMetrics(Sources{})
	a.PhaseEnded("planning", time.Second)
	if got := page(t, b)["hako_agent_phase_seconds{phase=planning} count"]; got != 0 {
		t.Errorf("the other one has %v", got)
	}
}

func TestNilMetrics(t *testing.T) {
	var m *Metrics
	m.TaskEnded("github", "done", 1)
	m.PhaseEnded("planning", 1)
	m.TurnEnded("m", 1, 1, 1, 1)
	m.ToolCalled("t", true)
	m.Failed(errors.New("x"))
	m.Polled("github", 1, 1, nil)
	if m.Handler() != nil {
		t.Error("there is a handler")
	}
}

// No figure, however odd, ends the daemon or spoils a sum.
func TestOddFigures(t *testing.T) {
	m := NewMetrics(Sources{Version: "\xff"})
	for _, dollars := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 0.5} {
		m.TurnEnded("m", -5, -5, 1, dollars)
	}
	m.TaskEnded("", "", -time.Hour)
	m.Failed(nil)
	got := ours(page(t, m))
	for name, want := range map[string]float64{
		"hako_agent_cost_dollars_total":                      0.5,
		"hako_agent_tokens_total{kind=input,model=m}":        0,
		"hako_agent_tokens_total{kind=output,model=m}":       5,
		"hako_agent_task_seconds{state=other} sum":           0,
		"hako_agent_tasks_total{provider=other,state=other}": 1,
		"hako_agent_errors_total{kind=other}":                0,
		"hako_build_info{version=?}":                         1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, not %v", name, got[name], want)
		}
	}
}

func TestManyToolNames(t *testing.T) {
	m := NewMetrics(Sources{})
	for i := range 500 {
		m.ToolCalled(fmt.Sprint("tool_", i), true)
	}
	m.ToolCalled("tool_3", true)
	got := ours(page(t, m))
	count := 0
	for name := range got {
		if strings.HasPrefix(name, "hako_agent_tool_calls_total{") {
			count++
		}
	}
	if count != 101 || got["hako_agent_tool_calls_total{ok=true,tool=other}"] != 400 ||
		got["hako_agent_tool_calls_total{ok=true,tool=tool_3}"] != 2 {
		t.Errorf("%d series: %v", count, got)
	}
}

func TestLabel(t *testing.T) {
	for word, want := range map[string]string{
		"mcp_github_create-issue": "mcp_github_create-issue", "qwen3:30b-a3b": "qwen3:30b-a3b",
		"openai/gpt-4.1": "openai/gpt-4.1",
		"":               other, "\xff": other, "a b": other, "a\nb": other, `a"b`: other, "箱": other, "other": other,
		strings.Repeat("a", maxLabel+1):            other,
		"ghp_0123456789abcdefghijABCDEFGHIJ012345": other,
	} {
		if got := label(word); got != want {
			t.Errorf("label(%q) = %q", word, got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	m := busy()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				m.TaskEnded(fmt.Sprint("forge", j), fmt.Sprint("state", j), time.Second)
				m.ToolCalled(fmt.Sprint("tool_", i*j), j%2 == 0)
			}
			page(t, m)
		})
	}
	all.Wait()
	total := 0.0
	for name, n := range page(t, m) {
		if strings.HasPrefix(name, "hako_agent_tasks_total{") {
			total += n
		}
	}
	if total != 402 {
		t.Errorf("%v tasks ended", total)
	}
}

// One source that says no, hangs or panics leaves the other figures alone.
func TestBadSources(t *testing.T) {
	for name, containers := range map[string]func(context.Context) (int, error){
		"no":    func(context.Context) (int, error) { return 0, errors.New("no docker") },
		"hangs": func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
		"panic": func(context.Context) (int, error) { panic("oops") },
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			m := NewMetrics(Sources{
				Log:        Logger(&log, Text, nil, nil),
				Queue:      func(context.Context) (map[string]int, error) { return map[string]int{"pending": 4}, nil },
				Containers: containers,
			})
			began := time.Now()
			page(t, m)
			if took := time.Since(began); took > callTimeout {
				t.Errorf("%s: took %v", name, took)
			}
			got := page(t, m)
			if _, ok := got["hako_containers"]; ok || got["hako_queue_tasks{state=pending}"] != 4 {
				t.Errorf("%s: %v", name, ours(got))
			}
			if got := got["hako_scrape_failures_total{source=containers}"]; got < 1 {
				t.Errorf("%s: %v failures", name, got)
			}
			if strings.Count(log.String(), `msg="containers cannot be counted" error=`) != 1 {
				t.Errorf("%s: log %s", name, log.String())
			}
		})
	}
}

// A source that minds nothing keeps one goroutine, not one per look.
func TestStubbornSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, calls := make(chan struct{}), atomic.Int32{}
		m := NewMetrics(Sources{Containers: func(context.Context) (int, error) { calls.Add(1); <-release; return 3, nil }})
		for range 5 {
			page(t, m)
		}
		if calls.Load() != 1 {
			t.Errorf("asked %d times", calls.Load())
		}
		close(release)
		synctest.Wait()
		if got := page(t, m)["hako_containers"]; got != 3 {
			t.Errorf("%v containers", got)
		}
	})
}

func TestManyQueueStates(t *testing.T) {
	m := NewMetrics(Sources{Queue: func(context.Context) (map[string]int, error) {
		all := map[string]int{}
		for i := range 50 {
			all[fmt.Sprint("state", i)] = 1
		}
		return all, nil
	}})
	got := page(t, m)
	names := slices.DeleteFunc(slices.Collect(maps.Keys(got)),
		func(n string) bool { return !strings.HasPrefix(n, "hako_queue_tasks{") })
	if len(names) != 21 || got["hako_queue_tasks{state=other}"] != 30 {
		t.Errorf("%d series: %v", len(names), ours(got))
	}
}

func BenchmarkTaskEnded(b *testing.B) {
	m := NewMetrics(Sources{})
	for b.Loop() {
		m.TaskEnded("github", "done", time.Second)
	}
}

// TestShow: whoever serves the page adds figures of its own.
func TestShow(t *testing.T) {
	m := NewMetrics(Sources{})
	m.Show(Figure{Name: "hako_sandboxes", About: "Sandboxes.", Label: "kind",
		Ask: func(context.Context) (map[string]int, error) {
			return map[string]int{"virtual": 2, "host": 1}, nil
		}})
	m.Show(Figure{Name: "hako_approvals_waiting", About: "Questions.",
		Ask: func(context.Context) (map[string]int, error) { return nil, errors.New("no") }})
	got := page(t, m)
	if got["hako_sandboxes{kind=virtual}"] != 2 || got["hako_scrape_failures_total{source=hako_approvals_waiting}"] < 1 &&
		page(t, m)["hako_scrape_failures_total{source=hako_approvals_waiting}"] < 1 {
		t.Errorf("got %v", ours(got))
	}
}
