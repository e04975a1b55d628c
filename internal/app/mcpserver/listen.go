package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"hako/internal/netlisten"
	"hako/internal/web/auth"
	"hako/run/fault"
)

// Listen serves HTTP clients at a loopback address until ctx ends, and reports the URL: port 0 means any. There is
// no TLS, so other addresses are refused.
func (d *Server) Listen(ctx context.Context, addr string, at func(url string)) error {
	l, err := netlisten.Address{Addr: addr, Example: "127.0.0.1:7420",
		Why:  "it is not on this machine, and whoever listens on the way would read the token and get a shell",
		Hint: "use 127.0.0.1, and ssh -L to come from elsewhere; or hako serve, which has TLS"}.Open(ctx)
	if err != nil {
		return err
	}
	quiet := &netlisten.IdleConns{Most: d.limits.Connections}
	srv := web(d.throttle(d.Handler(), quiet), quiet)
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	at("http://" + l.Addr().String())
	if err := srv.Serve(netutil.LimitListener(l, quiet.Most)); !errors.Is(err, http.ErrServerClosed) {
		return &fault.Error{Kind: fault.Unavailable, Op: "serve MCP", Subject: addr, Err: err}
	}
	return nil
}

// Limits of a connection. Answers have none: streams stay open.
const (
	maxHeader     = 32 << 10
	maxBody       = 16 << 20
	headerTime    = 5 * time.Second
	bodyTime      = 30 * time.Second // including the header
	idleTime      = 10 * time.Second
	tokenInterval = time.Second // interval of checks whether a token still exists
)

// web returns a server with timeouts for silent clients.
func web(h http.Handler, quiet *netlisten.IdleConns) *http.Server {
	return &http.Server{
		Handler: h, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime,
		ConnState: quiet.Note, ConnContext: quiet.Mark,
	}
}

// throttle delays clients that send many wrong tokens. A valid token is always accepted: otherwise an attacker could
// lock others out.
func (d *Server) throttle(inside http.Handler, quiet *netlisten.IdleConns) http.Handler {
	var tries auth.Throttle
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, known := d.callerOf(r)
		switch {
		case known:
			quiet.Authenticated(r)
			ctx, end := d.tokenContext(r, caller)
			defer end()
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			inside.ServeHTTP(w, r.WithContext(ctx))
		case r.Header.Get("Authorization") != "" && tooManyWrong(&tries, w, r):
			http.Error(w, "too many wrong tokens: wait before the next", http.StatusTooManyRequests)
		default:
			inside.ServeHTTP(w, r) // refuses it
		}
	})
}

// tokenContext returns a context that ends soon after the token of a request was removed.
func (d *Server) tokenContext(r *http.Request, caller string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(r.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		defer cancel()
		tick := time.NewTicker(tokenInterval)
		defer tick.Stop()
		for now := caller; now == caller; now, _ = d.callerOf(r) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() {
		cancel()
		looking.Wait()
	}
}

// tooManyWrong counts a wrong token, and reports whether there were too many.
func tooManyWrong(tries *auth.Throttle, w http.ResponseWriter, r *http.Request) bool {
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	wait := tries.Wait(from)
	if wait == 0 {
		tries.Wrong(from)
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	return true
}
