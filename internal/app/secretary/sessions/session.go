package sessions

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"hako/internal/app/secretary"
	"hako/internal/app/secretary/store"
	"hako/run/fault"
)

// A session is a stored conversation, with the [Conversation] that is open for it.
type session struct {
	session int64
	name    string

	// Guarded by Manager.mu.
	busyTurn bool  // a turn is running
	used     int64 // sequence number of the last turn
	timer    *time.Timer
	stop     context.CancelCauseFunc // ends the turn

	// Used only by the running turn, or by the goroutine that closes the session.
	turnContext  context.Context // of the turn
	conversation Conversation    // nil until it is opened
	end          func(error)

	mu       sync.Mutex
	listener *listener // of the turn; nil between turns
}

// setListener sets the listener; nil means none. The previous listener gets no more events.
func (r *session) setListener(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
}

// removeListener removes a listener unless it was replaced.
func (r *session) removeListener(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == l {
		r.listener = nil
	}
}

func (r *session) observe(e secretary.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		r.listener.onEvent(e)
	}
}

// close closes the conversation before it cancels its context, which Close may still need.
func (r *session) close() {
	if r.conversation == nil {
		return
	}
	r.conversation.Close()
	r.end(nil)
	r.conversation = nil
}

// busy reports whether closing the session would end a job. It is called between turns.
func (r *session) busy() bool { return r.conversation != nil && r.conversation.Busy() }

// enter starts a turn in a session.
func (p *Manager) enter(s store.Session) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosing()
	}
	p.begin()
	r := p.open[s.ID]
	if r == nil {
		if !p.evict() {
			return nil, &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary",
				Why:  fmt.Sprintf("%d conversations are being answered already", len(p.open)),
				Hint: "try again when one of them is answered"}
		}
		r = &session{session: s.ID, name: name(s)}
		p.open[s.ID] = r
	}
	if r.busyTurn {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary",
			Why:  "another message of this conversation is being answered",
			Hint: "wait for the answer, or start another conversation"}
	}
	p.used++
	r.busyTurn, r.used = true, p.used
	r.turnContext, r.stop = context.WithCancelCause(p.life)
	if r.timer != nil {
		r.timer.Stop()
	}
	p.work.Add(1)
	return r, nil
}

// begin initializes the manager. The caller holds mu.
func (p *Manager) begin() {
	if p.open == nil {
		p.open = map[int64]*session{}
		p.life, p.end = context.WithCancelCause(context.Background())
	}
}

func errClosing() error {
	return &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary", Why: "the conversations are being closed",
		Hint: "try again when the server is up again"}
}

// evict closes the least recently used session if there are too many. The caller holds mu. It reports
// whether there is room for another one.
func (p *Manager) evict() bool {
	if len(p.open) < cmp.Or(p.MaxOpen, defaultMaxOpen) {
		return true
	}
	oldest := p.oldest(func(r *session) bool { return !r.busy() })
	if oldest == nil { // rather end a job than turn a person away
		oldest = p.oldest(func(*session) bool { return true })
	}
	if oldest == nil {
		return false
	}
	p.remove(oldest)
	return true
}

// oldest returns the least recently used idle session that fits.
func (p *Manager) oldest(fits func(*session) bool) (oldest *session) {
	for _, r := range p.open {
		if !r.busyTurn && (oldest == nil || r.used < oldest.used) && fits(r) {
			oldest = r
		}
	}
	return oldest
}

// remove closes an idle session. The caller holds mu.
func (p *Manager) remove(r *session) {
	delete(p.open, r.session)
	r.timer.Stop()
	p.work.Go(r.close)
}

// leave ends a turn. A session that is spent or was never opened is removed.
func (p *Manager) leave(r *session, spent bool) {
	defer p.work.Done()
	r.stop(nil)
	r.setListener(nil)
	if p.stay(r, spent) {
		return
	}
	r.close()
}

// stay keeps a session for the next turn if possible.
func (p *Manager) stay(r *session, spent bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || spent || r.conversation == nil {
		delete(p.open, r.session)
		return false
	}
	r.busyTurn = false
	p.wait(r)
	return true
}

// wait closes a session after it was idle for a while.
func (p *Manager) wait(r *session) {
	number := r.used
	r.timer = time.AfterFunc(cmp.Or(p.Idle, defaultIdle), func() { p.expire(r, number) })
}

// expire closes a session unless it was used meanwhile or a job runs.
func (p *Manager) expire(r *session, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || r.busyTurn || r.used != number || p.open[r.session] != r:
	case r.busy():
		p.wait(r)
	default:
		p.remove(r)
	}
}

// ensureOpen opens the conversation of a session. While it is opened, it ends with ctx; afterwards its context
// ends when it is closed.
func (p *Manager) ensureOpen(ctx context.Context, r *session) error {
	if r.conversation != nil && !r.conversation.Over() {
		return nil
	}
	r.close()
	life, end := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	talk, err := p.Open(life, OpenOptions{Session: strconv.FormatInt(r.session, 10), Name: r.name, Observe: r.observe,
		Speaks: p.speaks})
	if err == nil && stop() {
		r.conversation, r.end = talk, end
		return nil
	}
	if err == nil { // it was opened too late
		talk.Close()
	}
	end(nil)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Close ends all turns and conversations and waits for them until ctx ends.
func (p *Manager) Close(ctx context.Context) error {
	p.shut()
	done := make(chan struct{})
	go func() {
		p.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return &fault.Error{Kind: fault.Timeout, Op: "close conversations", Why: "some have not ended in time",
			Err: context.Cause(ctx)}
	}
}

func (p *Manager) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	p.closed = true
	p.end(errClosing())
	for _, r := range p.open {
		if !r.busyTurn {
			p.remove(r)
		}
	}
}
