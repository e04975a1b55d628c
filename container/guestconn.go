package container

import (
	"context"

	"hako/container/guest"
	"hako/run/fault"
)

// A guestConn is the connection to the guest of one box. However many want it at the
// same time, one of them dials.
type guestConn struct {
	turn   chan struct{} // holds one token: who has it may look at what follows
	client *guest.Client
	shut   bool // nobody will hang up any more
}

func newGuestConn() *guestConn {
	l := &guestConn{turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// dial returns the connection, which is made anew if it was lost.
func (l *guestConn) dial(ctx context.Context, socket string) (*guest.Client, error) {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	if l.shut {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "connect to guest", Why: "it is being removed"}
	}
	if l.client != nil && !lost(l.client) {
		return l.client, nil
	}
	c, err := guest.Dial(ctx, socket)
	if err == nil {
		l.client = c
	}
	return c, err
}

func lost(c *guest.Client) bool {
	select {
	case <-c.Gone():
		return true
	default:
		return false
	}
}

// hangUp ends the line, with all that is said over it.
func (l *guestConn) hangUp() {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	l.shut = true
	if l.client != nil {
		_ = l.client.Close()
	}
}

// line returns that of a box.
func (d *Manager) line(id string) *guestConn {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lines[id]
	if l == nil {
		l = newGuestConn()
		d.lines[id] = l
	}
	return l
}

func (d *Manager) hangUp(id string) {
	d.mu.Lock()
	l := d.lines[id]
	delete(d.lines, id)
	d.mu.Unlock()
	if l != nil {
		l.hangUp()
	}
}

// dial connects to the guest of a box.
func (d *Manager) dial(ctx context.Context, b *box) (*guest.Client, error) {
	return d.line(b.Box).dial(ctx, b.socket())
}

// client returns the connection to the guest of the box of a task.
func (d *Manager) client(ctx context.Context, b *box) (*guest.Client, error) {
	c, err := d.dial(ctx, b)
	if err == nil || ctx.Err() != nil || fault.KindOf(err) == fault.Denied {
		return c, err
	}
	return nil, &fault.Error{Kind: fault.Unavailable, Op: "reach environment of task", Subject: b.TaskUUID,
		Why: "its container is not running any more", Err: err,
		Hint: "make a new one", FlagHint: "make a new one: hako env up --task " + b.TaskUUID}
}
