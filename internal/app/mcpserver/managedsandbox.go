package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hako/run/fault"
)

// managedSandbox is a sandbox with its owner.
type managedSandbox struct {
	Sandbox
	id, caller string
	public     string // name for people
	actor      string // of the caller
	kind       Kind
	made       time.Time
	turn       chan struct{} // holds a token while a command runs
	ctx        context.Context
	cancel     context.CancelCauseFunc
	users      sync.WaitGroup // calls in it

	inUse int       // number of calls; guarded by the server, like used
	used  time.Time // when the last call ended
}

// Why a sandbox ends.
var (
	errDestroyed = &fault.Error{Kind: fault.NotFound, Op: "use sandbox", Why: "it was destroyed meanwhile",
		Hint: "make a new one: sandbox_create"}
	errExpired = &fault.Error{Kind: fault.NotFound, Op: "use sandbox", Why: "it was not used for long and is closed",
		Hint: "make a new one: sandbox_create"}
	errLeft    = &fault.Error{Kind: fault.Unavailable, Op: "use sandbox", Why: "the client is gone"}
	errStopped = &fault.Error{Kind: fault.Unavailable, Op: "use sandbox", Why: "the server is stopping",
		Hint: "try again once it is up"}
)

// newID returns an ID with 130 random bits and a signature, by which its caller is recognized after it is gone.
func (d *Server) newID(caller string) string {
	chance := strings.ToLower(rand.Text())
	return "box-" + chance + "-" + d.signature(chance, caller)
}

// madeFor reports whether an ID was made for a caller.
func (d *Server) madeFor(id, caller string) bool {
	chance, seal, _ := strings.Cut(strings.TrimPrefix(id, "box-"), "-")
	return hmac.Equal([]byte(seal), []byte(d.signature(chance, caller)))
}

func (d *Server) signature(chance, caller string) string {
	return hex.EncodeToString(d.sign("sandbox", chance, caller)[:10])
}

// sign signs a list of strings unambiguously.
func (d *Server) sign(parts ...string) []byte {
	mac := hmac.New(sha256.New, d.key)
	for _, part := range parts {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return mac.Sum(nil)
}

// build makes a sandbox for a caller.
func (d *Server) build(ctx context.Context, caller, actor string, w SandboxOptions) (*managedSandbox, error) {
	if d.opts.Maker == nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "make sandbox",
			Why: "there is nothing here that makes sandboxes"}
	}
	if err := d.reserve(caller); err != nil {
		return nil, err
	}
	defer d.pending.Done()
	made, err := d.opts.Maker.Make(ctx, actor, w)
	if err == nil && made == nil {
		err = &fault.Error{Op: "make sandbox", Why: "its maker returned none"}
	}
	if err != nil {
		d.unreserve(caller)
		return nil, err
	}
	b := &managedSandbox{Sandbox: made, id: d.newID(caller), caller: caller, actor: actor, kind: w.Kind, made: time.Now(),
		used: time.Now(), turn: make(chan struct{}, 1)}
	b.public = d.publicName(b.id)
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	return b, d.register(ctx, b)
}

// reserve counts a sandbox that is about to be made.
func (d *Server) reserve(caller string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := 0
	for _, n := range d.owned {
		total += n
	}
	switch {
	case d.closed:
		return errStopped
	case d.owned[caller] >= d.limits.PerCaller:
		return full(fmt.Sprintf("you have %d, and no more are allowed", d.owned[caller]),
			"destroy one you no longer need: sandbox_list, sandbox_destroy")
	case total >= d.limits.Total:
		return full(fmt.Sprintf("the server has %d, and no more are allowed", total), "try again later")
	}
	d.owned[caller]++
	d.pending.Add(1)
	return nil
}

func full(why, hint string) error {
	return &fault.Error{Kind: fault.Exhausted, Op: "make sandbox", Why: why, Hint: hint}
}

func (d *Server) unreserve(caller string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owned[caller]--; d.owned[caller] <= 0 {
		delete(d.owned, caller)
	}
}

// register registers a new sandbox, or closes it if the caller or the server is gone.
func (d *Server) register(ctx context.Context, b *managedSandbox) error {
	d.mu.Lock()
	err := ctx.Err()
	if d.closed {
		err = errStopped
	}
	if err == nil {
		d.boxes[b.id] = b
	}
	d.mu.Unlock()
	if err != nil {
		return errors.Join(err, d.closeSandbox(context.WithoutCancel(ctx), b))
	}
	return nil
}

