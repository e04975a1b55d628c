package console

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/app/records"
	"hako/internal/app/sandboxes"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{formatInt(0), "0"}, {formatInt(999), "999"}, {formatInt(1000), "1,000"}, {formatInt(-1234567), "-1,234,567"},
		{formatInt(math.MinInt64), "-9,223,372,036,854,775,808"},
		{formatShort(0), "0"}, {formatShort(999), "999"}, {formatShort(1500), "1.50k"}, {formatShort(2_000_000), "2M"}, {formatShort(3.2e9), "3.20G"},
		{formatSize(0), "0 B"}, {formatSize(1023), "1023 B"}, {formatSize(1536), "1.50 KB"}, {formatSize(5 << 40), "5 TB"},
		{formatSize(math.MaxInt64), "8388608 TB"},
		{formatCost(0), "$0.00"}, {formatCost(0.00312), "$0.0031"}, {formatCost(12.345), "$12.35"},
		{formatDuration(0), "0 µs"}, {formatDuration(999), "999 µs"}, {formatDuration(1500), "1.50 ms"}, {formatDuration(12_300_000), "12.3 s"},
		{formatDuration(90_000_000), "1m30s"},
		{share(1, 4), "25.00"}, {share(9, 4), "100.00"}, {share(-1, 4), "0.00"}, {share(1, 0), "0"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestRounded(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, -5: 1, 0.0031: 0.004, 1: 1, 1.2: 1.5, 7: 8, 9: 10, 100: 100, 123: 150,
		math.Inf(1): 1} {
		if got := rounded(v); math.Abs(got-want) > want*1e-9 {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
	if got := rounded(math.NaN()); got != 1 {
		t.Errorf("NaN: %v", got)
	}
}

// TestChart: a series is one shape, series stand on each other, none is higher
// than the chart, empty values are neither drawn nor told.
func TestChart(t *testing.T) {
	c := chart{Days: []string{"a", "b", "c"}, Series: []series{{"x", []float64{1, 0, 0}}, {"y", []float64{3, 4, 0}}}}
	if c.Top() != 4 || c.Sum() != 8 {
		t.Fatalf("top %v, sum %v", c.Top(), c.Sum())
	}
	shapes := []shape{{"s0", "M1.50 75.00h7.00v25.00h-7.00z"},
		{"s1", "M1.50 0.00h7.00v75.00h-7.00zM11.50 0.00h7.00v100.00h-7.00z"}}
	if got := c.Shapes(); !slices.Equal(got, shapes) {
		t.Errorf("drawn are %q", got)
	}
	if got := c.Columns(); !slices.Equal(got, []column{{"0.00", "a\nx: 1\ny: 3"}, {"10.00", "b\ny: 4"}}) {
		t.Errorf("told is %q", got)
	}
	if empty := (chart{}); len(empty.Shapes()) != 0 || len(empty.Columns()) != 0 || empty.Top() != 2 ||
		empty.Width() != "10.00" {
		t.Errorf("an empty chart: %+v", empty)
	}
}

// TestMarks: both values of an axis have the same unit and decimals, and counted
// things have none.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		money bool
		most  float64
		want  [2]string
	}{
		{false, 0, [2]string{"2", "1"}}, {false, 1, [2]string{"2", "1"}}, {false, 3, [2]string{"4", "2"}},
		{false, 15, [2]string{"16", "8"}}, {false, 123, [2]string{"150", "75"}},
		{false, 1000, [2]string{"1.0k", "0.5k"}}, {false, 1500, [2]string{"1.50k", "0.75k"}},
		{false, 2e6, [2]string{"2M", "1M"}},
		{true, 0, [2]string{"$1.00", "$0.50"}}, {true, 1, [2]string{"$1.00", "$0.50"}},
		{true, 0.0031, [2]string{"$0.004", "$0.002"}}, {true, 12, [2]string{"$15.00", "$7.50"}},
		{true, 140, [2]string{"$150", "$75"}},
	} {
		one := chart{Money: c.money, Days: []string{"a"}, Series: []series{{"x", []float64{c.most}}}}
		if got := one.Marks(); got != c.want {
			t.Errorf("%v, money %v: %q, want %q", c.most, c.money, got, c.want)
		}
	}
}

