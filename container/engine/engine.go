// Package engine is a client for the HTTP API of a Docker engine: containers, images and volumes. It knows nothing of
// tasks, languages or policy.
//
// Not here: networks for containers, privileged ones, published ports, restart policies, the host's namespaces.
// [Spec] has no fields for them. It sends no registry credentials.
//
// The rule to keep: answers of an engine are untrusted. They are bounded before they are held and sanitized before
// they are shown.
package engine

import (
	"context"
	"net"
	"net/http"
	"time"

	"hako/run/fault"
)

// An Engine is a Docker engine. It is safe for concurrent use and reuses connections.
//
// Every call but Build and Exec has a timeout of a minute. Calls that can safely be repeated are retried twice if the
// connection breaks.
type Engine struct {
	address     address
	http        *http.Client
	timeout     time.Duration   // for one call
	retryDelays []time.Duration // before retries

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	versionLock chan struct{} // holds one token, which guards api
	api         string        // "1.41"; empty until negotiated
}

// Open returns an Engine for a host as in DOCKER_HOST: unix:///var/run/docker.sock or tcp://127.0.0.1:2376. An empty
// host means DOCKER_HOST, and if that is empty too, the default socket. DOCKER_TLS_VERIFY, DOCKER_CERT_PATH and
// DOCKER_API_VERSION apply. Nothing is contacted yet.
func Open(host string) (*Engine, error) {
	at, err := resolve(host)
	if err != nil {
		return nil, err
	}
	api, err := wantedAPI()
	if err != nil {
		return nil, err
	}
	e := &Engine{address: at, timeout: time.Minute, retryDelays: []time.Duration{100 * time.Millisecond, 500 * time.Millisecond},
		versionLock: make(chan struct{}, 1), api: api}
	e.versionLock <- struct{}{}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.http = &http.Client{
		Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return e.address.dial(ctx) },
			DisableCompression:  true,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

// Close cancels every call in progress and closes the connections.
func (e *Engine) Close() {
	e.cancel()
	e.http.CloseIdleConnections()
}

// Local reports whether the engine is reached by a Unix socket, and so shares the file system.
func (e *Engine) Local() bool { return e.address.network == "unix" }

// Host returns the engine's address as in DOCKER_HOST.
func (e *Engine) Host() string { return e.address.String() }

// Ping checks that the engine answers.
func (e *Engine) Ping(ctx context.Context) error {
	var v struct{ Version string }
	return e.call(ctx, request{op: "talk to docker", subject: e.Host(), path: "/version"}, &v)
}

// closed is the error of every call after Close.
func closed(op string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: op, Why: "the connection to docker was closed here"}
}