// enter finds a sandbox for a call, which must leave it afterwards.
func (d *Server) enter(caller, id string) (*managedSandbox, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.boxes[id]; b != nil && b.caller == caller {
		b.inUse++
		b.users.Add(1)
		return b, nil
	}
	e := &fault.Error{Kind: fault.NotFound, Op: "find sandbox", Subject: short(id),
		Why: "there is none of that sandbox_id", Hint: "sandbox_list shows yours, sandbox_create makes one"}
	if d.closed {
		return nil, errStopped
	}
	if d.madeFor(id, caller) {
		e.Why = "it was destroyed, or closed because nobody used it"
	}
	return nil, e
}

func (d *Server) leave(b *managedSandbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b.inUse--
	b.used = time.Now()
	b.users.Done()
}

// list returns the sandboxes of a caller, oldest first.
func (d *Server) list(caller string) []*managedSandbox {
	return d.pick(func(b *managedSandbox) bool { return b.caller == caller })
}

// destroy closes a sandbox of a caller and reports whether it existed.
func (d *Server) destroy(ctx context.Context, caller, id string) (bool, error) {
	b, err := d.enter(caller, id)
	if err != nil {
		if d.madeFor(id, caller) {
			return false, nil // it is idempotent
		}
		return false, err
	}
	d.leave(b)
	return d.remove(ctx, b, errDestroyed)
}

// remove unregisters a sandbox, ends its calls and closes it.
func (d *Server) remove(ctx context.Context, b *managedSandbox, why error) (bool, error) {
	return d.removeIf(ctx, b, func(*managedSandbox) bool { return true }, why)
}

// removeIf is remove for a sandbox that still fits: a call may have entered it since it was picked.
func (d *Server) removeIf(ctx context.Context, b *managedSandbox, fits func(*managedSandbox) bool, why error) (bool,
	error) {
	d.mu.Lock()
	there := d.boxes[b.id] == b && fits(b)
	if there {
		delete(d.boxes, b.id)
	}
	d.mu.Unlock()
	if !there {
		return false, nil
	}
	b.cancel(why)
	b.users.Wait()
	return true, d.closeSandbox(context.WithoutCancel(ctx), b)
}

// closeSandbox closes an unregistered sandbox.
func (d *Server) closeSandbox(ctx context.Context, b *managedSandbox) error {
	defer d.unreserve(b.caller)
	d.outputs.drop(b.id)
	ctx, cancel := context.WithTimeout(ctx, d.limits.Close)
	defer cancel()
	b.cancel(errDestroyed)
	if err := b.Close(ctx); err != nil {
		return &fault.Error{Kind: fault.KindOf(err), Op: "close sandbox", Subject: b.id, Err: err}
	}
	return nil
}

// closers is how many sandboxes are closed concurrently.
const closers = 16

// closeBoxes removes the sandboxes that fit.
func (d *Server) closeBoxes(ctx context.Context, fits func(*managedSandbox) bool, why error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var all []error
	slots := make(chan struct{}, closers)
	for _, b := range d.pick(fits) {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if _, err := d.removeIf(ctx, b, fits, why); err != nil {
				mu.Lock()
				all = append(all, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return errors.Join(all...)
}

// idleInterval is the interval of checks for unused sandboxes.
func (d *Server) idleInterval() time.Duration { return max(d.limits.Idle/8, 10*time.Millisecond) }

// askJobs is the timeout of [BusyReporter.Working].
const askJobs = 5 * time.Second

// keepBusy marks sandboxes with running jobs as used.
func (d *Server) keepBusy(fits func(*managedSandbox) bool) {
	for _, b := range d.pick(fits) {
		w, ok := b.Sandbox.(busyReporter)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), askJobs)
		if w.Working(ctx) {
			d.mu.Lock()
			b.used = time.Now()
			d.mu.Unlock()
		}
		cancel()
	}
}

// expire closes unused sandboxes. Parked commands and running jobs count as use.
func (d *Server) expire() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.pending.Add(1)
	d.mu.Unlock()
	defer d.pending.Done()
	now := time.Now()
	idle := func(b *managedSandbox) bool { return b.inUse == 0 && now.Sub(b.used) >= d.limits.Idle }
	d.keepBusy(func(b *managedSandbox) bool { return b.inUse == 0 && now.Sub(b.used) >= d.idleInterval() })
	_ = d.closeBoxes(context.Background(), idle, errExpired)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.idleCheck.Reset(d.idleInterval())
	}
}
