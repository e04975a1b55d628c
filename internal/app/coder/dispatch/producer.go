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

// A Producer finds what is wanted and puts it into the queue. Several may do so
// at the same time. Its fields must not change after the first use.
type Producer struct {
	ForgeClient *ForgeClient
	Queue       *queue.Queue
	Every       time.Duration // between two polls; zero means a minute
	Recheck     time.Duration // after which also what has not changed is compared with the queue; zero means 10 minutes
	Secrets     *redact.Set   // values that nobody may see; nil means only those known by their spelling
	Observe     func(Event)   // is told what happens, by many at once; nil means that nobody is

	mu     sync.Mutex
	memory map[string]*memory // by provider
	dead   map[string]outcome // what came of telling people, by task
}

// A memory is what was seen in the last poll, so that most issues need not be
// looked up in the next.
type memory struct {
	since time.Time
	seen  map[string]time.Time // when an issue was changed last, by thread
}

// PollResult is what came of a poll.
type PollResult struct {
	Found    int // issues that are ready
	Picked   int // for the first time
	Requeued int // for another try
	Resumed  int
	Told     int // people who wait for tasks that were given up
}

func (p PollResult) add(o PollResult) PollResult {
	return PollResult{p.Found + o.Found, p.Picked + o.Picked, p.Requeued + o.Requeued, p.Resumed + o.Resumed,
		p.Told + o.Told}
}

// Run polls until the context ends. Each forge has its own pace: one that fails
// is asked less and less often, and keeps nobody else waiting.
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
				retry(ctx, p.pause(failures))
			}
		})
	}
	wg.Wait()
	return nil
}

// pause is how long to wait after so many failures in a row. Many producers do
// not ask at the same moment.
func (p *Producer) pause(failures int) time.Duration {
	every := cmp.Or(p.Every, time.Minute)
	wait := every << min(failures, 4)
	return wait - wait/10 + rand.N(wait/5+1)
}

// Poll looks at all forges once. What went well has happened although there is
// an error.
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

// poll looks at one forge.
func (p *Producer) poll(ctx context.Context, f *Forge) (sum PollResult, err error) {
	began := time.Now()
	defer func() {
		e := Event{Type: "polled", Provider: f.Provider, Found: sum.Found, New: sum.Picked + sum.Requeued + sum.Resumed,
			Duration: time.Since(began), Err: err}
		if err != nil {
			e.Why = p.Secrets.Text(err.Error())
		}
		p.tell(e)
	}()
	ready, bot, listing := p.ready(ctx, f)
	if sum.Found = len(ready); sum.Found == 0 && listing != nil {
		return sum, listing
	}
	told, telling := p.TellDead(ctx, f.Provider)
	mem, fresh := p.recalled(f.Provider, ready)
	r := &pollRound{Producer: p, forge: f, bot: bot, mem: mem}
	sorting := forEachLimited(ctx, fresh, atOnce, r.sort)
	sum = PollResult{sum.Found, int(r.picked.Load()), int(r.requeued.Load()), int(r.resumed.Load()), told}
	return sum, errors.Join(listing, telling, sorting)
}

// ready lists what has the label, and is assigned to us if need be.
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
	for _, q.Repo = range repos { // one that was renamed does not hide the others
		list, err := f.List(ctx, q)
		if err == nil && len(list) > 0 && !f.takes(list[0].Repo) {
			list, err = nil, renamed(f.Provider, q.Repo, list[0].Repo)
		}
		all, errs = append(all, list...), append(errs, err)
	}
	return all, bot, errors.Join(errs...)
}

// renamed is a repository that a forge finds by its old name. Whoever gets that
// name next could give us work by it.
func renamed(provider, was, is string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "list tasks of", Subject: was, Why: "it is called " + is + " now",
		Hint: "write its new name in " + provider + ".repositories"}
}

// recalled returns those that are new or have changed, and the memory to add
// them to. It has forgotten what is not ready any more.
func (p *Producer) recalled(provider string, ready []forge.Issue) (*memory, []forge.Issue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.memory[provider]
	if old == nil || time.Since(old.since) > cmp.Or(p.Recheck, 10*time.Minute) {
		old = &memory{since: time.Now()}
	}
	now, fresh := &memory{old.since, make(map[string]time.Time, len(ready))}, []forge.Issue(nil)
	for _, t := range ready {
		thread := coder.Task{Provider: provider, Repo: t.Repo, Kind: coder.Kind(t.Kind), Number: t.Number}.Thread()
		if at, ok := old.seen[thread]; ok && at.Equal(t.Updated) {
			now.seen[thread] = at
		} else {
			fresh = append(fresh, t)
		}
	}
	if p.memory == nil {
		p.memory = make(map[string]*memory)
	}
	p.memory[provider] = now
	return now, fresh
}

func (p *Producer) recall(m *memory, thread string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.seen[thread] = at
}

func (p *Producer) tell(e Event) {
	if p.Observe != nil {
		p.Observe(e)
	}
}
