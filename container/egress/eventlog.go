package egress

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxDenials is the number of denials that are recorded in one period.
	maxDenials = 20
	// maxBurst is how many periods' worth of denials may be recorded in advance.
	maxBurst = 600
	// maxKinds is the number of kinds of denial that are distinguished in one period.
	maxKinds = 100
)

// An eventLog records events. A container could fill the disk outside with denials, so repeated and too frequent ones
// are counted, and recorded later as one event for each kind. Other events are recorded immediately, one by one.
type eventLog struct {
	log    func(Event) error
	period time.Duration

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	over  bool
	left  int               // denials that may still be recorded in this period
	paid  time.Time         // until when the average rate is used up
	known map[denial]*Event // in this period; Count is the number queued
	queue []denial          // queued kinds, oldest first
}

// A denial is the kind of a denied event.
type denial struct{ host, why string }

// unnamed is the kind of those beyond maxKinds.
var unnamed = denial{why: "it is one of many, whose hosts are not recorded one by one"}

// deny records a denial, or queues it. If recording fails it is denied nevertheless.
func (l *eventLog) deny(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	kind := denial{e.Host, e.Why}
	again := l.known[kind] != nil
	switch {
	case !again && l.take():
		l.known[kind] = new(Event)
		_ = l.log(e)
	case !again && len(l.known) >= maxKinds:
		l.add(unnamed, Event{ID: e.ID, What: Denied, Why: unnamed.why})
	default:
		l.add(kind, e)
	}
}

// begin begins a period, unless one has begun.
func (l *eventLog) begin() {
	if len(l.known) > 0 {
		return
	}
	l.known, l.left = make(map[denial]*Event), maxDenials
	if l.timer == nil {
		l.timer = time.AfterFunc(l.period, l.endPeriod)
		return
	}
	l.timer.Reset(l.period)
}

// take reports whether one more denial may be recorded now.
func (l *eventLog) take() bool {
	now := time.Now()
	if l.paid.Before(now) {
		l.paid = now
	}
	if l.left == 0 || l.paid.Sub(now) >= maxBurst*l.period {
		return false
	}
	l.left--
	l.paid = l.paid.Add(l.period)
	return true
}

// add queues a denial.
func (l *eventLog) add(kind denial, e Event) {
	first := l.known[kind]
	if first == nil || first.Count == 0 {
		e.Count = 1
		l.known[kind] = &e
		l.queue = append(l.queue, kind)
		return
	}
	first.Count++
	first.keepCommon(e)
}

// keepCommon clears fields that differ from another event.
func (e *Event) keepCommon(other Event) {
	if e.Method != other.Method {
		e.Method = ""
	}
	if e.Port != other.Port {
		e.Port = 0
	}
	if e.Path != other.Path {
		e.Path = ""
	}
	if !slices.Equal(e.Addresses, other.Addresses) {
		e.Addresses = nil
	}
	e.Credential = e.Credential && other.Credential
}

// endPeriod ends a period. Kinds that were not repeated are forgotten.
func (l *eventLog) endPeriod() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	for kind, e := range l.known {
		if e.Count == 0 {
			delete(l.known, kind)
		}
	}
	l.left = maxDenials
	for len(l.queue) > 0 && l.take() {
		l.record()
	}
	if len(l.known) > 0 {
		l.timer.Reset(l.period)
	}
}

// record records the oldest queued denial.
func (l *eventLog) record() {
	e := l.known[l.queue[0]]
	l.queue = l.queue[1:]
	_ = l.log(*e)
	e.Count = 0
}

// close records all queued denials.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
	for len(l.queue) > 0 {
		l.record()
	}
}
