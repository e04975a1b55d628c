package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool/gated"
	"hako/internal/text"
	"hako/run/fault"
)

// A serverConn is the connection to one server.
type serverConn struct {
	Server
	o        Options
	notes    *serverLog
	lifetime context.Context // ends with Close
	tools    []gated.Tool

	turn    chan struct{} // a mutex with timeout: guards what follows
	link    *session      // nil means that it is not connected
	version string        // of the protocol to start with; empty means the current one

	spent atomic.Bool // it was restarted, and has not answered since
}

func newServerConn(lifetime context.Context, s Server, o Options, log *sync.Mutex) *serverConn {
	o.Version = cmp.Or(o.Version, "dev")
	n := &serverLog{server: s.Name, log: o.Log, turn: log, secrets: o.Secrets}
	return &serverConn{Server: s, o: o, notes: n, lifetime: lifetime, turn: make(chan struct{}, 1)}
}

func (m *serverConn) timeout() time.Duration { return cmp.Or(m.Timeout, defaultTimeout) }

// open starts the server and lists its tools.
func (m *serverConn) open(ctx context.Context) error {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	ctx, stop := context.WithTimeout(ctx, cmp.Or(m.o.Start, defaultStart))
	defer stop()
	l, err := m.dial(ctx)
	if err != nil {
		return err
	}
	m.link = l
	found, err := m.list(ctx, l)
	if err != nil {
		return err
	}
	m.tools, err = m.offer(found)
	return err
}

// end ends the server. No call restarts it.
func (m *serverConn) end() {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.link != nil {
		m.link.lose(errClosed)
		m.link.end()
	}
}

// ready returns the session, and restarts the server if it has ended. A server that ends twice without an answer is not
// restarted.
func (m *serverConn) ready(ctx context.Context) (*session, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, m.stopError(ctx)
	}
	switch {
	case m.isOver(ctx):
		return nil, m.stopError(ctx)
	case m.link.lost.Err() == nil:
		return m.link, nil
	case m.spent.Load():
		return nil, m.unavailable(join("it ended again after it was started anew", m.link.how()),
			"it is not started any more; go on without it")
	}
	m.spent.Store(len(m.Command) > 0) // to ask an address again costs nothing
	m.notes.add("it is started again")
	ctx, stop := context.WithTimeout(ctx, cmp.Or(m.o.Start, defaultStart))
	defer stop()
	l, err := m.dial(ctx)
	if err == nil {
		m.link = l // even after Close: end ends this session too
	}
	if m.lifetime.Err() != nil {
		return nil, m.stopError(ctx)
	}
	return l, err
}

// isOver reports whether a call was canceled or the servers were closed. The lifetime is checked itself: a context
// derived from it ends a little later.
func (m *serverConn) isOver(ctx context.Context) bool {
	return ctx.Err() != nil || m.lifetime.Err() != nil
}

// call calls a tool.
func (m *serverConn) call(ctx context.Context, tool, arguments string) (*mcp.CallToolResult, error) {
	given := json.RawMessage(cmp.Or(strings.TrimSpace(arguments), "{}"))
	if !json.Valid(given) || given[0] != '{' {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "call", Subject: m.Name + " " + tool,
			Why: "the arguments are no JSON object", Hint: "write them as one object, as the schema says"}
	}
	ctx, stop := until(ctx, m.lifetime)
	defer stop()
	l, err := m.ready(ctx)
	if err != nil {
		return nil, err
	}
	mine, done := until(ctx, l.lost)
	defer done()
	limited, cancel := context.WithTimeout(mine, m.timeout())
	defer cancel()
	res, err := l.session.CallTool(limited, &mcp.CallToolParams{Name: tool, Arguments: given})
	if err != nil {
		return nil, m.callError(ctx, limited, l, tool, err)
	}
	m.spent.Store(false)
	return res, nil
}

// until returns a context that also ends with other.
func until(ctx, other context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}

