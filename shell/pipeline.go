package shell

import (
	"slices"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"hako/run"
	"hako/shell/stream"
)

// stage is one command of a pipeline.
type stage struct {
	st  *syntax.Stmt
	all bool // |& : standard error goes into the pipe too
}

// flatten turns the left-leaning tree of a pipeline into its stages.
func flatten(c *syntax.BinaryCmd) []stage {
	out := []stage{{st: c.Y}}
	for {
		all := c.Op == syntax.PipeAll
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(c.X.Redirs) > 0 || c.X.Negated || left.Op != syntax.Pipe && left.Op != syntax.PipeAll {
			out = append(out, stage{st: c.X, all: all})
			slices.Reverse(out)
			return out
		}
		out = append(out, stage{st: left.Y, all: all})
		c = left
	}
}

// pipeline runs the stages at the same time, each in a subshell of its own,
// the last one in this goroutine.
func (p *proc) pipeline(c *syntax.BinaryCmd) {
	stages := flatten(c)
	if err := p.ses.Limiter.Stages(len(stages)); err != nil {
		p.stop(err)
		return
	}
	if err := p.tooDeep(); err != nil {
		p.stop(err)
		return
	}
	procs := p.connect(stages)
	var wg sync.WaitGroup
	last := len(stages) - 1
	for i, q := range procs[:last] {
		wg.Go(func() { q.stage(stages[i].st) })
	}
	procs[last].stage(stages[last].st)
	wg.Wait()
	p.gather(procs)
	p.noteStages(stages)
	if p.opts.lastpipe {
		p.absorb(procs[last])
	}
}

// absorb takes over what the last stage did, for lastpipe. The stage ran as a
// subshell all the same: the other stages were reading the state of p.
func (p *proc) absorb(q *proc) {
	for name, v := range q.vars.vars {
		if v == nil {
			p.vars.unset(name)
			continue
		}
		if old := p.vars.vars[name]; old != nil {
			_ = p.vars.charge(-old.size)
		}
		v.size = 0
		p.vars.place(name, v)
		if err := p.vars.resize(v, v.bytes()); err != nil {
			p.stop(err)
			return
		}
	}
	p.funcs, p.shared = q.funcs, q.shared && p.shared
	p.dir, p.stack, p.params, p.opts = q.dir, q.stack, q.params, q.opts
	if q.flow != discarding {
		p.flow, p.levels = q.flow, q.levels
	}
}

// connect makes a subshell for each stage, joined by pipes.
func (p *proc) connect(stages []stage) []*proc {
	procs := make([]*proc, len(stages))
	var in *desc
	for i, s := range stages {
		q := p.sub(p.ctx)
		if in != nil {
			q.fds.set(0, in)
		}
		if i < len(stages)-1 {
			r, w := stream.Pipe(p.ctx)
			out := &desc{w: w, close: w.Close}
			q.fds.set(1, out.hold())
			if s.all {
				q.fds.set(2, out.hold())
			}
			in = (&desc{r: stream.NewReader(r), close: r.Close}).hold()
			in.r.Grow = p.ses.Limiter.Fits
		}
		procs[i] = q
	}
	return procs
}

// stage runs one stage to its end and closes its descriptors, so that its
// neighbours notice.
func (p *proc) stage(st *syntax.Stmt) {
	p.live(func() { p.stmt(st) })
}

// gather takes over the statuses of the stages.
func (p *proc) gather(procs []*proc) {
	p.pipeStatus = make([]int, len(procs))
	for i, q := range procs {
		p.pipeStatus[i] = q.status
		p.adopt(q)
	}
	p.status = p.pipeStatus[len(procs)-1]
	if !p.opts.pipefail {
		return
	}
	for i := len(procs) - 1; i >= 0; i-- {
		if p.pipeStatus[i] != 0 {
			p.status = p.pipeStatus[i]
			return
		}
	}
}

// brokenPipe is the status of a stage that nobody wanted more of.
const brokenPipe = 128 + 13

// noteStages remembers the stages that failed and that the status of the
// pipeline does not tell of.
func (p *proc) noteStages(stages []stage) {
	for i, status := range p.pipeStatus[:len(p.pipeStatus)-1] {
		if status != 0 && status != brokenPipe {
			p.ses.seen.stage(run.Stage{Name: firstWord(stages[i].st), Status: status})
		}
	}
}

// firstWord is what a stage is called.
func firstWord(st *syntax.Stmt) string {
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() != "" {
		return call.Args[0].Lit()
	}
	return "(...)"
}
