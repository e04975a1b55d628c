package egress

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxDenials is how many denials go on record in one period.
	maxDenials = 20
	// maxBurst is how many may go on record, one in a period in the long run, before the next has to wait.
	maxBurst = 600
	// maxKinds is how many kinds of denial are told apart in one period.
	maxKinds = 100
)

// A eventLog puts events on record. To be denied costs a container nothing, and without end it would fill the disk
// outside: what is denied again, or too often, is counted and goes on record later, as one event for all of its kind.
// What is let through goes on record at once, each by itself.
type eventLog struct {
	log    func(Event) error
	period time.Duration

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	over  bool
	left  int               // denials that may still go on record in this period
	paid  time.Time         // until when the periods are spent, in the long run
	known map[denial]*Event // in this period; Count is how many of them wait
	queue []denial          // those that wait, in the order they came
}

// A denial is what makes two of them one of a kind.
type denial struct{ host, why string }

// unnamed is the kind of those that there is no room for.
var unnamed = denial{why: "it is one of many, whose hosts are not put on record one by one"}

// deny puts a denial on record, or has it wait. That it may not be recorded does not matter: it is denied either way.
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

// begin begins a period, if none is under way.
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

// take answers whether one more denial may go on record now.
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

// addCredential has a denial wait.
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

// keepCommon leaves in an event what is true of another one too.
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

// endPeriod ends a period. What did not come again is forgotten; of what did, the next one waits once more.
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

// record puts on record what has waited longest.
func (l *eventLog) record() {
	e := l.known[l.queue[0]]
	l.queue = l.queue[1:]
	_ = l.log(*e)
	e.Count = 0
}

// close puts on record what still waits.
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
