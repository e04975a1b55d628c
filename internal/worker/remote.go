package worker

import (
	"context"
	"sync"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/quota"
)

// call makes a call to the door and waits for its reply. If ctx ends first, the
// door is told so.
func (s *server) call(ctx context.Context, k kind, m, v any) error {
	id, replies, err := s.begin()
	if err != nil {
		return err
	}
	if err := s.sendJSON(k, id, m); err != nil {
		s.forget(id)
		return err
	}
	select {
	case f, ok := <-replies:
		return s.result(f, ok, v)
	case <-ctx.Done():
		s.forget(id)
		if ctx.Err() != context.DeadlineExceeded { // which the door knows
			_ = s.send(cancel, id, nil)
		}
		return context.Cause(ctx)
	}
}

// A remoteLog is the record, which the door keeps.
type remoteLog struct {
	server *server
	box    uint64
}

// Append implements [audit.Log].
func (l remoteLog) Append(e audit.Event) error {
	return l.server.call(context.Background(), logEvent, eventMessage{l.box, e.Bounded()}, nil)
}

// A remoteAsker reaches the person whom the door knows.
type remoteAsker struct {
	server *server
	box    uint64
}

func (a remoteAsker) ask(ctx context.Context, q gate.Question) (answer gate.Answer, err error) {
	deadline, _ := ctx.Deadline()
	err = a.server.call(ctx, ask, askMessage{a.box, q, deadline}, &answer)
	return answer, err
}

// A remoteMeter is the budget, which the door keeps. Bytes are gathered and
// charged a quarter of a megabyte at a time; everything else is charged at once.
type remoteMeter struct {
	server *server
	box    uint64

	mu       sync.Mutex // guards what follows
	pending  usageMessage
	deadline time.Time
}

// gathered is how many bytes are charged together.
const gathered = 256 << 10

// Charge implements [gate.Budget].
func (m *remoteMeter) Charge(u quota.Usage) error {
	m.mu.Lock()
	p := &m.pending
	p.Read, p.Written, p.Scripts = p.Read+u.Read, p.Written+u.Written, p.Scripts+u.Scripts
	if u.Scripts == 0 && u != (quota.Usage{}) && p.Read+p.Written < gathered {
		m.mu.Unlock()
		return nil
	}
	sum := *p
	*p = usageMessage{}
	m.mu.Unlock()
	return m.server.call(context.Background(), charge, chargeMessage{m.box, sum}, nil)
}

// Deadline implements [gate.Budget].
func (m *remoteMeter) Deadline() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deadline, !m.deadline.IsZero()
}

func (m *remoteMeter) until(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deadline = t
}

// rest returns what was not charged yet.
func (m *remoteMeter) rest() usageMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.pending
	m.pending = usageMessage{}
	return sum
}
