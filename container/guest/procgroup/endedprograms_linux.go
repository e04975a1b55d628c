package procgroup

import (
	"time"
)

// An endedProgram is a program that has ended and may have left processes behind.
type endedProgram struct {
	*Process
	until    time.Time // when they are killed; zero means never
	patience time.Duration
}

const (
	minLeft    = 256         // number of ended programs that are kept unchecked
	retryDelay = time.Second // for leftovers that could not be killed
)

// endedPrograms are ended programs whose leftovers are unknown without listing all processes. The list is cleared
// when there is no child at all.
type endedPrograms struct {
	list  []endedProgram
	most  int         // the number at which they are checked; zero means minLeft
	next  time.Time   // when the timer fires; zero means never
	timer *time.Timer // nil before the first use
}

// Leave sets when the leftovers of an ended program are killed, as by [Process.End]; zero means never. Most programs
// leave none, and then this costs nothing.
func (p *Process) Leave(until time.Time, patience time.Duration) {
	n := p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.childless {
		return
	}
	n.left.list = append(n.left.list, endedProgram{p, until, patience})
	switch l := &n.left; {
	case len(l.list) > max(l.most, minLeft):
		n.schedule(time.Now())
	case !until.IsZero():
		n.schedule(until)
	}
}

// schedule schedules endLeftovers. The caller holds the lock.
func (n *Group) schedule(at time.Time) {
	l := &n.left
	switch {
	case !l.next.IsZero() && !at.Before(l.next):
		return
	case l.timer == nil:
		l.timer = time.AfterFunc(time.Until(at), n.endLeftovers)
	default:
		l.timer.Reset(time.Until(at))
	}
	l.next = at
}

// forget clears the list when there is no child. The caller holds the lock.
func (l *endedPrograms) forget() {
	if l.timer != nil && !l.next.IsZero() {
		l.timer.Stop()
	}
	l.list, l.most, l.next = nil, 0, time.Time{}
}

// endLeftovers ends leftovers whose time is up, and forgets programs without leftovers.
func (n *Group) endLeftovers() {
	n.mu.Lock()
	list := n.left.list
	n.left.list, n.left.next = nil, time.Time{}
	n.mu.Unlock()
	all, sure := n.listProcesses()
	now := time.Now()
	var stay []endedProgram
	for _, l := range list {
		switch {
		case !l.until.IsZero() && !now.Before(l.until):
			go l.end()
		case !sure || len(l.among(all)) > 0:
			stay = append(stay, l)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left.list, n.left.most = append(stay, n.left.list...), 2*len(stay)
	for _, l := range stay {
		if !l.until.IsZero() {
			n.schedule(l.until)
		}
	}
}

// end ends all leftovers, and schedules a retry for those that remain.
func (l endedProgram) end() {
	if !l.Process.end(l.patience) {
		l.Leave(time.Now().Add(retryDelay), 0)
	}
}

// Left reports whether ended programs may have left processes behind.
func (n *Group) Left() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.left.list) > 0
}

// EndLeft starts to end all leftovers.
func (n *Group) EndLeft(patience time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.left.list) == 0 {
		return
	}
	for i := range n.left.list {
		n.left.list[i].until, n.left.list[i].patience = time.Now(), patience
	}
	n.schedule(time.Now())
}
