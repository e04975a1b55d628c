// Package health shows people and programs how a daemon fares: a [Server] with
// /healthz, /readyz and /metrics, the [Metrics] it serves, and the [Logger] a
// daemon writes its log with.
//
// It measures nothing by itself and knows no task, queue or container: whoever
// does the work calls a method with plain words. There is no profiler, no page,
// and nothing that changes the daemon. The rule to keep: what leaves here is
// read by strangers and kept for years, so no secret passes and nobody's text
// decides how much is kept.
package health

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"hako/internal/netlisten"
	"hako/internal/redact"
)

// A Server answers how the daemon fares. Its zero value listens on a free port
// of loopback, is alive and ready, and has no metrics.
type Server struct {
	// Addr is host:port. Without a host it is loopback, with Public every
	// interface. Empty means loopback and a port the system chooses.
	Addr string

	// Public permits an address beyond loopback. There is no login: whoever
	// reaches the address reads the metrics, the names of models and tools in
	// them, and why the daemon is not ready. False refuses such an address.
	Public bool

	// Live says whether the loop still goes round; nil means always.
	Live func() error

	// Ready says what work has to wait for; [errors.Join] makes several reasons.
	// It has two seconds and one caller at a time. Nil means always ready.
	Ready func(context.Context) error

	Metrics http.Handler // what /metrics answers; nil means there are none
	Secrets *redact.Set  // removed from reasons; nil means those told by spelling only
	Log     *slog.Logger // gets trouble and changes of readiness; nil means nobody does
}

// What one visitor may cost.
const (
	mostConnections = 128
	mostHeader      = 8 << 10
	headerTime      = 5 * time.Second
	requestTime     = 10 * time.Second
	answerTime      = 30 * time.Second
	idleTime        = time.Minute
	questionTime    = 2 * time.Second
)

// Start listens, and answers until stop is called: while a daemon winds up, its
// health is of most interest, so the end of ctx does not end the server.
// The address is the one listened on. Stop lets running answers end until its
// context does. It may be called more than once.
func (s *Server) Start(ctx context.Context) (addr string, stop func(context.Context) error, err error) {
	l, err := s.listen(ctx)
	if err != nil {
		return "", nil, err
	}
	log := orNobody(s.Log)
	web := &http.Server{
		Handler:           s.handler(log),
		ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health endpoint ended", "error", err)
		}
	})
	stop = func(ctx context.Context) error {
		defer serving.Wait()
		return netlisten.End(ctx, web, "health endpoint")
	}
	return l.Addr().String(), stop, nil
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	l, err := netlisten.Address{Addr: s.Addr, Public: s.Public, Example: "127.0.0.1:9464",
		Why:  "others could read the health endpoint, which has no login",
		Hint: "use 127.0.0.1, or make it public on purpose, behind a firewall"}.Open(ctx)
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(l, mostConnections), nil
}

func orNobody(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
