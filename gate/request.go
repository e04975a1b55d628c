package gate

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/audit"
	"hako/internal/redact"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// A gateRun is one request that passes the gate.
type gateRun struct {
	gate    *Gate
	req     run.Request
	opaque  bool
	running bool
	cancel  context.CancelCauseFunc
	written atomic.Int64

	// A script may call check and write from several pipeline stages at once.
	mu       sync.Mutex // guards what follows
	cause    error      // why we stopped the script
	counts   map[string]int
	seen     map[uint64]struct{}    // commands on record
	approved map[approvalKey]Answer // what a person has approved for this request
	startDir string                 // where the script began
	started  bool                   // that is known
	files    map[string]*fileCount
	order    []*fileCount // files as they were first touched

	waiting int // parts of the script that wait for a person
	since   time.Time
	waited  time.Duration
}

// maxRecorded is how many different commands and files of one request are recorded one by one. A loop over a
// million names must not fill the disk: of the rest only counts are recorded.
const maxRecorded = 200

// others stands for all further names.
const others = "(others)"

func (p *gateRun) append(e audit.Event) error {
	e.ID, e.Actor = p.req.ID, p.req.Actor
	return p.gate.opts.Log.Append(e)
}

// check decides about every command. Its error also stops the script directly, in case a runner ignores it.
func (p *gateRun) check(ctx context.Context, dir string, argv []string) error {
	p.noteStart(dir)
	if p.req.Check != nil {
		if err := p.req.Check(ctx, dir, argv); err != nil {
			return p.stop(err)
		}
	}
	v := p.gate.opts.Policy.CallAt(dir, argv)
	if v.Effect != policy.Allow {
		if err := p.enforce(ctx, dir, v); err != nil {
			return p.stop(err)
		}
	}
	if !p.countCommand(argv) {
		return nil
	}
	if err := p.append(audit.Event{What: audit.Allowed, Argv: argv, Effect: policy.Allow.String(),
		Rule: v.Where}); err != nil {
		return p.stop(err)
	}
	return nil
}

// redirect decides about every file that a redirection opens. An allowed file is recorded when it is closed, with
// its bytes.
func (p *gateRun) redirect(ctx context.Context, dir, op, file string) error {
	p.noteStart(dir)
	if p.req.Redirect != nil {
		if err := p.req.Redirect(ctx, dir, op, file); err != nil {
			return p.stop(err)
		}
	}
	if err := p.enforce(ctx, dir, p.gate.opts.Policy.RedirectAt(dir, op, file)); err != nil {
		return p.stop(err)
	}
	return nil
}

// countCommand counts the command and reports whether to record it.
func (p *gateRun) countCommand(argv []string) bool {
	name := ""
	if len(argv) > 0 {
		name = argv[0]
	}
	h := p.gate.hashWords(argv)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts, p.seen = make(map[string]int, 8), make(map[uint64]struct{}, 8)
	}
	if _, known := p.counts[name]; !known {
		if len(p.counts) >= maxRecorded {
			name = others
		}
		name = strings.Clone(name) // it may be a small part of a large text
	}
	p.counts[name]++
	if _, known := p.seen[h]; known || len(p.seen) >= maxRecorded {
		return false
	}
	p.seen[h] = struct{}{}
	return true
}

// hashWords tells commands apart. The seed is random, so that nobody can make two with the same hash; all that
// would be lost is a line of the record.
func (g *Gate) hashWords(argv []string) uint64 {
	h := uint64(len(argv))
	for _, word := range argv {
		h = h*0x9e3779b97f4a7c15 + maphash.String(g.seed, word)
	}
	return h
}

// enforce turns a verdict about a command in dir into an error or nil. It asks and records as necessary.
func (p *gateRun) enforce(ctx context.Context, dir string, v policy.Verdict) error {
	switch v.Effect {
	case policy.Allow:
		return nil
	case policy.Ask:
		return p.ask(ctx, dir, v)
	}
	if err := p.append(audit.Event{What: audit.Denied, Argv: v.Argv, Effect: v.Effect.String(), Rule: v.Where,
		Reason: v.Why}); err != nil {
		return err
	}
	why, cause := v.Reason()
	return p.refusal(v, why, cause)
}

