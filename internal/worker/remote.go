package worker

import (
	"context"
	"sync"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/quota"
)

// call makes a call to the server, which is told if ctx ends before its deadline.
func (s *server) call(ctx context.Context, k kind, m, v any) error {
	return s.peer.call(ctx, k, m, v, func(id uint64) {
		if ctx.Err() != context.DeadlineExceeded {
			_ = s.send(cancel, id, nil)
		}
	})
}

// A remoteLog is the record of the server.
type remoteLog struct {
	server *server
	box    uint64
}

func (l remoteLog) Append(e audit.Event) error {
	return l.server.call(context.Background(), logEvent, eventMessage{l.box, e.Bounded()}, nil)
}

// A remoteAsker asks through the server.
type remoteAsker struct {
	server *server
	box    uint64
}

func (a remoteAsker) ask(ctx context.Context, q gate.Question) (answer gate.Answer, err error) {
	deadline, _ := ctx.Deadline()
	err = a.server.call(ctx, ask, askMessage{a.box, q, deadline}, &answer)
	return answer, err
}

// A remoteBudget is the budget of the server. Bytes are charged a quarter of a megabyte at a time; everything else is
// charged at once.
type remoteBudget struct {
	server *server
	box    uint64

	mu       sync.Mutex // guards the fields below
	pending  quota.Usage
	deadline time.Time
}

// chargeBatch is how many bytes are charged together.
const chargeBatch = 256 << 10

func (m *remoteBudget) Charge(u quota.Usage) error {
	m.mu.Lock()
	sum := m.pending.Add(u)
	if u.Scripts == 0 && u != (quota.Usage{}) && sum.Read+sum.Written < chargeBatch {
		m.pending = sum
		m.mu.Unlock()
		return nil
	}
	m.pending = quota.Usage{}
	m.mu.Unlock()
	return m.server.call(context.Background(), charge, chargeMessage{m.box, sum}, nil)
}

func (m *remoteBudget) Deadline() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deadline, !m.deadline.IsZero()
}

func (m *remoteBudget) setDeadline(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deadline = t
}

// takePending returns the usage that was not charged yet.
func (m *remoteBudget) takePending() quota.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.pending
	m.pending = quota.Usage{}
	return sum
}