// TestEveryDay: a chart has all days of its span, also if little was used.
func TestEveryDay(t *testing.T) {
	today := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	used := []records.Day{{Day: "2026-02-27", Models: []records.ModelUsage{{Model: "m", Calls: 5}}}, {Day: "2026-02-28"}}
	names := func(days []records.Day) (all []string) {
		for _, d := range days {
			all = append(all, d.Day)
		}
		return all
	}
	got := everyDay(used, 4, today)
	if want := []string{"2026-02-25", "2026-02-26", "2026-02-27", "2026-02-28"}; !slices.Equal(names(got), want) ||
		len(got[2].Models) != 1 {
		t.Errorf("%+v, want %v", got, want)
	}
	if got, want := everyDay(nil, 2, today), []string{"2026-02-28", "2026-03-01"}; !slices.Equal(names(got), want) {
		t.Errorf("nothing used: %+v, want %v", got, want)
	}
	if got := everyDay([]records.Day{{Day: "?"}}, 4, today); len(got) != 1 {
		t.Errorf("a day that is none: %+v", got)
	}
}

func usageOf(cpu float64, memory int64) sandboxes.Sandbox {
	return sandboxes.Sandbox{ID: "b", Usage: &sandboxes.Usage{CPUSeconds: cpu, Memory: memory, MemoryLimit: 200}}
}

// TestTrails: samples come at a distance, the oldest go, boxes that are gone are
// forgotten, and lines are drawn from what is there.
func TestTrails(t *testing.T) {
	at := time.Unix(0, 0)
	tr := usageHistory{now: func() time.Time { return at }}
	for i := range 100 {
		at = at.Add(historyStep)
		tr.record([]sandboxes.Sandbox{usageOf(float64(i), int64(i))})
		tr.record([]sandboxes.Sandbox{usageOf(1e9, 1e9)}) // too soon after the last
	}
	trail := tr.boxes["b"]
	if len(trail) != historyLength || trail[historyLength-1].usage.CPUSeconds != 99 {
		t.Fatalf("%d samples, the last %+v", len(trail), trail[len(trail)-1])
	}
	p := &page{words: catalogues()["en"]}
	lines := p.lines(trail)
	if len(lines) != 3 || lines[0].Value != "50 %" || lines[1].Value != "99 B / 200 B" {
		t.Errorf("lines: %+v", lines)
	}
	if n := len(strings.Fields(lines[1].Path())); n != historyLength {
		t.Errorf("%d points", n)
	}
	tr.record([]sandboxes.Sandbox{{ID: "other"}})
	if len(tr.boxes) != 0 {
		t.Errorf("kept %v", tr.boxes)
	}
	if p.lines(nil) != nil {
		t.Error("lines of nothing")
	}
}

// TestRequests: what a request amounts to, as the script folds it too.
func TestRequests(t *testing.T) {
	two := 2
	events := []records.Entry{ // newest first
		{Seq: 8, ID: "c", What: "judged", Effect: "ask"}, {Seq: 7, ID: "c", What: "asked", Text: "rm x"},
		{Seq: 6, What: "model", Text: "gpt", Micros: 7}, {Seq: 5, ID: "b", What: "ended", Exit: &two, Micros: 9},
		{Seq: 4, ID: "b", What: "allowed", Text: "ls"},
		{Seq: 3, ID: "b", What: "denied", Text: "curl"}, {Seq: 2, ID: "b", What: "asked", Text: "ls; curl", Actor: "me"},
		{Seq: 1, ID: "a", What: "started"},
	}
	got := requests(events)
	if len(got) != 4 || got[0].ID != "c" || got[3].ID != "a" {
		t.Fatalf("%d requests: %+v", len(got), got)
	}
	if r := got[0]; r.State != "waiting" || r.Verdict != "ask" {
		t.Errorf("one that waits: %+v", r)
	}
	if r := got[1]; r.Outcome() != "good" || r.Text != "gpt" {
		t.Errorf("one without a number: %+v", r)
	}
	if r := got[2]; r.Text != "ls; curl" || r.Verdict != "deny" || r.Outcome() != "failed" || r.Actor != "me" ||
		r.Micros != 9 {
		t.Errorf("one that failed: %+v", r)
	}
	if r := got[3]; r.Outcome() != "running" || r.Verdict != "allow" {
		t.Errorf("one that runs: %+v", r)
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{"a\tb\n": "a\tb\n", "日本語 é": "日本語 é", "a\u202eb": "a‹U+202E›b",
		"\x1b[2J": "‹U+001B›[2J", "x\u200b": "x‹U+200B›", "\u2028": "‹U+2028›", "\r": "‹U+000D›"} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
