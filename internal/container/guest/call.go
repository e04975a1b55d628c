package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"hako/internal/fault"
)

// The calls that the guest answers.
const (
	callPing     = "ping"
	callStats    = "stats"
	callShutdown = "shutdown"
	callEdit     = "edit"
	callStart    = "job.start"
	callStatus   = "job.status"
	callList     = "job.list"
	callKill     = "job.kill"
	callSignal   = "job.signal"
	callWait     = "job.wait"
	callOutput   = "job.output"
	callTails    = "job.tails"
)

// parameters are what calls need.
type parameters struct {
	Handle Handle `json:"handle,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Stream string `json:"stream,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Disk   bool   `json:"disk,omitempty"`
}

// abilities tell clients what they can ask for.
func (s *server) abilities() []string {
	can := []string{"jobs", "stats"}
	if s.opts.Edit != nil {
		can = append(can, "edit")
	}
	return can
}

// call answers a question, at the same time as others.
func (k *link) call(f frame) error {
	if len(f.words) < 2 {
		return errFrame
	}
	f = f.owned()
	ctx, err := k.expect(f.id)
	if errors.Is(err, errFrame) {
		return err
	}
	if err != nil {
		k.send(errorFrame(f.id, err))
		return nil
	}
	k.working.Go(func() { k.reply(ctx, f) })
	return nil
}

// expect makes a call known, and gives it what it ends with.
func (k *link) expect(id uint64) (context.Context, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.taken(id):
		return nil, errFrame
	case len(k.calls) == maxCalls:
		return nil, &fault.Error{Kind: fault.Exhausted, Op: "ask guest", Why: fmt.Sprintf("%d calls wait for their answers already", maxCalls), Hint: "wait for some of them"}
	}
	ctx, cancel := context.WithCancel(k.ctx)
	k.calls[id] = cancel
	return ctx, nil
}

// reply answers a call.
func (k *link) reply(ctx context.Context, f frame) {
	verb := string(f.words[0])
	words, err := k.s.answer(ctx, verb, f)
	k.mu.Lock()
	k.calls[f.id]()
	delete(k.calls, f.id)
	k.mu.Unlock()
	if err != nil {
		k.send(errorFrame(f.id, err))
		return
	}
	k.send(frame{op: opAnswer, id: f.id, words: words})
	if verb == callShutdown {
		k.s.askToStop()
	}
}

// answer does what a call asks for.
func (s *server) answer(ctx context.Context, verb string, f frame) ([][]byte, error) {
	switch verb {
	case callPing, callShutdown:
		return nil, nil
	case callEdit:
		return one(s.edit(ctx, f.words[1]))
	case callStart:
		return s.startJob(f)
	}
	var p parameters
	if json.Unmarshal(f.words[1], &p) != nil {
		return nil, unclear(verb, "what it should do is not understood")
	}
	switch verb {
	case callStats:
		return one(inJSON(s.stats(ctx, p.Disk)))
	case callList:
		list := []Job{}
		for _, j := range s.desk.list() {
			list = append(list, j.report())
		}
		return one(asJSON(list), nil)
	}
	return s.jobCall(ctx, verb, p)
}

// jobCall does what a call asks for about one job.
func (s *server) jobCall(ctx context.Context, verb string, p parameters) ([][]byte, error) {
	j, err := s.desk.find(p.Handle)
	if err != nil {
		return nil, err
	}
	switch verb {
	case callStatus:
		return one(asJSON(j.report()), nil)
	case callKill:
		j.kill()
		return one(inJSON(j.wait(ctx)))
	case callWait:
		return one(inJSON(j.wait(ctx)))
	case callSignal:
		return nil, j.signal(p.Signal)
	case callOutput:
		return j.output(p)
	case callTails:
		return j.tails()
	}
	return nil, unclear(verb, "there is no such call")
}

func unclear(verb, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "ask guest", Subject: fmt.Sprintf("%.40q", verb), Why: why, Hint: "the container was started by another hako: end it with hako env down and start it again"}
}

func one(word []byte, err error) ([][]byte, error) { return [][]byte{word}, err }

func inJSON[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return asJSON(v), nil
}

// startJob starts a command in the background.
func (s *server) startJob(f frame) ([][]byte, error) {
	o, err := readOrder(f.words[1:], f.n)
	if errors.Is(err, errFrame) {
		return nil, unclear(callStart, "the command is not understood")
	}
	if err == nil {
		err = s.admit()
	}
	if err != nil {
		return nil, err
	}
	o.Stdin = false
	j, err := s.desk.start(o, s.release)
	if err != nil {
		s.release()
		return nil, asFault(err)
	}
	return one(asJSON(j.report()), nil)
}

// asFault turns what a shell would say into a refusal: a job that never was has
// no output to say it in.
func asFault(err error) error {
	like, is := err.(*notRun)
	if !is {
		return err
	}
	kind := fault.Invalid
	if like.status == 127 {
		kind = fault.NotFound
	}
	return &fault.Error{Kind: kind, Op: "start job", Why: like.text, Hint: "name a program that the container has"}
}

func (j *job) signal(number int) error {
	if number < 0 || !signalAllowed(uint64(number)) {
		return &fault.Error{Kind: fault.Invalid, Op: "signal job", Subject: string(j.handle), Why: fmt.Sprintf("%d is none of INT, TERM and KILL", number), Hint: "use one of them"}
	}
	if number == int(syscall.SIGKILL) {
		j.kill()
		return nil
	}
	j.process.Signal(number)
	return nil
}

// largePage is the most that one page may have.
const largePage = 1 << 20

// output returns a page of what the job printed, and its bytes.
func (j *job) output(p parameters) ([][]byte, error) {
	from := map[string]*spool{"": j.log, "stdout": j.out, "stderr": j.errs}[p.Stream]
	why := ""
	switch {
	case from == nil:
		why = fmt.Sprintf("there is no output called %.40q", p.Stream)
	case p.Offset < 0:
		why = fmt.Sprintf("the offset is %d, below 0", p.Offset)
	case p.Limit < 0 || p.Limit > largePage:
		why = fmt.Sprintf("the size of the page is %d, outside 1 to %d", p.Limit, largePage)
	}
	if why != "" {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read output", Subject: string(j.handle), Why: why, Hint: "begin at 0 and go on where the page before says the next one begins"}
	}
	page, err := from.page(p.Offset, or(p.Limit, 4<<10), j.over())
	if err != nil {
		return nil, j.unreadable(err)
	}
	return [][]byte{asJSON(page), page.Data}, nil
}

func (j *job) unreadable(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "read output", Subject: string(j.handle), Why: "it is no longer kept", Err: err, Hint: "start the job again"}
}

// tails returns the ends of both streams, and before them how much is missing.
func (j *job) tails() ([][]byte, error) {
	var cuts [2]int64
	words := make([][]byte, 3)
	for i, s := range []*spool{j.out, j.errs} {
		t, err := s.tail()
		if err != nil {
			return nil, j.unreadable(err)
		}
		cuts[i], words[i+1] = t.Cut, t.Data
	}
	words[0] = asJSON(cuts)
	return words, nil
}
