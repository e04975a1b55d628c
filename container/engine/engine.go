// Package engine speaks with a Docker engine over its HTTP API: containers, images, and what they leave behind. It
// knows nothing of tasks, languages or policy; the packages around it decide what runs, this one only asks for it.
//
// Deliberately not here: networks for containers, privileged ones, published ports, a restart policy, the host's
// namespaces. They cannot be asked for, because [Spec] has no words for them. Credentials of registries are not sent.
//
// The one rule to keep: an engine's answers are a stranger's. Whatever it says is bounded before it is held and
// cleaned before it is shown.
package engine

import (
	"context"
	"net"
	"net/http"
	"time"

	"hako/run/fault"
)

// An Engine is a Docker engine. It is safe for concurrent use and keeps its connections for the next call.
//
// Every call other than Wait, Build and Exec is given up after a minute, or earlier if its context ends. Those that
// may be repeated without harm are, up to twice, when the connection breaks.
type Engine struct {
	address     address
	http        *http.Client
	timeout     time.Duration   // for one call
	retryDelays []time.Duration // before asking again

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	versionLock chan struct{} // holds one token: who has it may look at api or find it out
	api         string        // "1.41"; empty until the engine was asked
}

// Open prepares to speak with the engine at host, which is written as in DOCKER_HOST: unix:///var/run/docker.sock or
// tcp://127.0.0.1:2376. An empty host means DOCKER_HOST, and if that is empty too, the usual socket of this machine.
// DOCKER_TLS_VERIFY, DOCKER_CERT_PATH and DOCKER_API_VERSION are heeded. Nothing is contacted yet.
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

// Close ends every call under way and drops the connections.
func (e *Engine) Close() {
	e.cancel()
	e.http.CloseIdleConnections()
}

// Local reports whether the engine is reached by a Unix socket, so that a path
// of this machine means the same file to the engine.
func (e *Engine) Local() bool { return e.address.network == "unix" }

// Host returns the engine's address as DOCKER_HOST would spell it.
func (e *Engine) Host() string { return e.address.String() }

// Ping checks that the engine answers.
func (e *Engine) Ping(ctx context.Context) error {
	var v struct{ Version string }
	return e.call(ctx, request{op: "talk to docker", subject: e.Host(), path: "/version"}, &v)
}

// closed is what every call after Close gets.
func closed(op string) error {
	return &fault.Error{Kind: fault.Unavailable, Op: op, Why: "the connection to docker was closed here"}
}
