package console

import (
	"sync"
	"time"

	"hako/internal/app/sandboxes"
)

// Limits of the history.
const (
	historyLength = 60              // samples of a box
	historyStep   = 2 * time.Second // at least between two samples
	historyBoxes  = 500
)

// usageHistory has the usage of sandboxes while somebody watched: a source reports current values only.
type usageHistory struct {
	now func() time.Time

	sync.Mutex
	boxes map[string][]sample
}

type sample struct {
	at    time.Time
	usage sandboxes.Usage
}

// record adds a sample of every sandbox, removes sandboxes that are gone, and returns the history of each.
func (t *usageHistory) record(boxes []sandboxes.Sandbox) map[string][]sample {
	t.Lock()
	defer t.Unlock()
	kept := make(map[string][]sample, len(boxes))
	for _, b := range boxes[:min(len(boxes), historyBoxes)] {
		if b.Usage != nil {
			kept[b.ID] = appended(t.boxes[b.ID], sample{t.now(), *b.Usage})
		}
	}
	t.boxes = kept
	return kept
}

// appended appends a sample to a copy, because earlier ones may be in use.
func appended(old []sample, s sample) []sample {
	if n := len(old); n > 0 && s.at.Sub(old[n-1].at) < historyStep {
		return old
	}
	if len(old) >= historyLength {
		old = old[len(old)-historyLength+1:]
	}
	return append(append(make([]sample, 0, len(old)+1), old...), s)
}

// lines are the graphs of a sandbox.
func (p *page) lines(trail []sample) []line {
	if len(trail) == 0 {
		return nil
	}
	u := trail[len(trail)-1].usage
	cpu := line{Name: p.T("box.cpu"), Points: load(trail), Top: 1}
	for _, v := range cpu.Points {
		cpu.Top = max(cpu.Top, rounded(v))
	}
	cpu.Value = formatDuration(int64(u.CPUSeconds * 1e6))
	if n := len(cpu.Points); n > 0 {
		cpu.Value = trim(100*cpu.Points[n-1]) + " %"
	}
	return []line{cpu,
		bounded(p.T("box.memory"), trail, func(u sandboxes.Usage) (int64, int64) { return u.Memory, u.MemoryLimit }),
		bounded(p.T("box.disk"), trail, func(u sandboxes.Usage) (int64, int64) { return u.Disk, u.DiskLimit })}
}

// load is the number of busy CPUs between samples.
func load(trail []sample) []float64 {
	var all []float64
	for i := 1; i < len(trail); i++ {
		passed := trail[i].at.Sub(trail[i-1].at).Seconds()
		all = append(all, max(0, trail[i].usage.CPUSeconds-trail[i-1].usage.CPUSeconds)/passed)
	}
	return all
}

// bounded is a line of bytes scaled to its limit, or to its largest value.
func bounded(name string, trail []sample, of func(sandboxes.Usage) (used, limit int64)) line {
	l := line{Name: name}
	for _, s := range trail {
		used, limit := of(s.usage)
		l.Points = append(l.Points, float64(used))
		l.Top, l.Value = max(l.Top, float64(limit), float64(used)), formatSize(used)
		if limit > 0 {
			l.Value += " / " + formatSize(limit)
		}
	}
	return l
}
