// Package egress is the forward proxy of a container that has no network. The proxy runs outside, and the container
// reaches it over one socket.
//
// It forwards plain HTTP and TLS tunnels to listed hosts, and adds credentials to git's requests for listed
// repositories without revealing them. [Bridge] is the part inside the container that makes the socket look like an
// ordinary proxy. Not here: decrypting TLS, caching, HTTP/2, other protocols than TCP, and creating the socket.
//
// The rule to keep: a connection is made only after its name, port and address were checked and it is recorded, and
// then to that very address.
package egress

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"hako/run/fault"
)

// A Proxy lets the programs of one container reach the listed hosts. The zero value lets nothing through. Its fields
// must not be changed once it serves.
type Proxy struct {
	// Allow are the permitted hosts, as in allowed_domains: "example.com", "*.example.com" for its subdomains,
	// "example.com:8443" for a port other than 80 and 443, or an address. Empty means none.
	Allow []string
	// Open permits every name that resolves to public addresses only, on ports 80 and 443. False means that only
	// Allow applies.
	Open bool
	// Private are hosts, as in Allow, whose names may resolve to private addresses, such as a company's own git
	// server, and networks, such as "10.1.0.0/16", that every name may resolve to. The hosts must be allowed too; one
	// with a port is private on that port alone. Networks never include this machine and its link (its own addresses,
	// loopback and link-local ones): for those a host is listed. Empty means none; metadata services are never
	// reachable.
	Private []string
	// Credentials are added to git's requests under [Endpoint]. Their servers may have private addresses, for these
	// requests only. Empty means none.
	Credentials []Credential

	// Log records an event; it is called concurrently. If it fails, the connection is not made. It is required.
	Log func(Event) error

	Limits Limits

	// Resolve resolves a name; nil means the system's resolver, without search domains.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to a checked address; nil means the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// interfaces returns the addresses of this machine; nil asks the system.
	interfaces func() ([]net.Addr, error)

	mu      sync.Mutex // guards what follows
	service *service   // nil before Serve
	closed  bool
}

// Limits protect the proxy from a container. Zero values mean the number in the comment.
type Limits struct {
	Connections int           // at the same time: 256
	HeadBytes   int           // of a request line with its header: 32 KB
	HeadTime    time.Duration // for that, and for a TLS hello: 10 s
	KeepAlive   time.Duration // between two requests of a connection: 2 min
	Idle        time.Duration // without a byte in either direction: 10 min
	Dial        time.Duration // for looking up a name, and for connecting: 15 s
	Drain       time.Duration // for requests in progress at Close: 5 s
	Denials     time.Duration // in which 20 denials are recorded, and one on average; others are counted: 1 s
}

// withDefaults replaces values that are zero or negative.
func (l Limits) withDefaults() Limits {
	return Limits{
		Connections: positive(l.Connections, 256), HeadBytes: positive(l.HeadBytes, 32<<10),
		HeadTime: positive(l.HeadTime, 10*time.Second), KeepAlive: positive(l.KeepAlive, 2*time.Minute),
		Idle: positive(l.Idle, 10*time.Minute), Dial: positive(l.Dial, 15*time.Second),
		Drain: positive(l.Drain, 5*time.Second), Denials: positive(l.Denials, time.Second),
	}
}

func positive[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// Kinds of events.
const (
	Opened = "opened" // a connection or request is about to be made
	Denied = "denied" // it is not made, or closed before a byte passed
	Closed = "closed" // it has ended
)

// An Event is the record of a connection. Fields that do not apply, or are unknown because the request is invalid,
// are empty.
type Event struct {
	ID         int64 // the same for all events of one connection or request
	What       string
	Method     string
	Host       string
	Port       int
	Path       string       // without what follows "?"
	Addresses  []netip.Addr // in the order in which they are tried; of a denial, those checked
	Credential bool         // a credential is lent
	Why        string       // of a denial or an early end
	Count      int64        // of denials with the same host and reason in this event, whose ID is the first one's; zero means one
	Sent       int64        // bytes that left the container
	Received   int64
	Duration   time.Duration
}

// Check reports the first invalid setting.
func (p *Proxy) Check() error {
	_, err := p.compile()
	return err
}

// Serve serves connections of the listener until ctx ends, which closes all of them, or until [Proxy.Close]. It
// closes the listener and returns when the last connection is closed. It can be called once.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	rules, err := p.compile()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limits := p.Limits.withDefaults()
	s := &service{proxy: p, rules: rules, limits: limits, listener: l, cancel: cancel,
		events: &eventLog{log: p.Log, period: limits.Denials}, clients: map[*client]bool{}, done: make(chan struct{})}
	defer close(s.done)
	defer s.events.close()
	if err := p.begin(s); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, s.closeAll)()
	return accept(l, s.limits.Connections, func(conn net.Conn) { s.serveConn(ctx, conn) }, s.turnAway)
}

// begin makes s the service that Close ends.
func (p *Proxy) begin(s *service) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.service != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "serve egress proxy", Why: "it was closed, or serves already",
			Hint: "make another one"}
	}
	p.service = s
	return nil
}

// Close accepts no more requests, waits for those in progress for up to Limits.Drain, and closes the rest.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	s := p.service
	p.mu.Unlock()
	if s == nil {
		return nil
	}
	s.drain()
	patience := time.AfterFunc(s.limits.Drain, s.cancel)
	defer patience.Stop()
	<-s.done
	return nil
}