func (p *gateRun) refusal(v policy.Verdict, why string, cause error) error {
	return &fault.Error{Kind: fault.Denied, Op: "denied", Subject: p.subject(v), Why: why, Rule: v.Where, Hint: v.Hint,
		Err: cause}
}

// maxShown is how much of a command a message shows.
const maxShown = 300

// quoteShort returns a command as one would type it, without secrets and shortened.
func (g *Gate) quoteShort(argv []string) string {
	return quoteWords(g.secrets.Argv(argv), maxShown, func(word string) string { return word })
}

// quoteWords quotes words for a shell, up to most bytes.
func quoteWords(argv []string, most int, clean func(string) string) string {
	var b strings.Builder
	for i, word := range argv {
		word = clean(word)
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len()+len(word) > most {
			b.WriteString("…")
			break
		}
		if safe, err := syntax.Quote(word, syntax.LangBash); err == nil && word != redact.Mark {
			word = safe
		}
		b.WriteString(word)
	}
	return b.String()
}

// stop stops the script; the first reason is kept.
func (p *gateRun) stop(err error) error {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = err
	}
	p.mu.Unlock()
	p.cancel(err)
	return err
}

func (p *gateRun) stopped() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// A fileCount counts the effects on one file.
type fileCount struct {
	run.Effect
	times int64
	bytes int64 // beyond those on record
}

// touched records an effect and charges it.
func (p *gateRun) touched(e run.Effect) {
	if p.req.Touched != nil {
		p.req.Touched(e)
	}
	if p.countFile(e) {
		if err := p.append(effectEvent(e, 0)); err != nil {
			p.stop(err)
		}
	}
	u := quota.Usage{}
	switch e.What {
	case "read":
		u.Read = e.Bytes
	case "written":
		u.Written = e.Bytes
	}
	if err := p.gate.opts.Budget.Charge(u); err != nil {
		p.stop(err)
	}
}

// countFile counts the effect and reports whether to record it now. The rest is recorded as a sum when the
// request ends.
func (p *gateRun) countFile(e run.Effect) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := e.What + " " + e.Path
	t, known := p.files[key]
	if !known && len(p.files) >= maxRecorded {
		e.Path = others
		key = e.What + " " + others
		t, known = p.files[key]
		if !known {
			known, t = true, p.newFileCount(key, e)
		}
	}
	if !known {
		p.newFileCount(key, e)
		return true
	}
	t.times++
	t.bytes += e.Bytes
	return false
}

func (p *gateRun) newFileCount(key string, e run.Effect) *fileCount {
	if p.files == nil {
		p.files = make(map[string]*fileCount)
	}
	t := &fileCount{Effect: e}
	p.files[key] = t
	p.order = append(p.order, t)
	return t
}

// recordCounts records what was counted but not recorded one by one.
func (p *gateRun) recordCounts() error {
	for _, t := range p.order {
		if t.times == 0 {
			continue
		}
		t.Bytes = t.bytes
		if err := p.append(effectEvent(t.Effect, t.times)); err != nil {
			return err
		}
	}
	return nil
}

func effectEvent(e run.Effect, count int64) audit.Event {
	ev := audit.Event{What: audit.Closed, Mode: e.What, Path: e.Path, Bytes: e.Bytes, Count: count}
	switch e.What {
	case "removed":
		ev.What, ev.Mode = audit.Removed, ""
	case "network":
		ev.What = audit.Opened
	case "refused":
		ev.What, ev.Mode, ev.Effect, ev.Rule = audit.Denied, "open", policy.Deny.String(), "files"
		ev.Reason = "the file was not granted for that"
	}
	return ev
}
