package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/gate"
	"hako/run/fault"
)

// A toolCall is a request of a client to call a tool.
type toolCall struct {
	*sdk.CallToolRequest
	caller        string         // owner of its sandboxes
	actor         string         // the caller, for the record
	askMode       func() askMode // computed on demand
	maxAnswer     gate.Answer    // the most that its client may answer
	makeSteps     float64        // progress reported while making its sandbox
	reportedBytes int64          // bytes of output reported
	reportedAt    time.Duration  // when that was, since the call began
}

// A call is in progress in a sandbox. It outlives its request if the client was sent for an answer.
type call struct {
	id, caller  string
	fingerprint func() string // tool and arguments: the request with the answer has the same
	askMode     func() askMode
	maxAnswer   gate.Answer // the most that its client may answer
	box         *managedSandbox
	alone       bool // it has the turn
	began       time.Time
	ctx         context.Context
	cancel      context.CancelCauseFunc
	questions   chan question
	done        chan struct{} // closed when answer is set
	answer      *sdk.CallToolResult

	bytes, lines atomic.Int64 // of output so far
	unasked      atomic.Bool  // a question could not be asked

	mu             sync.Mutex
	parkedQuestion *question   // that the client was sent for; nil if none
	expiry         *time.Timer // of a parked call
}

// A toolFunc carries out a call. Its context ends with the call.
type toolFunc func(ctx context.Context, c *call) *sdk.CallToolResult

// runCall carries out a call in an entered sandbox and leaves it afterwards. With alone, no other such call runs there
// meanwhile.
func (d *Server) runCall(ctx context.Context, v *toolCall, b *managedSandbox, alone bool,
	do toolFunc) *sdk.CallToolResult {
	if alone {
		if err := d.wait(ctx, b); err != nil {
			d.leave(b)
			return failure(err)
		}
	}
	c := d.begin(v, b, alone)
	go d.work(c, do)
	return d.waitCall(ctx, v, c)
}

// wait waits for the turn in a sandbox.
func (d *Server) wait(ctx context.Context, b *managedSandbox) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	default:
	}
	limit := time.NewTimer(d.limits.Turn)
	defer limit.Stop()
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	case <-ctx.Done():
		return errLeft
	case <-limit.C:
		return &fault.Error{Kind: fault.Unavailable, Op: "use sandbox", Subject: b.id,
			Why:  fmt.Sprintf("another command has been running in it for over %v", d.limits.Turn),
			Hint: "wait for it, cancel it, or use another sandbox; long commands are better started with job_start"}
	}
}

// begin registers a call.
func (d *Server) begin(v *toolCall, b *managedSandbox, alone bool) *call {
	c := &call{
		id: "mcp-" + strings.ToLower(rand.Text()), caller: v.caller,
		fingerprint: func() string { return fingerprint(v) }, askMode: v.askMode, maxAnswer: v.maxAnswer,
		box: b, alone: alone, began: time.Now(),
		questions: make(chan question), done: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(b.ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[c.id] = c
	return c
}

// work carries out a call.
func (d *Server) work(c *call, do toolFunc) {
	defer d.end(c)
	defer func() {
		if p := recover(); p != nil { // one call must not end the server
			c.answer = failure(&fault.Error{Op: "call tool", Why: fmt.Sprintf("the program has a bug: %v", p)})
		}
	}()
	c.answer = do(c.ctx, c)
}

func (d *Server) end(c *call) {
	d.mu.Lock()
	delete(d.calls, c.id)
	d.mu.Unlock()
	if c.alone {
		<-c.box.turn
	}
	c.cancel(nil)
	close(c.done)
	d.leave(c.box)
}

// waitCall waits for the end of a call and puts its questions to the client. A client that disconnects ends the call.
func (d *Server) waitCall(ctx context.Context, v *toolCall, c *call) *sdk.CallToolResult {
	stay := context.AfterFunc(ctx, func() { c.cancel(errLeft) })
	defer stay()
	tell, stop := v.progressTicks()
	defer stop()
	for {
		select {
		case <-c.done:
			return c.answer
		case q := <-c.questions:
			if c.askMode() == askInline {
				q.reply <- elicit(ctx, v, q, c.maxAnswer)
			} else if stay() { // otherwise the client is gone
				return d.park(c, q)
			}
		case <-tell:
			v.tellProgress(ctx, c)
		}
	}
}

// park sends the client for an answer, and keeps the call until it returns or Limits.Parked has passed.
func (d *Server) park(c *call, q question) *sdk.CallToolResult {
	c.mu.Lock()
	c.parkedQuestion = &q
	c.expiry = time.AfterFunc(d.limits.Parked, func() { d.abandon(c) })
	c.mu.Unlock()
	d.mu.Lock()
	d.parked[c.id] = c
	d.mu.Unlock()
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{answerName: form(q.Question, c.maxAnswer)},
		RequestState: d.state(c)}
}

// abandon ends a parked call.
func (d *Server) abandon(c *call) {
	d.mu.Lock()
	delete(d.parked, c.id)
	d.mu.Unlock()
	c.cancel(errLeft)
}

// resume continues a parked call with the answer.
func (d *Server) resume(ctx context.Context, v *toolCall) (*sdk.CallToolResult, error) {
	c, err := d.unpark(v)
	if err != nil {
		return nil, protocolError(err)
	}
	c.mu.Lock()
	q := c.parkedQuestion
	c.parkedQuestion = nil
	c.expiry.Stop()
	c.mu.Unlock()
	res, _ := v.Params.InputResponses[answerName].(*sdk.ElicitResult)
	q.reply <- answerOf(res, c.maxAnswer)
	return d.waitCall(ctx, v, c), nil
}

// unpark finds the call of a requestState, once.
func (d *Server) unpark(v *toolCall) (*call, error) {
	id, err := d.readState(v)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.parked[id]
	delete(d.parked, id)
	if c == nil {
		return nil, badState("it was answered before, or nobody came back for too long")
	}
	return c, nil
}

// cause returns the reason for the end of the call's context instead of the error of its runner.
func (c *call) cause(err error) error {
	if err == nil || c.ctx.Err() == nil {
		return err
	}
	return context.Cause(c.ctx)
}
