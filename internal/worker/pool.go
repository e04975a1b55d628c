package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hako/run/fault"
)

// Options configure a [Pool].
type Options struct {
	// Settings are sent to each worker first.
	Settings any
	// Assemble makes the parts of a worker in this process, where no other can be started.
	Assemble func(settings json.RawMessage) (Parts, error)
	// Memory is what the sandboxes of one caller may hold. A worker may use twice as much, including garbage. Zero
	// means no limit of the system.
	Memory int64
	// OwnWorkers is how many workers are started so that each sandbox has its own; beyond that, sandboxes of one
	// caller share. Zero means 24.
	OwnWorkers int
	// Kept returns what the server itself holds for a caller. Nil means nothing.
	Kept func(caller string) int64
}

const (
	defaultOwn = 24
	maxWorkers = 128 // workers; beyond it a new caller is refused
)

// A Pool starts and ends workers and assigns sandboxes to them. A worker has sandboxes of one caller only. It is safe
// for concurrent use.
type Pool struct {
	options  Options
	settings json.RawMessage
	next     atomic.Uint64 // IDs of sandboxes
	starting sync.WaitGroup

	mu            sync.Mutex // guards the fields below
	workers       []*process // newest last
	spare         *process   // started in advance
	judge         *process
	startingSpare bool // a spare is being started
	closed        bool
	watcher       *time.Timer
}

// New makes a pool and starts a first worker in the background.
func New(o Options) (*Pool, error) {
	settings, err := json.Marshal(o.Settings)
	if err != nil {
		return nil, err
	}
	if o.OwnWorkers == 0 {
		o.OwnWorkers = defaultOwn
	}
	p := &Pool{options: o, settings: settings}
	p.refill()
	return p, nil
}

func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := append([]*process(nil), p.workers...)
	for _, w := range []*process{p.spare, p.judge} {
		if w != nil {
			all = append(all, w)
		}
	}
	p.mu.Unlock()
	for _, w := range all {
		w.end(errStopped)
	}
	for _, w := range all {
		<-w.gone
	}
	p.starting.Wait()
}

var (
	errStopped = &fault.Error{Kind: fault.Unavailable, Op: "use worker", Why: "the server is stopping",
		Hint: "try again once it is up"}
	errRetired = errors.New("nobody uses it any more")
)

// Open makes a sandbox for a caller.
func (p *Pool) Open(ctx context.Context, caller string, w OpenOptions, d Services) (*Handle, error) {
	worker, err := p.take(ctx, caller)
	if err != nil {
		return nil, err
	}
	defer p.opened(worker)
	h := &Handle{id: p.next.Add(1), pool: p, caller: caller, options: w, services: d, process: worker}
	return h, worker.openBox(ctx, h, nil)
}

// opened undoes take: the worker ends when it has no sandboxes.
func (p *Pool) opened(w *process) {
	p.mu.Lock()
	w.opening--
	p.mu.Unlock()
	p.retire(w)
}

// take returns the worker for another sandbox of a caller: a new one as long as there are few, else the newest of the
// caller, so that new sandboxes share with new ones. The caller of take calls arrived once the sandbox is open.
func (p *Pool) take(ctx context.Context, caller string) (*process, error) {
	p.mu.Lock()
	n := len(p.workers)
	if n >= p.options.OwnWorkers {
		if w := p.newest(caller); w != nil {
			w.opening++
			p.mu.Unlock()
			return w, nil
		}
	}
	if p.closed || n >= maxWorkers {
		defer p.mu.Unlock()
		return nil, p.refusal()
	}
	w := p.spare
	p.spare = nil
	if w != nil {
		p.register(w, caller)
	}
	p.mu.Unlock()
	defer p.refill()
	if w != nil {
		return w, nil
	}
	w, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.register(w, caller)
	return w, nil
}

// refusal returns why there is no worker. The caller holds mu.
func (p *Pool) refusal() error {
	if p.closed {
		return errStopped
	}
	return &fault.Error{Kind: fault.Exhausted, Op: "make sandbox", Why: "the server has too many clients with sandboxes",
		Hint: "try again later"}
}

// register registers a worker. The caller holds mu.
func (p *Pool) register(w *process, caller string) {
	w.caller = caller
	w.opening++
	p.workers = append(p.workers, w)
	if p.watcher == nil && p.options.Memory > 0 {
		p.watcher = time.AfterFunc(memoryInterval, p.watchMemory)
	}
}

// newest returns the newest worker of a caller. The caller holds mu.
func (p *Pool) newest(caller string) *process {
	for i := len(p.workers) - 1; i >= 0; i-- {
		if w := p.workers[i]; w.caller == caller && w.failure() == nil {
			return w
		}
	}
	return nil
}

