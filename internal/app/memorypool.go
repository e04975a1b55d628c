package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"hako/internal/worker"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// maxShares is the limit of all callers, as a multiple of the limit of one.
const maxShares = 8

// A memoryPool limits the memory of all sandboxes. The sandboxes of a caller share one limit: making a hundred
// of them does not multiply it.
type memoryPool struct {
	limits  quota.ScriptLimits // of a caller
	workers *worker.Pool       // nil means none

	mu     sync.Mutex
	shares map[string]*memoryShare // of callers with sandboxes
}

// A memoryShare is the memory of one caller.
type memoryShare struct {
	pool   *memoryPool
	caller string
	own    *quota.Limiter // held by this process for the caller
	boxes  int            // number of sandboxes; guarded by the pool
}

// open returns the share of a caller for one more sandbox.
func (l *memoryPool) open(caller string) (*memoryShare, error) {
	if err := l.checkFull(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shares[caller]
	if s == nil {
		s = &memoryShare{pool: l, caller: caller, own: quota.NewLimiter(l.limits)}
		if l.shares == nil {
			l.shares = map[string]*memoryShare{}
		}
		l.shares[caller] = s
	}
	s.boxes++
	return s, nil
}

// release gives up a sandbox.
func (l *memoryPool) release(s *memoryShare) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.boxes--; s.boxes == 0 {
		delete(l.shares, s.caller)
	}
}

// checkFull returns an error if all sandboxes together hold the maximum.
func (l *memoryPool) checkFull() error {
	held, most := l.held(), maxShares*l.limits.Memory
	if held < most {
		return nil
	}
	return &fault.Error{Kind: fault.Exhausted, Op: "use sandbox",
		Why:  fmt.Sprintf("the sandboxes of this server hold %d MB, and %d are allowed", held>>20, most>>20),
		Hint: "destroy sandboxes you no longer need (sandbox_destroy), or try again later"}
}

func (l *memoryPool) held() (sum int64) {
	if l.workers != nil {
		held := l.workers.Total()
		sum = held.Virtual + held.Host
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shares {
		sum += s.own.Held()
	}
	return sum
}

// heldFor returns what this process holds for a caller.
func (l *memoryPool) heldFor(caller string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.shares[caller]; s != nil {
		return s.own.Held()
	}
	return 0
}

// hold charges memory held outside of a sandbox.
func (s *memoryShare) hold(bytes int64) error {
	defer s.own.Reset() // a refusal must not affect later calls
	if l := s.pool; l.workers != nil && bytes > 0 {
		if err := s.own.Fits(l.workers.Held(s.caller).Virtual + bytes); err != nil {
			return s.withHint(err)
		}
	}
	return s.withHint(s.own.Hold(bytes))
}

// hasSeveral reports whether the caller has more than one sandbox.
func (s *memoryShare) hasSeveral() bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.boxes > 1
}

// withHint adds a hint to the error of a limit that other sandboxes share.
func (s *memoryShare) withHint(err error) error {
	var e *fault.Error
	if !errors.As(err, &e) || fault.KindOf(err) != fault.Exhausted {
		return err
	}
	own := *e
	own.Hint = "do less at once, or remove files"
	if s.hasSeveral() {
		own.Hint += fmt.Sprintf(
			"; all your sandboxes of this kind together have %d MB of memory and %d files: destroy those you no longer need (sandbox_destroy)", s.pool.limits.Memory>>20, s.pool.limits.Files)
	}
	return &own
}

// A pooledRunner runs a sandbox, or a job in it, on the memory of its caller.
type pooledRunner struct {
	run.Runner
	share *memoryShare
}

func (r pooledRunner) Run(ctx context.Context, req *run.Request) (run.Result, error) {
	if err := r.share.pool.checkFull(); err != nil {
		return run.Result{Exit: 126}, err
	}
	res, err := r.Runner.Run(ctx, req)
	return res, r.share.withHint(err)
}
