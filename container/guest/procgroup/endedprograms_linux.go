package procgroup

import (
	"time"
)

// A endedProgram is a program that has ended and may have left others behind.
type endedProgram struct {
	*Process
	until    time.Time // when these are ended; zero means that they may stay
	patience time.Duration
}

const (
	minLeft    = 256         // leftovers that are kept without a look at whether anything is left of them
	retryDelay = time.Second // after which those that could not be ended are tried again
)

// endedPrograms are programs that have ended while there were others, so that nobody knows, without a look at all
// processes, what they left. There are none as soon as there is no child at all: then nothing is left of anybody.
type endedPrograms struct {
	list  []endedProgram
	most  int         // with more than so many a look is worth it; zero means fewLeft
	next  time.Time   // when the timer rings; zero means never
	timer *time.Timer // nil before the first is waited for
}

// Leave says what becomes of those that a program left behind which has ended: at the time given they are ended, as
// by [Process.End]; zero means that they may stay. Most programs leave nobody, and then this costs nothing.
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

// schedule has the leftovers looked through at a time, or before. The nursery is locked.
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

// forget is called when there is no child. The nursery is locked.
func (l *endedPrograms) forget() {
	if l.timer != nil && !l.next.IsZero() {
		l.timer.Stop()
	}
	l.list, l.most, l.next = nil, 0, time.Time{}
}

// endLeftovers ends those whose time is up, and forgets programs that nothing is left of.
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

// end ends all that is left, and comes back to what would not end.
func (l endedProgram) end() {
	if !l.Process.end(l.patience) {
		l.Leave(time.Now().Add(retryDelay), 0)
	}
}

// Left tells whether programs that have ended may have left others behind.
func (n *Group) Left() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.left.list) > 0
}

// EndLeft ends all that programs left behind which have ended. It does not wait for that.
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
