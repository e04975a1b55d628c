package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/run/fault"
)

// A identify identifies the caller of a request, and returns a context that ends when the caller is gone; nil means
// that of the request.
type identify func(*sdk.RequestExtra) (caller string, gone context.Context)

func (d *Server) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: d.opts.Name, Title: d.opts.Name, Version: d.opts.Version}
}

// server makes an SDK server with the tools.
func (d *Server) server(from identify) *sdk.Server {
	s := sdk.NewServer(d.implementation(), &sdk.ServerOptions{
		Instructions: d.opts.Instructions,
		// No list ever changes. There are no prompts, but the SDK answers prompts/list.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{},
			Prompts: &sdk.PromptCapabilities{}},
	})
	for _, o := range d.tools {
		s.AddTool(o.Tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return d.serve(ctx, req, from, o)
		})
	}
	for _, t := range logTemplates {
		s.AddResourceTemplate(t, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			caller, _ := from(req.Extra)
			return d.readLog(caller, req.Params.URI)
		})
	}
	return s
}

// serve answers one call of a tool.
func (d *Server) serve(ctx context.Context, req *sdk.CallToolRequest, from identify, o *toolSpec) (*sdk.CallToolResult,
	error) {
	caller, gone := from(req.Extra)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	if gone != nil {
		defer context.AfterFunc(gone, cancel)()
	}
	v := &toolCall{CallToolRequest: req, caller: caller, actor: actor(caller, req), maxAnswer: d.maxAnswer(caller)}
	v.askMode = sync.OnceValue(func() askMode { return askModeOf(req, v.maxAnswer) })
	if req.Params.RequestState != "" {
		return d.resume(ctx, v)
	}
	return o.call(ctx, v), nil
}

// actor names a caller for the record: over standard streams by the name of the client.
func actor(caller string, req *sdk.CallToolRequest) string {
	if !strings.HasPrefix(caller, stdioPrefix) {
		return "mcp:" + caller
	}
	name := "client"
	if info := req.ClientInfo(); info != nil && info.Name != "" {
		name = info.Name
	}
	return "mcp:" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r) {
			return r
		}
		return '-'
	}, name[:min(len(name), 40)])
}

// stdioPrefix is the prefix of callers over standard streams; no other caller has it.
const stdioPrefix = "\x00pipe-"

// Stdio serves one client over standard streams until it disconnects or ctx ends, and closes its sandboxes.
func (d *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	caller := stdioPrefix + rand.Text()
	s := d.server(func(*sdk.RequestExtra) (string, context.Context) { return caller, ctx })
	output := &stdout{Writer: out}
	input := newStdin(in, output, d.limits)
	s.AddReceivingMiddleware(input.countRequests)
	session, err := s.Connect(ctx, streams{input, output}, nil)
	if err != nil {
		return &fault.Error{Op: "serve MCP", Err: err}
	}
	if !d.addSession(session, input) {
		_ = session.Close()
		return errStopped
	}
	defer d.removeSession(session)
	own := func(b *managedSandbox) bool { return b.caller == caller }
	defer context.AfterFunc(ctx, func() {
		_ = d.closeBoxes(context.Background(), own, errStopped) // otherwise the session would wait for its calls
		input.settle(answerTimeout)
		_ = session.Close()
	})()
	err = session.Wait()
	cerr := d.closeBoxes(context.WithoutCancel(ctx), own, errLeft)
	if err == nil && !input.onlyInvalid() || ctx.Err() != nil || output.broken.Load() {
		return cerr // that we end it, or that the client stops reading, is no failure
	}
	return &fault.Error{Kind: fault.Invalid, Op: "serve MCP", Why: "the client does not speak the protocol", Err: err,
		Hint: "an MCP client starts this command and talks to it; docs/mcp.md says how"}
}

// addSession registers a session, which ends with the server.
func (d *Server) addSession(s *sdk.ServerSession, in *stdin) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.stdioSessions[s] = in
	}
	return !d.closed
}

func (d *Server) removeSession(s *sdk.ServerSession) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stdioSessions, s)
}

// Handler serves HTTP clients. Those of 2026-07-28 and later have no session; older ones have one, because they are
// asked while they wait. It refuses foreign hosts on loopback and foreign origins; Caller authenticates.
func (d *Server) Handler() http.Handler {
	s := d.webServer()
	get := func(*http.Request) *sdk.Server { return s }
	now := d.fastPath(rejectLossyIDs(
		sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})))
	before := rejectLossyIDs(sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{SessionTimeout: d.limits.Idle}))
	split := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Mcp-Protocol-Version") >= stateless:
			now.ServeHTTP(w, r)
		case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && d.tooManySessions(s):
			http.Error(w, "there are too many sessions", http.StatusServiceUnavailable)
		default:
			before.ServeHTTP(w, r)
		}
	})
	return http.NewCrossOriginProtection().Handler(d.authenticate(split))
}

func (d *Server) webServer() *sdk.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.web == nil {
		d.web = d.server(webCaller)
	}
	return d.web
}

// webCaller identifies the caller of an HTTP request.
func webCaller(x *sdk.RequestExtra) (string, context.Context) {
	line, _ := x.TokenInfo.Extra[contextKey].(context.Context)
	return x.TokenInfo.UserID, line
}

// tooManySessions reports whether no more sessions may be opened.
func (d *Server) tooManySessions(s *sdk.Server) bool {
	n := 0
	for range s.Sessions() {
		n++
	}
	return n >= d.limits.Sessions
}

// contextKey is the key of the context of an HTTP request: the SDK does not cancel calls of older clients.
const contextKey = "line"

// authenticate authenticates requests by Caller, and reports the caller to the SDK as a token: the SDK then refuses
// sessions of other callers, and passes the caller with each call.
func (d *Server) authenticate(next http.Handler) http.Handler {
	verified := auth.RequireBearerToken(func(_ context.Context, caller string, r *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: decodeCaller(caller), Extra: map[string]any{contextKey: r.Context()}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := d.callerOf(r)
		open := d.count(r)
		if open && r.Method == http.MethodPost {
			defer d.posts.Done()
		}
		switch {
		case !open:
			http.Error(w, "the server is stopping", http.StatusServiceUnavailable)
		case !ok:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, refusal(r), http.StatusUnauthorized)
		default:
			d.watchToken(caller, r)
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+encodeCaller(caller)) // the token itself is not needed any more
			verified.ServeHTTP(w, r)
		}
	})
}

// refusal explains a missing or wrong token.
func refusal(r *http.Request) string {
	if r.Header.Get("Authorization") == "" {
		return "log in first: send the token as Authorization: Bearer TOKEN"
	}
	return "nobody has this token: it was removed, or mistyped; send another as Authorization: Bearer TOKEN"
}

// Bearer returns a Caller for [Options] that calls holder with the bearer token of a request, or "".
func Bearer(holder func(token string) (caller string)) func(*http.Request) string {
	return func(r *http.Request) string { return holder(tokenOf(r)) }
}

// count counts a request that is to be answered before the server closes. It reports whether the server is open.
func (d *Server) count(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && r.Method == http.MethodPost {
		d.posts.Add(1)
	}
	return !d.closed
}

func (d *Server) callerOf(r *http.Request) (string, bool) {
	if d.opts.Caller == nil {
		return "local", true
	}
	caller := d.opts.Caller(r)
	return caller, caller != "" && !strings.HasPrefix(caller, stdioPrefix)
}

// A caller's name may be any string, and a header may not.
func encodeCaller(s string) string { return hex.EncodeToString([]byte(s)) }

func decodeCaller(s string) string {
	raw, _ := hex.DecodeString(s)
	return string(raw)
}
