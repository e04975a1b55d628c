// Package api serves HTTP: the login, the API under /api/v1 that openapi.yaml describes, the API of the original
// secretary, and event streams. Pages, MCP and metrics are mounted beside it, behind the same checks.
//
// The data and actions are behind the interfaces of [Sources]; authentication is in package auth. Every request passes
// the same checks in the same order, and a change is recorded with its actor before it is made.
package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"hako/internal/netlisten"
	"hako/internal/web/auth"
	"hako/run/fault"
)

// A Server serves the API. Its zero value listens on a free port of loopback and accepts nobody.
type Server struct {
	// Addr is host:port. Without a host it is loopback, with Public every interface. Empty means loopback and a free
	// port.
	Addr string

	// TLS names the files of a certificate and its key. Empty means plain HTTP, which is allowed on loopback.
	TLS Certificate

	// Public permits an address beyond loopback without TLS, for example behind a proxy with TLS. False refuses it.
	Public bool

	// Names are the host names of the server besides its address and localhost. Requests for another name are refused:
	// they come from a page whose name resolves to this machine.
	Names []string

	Sources Sources     // data and actions; a nil one answers 404
	Tokens  *auth.Store // the tokens; nil means that nobody can log in

	// Record records a change before it is made, and done its outcome: nil means success. An error stops the change.
	// Nil means that nothing can be changed and nobody can log in.
	Record func(actor, what string) (done func(error), err error)

	Pages   http.Handler // at /, authenticated by [Server.Session]; nil means none
	MCP     http.Handler // at /mcp, for tokens of clients and operators, see [Caller]; nil means none
	Metrics http.Handler // at /metrics, for every token or session; nil means none
	Log     *slog.Logger // nil means that nothing is logged

	sessions  auth.Sessions
	logins    auth.Throttle // wrong tokens at the login
	guesses   auth.Throttle // wrong tokens of programs
	streams   streams
	refusals  refusals
	idleConns netlisten.IdleConns
	limits    limits
	host      string // listened on; set by Start
	cookie    string // the name of the cookie; set by Start
	ending    context.Context
}

// A Certificate names two PEM files. Both or none must be set.
type Certificate struct{ Cert, Key string }

// limits are the limits of clients. Zero fields have defaults.
type limits struct {
	connections              int
	body                     int64         // bytes of a request to the API
	read, write              time.Duration // timeouts of a request, and of a response or one event of a stream
	keepAlive                time.Duration // interval of keep-alives in a stream
	buffer                   int           // buffered events of a stream
	recheck                  time.Duration // interval of checks that the token of a long response is still valid
	sessionStreams           int           // streams of one session, or of one token without a session
	tokenStreams, allStreams int           // streams of one token with all its sessions, and of all
	idle                     time.Duration // idle timeout of a connection
	reportRefused            time.Duration // interval of records of repeated refusals
	refusedAddresses         int           // addresses whose refusals are counted separately
}

func (l *limits) setDefaults() {
	l.connections = cmp.Or(l.connections, 1024)
	l.body = cmp.Or(l.body, 1<<20)
	l.read, l.write = cmp.Or(l.read, 30*time.Second), cmp.Or(l.write, 30*time.Second)
	l.keepAlive = cmp.Or(l.keepAlive, 15*time.Second)
	l.buffer = cmp.Or(l.buffer, 256)
	l.recheck = cmp.Or(l.recheck, time.Second)
	l.sessionStreams, l.tokenStreams = cmp.Or(l.sessionStreams, 16), cmp.Or(l.tokenStreams, 64)
	l.allStreams = cmp.Or(l.allStreams, 512)
	l.idle = cmp.Or(l.idle, 2*time.Minute) // longer than clients keep one: a request is lost if both close it at once
	l.reportRefused, l.refusedAddresses = cmp.Or(l.reportRefused, time.Minute), cmp.Or(l.refusedAddresses, 20)
}

const (
	maxHeader    = 32 << 10
	maxMCPBody   = 16 << 20
	headerTime   = 5 * time.Second
	shutdownTime = 5 * time.Second // if the context of stop has no deadline
)

// Start serves until stop is called; the end of ctx does not stop the server. It returns the address it listens on.
// Stop ends streams at once and waits for other responses until its context ends, or for five seconds if that has no
// deadline. It may be called more than once.
func (s *Server) Start(ctx context.Context) (addr string, stop func(context.Context) error, err error) {
	l, err := s.listen(ctx)
	if err != nil {
		return "", nil, err
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	s.prepare(l.Addr(), ending)
	log := s.log()
	web := &http.Server{
		Handler: s.handler(), MaxHeaderBytes: maxHeader, ConnState: s.idleConns.Note, ConnContext: s.idleConns.Mark,
		ReadHeaderTimeout: headerTime, ReadTimeout: s.limits.read, WriteTimeout: s.limits.write, IdleTimeout: s.limits.idle,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug), // mostly about clients that disconnected
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	web.RegisterOnShutdown(s.idleConns.Stop)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("server ended", "error", err)
		}
	})
	serving.Go(func() { s.logRefusedRegularly(ending) })
	stop = func(ctx context.Context) error {
		end()
		err := shutdown(ctx, web)
		serving.Wait()
		s.logRefused()
		return err
	}
	return l.Addr().String(), stop, nil
}

// prepare sets what depends on the address.
func (s *Server) prepare(addr net.Addr, ending context.Context) {
	s.limits.setDefaults()
	s.ending, s.idleConns.Most = ending, s.limits.connections
	host, port, _ := net.SplitHostPort(addr.String())
	s.host = host
	// A browser sends cookies to every port of a host: two servers need different names.
	s.cookie = "hako_" + port
	if s.secure() {
		s.cookie = "__Host-" + s.cookie
	}
}

func (s *Server) secure() bool { return s.TLS != Certificate{} }

func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// shutdown stops a server, gracefully until ctx ends.
func shutdown(ctx context.Context, web *http.Server) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shutdownTime)
		defer cancel()
	}
	return netlisten.End(ctx, web, "server")
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	secret, err := s.certificate()
	if err != nil {
		return nil, err
	}
	l, err := s.listenAddress().Open(ctx)
	if err != nil {
		return nil, err
	}
	s.limits.setDefaults()
	l = netutil.LimitListener(l, s.limits.connections)
	if secret != nil {
		l = tls.NewListener(l, secret)
	}
	return l, nil
}

func (s *Server) certificate() (*tls.Config, error) {
	if !s.secure() {
		return nil, nil
	}
	switch {
	case s.TLS.Key == "":
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read certificate", Subject: s.TLS.Cert, Why: "its key is missing",
			Hint: "name the file of the key with --tls-key"}
	case s.TLS.Cert == "":
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read key", Subject: s.TLS.Key, Why: "its certificate is missing",
			Hint: "name the file of the certificate with --tls-cert"}
	}
	pair, err := tls.LoadX509KeyPair(s.TLS.Cert, s.TLS.Key)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read certificate", Subject: s.TLS.Cert, Err: err,
			Hint: "name the files of a certificate and its key in PEM form"}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"}}, nil
}
