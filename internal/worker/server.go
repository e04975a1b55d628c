package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hako/run"
	"hako/run/fault"
)

// grace is how long a script may take to stop before the worker ends itself.
const grace = 600 * time.Millisecond

// Main must be called first by every program that starts workers, with its argv[0]. In a worker it never returns.
func Main(called string, assemble func(settings json.RawMessage) (Parts, error)) {
	if called != Name {
		return
	}
	stream := inherited()
	s := newServer(stream, assemble)
	s.end = func() { os.Exit(1) }
	s.limit = limitMemory
	if err := s.serve(); err != nil && err != io.EOF {
		os.Exit(2)
	}
	os.Exit(0)
}

// A server is the worker's end of the link.
type server struct {
	peer
	assemble func(json.RawMessage) (Parts, error)
	parts    Parts
	limit    func(memory int64) error // nil in a shared process
	end      func()                   // ends the process; nil in a shared process

	mu      sync.Mutex // guards the fields below
	boxes   map[uint64]*openSandbox
	running map[uint64]*request
}

// openSandbox is an open sandbox.
type openSandbox struct {
	Sandbox
	meter *remoteBudget
}

// A request is in progress.
type request struct {
	cancel context.CancelFunc
	input  *inputQueue // nil without standard input
}

func newServer(stream io.ReadWriteCloser, assemble func(json.RawMessage) (Parts, error)) *server {
	return &server{
		peer: peer{link: link{stream: stream}}, assemble: assemble,
		boxes: map[uint64]*openSandbox{}, running: map[uint64]*request{},
	}
}

// serve handles frames until the link ends.
func (s *server) serve() error {
	in := bufio.NewReaderSize(s.stream, 64<<10)
	for {
		f, err := receive(in)
		if err != nil {
			s.fail(err)
			s.cancelAll()
			return err
		}
		s.handle(f)
	}
}

// cancelAll cancels the requests in progress.
func (s *server) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running {
		r.cancel()
	}
}

// handle handles a frame. What may take long runs in a goroutine.
func (s *server) handle(f frame) {
	switch f.kind {
	case reply:
		s.deliver(f)
	case setUp:
		_ = s.respond(f.id, nil, s.start(f.body))
	case openBox:
		go s.answer(f, s.open)
	case closeBox:
		go s.answer(f, s.close)
	case judge:
		go s.judge(f)
	case runBox:
		s.startRequest(f)
	case input:
		s.addInput(f)
	case cancel:
		s.cancel(f.id)
	}
}

func (s *server) answer(f frame, do func(body []byte) (any, error)) {
	v, err := do(f.body)
	_ = s.respond(f.id, v, err)
}

// start assembles the parts.
func (s *server) start(body []byte) (err error) {
	var m setUpMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	if s.parts, err = s.assemble(m.Settings); err != nil {
		return err
	}
	if s.limit != nil && m.Memory > 0 {
		return s.limit(m.Memory)
	}
	return nil
}

var errNotReady = &fault.Error{Op: "use worker", Why: "it has no settings yet"}

func (s *server) open(body []byte) (any, error) {
	var m openMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	if s.parts == nil {
		return nil, errNotReady
	}
	meter := &remoteBudget{server: s, box: m.Box}
	d := Services{Log: remoteLog{s, m.Box}, Budget: meter}
	if m.Asks {
		d.Ask = remoteAsker{s, m.Box}.ask
	}
	box, err := s.make(m, d)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boxes[m.Box] = &openSandbox{box, meter}
	return box.Info, nil
}

// make makes a sandbox, possibly beside another.
func (s *server) make(m openMessage, d Services) (Sandbox, error) {
	if m.Beside == 0 {
		return s.parts.Open(m.Spec, d)
	}
	beside := s.box(m.Beside)
	if beside == nil || beside.More == nil {
		return Sandbox{}, errNoBox
	}
	return beside.More(m.Spec, d)
}

var errNoBox = &fault.Error{Kind: fault.NotFound, Op: "use sandbox", Why: "there is none of that number"}

func (s *server) box(id uint64) *openSandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boxes[id]
}

func (s *server) close(body []byte) (any, error) {
	var m boxMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	s.mu.Lock()
	box := s.boxes[m.Box]
	delete(s.boxes, m.Box)
	s.mu.Unlock()
	if box != nil && box.Close != nil {
		box.Close()
	}
	return s.parts.Held(), nil
}

func (s *server) judge(f frame) {
	if s.parts == nil {
		_ = s.respond(f.id, nil, errNotReady)
		return
	}
	v, err := s.parts.Judge(context.Background(), f.body)
	_ = s.respond(f.id, v, err)
}

