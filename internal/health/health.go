// Package health reports the state of a daemon: a [Server] with /healthz, /readyz and
// /metrics, the [Metrics] it serves, and the [Logger] of a daemon.
//
// It knows nothing of tasks, queues or containers: those who do call its methods with
// plain strings. It has no profiler and changes nothing in the daemon. Its output is
// read by strangers and kept for years: it contains no secrets, and text from outside
// cannot make it grow without bound.
package health

import (
	"cmp"
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

// A Server serves the state of the daemon. Its zero value listens on a free port of
// the loopback interface, is ready, and has no metrics.
type Server struct {
	// Addr is host:port. Without a host it is loopback, with Public every
	// interface. Empty means loopback and a port the system chooses.
	Addr string

	// Public permits an address beyond loopback. There is no login: whoever
	// reaches the address reads the metrics, the names of models and tools in
	// them, and why the daemon is not ready. False refuses such an address.
	Public bool

	// Ready returns why the daemon cannot work; [errors.Join] makes several reasons.
	// It has two seconds and one caller at a time. Nil means always ready.
	Ready func(context.Context) error

	Metrics http.Handler // serves /metrics; nil means none
	Secrets *redact.Set  // redacted from reasons; nil means those recognised by their form only
	Log     *slog.Logger // for errors and changes of readiness; nil means no log
}

// Limits of the server.
const (
	maxConnections = 128
	maxHeader      = 8 << 10
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = time.Minute
	callTimeout    = 2 * time.Second
)

// Start listens, and serves until stop is called. The end of ctx does not end the
// server: the state of a daemon is of most interest while it shuts down. Stop lets
// requests finish until its context ends; it may be called more than once.
func (s *Server) Start(ctx context.Context) (addr string, stop func(context.Context) error, err error) {
	l, err := netlisten.Address{Addr: s.Addr, Public: s.Public, Example: "127.0.0.1:9464",
		Why:  "others could read the health endpoint, which has no login",
		Hint: "use 127.0.0.1, or make it public on purpose, behind a firewall"}.Open(ctx)
	if err != nil {
		return "", nil, err
	}
	log := orDiscard(s.Log)
	web := &http.Server{
		Handler:           s.handler(log),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := web.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health endpoint ended", "error", err)
		}
	})
	stop = func(ctx context.Context) error {
		defer serving.Wait()
		return netlisten.End(ctx, web, "health endpoint")
	}
	return l.Addr().String(), stop, nil
}

func orDiscard(log *slog.Logger) *slog.Logger { return cmp.Or(log, slog.New(slog.DiscardHandler)) }
