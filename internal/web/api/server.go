// Package api is the HTTP door: login, the API under /api/v1 with its
// description in openapi.yaml, the routes that clients of the secretary know,
// and live streams. Pages, MCP and metrics are mounted beside it behind the same
// checks.
//
// What is shown and done is not here but behind the interfaces of package
// source; who may come in is in package pass. The one rule to keep: a request
// passes the same checks in the same order whatever it asks for, and a change is
// put on record with its actor before it is made.
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

// A Server lets people and programs in. Its zero value listens on a free port of
// loopback and lets nobody in.
type Server struct {
	// Addr is host:port. Without a host it is loopback, with Public every
	// interface. Empty means loopback and a port the system chooses.
	Addr string

	// TLS names the files of a certificate and its key. Empty means plain HTTP,
	// which is for loopback.
	TLS Certificate

	// Public permits an address beyond loopback without TLS, such as behind a
	// proxy that has it. False refuses such an address.
	Public bool

	// Names are the host names by which the server is reached besides its
	// address and localhost. A request for another name is refused: it comes
	// from a page that has made its own name mean this machine.
	Names []string

	Sources Sources     // what there is to show and do; a nil one answers 404
	Tokens  *auth.Store // who may come in; nil means nobody

	// Record puts a change on record before it is made, and done what came of it:
	// nil means that it was made. An error stops the change. Nil means that
	// nothing can be changed, nor anybody logged in.
	Record func(actor, what string) (done func(error), err error)

	Pages   http.Handler // at /, and asks [Server.Session] who it is; nil means that there are none
	MCP     http.Handler // at /mcp, for clients and operators with a token, see [Visitor]; nil means that there is none
	Metrics http.Handler // at /metrics, for everybody with a token or a session; nil means that there are none
	Log     *slog.Logger // nil means that nobody gets it

	sessions auth.Sessions
	logins   auth.Tries // wrong tokens at the login
	guesses  auth.Tries // wrong tokens of programs
	streams  streams
	refusals refusals
	silent   netlisten.IdleConns
	limits   limits
	host     string // listened on; set by Start
	cookie   string // the name of the cookie; set by Start
	ending   context.Context
}

// A Certificate names two files in PEM form. Both or none must be set.
type Certificate struct{ Cert, Key string }

// limits are what one visitor may cost. Zero fields have usual values.
type limits struct {
	connections int
	body        int64         // bytes of a request to the API
	read, write time.Duration // for a request, and for an answer or one piece of a stream
	beat        time.Duration // between signs of life in a stream
	buffer      int           // pieces of a stream that wait for the client
	get         time.Duration // between looks whether the token of who stays long is still there
	each        int           // streams of one session, or of those who show a token
	holder, all int           // streams of one token with all its sessions, and of all
	idle        time.Duration // for a connection on which nothing is asked
	tell        time.Duration // between records of how often somebody was refused
	apart       int           // addresses whose refusals are counted one by one
}

func (l *limits) fill() {
	l.connections = cmp.Or(l.connections, 1024)
	l.body = cmp.Or(l.body, 1<<20)
	l.read, l.write = cmp.Or(l.read, 30*time.Second), cmp.Or(l.write, 30*time.Second)
	l.beat = cmp.Or(l.beat, 15*time.Second)
	l.buffer = cmp.Or(l.buffer, 256)
	l.get = cmp.Or(l.get, time.Second)
	l.each, l.holder, l.all = cmp.Or(l.each, 16), cmp.Or(l.holder, 64), cmp.Or(l.all, 512)
	l.idle = cmp.Or(l.idle, 2*time.Minute) // longer than clients keep one: what both let go at once loses a request
	l.tell, l.apart = cmp.Or(l.tell, time.Minute), cmp.Or(l.apart, 20)
}

const (
	mostHeader   = 32 << 10
	mostMCPBody  = 16 << 20
	headerTime   = 5 * time.Second
	shutdownTime = 5 * time.Second // when the one who stops us sets no limit
)

// Start listens, and answers until stop is called; the end of ctx does not end
// the server. The address is the one listened on. Stop ends streams at once, lets
// other answers end until its context does, or for five seconds if that has no
// limit, and may be called more than once.
func (s *Server) Start(ctx context.Context) (addr string, stop func(context.Context) error, err error) {
	l, err := s.listen(ctx)
	if err != nil {
		return "", nil, err
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	s.prepare(l.Addr(), ending)
	log := s.log()
	web := &http.Server{
		Handler: s.handler(), MaxHeaderBytes: mostHeader, ConnState: s.silent.Note, ConnContext: s.silent.Mark,
		ReadHeaderTimeout: headerTime, ReadTimeout: s.limits.read, WriteTimeout: s.limits.write, IdleTimeout: s.limits.idle,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug), // mostly of clients that hung up
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	web.RegisterOnShutdown(s.silent.Stop)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("server ended", "error", err)
		}
	})
	serving.Go(func() { s.logRefusedRegularly(ending) })
	stop = func(ctx context.Context) error {
		end()
		err := wind(ctx, web)
		serving.Wait()
		s.logRefused()
		return err
	}
	return l.Addr().String(), stop, nil
}

// prepare sets what is known once the address is.
func (s *Server) prepare(addr net.Addr, ending context.Context) {
	s.limits.fill()
	s.ending, s.silent.Most = ending, s.limits.connections
	host, port, _ := net.SplitHostPort(addr.String())
	s.host = host
	// A browser sends cookies to every port of a host: two servers must not
	// overwrite each other's.
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

// wind ends a server, gently while ctx lasts.
func wind(ctx context.Context, web *http.Server) error {
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
	l, err := s.place().Open(ctx)
	if err != nil {
		return nil, err
	}
	s.limits.fill()
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