// startRequest starts a request. It is registered before the next frame is read, which may be its input or cancel it.
func (s *server) startRequest(f frame) {
	var m runMessage
	err := json.Unmarshal(f.body, &m)
	box := s.box(m.Box)
	if err == nil && box == nil {
		err = errNoBox
	}
	if err != nil {
		go func() { _ = s.respond(f.id, nil, err) }() // the reading goroutine must not block
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &request{cancel: stop}
	if m.Stdin {
		r.input = newInputQueue(func(n int) { _ = s.sendJSON(consumed, f.id, n) })
		context.AfterFunc(ctx, r.input.abort)
	}
	s.mu.Lock()
	s.running[f.id] = r
	first := len(s.running) == 1
	s.mu.Unlock()
	if first {
		go s.watch()
	}
	go s.run(ctx, f.id, box, r, &m)
}

func (s *server) run(ctx context.Context, id uint64, box *openSandbox, r *request, m *runMessage) {
	defer func() {
		s.mu.Lock()
		delete(s.running, id)
		s.mu.Unlock()
		r.cancel()
	}()
	if err := s.parts.Share(m.Others); err != nil {
		_ = s.respond(id, doneMessage{Result: run.Result{Exit: notRun}, Held: s.parts.Held()}, err)
		return
	}
	box.meter.setDeadline(m.Deadline)
	req := &m.Request
	if r.input != nil {
		req.Stdin = r.input
	}
	if m.Stdout {
		req.Stdout = &outputWriter{s, output, id}
	}
	if m.Stderr {
		req.Stderr = &outputWriter{s, errout, id}
	}
	if m.Touched {
		req.Touched = func(e run.Effect) { _ = s.sendJSON(touched, id, e) }
	}
	res, err := box.Run(ctx, req)
	_ = s.respond(id, doneMessage{boundedResult(res), box.meter.takePending(), s.parts.Held()}, err)
}

// Limits of a result. A path has at most 4 KB.
const (
	maxNames = 256 << 10 // bytes of all paths, and of all names of commands
	maxName  = 4 << 10
)

// boundedResult shortens a result: names are as long as a script likes.
func boundedResult(res run.Result) run.Result {
	room := maxNames
	for i, e := range res.Effects {
		if room -= len(e.Path); room < 0 {
			res.Effects = res.Effects[:i:i]
			break
		}
	}
	room = maxNames
	short := make(map[string]int, len(res.Commands))
	for name, n := range res.Commands {
		name = name[:min(len(name), maxName)]
		if room -= len(name); room < 0 {
			name = "…"
		}
		short[name] += n
	}
	if res.Commands != nil {
		res.Commands = short
	}
	for i := range res.Stages {
		res.Stages[i].Name = res.Stages[i].Name[:min(len(res.Stages[i].Name), maxName)]
	}
	res.Stages = res.Stages[:min(len(res.Stages), maxNames/maxName)]
	return res
}

// notRun is the exit status of a refused request, as in shells.
const notRun = 126

func (s *server) addInput(f frame) {
	s.mu.Lock()
	r := s.running[f.id]
	s.mu.Unlock()
	if r != nil && r.input != nil {
		r.input.add(f.body)
	}
}

func (s *server) cancel(id uint64) {
	s.mu.Lock()
	r := s.running[id]
	s.mu.Unlock()
	if r != nil {
		r.cancel()
	}
}

// watch ends the process if a script outlives its limit, as the last resort against a command that ignores it. It runs
// while requests are in progress, and sends alive frames.
func (s *server) watch() {
	for {
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		idle := len(s.running) == 0
		s.mu.Unlock()
		if idle {
			return
		}
		_ = s.send(alive, 0, nil)
		if err := s.parts.Overdue(grace); err != nil && s.end != nil {
			_ = s.sendJSON(dying, 0, dyingMessage{encodeError(err)})
			s.end()
		}
	}
}

// An outputWriter sends the output of a script.
type outputWriter struct {
	server *server
	kind   kind
	id     uint64
}

// chunk is how much output a frame has.
const chunk = 64 << 10

func (w *outputWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(n+chunk, len(p))]
		if err := w.server.send(w.kind, w.id, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// An inputQueue is the standard input of a request. The server sends at most a window ahead.
type inputQueue struct {
	read func(n int) // reports what was read

	mu     sync.Mutex
	more   sync.Cond
	chunks [][]byte
	ended  bool
	gone   atomic.Bool
}

func newInputQueue(read func(int)) *inputQueue {
	q := &inputQueue{read: read}
	q.more.L = &q.mu
	return q
}

// add adds a chunk; an empty one is the end.
func (q *inputQueue) add(b []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(b) == 0 {
		q.ended = true
	} else {
		q.chunks = append(q.chunks, b)
	}
	q.more.Broadcast()
}

// abort ends the input early.
func (q *inputQueue) abort() {
	q.gone.Store(true)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.more.Broadcast()
}

func (q *inputQueue) Read(p []byte) (int, error) {
	q.mu.Lock()
	for len(q.chunks) == 0 && !q.ended && !q.gone.Load() {
		q.more.Wait()
	}
	if len(q.chunks) == 0 {
		q.mu.Unlock()
		if q.gone.Load() && !q.ended {
			return 0, context.Canceled
		}
		return 0, io.EOF
	}
	n := copy(p, q.chunks[0])
	if q.chunks[0] = q.chunks[0][n:]; len(q.chunks[0]) == 0 {
		q.chunks = q.chunks[1:]
	}
	q.mu.Unlock()
	q.read(n)
	return n, nil
}
