package secretaryapi

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

// A room is where one conversation is had.
type room struct {
	session int64
	name    string

	// These are guarded by the lock of the parlour.
	turning bool  // somebody is in a turn
	used    int64 // the number of the last one
	timer   *time.Timer
	stop    context.CancelCauseFunc // ends the turn

	// These belong to who is in a turn, or closes the room.
	life context.Context // of the turn
	talk Talk            // nil until it is opened
	end  func(error)

	mu       sync.Mutex
	listener *listener // of the turn; nil between turns
}

// listen has somebody hear what happens; nil means nobody. When it returns, who
// listened before hears nothing more.
func (r *room) listen(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
}

// ignore is for one who listens no more, unless another does already.
func (r *room) ignore(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == l {
		r.listener = nil
	}
}

func (r *room) observe(e secretary.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		r.listener.hear(e)
	}
}

// close closes the Talk before it ends its context: what is put away may need that.
func (r *room) close() {
	if r.talk == nil {
		return
	}
	r.talk.Close()
	r.end(nil)
	r.talk = nil
}

// busy tells whether closing the room would end a job. It is asked between turns.
func (r *room) busy() bool {
	b, ok := r.talk.(interface{ Busy() bool })
	return ok && b.Busy()
}

// over tells whether a Talk is of no use any more.
func over(t Talk) bool {
	o, ok := t.(interface{ Over() bool })
	return ok && o.Over()
}

// enter begins a turn in the room of a session.
func (p *Parlour) enter(s store.Session) (*room, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, closing()
	}
	p.begin()
	r := p.rooms[s.ID]
	if r == nil {
		if !p.makeRoom() {
			return nil, &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary", Why: fmt.Sprintf("she is answering in %d conversations already", len(p.rooms)),
				Hint: "try again when one of them is answered"}
		}
		r = &room{session: s.ID, name: name(s)}
		p.rooms[s.ID] = r
	}
	if r.turning {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary", Why: "she is answering something else in this conversation",
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
func (p *Parlour) begin() {
	if p.rooms == nil {
		p.rooms = map[int64]*room{}
		p.life, p.end = context.WithCancelCause(context.Background())
	}
}

func closing() error {
	return &fault.Error{Kind: fault.Unavailable, Op: "talk to secretary", Why: "the conversations are being closed", Hint: "try again when the server is up again"}
}

// makeRoom closes what was used least recently if there are too many. It is called
// with the lock held, and tells whether there is room now.
func (p *Parlour) makeRoom() bool {
	if len(p.rooms) < cmp.Or(p.Most, usualMost) {
		return true
	}
	oldest := p.oldest(func(r *room) bool { return !r.busy() })
	if oldest == nil { // a job is ended rather than a person sent away
		oldest = p.oldest(func(*room) bool { return true })
	}
	if oldest == nil {
		return false
	}
	p.remove(oldest)
	return true
}

// oldest finds the room that fits and was used least recently, outside of turns.
func (p *Parlour) oldest(fits func(*room) bool) (oldest *room) {
	for _, r := range p.rooms {
		if !r.turning && (oldest == nil || r.used < oldest.used) && fits(r) {
			oldest = r
		}
	}
	return oldest
}

// remove closes a room in which nobody is. It is called with the lock held.
func (p *Parlour) remove(r *room) {
	delete(p.rooms, r.session)
	r.timer.Stop()
	p.work.Go(r.close)
}

// leave ends a turn. A room that is spent, or has nothing in it, is given up.
func (p *Parlour) leave(r *room, spent bool) {
	defer p.work.Done()
	r.stop(nil) // lets go of what it holds
	r.listen(nil)
	if p.stay(r, spent) {
		return
	}
	r.close()
}

// stay keeps a room for the next turn, if there may be one.
func (p *Parlour) stay(r *room, spent bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || spent || r.talk == nil {
		delete(p.rooms, r.session)
		return false
	}
	r.turning = false
	p.wait(r)
	return true
}

// wait has a room closed when nobody has talked for a while.
func (p *Parlour) wait(r *room) {
	number := r.used
	r.timer = time.AfterFunc(cmp.Or(p.Idle, usualIdle), func() { p.expire(r, number) })
}

// expire closes a room unless somebody came meanwhile, or a job runs.
func (p *Parlour) expire(r *room, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || r.turning || r.used != number || p.rooms[r.session] != r:
	case r.busy():
		p.wait(r)
	default:
		p.remove(r)
	}
}

// seat sees to it that there is a Talk in the room. One that is being opened is
// given up when ctx ends; afterwards its context ends when it is closed.
func (p *Parlour) seat(ctx context.Context, r *room) error {
	if r.talk != nil && !over(r.talk) {
		return nil
	}
	r.close()
	life, end := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	talk, err := p.Open(life, Opening{Session: strconv.FormatInt(r.session, 10), Name: r.name, Observe: r.observe, Speaks: p.speaks})
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
func (p *Parlour) Close(ctx context.Context) error {
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
		return &fault.Error{Kind: fault.Timeout, Op: "close conversations", Why: "some have not ended in time", Err: context.Cause(ctx)}
	}
}

func (p *Parlour) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	p.closed = true
	p.end(closing())
	for _, r := range p.rooms {
		if !r.turning {
			p.remove(r)
		}
	}
}