// refill starts a spare worker in the background, unless there is one.
func (p *Pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.startingSpare || p.spare != nil {
		return
	}
	p.startingSpare = true
	p.starting.Go(func() {
		w, err := p.start(context.Background())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.startingSpare = false
		switch {
		case err != nil: // the next take reports it
		case p.closed:
			w.end(errStopped)
		default:
			p.spare = w
		}
	})
}

// startTime is the timeout for starting a worker.
const startTime = 30 * time.Second

func (p *Pool) start(ctx context.Context) (*process, error) {
	stream, c, err := startChild(p.options.Assemble)
	if err != nil {
		return nil, &fault.Error{Op: "start worker", Err: err}
	}
	w := &process{
		peer: peer{link: link{stream: stream}}, pool: p, child: c, gone: make(chan struct{}),
		boxes: map[uint64]*Handle{}, running: map[uint64]*running{}, questions: map[uint64]context.CancelFunc{},
		open: map[string]string{},
	}
	go w.listen()
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	if err := w.call(ctx, setUp, setUpMessage{p.settings, 2 * p.options.Memory}, nil); err != nil {
		w.end(errRetired)
		return nil, &fault.Error{Kind: fault.KindOf(err), Op: "start worker", Err: err}
	}
	return w, nil
}

// remove unregisters a worker that has ended.
func (p *Pool) remove(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unlist(w)
	if p.spare == w {
		p.spare = nil
	}
	if p.judge == w {
		p.judge = nil
	}
}

// unlist removes a worker from the list. The caller holds mu.
func (p *Pool) unlist(w *process) {
	p.workers = slices.DeleteFunc(p.workers, func(other *process) bool { return other == w })
}

// retire ends a worker without sandboxes.
func (p *Pool) retire(w *process) {
	p.mu.Lock()
	w.mu.Lock()
	used := len(w.boxes) > 0 || w.opening > 0
	w.mu.Unlock()
	if !used {
		p.unlist(w)
	}
	p.mu.Unlock()
	if !used {
		w.end(errRetired)
	}
}

// heldByOthers returns what the other workers of the same caller hold, and what the server holds for it.
func (p *Pool) heldByOthers(w *process) Held {
	p.mu.Lock()
	caller := w.caller
	p.mu.Unlock()
	held := p.Held(caller)
	if p.options.Kept != nil {
		held.Virtual += p.options.Kept(caller)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return held.minus(w.held)
}

// Held returns what the sandboxes of a caller hold.
func (p *Pool) Held(caller string) Held {
	return p.sum(func(w *process) bool { return w.caller == caller })
}

// Total returns what all sandboxes hold.
func (p *Pool) Total() Held { return p.sum(func(*process) bool { return true }) }

func (p *Pool) sum(counts func(*process) bool) (sum Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		if counts(w) {
			w.mu.Lock()
			sum = sum.plus(w.held)
			w.mu.Unlock()
		}
	}
	return sum
}

// judgeTime is the timeout for judging a script.
const judgeTime = 2 * time.Second

// Judge lets a worker answer a question about a script. All callers share one worker; if another caller's script ended
// it, Judge tries again.
func (p *Pool) Judge(ctx context.Context, spec, v any) error {
	err := p.judgeOnce(ctx, spec, v)
	if errors.Is(err, errJudgeLost) && ctx.Err() == nil {
		err = p.judgeOnce(ctx, spec, v)
	}
	return err
}

var errJudgeLost = errors.New("the worker that judged it ended")

func (p *Pool) judgeOnce(ctx context.Context, spec, v any) error {
	w, err := p.judgeWorker(ctx)
	if err != nil {
		return err
	}
	bounded, stop := context.WithTimeout(ctx, judgeTime)
	defer stop()
	err = w.call(bounded, judge, spec, v)
	switch {
	case bounded.Err() != nil && ctx.Err() == nil:
		w.end(errJudgeLost)
		p.remove(w)
		return &fault.Error{Kind: fault.Denied, Op: "judge script", Why: "judging it takes too long",
			Hint: "split it into simpler scripts", Err: errJudgeLost}
	case err != nil && w.ended():
		return &fault.Error{Kind: fault.Denied, Op: "judge script", Why: "it could not be judged",
			Hint: "split it into simpler scripts", Err: errJudgeLost}
	}
	return err
}

func (p *process) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// judgeWorker returns the worker that judges.
func (p *Pool) judgeWorker(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errStopped
	}
	w := p.judge
	if w == nil && p.spare != nil {
		w, p.spare = p.spare, nil
		p.judge = w
	}
	p.mu.Unlock()
	if w != nil {
		p.refill()
		return w, nil
	}
	w, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge != nil { // started concurrently
		go w.end(errRetired)
		return p.judge, nil
	}
	p.judge = w
	return w, nil
}
