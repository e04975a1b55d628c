package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hako/container/guest/wire"
	"hako/run"
	"hako/run/fault"
)

// call answers a call concurrently.
func (k *clientConn) call(f wire.Frame) error {
	if len(f.Words) < 2 {
		return wire.ErrFrame
	}
	f = f.Owned()
	ctx, err := k.expect(f.ID)
	if errors.Is(err, wire.ErrFrame) {
		return err
	}
	if err != nil {
		k.send(wire.ErrorFrame(f.ID, err))
		return nil
	}
	k.working.Go(func() { k.reply(ctx, f) })
	return nil
}

// expect registers a call, and returns its context.
func (k *clientConn) expect(id uint64) (context.Context, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.taken(id):
		return nil, wire.ErrFrame
	case len(k.calls) == maxCalls:
		return nil, &fault.Error{Kind: fault.Exhausted, Op: "ask guest",
			Why: fmt.Sprintf("%d calls wait for their answers already", maxCalls), Hint: "wait for some of them"}
	}
	ctx, cancel := context.WithCancel(k.ctx)
	k.calls[id] = cancel
	return ctx, nil
}

func (k *clientConn) reply(ctx context.Context, f wire.Frame) {
	verb := string(f.Words[0])
	words, err := k.s.answer(ctx, verb, f)
	k.mu.Lock()
	k.calls[f.ID]()
	delete(k.calls, f.ID)
	k.mu.Unlock()
	if err != nil {
		k.send(wire.ErrorFrame(f.ID, err))
		return
	}
	k.send(wire.Frame{Op: wire.OpAnswer, ID: f.ID, Words: words})
	k.s.scheduleQuiet()
	if verb == wire.CallShutdown {
		k.s.askToStop()
	}
}

// answer executes a call.
func (s *server) answer(ctx context.Context, verb string, f wire.Frame) ([][]byte, error) {
	switch verb {
	case wire.CallPing, wire.CallShutdown:
		return nil, nil
	case wire.CallEdit:
		defer s.reads.take()()
		return one(s.edit(ctx, f.Words[1]))
	case wire.CallStart:
		return s.startJob(f)
	}
	var p wire.Parameters
	if json.Unmarshal(f.Words[1], &p) != nil {
		return nil, invalidCall(verb, "what it should do is not understood")
	}
	switch verb {
	case wire.CallStats:
		defer s.reads.take()()
		return one(inJSON(s.stats(ctx, p.Disk)))
	case wire.CallList:
		list := []run.Job{}
		for _, j := range s.jobs.list() {
			list = append(list, j.report())
		}
		return one(wire.JSON(list), nil)
	}
	return s.jobCall(ctx, verb, p)
}

// jobCall executes a call about one job.
func (s *server) jobCall(ctx context.Context, verb string, p wire.Parameters) ([][]byte, error) {
	j, err := s.jobs.find(run.JobHandle(p.Handle))
	if err != nil {
		return nil, err
	}
	switch verb {
	case wire.CallStatus:
		return one(wire.JSON(j.report()), nil)
	case wire.CallKill:
		j.kill()
		r, err := j.wait(ctx)
		if err == nil {
			j.process.End(patience) // also its leftovers
		}
		return one(inJSON(r, err))
	case wire.CallWait:
		return one(inJSON(j.wait(ctx)))
	case wire.CallOutput:
		defer s.reads.take()()
		return j.output(p)
	}
	return nil, invalidCall(verb, "there is no such call")
}

func invalidCall(verb, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "ask guest", Subject: fmt.Sprintf("%.40q", verb), Why: why,
		Hint: "the container was started by another hako: end it with hako env down and start it again"}
}

func one(word []byte, err error) ([][]byte, error) { return [][]byte{word}, err }

func inJSON[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return wire.JSON(v), nil
}

func (s *server) startJob(f wire.Frame) ([][]byte, error) {
	o, err := wire.ReadCommand(f.Words[1:], f.N)
	if errors.Is(err, wire.ErrFrame) {
		return nil, invalidCall(wire.CallStart, "the command is not understood")
	}
	if err == nil {
		err = s.admit()
	}
	if err != nil {
		return nil, err
	}
	o.Stdin = false
	j, err := s.jobs.start(o, s.release)
	if err != nil {
		s.release()
		return nil, asFault(err)
	}
	return one(wire.JSON(j.report()), nil)
}

// asFault turns a shell-like error into a refusal: a job that did not start has no output for it.
func asFault(err error) error {
	like, is := err.(*startError)
	if !is {
		return err
	}
	kind := fault.Invalid
	if like.status == 127 {
		kind = fault.NotFound
	}
	return &fault.Error{Kind: kind, Op: "start job", Why: like.text, Hint: "name a program that the container has"}
}

// largePage is the maximum size of a page.
const largePage = 1 << 20

// output returns a page of the job's output, and its bytes.
func (j *job) output(p wire.Parameters) ([][]byte, error) {
	why := ""
	switch {
	case p.Offset < 0:
		why = fmt.Sprintf("the offset is %d, below 0", p.Offset)
	case p.Limit < 0 || p.Limit > largePage:
		why = fmt.Sprintf("the size of the page is %d, outside 1 to %d", p.Limit, largePage)
	}
	if why != "" {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read output", Subject: string(j.handle), Why: why,
			Hint: "begin at 0 and go on where the page before says the next one begins"}
	}
	page, err := j.log.Page(p.Offset, cmp.Or(p.Limit, 4<<10), j.over())
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "read output", Subject: string(j.handle),
			Why: "it is no longer kept", Err: err, Hint: "start the job again"}
	}
	return [][]byte{wire.JSON(page), page.Data}, nil
}