// stopError says why a call was canceled: by Close, or by the caller.
func (m *serverConn) stopError(ctx context.Context) error {
	if m.lifetime.Err() != nil {
		return m.unavailable(errClosed.Error(), "go on without it")
	}
	return context.Cause(ctx)
}

// callError says why a call failed.
func (m *serverConn) callError(ctx, limited context.Context, l *session, tool string, err error) error {
	refusal, no := refusal(err)
	switch {
	case m.isOver(ctx):
		return m.stopError(ctx)
	case no && l.lost.Err() == nil:
		m.spent.Store(false)
		return m.refused(tool, refusal.Message)
	case limited.Err() == context.DeadlineExceeded:
		return &fault.Error{Kind: fault.Timeout, Op: "call", Subject: m.Name + " " + tool, Why: "it did not answer within " +
			m.timeout().String(),
			Hint: "ask for less at once; a person can raise the timeout in mcp_servers"}
	case ended(l):
		return m.unavailable(m.lossReason(l), "whether it did anything is not known; with the next call it is started again")
	}
	return m.unavailable(m.plainError(err), "try again later, or go on without it")
}

// refusal returns the error that the server itself sent, and not one of the transport, which uses some of the same
// codes.
func refusal(err error) (*jsonrpc.Error, bool) {
	e := new(jsonrpc.Error)
	return e, errors.As(err, &e) && (e.Code < -32005 || e.Code > -32003)
}

// ended waits a moment for the session to end: the error of a call may be seen first.
func ended(l *session) bool {
	select {
	case <-l.lost.Done():
		return true
	case <-time.After(linger):
		return false
	}
}

// lossReason says how a session ended.
func (m *serverConn) lossReason(l *session) string {
	if errors.Is(context.Cause(l.lost), errLarge) {
		return errLarge.Error()
	}
	return l.how()
}

// refused is the error for a call that the server refused.
func (m *serverConn) refused(tool, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "call", Subject: m.Name + " " + tool,
		Why: cmp.Or(m.cleanText(why), "the server gives no reason")}
}

func (m *serverConn) unavailable(why, hint string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "use MCP server", Subject: m.Name, Why: why, Hint: hint}
}

// startError says why a server could not be started.
func (m *serverConn) startError(ctx context.Context, l *session, err error) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "start MCP server", Subject: m.Name,
		Hint: "check it in mcp_servers; what it wrote is in the log"}
	refusal, no := refusal(err)
	switch {
	case m.lifetime.Err() != nil:
		return context.Cause(m.lifetime)
	case ctx.Err() == context.DeadlineExceeded:
		e.Kind, e.Why = fault.Timeout, "it did not answer in time"
		if text := m.notes.nonMessage(); text != "" {
			e.Why = "it does not speak MCP: " + text
		}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case no:
		e.Why = m.cleanText(refusal.Message)
	case len(m.Command) > 0 && l.session == nil:
		e.Why, l.early = l.how(), true
	default:
		odd, _ := l.odd.Load().(string)
		e.Why = cmp.Or(odd, m.plainError(err))
	}
	return e
}

// plainError is the text of an error of the transport, without URLs: they may contain keys.
func (m *serverConn) plainError(err error) string {
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	s := err.Error()
	for _, noise := range []string{`calling "initialize": `, `calling "tools/list": `, `calling "tools/call": `,
		`sending "initialize": `, `sending "tools/list": `, `sending "tools/call": `, "rejected by transport: "} {
		s = strings.ReplaceAll(s, noise, "")
	}
	return text.Line(m.o.Secrets.Text(text.Visible(s)), maxLine)
}

// cleanText makes a text of a server safe to show.
func (m *serverConn) cleanText(s string) string {
	return strings.TrimSpace(text.Shorten(m.o.Secrets.Text(text.Visible(s)), maxText))
}

// join appends the output of a program to what happened.
func join(what, said string) string {
	if said == "" {
		return what
	}
	return what + ": " + said
}
