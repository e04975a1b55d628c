package dispatch

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/forge"
	"hako/internal/app/coder/queue"
	"hako/internal/redact"
	"hako/run/fault"
)

// A Producer polls forges and puts tasks into the queue. Several may do so at the same
// time. Its fields must not change after the first use.
type Producer struct {
	ForgeClient *ForgeClient
	Queue       *queue.Queue
	Every       time.Duration // between polls; zero means a minute
	Recheck     time.Duration // after which unchanged issues are compared with the queue too; zero means 10 minutes
	Secrets     *redact.Set   // to redact; nil means only those recognised by their form
	Observe     func(Event)   // called concurrently; may be nil

	mu       sync.Mutex
	memories map[string]*pollMemory // by provider
	reports  map[string]reportState // of dead tasks, by task ID
}

// A pollMemory is what the last poll saw, so that most issues need not be looked up
// again.
type pollMemory struct {
	since time.Time
	seen  map[string]time.Time // last update of an issue, by thread
}

// A PollResult counts what a poll did.
type PollResult struct {
	Found    int // ready issues
	Picked   int // new tasks
	Requeued int // tasks for another attempt
	Resumed  int
	Reported int // dead tasks
}

func (p PollResult) add(o PollResult) PollResult {
	return PollResult{p.Found + o.Found, p.Picked + o.Picked, p.Requeued + o.Requeued, p.Resumed + o.Resumed,
		p.Reported + o.Reported}
}

// Run polls until ctx ends. Each forge has its own schedule: one that fails is polled
// less and less often, and does not delay the others.
func (p *Producer) Run(ctx context.Context) error {
	if err := p.ForgeClient.check(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for i := range p.ForgeClient.Forges {
		wg.Go(func() {
			for failures := 0; ctx.Err() == nil; {
				if _, err := p.poll(ctx, &p.ForgeClient.Forges[i]); err != nil {
					failures++
				} else {
					failures = 0
				}
				sleep(ctx, p.pause(failures))
			}
		})
	}
	wg.Wait()
	return nil
}

// pause returns how long to wait after some failures in a row. The random part keeps
// producers from polling at the same moment.
func (p *Producer) pause(failures int) time.Duration {
	every := cmp.Or(p.Every, time.Minute)
	wait := every << min(failures, 4)
	return wait - wait/10 + rand.N(wait/5+1)
}

// Poll polls all forges once. On an error, what succeeded remains done.
func (p *Producer) Poll(ctx context.Context) (PollResult, error) {
	sums, errs := make([]PollResult, len(p.ForgeClient.Forges)), make([]error, len(p.ForgeClient.Forges))
	var wg sync.WaitGroup
	for i := range p.ForgeClient.Forges {
		wg.Go(func() { sums[i], errs[i] = p.poll(ctx, &p.ForgeClient.Forges[i]) })
	}
	wg.Wait()
	var sum PollResult
	for _, one := range sums {
		sum = sum.add(one)
	}
	return sum, errors.Join(errs...)
}

// poll polls one forge.
func (p *Producer) poll(ctx context.Context, f *Forge) (sum PollResult, err error) {
	began := time.Now()
	defer func() {
		e := Event{Type: "polled", Provider: f.Provider, Found: sum.Found, New: sum.Picked + sum.Requeued + sum.Resumed,
			Duration: time.Since(began), Err: err}
		if err != nil {
			e.Why = p.Secrets.Text(err.Error())
		}
		p.observe(e)
	}()
	ready, bot, listing := p.ready(ctx, f)
	if sum.Found = len(ready); sum.Found == 0 && listing != nil {
		return sum, listing
	}
	told, telling := p.ReportDead(ctx, f.Provider)
	mem, fresh := p.changedSince(f.Provider, ready)
	r := &pollRound{Producer: p, forge: f, bot: bot, memory: mem}
	sorting := forEachLimited(ctx, fresh, maxConcurrent, r.enqueue)
	sum = PollResult{sum.Found, int(r.picked.Load()), int(r.requeued.Load()), int(r.resumed.Load()), told}
	return sum, errors.Join(listing, telling, sorting)
}

// ready lists the issues with the ready label, and if required those assigned to us.
func (p *Producer) ready(ctx context.Context, f *Forge) (all []forge.Issue, bot string, err error) {
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	if bot, err = f.bot(ctx); err != nil {
		return nil, "", err
	}
	q, repos, errs := forge.Query{Label: f.label(coder.Pending)}, f.Repos, []error(nil)
	if f.NeedAssignee {
		q.Assignee = bot
	}
	if len(repos) == 0 {
		repos = []string{""}
	}
	for _, q.Repo = range repos { // a renamed repository does not hide the others
		list, err := f.List(ctx, q)
		if err == nil && len(list) > 0 && !f.includes(list[0].Repo) {
			list, err = nil, renamed(f.Provider, q.Repo, list[0].Repo)
		}
		all, errs = append(all, list...), append(errs, err)
	}
	return all, bot, errors.Join(errs...)
}

// renamed is the error for a repository that a forge finds by its old name. Whoever
// gets that name next could give hako work by it.
func renamed(provider, was, is string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "list tasks of", Subject: was, Why: "it is called " + is + " now",
		Hint: "write its new name in " + provider + ".repositories"}
}

// changedSince returns the issues that are new or have changed, and the memory to add
// them to, without issues that are no longer ready.
func (p *Producer) changedSince(provider string, ready []forge.Issue) (*pollMemory, []forge.Issue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.memories[provider]
	if old == nil || time.Since(old.since) > cmp.Or(p.Recheck, 10*time.Minute) {
		old = &pollMemory{since: time.Now()}
	}
	now, fresh := &pollMemory{old.since, make(map[string]time.Time, len(ready))}, []forge.Issue(nil)
	for _, t := range ready {
		thread := coder.Task{Provider: provider, Repo: t.Repo, Kind: coder.Kind(t.Kind), Number: t.Number}.Thread()
		if at, ok := old.seen[thread]; ok && at.Equal(t.Updated) {
			now.seen[thread] = at
		} else {
			fresh = append(fresh, t)
		}
	}
	if p.memories == nil {
		p.memories = make(map[string]*pollMemory)
	}
	p.memories[provider] = now
	return now, fresh
}

func (p *Producer) remember(m *pollMemory, thread string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.seen[thread] = at
}

func (p *Producer) observe(e Event) {
	if p.Observe != nil {
		p.Observe(e)
	}
}
