package container

import (
	"context"

	"hako/container/guest"
	"hako/run/fault"
)

// A guestConn is the shared connection to the guest of one box. One caller at a time dials.
type guestConn struct {
	lock   chan struct{} // holds one token, which guards what follows
	client *guest.Client
	closed bool // it is not dialled again
}

func newGuestConn() *guestConn {
	l := &guestConn{lock: make(chan struct{}, 1)}
	l.lock <- struct{}{}
	return l
}

// dial returns the connection, and replaces a lost one.
func (l *guestConn) dial(ctx context.Context, socket string) (*guest.Client, error) {
	select {
	case <-l.lock:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { l.lock <- struct{}{} }()
	if l.closed {
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

// close closes the connection for good, with everything in progress on it.
func (l *guestConn) close() {
	<-l.lock
	defer func() { l.lock <- struct{}{} }()
	l.closed = true
	if l.client != nil {
		_ = l.client.Close()
	}
}

func (d *Manager) connOf(id string) *guestConn {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.conns[id]
	if l == nil {
		l = newGuestConn()
		d.conns[id] = l
	}
	return l
}

func (d *Manager) closeConn(id string) {
	d.mu.Lock()
	l := d.conns[id]
	delete(d.conns, id)
	d.mu.Unlock()
	if l != nil {
		l.close()
	}
}

func (d *Manager) dial(ctx context.Context, b *box) (*guest.Client, error) {
	return d.connOf(b.Box).dial(ctx, b.socket())
}

// client returns the connection to the guest of a task's box.
func (d *Manager) client(ctx context.Context, b *box) (*guest.Client, error) {
	c, err := d.dial(ctx, b)
	if err == nil || ctx.Err() != nil || fault.KindOf(err) == fault.Denied {
		return c, err
	}
	return nil, &fault.Error{Kind: fault.Unavailable, Op: "reach environment of task", Subject: b.TaskUUID,
		Why: "its container is not running any more", Err: err,
		Hint: "make a new one", FlagHint: "make a new one: hako env up --task " + b.TaskUUID}
}
