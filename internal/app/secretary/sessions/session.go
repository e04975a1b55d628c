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

// A session is where one conversation is had.
type session struct {
	session int64
	name    string

	// These are guarded by the lock of the manager.
	turning bool  // somebody is in a turn
	used    int64 // the number of the last one
	timer   *time.Timer
	stop    context.CancelCauseFunc // ends the turn

	// These belong to who is in a turn, or closes the room.
	life context.Context // of the turn
	talk Conversation    // nil until it is opened
	end  func(error)

	mu       sync.Mutex
	listener *listener // of the turn; nil between turns
}

// listen has somebody hear what happens; nil means nobody. When it returns, who
// listened before hears nothing more.
func (r *session) listen(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
}

// ignore is for one who listens no more, unless another does already.
func (r *session) ignore(l *listener) {
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
		r.listener.hear(e)
	}
}

// close closes the Talk before it ends its context: what is put away may need that.
func (r *session) close() {
	if r.talk == nil {
		return
	}
	r.talk.Close()
	r.end(nil)
	r.talk = nil
}

// busy tells whether closing the room would end a job. It is asked between turns.
func (r *session) busy() bool {
	b, ok := r.talk.(interface{ Busy() bool })
	return ok && b.Busy()
}

// over tells whether a Talk is of no use any more.
func over(t Conversation) bool {
	o, ok := t.(interface{ Over() bool })
	return ok && o.Over()
}

// enter begins a turn in the room of a session.
func (p *Manager) enter(s store.Session) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, closing()
	}
	p.begin()
	r := p.open[s.ID]
	if r == nil {
		if !p.evict() {
			return nil, &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary",
				Why:  fmt.Sprintf("she is answering in %d conversations already", len(p.open)),
				Hint: "try again when one of them is answered"}
		}
		r = &session{session: s.ID, name: name(s)}
		p.open[s.ID] = r
	}
	if r.turning {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary",
			Why:  "she is answering something else in this conversation",
			Hint: "wait for her answer, or begin another conversation"}
	}
	p.used++
	r.turning, r.used = true, p.used
	r.life, r.stop = context.WithCancelCause(p.life)
	if r.timer != nil {
		r.timer.Stop()
	}
	p.work.Add(1)
	return r, nil
}

// begin is called with the lock held, before anything else happens.
func (p *Manager) begin() {
	if p.open == nil {
		p.open = map[int64]*session{}
		p.life, p.end = context.WithCancelCause(context.Background())
	}
}

func closing() error {
	return &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary", Why: "the conversations are being closed",
		Hint: "try again when the server is up again"}
}

// evict closes what was used least recently if there are too many. It is called
// with the lock held, and tells whether there is room now.
func (p *Manager) evict() bool {
	if len(p.open) < cmp.Or(p.Most, usualMost) {
		return true
	}
	oldest := p.oldest(func(r *session) bool { return !r.busy() })
	if oldest == nil { // a job is ended rather than a person sent away
		oldest = p.oldest(func(*session) bool { return true })
	}
	if oldest == nil {
		return false
	}
	p.remove(oldest)
	return true
}

// oldest finds the room that fits and was used least recently, outside of turns.
func (p *Manager) oldest(fits func(*session) bool) (oldest *session) {
	for _, r := range p.open {
		if !r.turning && (oldest == nil || r.used < oldest.used) && fits(r) {
			oldest = r
		}
	}
	return oldest
}

// remove closes a room in which nobody is. It is called with the lock held.
func (p *Manager) remove(r *session) {
	delete(p.open, r.session)
	r.timer.Stop()
	p.work.Go(r.close)
}

// leave ends a turn. A room that is spent, or has nothing in it, is given up.
func (p *Manager) leave(r *session, spent bool) {
	defer p.work.Done()
	r.stop(nil) // lets go of what it holds
	r.listen(nil)
	if p.stay(r, spent) {
		return
	}
	r.close()
}

// stay keeps a room for the next turn, if there may be one.
func (p *Manager) stay(r *session, spent bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || spent || r.talk == nil {
		delete(p.open, r.session)
		return false
	}
	r.turning = false
	p.wait(r)
	return true
}

// wait has a room closed when nobody has talked for a while.
func (p *Manager) wait(r *session) {
	number := r.used
	r.timer = time.AfterFunc(cmp.Or(p.Idle, usualIdle), func() { p.expire(r, number) })
}

// expire closes a room unless somebody came meanwhile, or a job runs.
func (p *Manager) expire(r *session, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || r.turning || r.used != number || p.open[r.session] != r:
	case r.busy():
		p.wait(r)
	default:
		p.remove(r)
	}
}

// ensureOpen sees to it that there is a Talk in the room. One that is being opened is
// given up when ctx ends; afterwards its context ends when it is closed.
func (p *Manager) ensureOpen(ctx context.Context, r *session) error {
	if r.talk != nil && !over(r.talk) {
		return nil
	}
	r.close()
	life, end := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	talk, err := p.Open(life, OpenOptions{Session: strconv.FormatInt(r.session, 10), Name: r.name, Observe: r.observe,
		Speaks: p.speaks})
	if err == nil && stop() {
		r.talk, r.end = talk, end
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

// Close ends all turns and conversations, and returns when they have ended or ctx
// has. After that nobody can talk here.
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
	p.end(closing())
	for _, r := range p.open {
		if !r.turning {
			p.remove(r)
		}
	}
}
