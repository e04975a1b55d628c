package worker

import (
	"time"

	"hako/run/fault"
)

// memoryInterval is the interval of checks of memory.
const memoryInterval = 250 * time.Millisecond

// watchMemory ends the largest worker of a caller whose workers together use far more than its sandboxes may hold:
// each alone may be within the limit of the system.
func (p *Pool) watchMemory() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watcher = nil
	if p.closed || len(p.workers) == 0 {
		return
	}
	for _, w := range p.excessive() {
		go w.end(&fault.Error{Kind: fault.Exhausted, Op: "run script",
			Why: "the sandboxes of this client together use too much memory, and the largest was ended", Hint: lostHint})
	}
	p.watcher = time.AfterFunc(memoryInterval, p.watchMemory)
}

// excessive returns the largest worker of each caller that uses too much. The caller holds mu.
func (p *Pool) excessive() (found []*process) {
	type sum struct {
		used, allowed, most int64
		largest             *process
	}
	sums := map[string]*sum{}
	for _, w := range p.workers {
		s := sums[w.caller]
		if s == nil {
			s = &sum{allowed: 2 * p.options.Memory}
			sums[w.caller] = s
		}
		n := w.child.resident()
		s.used, s.allowed = s.used+n, s.allowed+idleMemory
		if n > s.most {
			s.most, s.largest = n, w
		}
	}
	for _, s := range sums {
		if s.used > s.allowed && s.largest != nil {
			found = append(found, s.largest)
		}
	}
	return found
}
