package mcpclient

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// probe is the timeout for a method that only the current protocol has. Older servers should refuse it at once, but
	// some do not answer.
	probe = 5 * time.Second
	// older is the last version of the protocol with a handshake.
	older = "2025-11-25"
)

// A session is a connection to a server.
type session struct {
	session *mcp.ClientSession
	lost    context.Context         // ends when the connection is lost
	lose    context.CancelCauseFunc // ends it
	how     func() string           // says how it ended, once it has
	end     func()                  // ends the server, if it is ours, and waits
	odd     atomic.Value            // what was wrong with the last HTTP response, a string
	early   bool                    // it ended before it could be used
}

// dial starts a server and negotiates the protocol. Some servers exit on a first message that they do not know, so they
// are tried again with an older version.
func (m *serverConn) dial(ctx context.Context) (*session, error) {
	l, err := m.connect(ctx)
	if !l.early || m.version != "" {
		return l, err
	}
	m.version = older
	l, again := m.connect(ctx)
	if again != nil {
		m.version = ""
		return nil, err
	}
	return l, nil
}

// connect starts a server and initializes the session.
func (m *serverConn) connect(ctx context.Context) (*session, error) {
	l := &session{}
	l.lost, l.lose = context.WithCancelCause(context.Background())
	transport, err := m.transport(l)
	if err != nil {
		return l, err
	}
	session, err := m.client().Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: m.version})
	if err != nil {
		l.end()
		l.lose(err)
		return l, m.startError(ctx, l, err)
	}
	l.session = session
	context.AfterFunc(l.lost, l.end)
	go func() { l.lose(session.Wait()) }()
	return l, nil
}

// transport returns the transport to the server.
func (m *serverConn) transport(l *session) (mcp.Transport, error) {
	if m.URL != "" {
		return m.web(l), nil
	}
	p, err := launch(m.Server, m.timeout(), m.notes)
	if err != nil {
		return nil, err
	}
	l.end = p.end
	l.how = func() string {
		<-p.gone
		if p.out.large.Load() {
			return "it sent more than 16 MB at once and was ended"
		}
		return join(p.how, m.notes.lastStderr())
	}
	return &mcp.IOTransport{Reader: p.out, Writer: p, MaxLineLength: -1}, nil // frames has a limit
}

// client returns an MCP client without any capabilities.
func (m *serverConn) client() *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "hako", Version: m.o.Version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	c.AddSendingMiddleware(impatient)
	c.AddReceivingMiddleware(m.refuse)
	return c
}

// impatient limits the time of the probe for the current protocol.
func impatient(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "server/discover" {
			short, stop := context.WithTimeout(ctx, probe)
			defer stop()
			ctx = short
		}
		return next(ctx, method, req)
	}
}

// refuse refuses requests of the server: for our model, our user, our directories. Tools stay as they were listed
// first, since the rules were written for those.
func (m *serverConn) refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "sampling/createMessage", "elicitation/create", "roots/list":
			m.notes.add("it asked for " + method + " and was refused")
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not offered"}
		case "notifications/tools/list_changed":
			m.notes.add("its tools changed; those it had at first are kept")
		}
		return next(ctx, method, req)
	}
}
