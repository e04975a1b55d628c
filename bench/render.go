package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"
)

// line formats the row for the terminal.
func (r row) line(shells []peer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s bash %8s", r.name, round(r.samples[0].wall))
	for i := 1; i < len(shells); i++ {
		m := r.samples[i]
		if m.wall == 0 {
			fmt.Fprintf(&b, "  %s -", shells[i].name)
			continue
		}
		fmt.Fprintf(&b, "  %s %8s %5.2fx (cpu %.2fx, %d MB)", shells[i].name, round(m.wall), ratio(m.wall, r.samples[0].wall),
			ratio(m.cpu, r.samples[0].cpu), m.peak>>20)
	}
	return b.String()
}

func round(d time.Duration) time.Duration {
	if d < 100*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

func ratio(a, b time.Duration) float64 { return float64(a) / math.Max(float64(b), 1) }

// render formats the results as Markdown.
func render(rows []row, figures []figure, shells []peer, size, runs int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark results\n\nWritten by `make bench`: a %d MB log, the median of %d runs, shells interleaved in the same run, %d cores, %s.\n"+
		"Ratios are against bash with the GNU tools (`LC_ALL=C`); lower is better. Only ratios of one run mean anything.\n\n",
		size, runs, runtime.NumCPU(), runtime.Version())
	b.WriteString("| work | bash | hako | wall | target | | CPU | peak memory |")
	for _, sh := range shells[2:] {
		fmt.Fprintf(&b, " %s |", sh.name)
	}
	b.WriteString("\n|---|---|---|---|---|---|---|---|" + strings.Repeat("---|", len(shells)-2) + "\n")
	for _, r := range rows {
		b.WriteString(r.markdown(shells))
	}
	fmt.Fprintf(&b, "\nGeometric mean of all: **%.2f×** (target 1.0×). Of the grep rows: **%.2f×** (target 1.0×).\n",
		mean(rows, ""), mean(rows, "grep"))
	fmt.Fprintf(&b, "Highest peak memory of the streaming commands: **%d MB** (target 64 MB).\n", peak(rows))
	b.WriteString("\n## Without a peer\n\n| what | measured | target | |\n|---|---|---|---|\n")
	for _, f := range figures {
		got, target, ok := f.values()
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.name, got, target, mark(ok))
	}
	return b.String()
}

func (r row) markdown(shells []peer) string {
	var b strings.Builder
	base, m := r.samples[0], r.samples[1]
	wall := ratio(m.wall, base.wall)
	fmt.Fprintf(&b, "| `%s` | %s | %s | %.2f× | %.1f× | %s | %.2f× | %d MB |", strings.ReplaceAll(r.name, "|", `\|`),
		round(base.wall), round(m.wall), wall, r.target, mark(wall <= r.target), ratio(m.cpu, base.cpu), m.peak>>20)
	for _, s := range r.samples[2:] {
		if s.wall == 0 {
			b.WriteString(" – |")
			continue
		}
		fmt.Fprintf(&b, " %.2f× |", ratio(s.wall, base.wall))
	}
	b.WriteString("\n")
	return b.String()
}

func mark(ok bool) string {
	if ok {
		return "✓"
	}
	return "**missed**"
}

// mean is the geometric mean of hako's wall ratios.
func mean(rows []row, prefix string) float64 {
	sum, n := 0.0, 0
	for _, r := range rows {
		if strings.HasPrefix(r.name, prefix) {
			sum += math.Log(ratio(r.samples[1].wall, r.samples[0].wall))
			n++
		}
	}
	return math.Exp(sum / math.Max(float64(n), 1))
}

func peak(rows []row) int64 {
	top := int64(0)
	for _, r := range rows {
		if r.stream {
			top = max(top, r.samples[1].peak)
		}
	}
	return top >> 20
}
