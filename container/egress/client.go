package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"hako/run/fault"
)

// maxRequests limits the requests of a connection, and so its pinned addresses.
const maxRequests = 1000

// A client is one connection from the container.
type client struct {
	*service
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer

	transports map[*repository]*http.Transport // by credential; nil is plain HTTP
	unread     bool                            // the client may still send data that nobody reads
	requests   int                             // so far

	mu       sync.Mutex                  // guards what follows
	answered bool                        // the answer to the request has begun
	pins     map[pinnedHost][]netip.Addr // addresses of hosts, valid as long as the connection
}

// A pinnedHost is a host with the credential that is lent: with one it may have addresses that are refused without.
type pinnedHost struct {
	lent *repository
	at   string
}

// run serves requests one after the other.
func (c *client) run(ctx context.Context) {
	for wait := c.limits.HeadTime; ; wait = c.limits.KeepAlive {
		if !c.await(wait) {
			return
		}
		h, err := readHead(c.in, c.limits.HeadBytes)
		if err != nil {
			c.refuseHead(err)
			return
		}
		c.conn.SetReadDeadline(time.Time{})
		if h.method == http.MethodConnect {
			c.tunnel(ctx, h)
			return
		}
		if c.requests++; !c.request(ctx, h) {
			return
		}
	}
}

// await waits for the first byte of a request. From then on the whole header has to arrive in time.
func (c *client) await(wait time.Duration) bool {
	if !c.mark(c, true) {
		return false
	}
	c.conn.SetReadDeadline(time.Now().Add(wait))
	if _, err := c.in.Peek(1); err != nil || !c.mark(c, false) {
		return false
	}
	c.conn.SetReadDeadline(time.Now().Add(c.limits.HeadTime))
	return true
}

// refuseHead answers an invalid header.
func (c *client) refuseHead(err error) {
	var e *fault.Error
	var late net.Error
	switch {
	case errors.As(err, &e):
		c.refuse(c.newEntry(), e)
	case errors.As(err, &late) && late.Timeout():
		c.refuse(c.newEntry(), &fault.Error{Kind: fault.Timeout, Op: "read request", Why: "its header did not come in time",
			Hint: "send it at once"})
	}
}

// refuse records a denial, and answers with it.
func (c *client) refuse(v *logEntry, err error) {
	v.deny(err)
	c.answerError(err)
}

// answerError answers with an error. The rest of the request is not read.
func (c *client) answerError(err error) {
	c.unread = true
	if !c.beginAnswer() {
		return
	}
	c.conn.SetWriteDeadline(time.Now().Add(c.limits.HeadTime))
	writeRefusal(c.out, refusal(err))
	c.out.Flush()
}

func (c *client) close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	if c.unread {
		linger(c.conn)
	}
	c.conn.Close()
}

// linger drains the connection: closing it earlier would reset it, and lose the answer.
func linger(conn net.Conn) {
	const patience, limit = 500 * time.Millisecond, 1 << 20
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	io.CopyN(io.Discard, conn, limit)
}

// A route is the destination of a request.
type route struct {
	address
	header http.Header
	lent   *repository // whose credential is added; nil means none
	secret []string    // must not come back
}

// request forwards one request. It reports whether another may follow on the connection.
func (c *client) request(ctx context.Context, h *head) bool {
	c.mu.Lock()
	c.answered = false
	c.mu.Unlock()
	v := c.newEntry()
	v.Method, v.Host = oneLine(h.method), targetHost(h.target)
	b, err := c.body(h)
	var r *route
	if err == nil {
		r, err = c.route(h, v)
	}
	if err == nil {
		err = c.pin(ctx, v, r)
	}
	if err != nil {
		c.refuse(v, err)
		return false
	}
	if err := v.open(); err != nil {
		c.answerError(err)
		return false
	}
	again, err := c.exchange(ctx, v, h, r, b)
	v.end(err)
	return again
}

// body prepares the body of a request.
func (c *client) body(h *head) (*body, error) {
	length, err := h.length()
	if err != nil {
		return nil, err
	}
	waits, err := h.continues()
	b := newBody(c.in, length)
	b.begin = func() error { return nil }
	if waits {
		b.begin = c.sendContinue
	}
	return b, err
}

// sendContinue sends 100 Continue.
func (c *client) sendContinue() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered {
		return errAnswered
	}
	c.out.WriteString("HTTP/1.1 100 Continue\r\n\r\n")
	return c.out.Flush()
}

// errAnswered stops reading a body that is not needed any more.
var errAnswered = errors.New("the request has been answered")

// beginAnswer reports whether the request is still unanswered, and marks it as answered.
func (c *client) beginAnswer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.answered
	c.answered = true
	return first
}

// route determines the destination of a request, if it is permitted.
func (c *client) route(h *head, v *logEntry) (*route, error) {
	a, err := h.address()
	if err != nil {
		return nil, err
	}
	v.Path = oneLine(a.path)
	v.setTarget(a.hostPort)
	if a.hostPort == (hostPort{host: Endpoint, port: 80}) {
		return c.rules.lend(h, v, a)
	}
	if err := c.rules.permit(a.hostPort); err != nil {
		return nil, err
	}
	return &route{address: a, header: h.header()}, nil
}

// pin resolves a host once for the whole connection.
func (c *client) pin(ctx context.Context, v *logEntry, r *route) error {
	key := pinnedHost{r.lent, r.hostPort.String()}
	c.mu.Lock()
	known := c.pins[key]
	c.mu.Unlock()
	if v.Addresses = known; known != nil {
		return nil
	}
	if err := c.addresses(ctx, v, r.hostPort, r.lent); err != nil {
		return err
	}
	c.mu.Lock()
	c.pins[key] = v.Addresses
	c.mu.Unlock()
	return nil
}

// transport returns the transport for a credential. Every client has its own, so that nobody gets a connection to an
// address that it has not pinned.
func (c *client) transport(lent *repository) *http.Transport {
	t := c.transports[lent]
	if t != nil {
		return t
	}
	t = &http.Transport{
		DialContext: func(ctx context.Context, _, where string) (net.Conn, error) {
			return c.dialPinned(ctx, pinnedHost{lent, where})
		},
		DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConns: 8, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: c.limits.Dial,
	}
	if lent != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: lent.Roots, InsecureSkipVerify: lent.InsecureTLS,
			MinVersion: tls.VersionTLS12}
	}
	c.transports[lent] = t
	return t
}

func (c *client) dialPinned(ctx context.Context, to pinnedHost) (net.Conn, error) {
	c.mu.Lock()
	addrs := c.pins[to]
	c.mu.Unlock()
	_, digits, _ := splitPort(to.at)
	port, _ := parsePort(digits)
	conn, _, err := c.dial(ctx, addrs, port)
	return conn, err
}

// exchange sends a request and forwards the answer.
func (c *client) exchange(ctx context.Context, v *logEntry, h *head, r *route, b *body) (again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newIdleTimer(c.limits.Idle, func() {
		cancel()
		c.conn.Close()
	})
	defer w.stop()
	b.passed = func(n int) {
		v.sent.Add(int64(n))
		w.touch()
	}
	resp, err := c.transport(r.lent).RoundTrip(outgoing(ctx, h, r, b))
	if err != nil {
		c.answerError(err)
		return false, refusal(err)
	}
	defer resp.Body.Close()
	received := func(n int) {
		v.received.Add(int64(n))
		w.touch()
	}
	return c.answer(h, r, b, resp, received)
}

// outgoing builds a new request, so that nothing of the client's framing reaches the server.
func outgoing(ctx context.Context, h *head, r *route, b *body) *http.Request {
	path, _ := url.PathUnescape(r.path) // head.address has checked it
	u := &url.URL{Scheme: "http", Host: r.hostPort.String(), Path: path, RawPath: r.path, RawQuery: r.query}
	host := r.hostPort.hostHeader(80)
	if r.lent != nil && !r.lent.PlainHTTP {
		u.Scheme, host = "https", r.hostPort.hostHeader(443)
	}
	req := (&http.Request{Method: h.method, URL: u, Host: host, Header: r.header, ProtoMajor: 1, ProtoMinor: 1,
		Body: http.NoBody}).WithContext(ctx)
	if b.over.Load() {
		return req
	}
	req.Body, req.ContentLength = b, b.left
	if b.chunked {
		req.ContentLength = -1
	}
	return req
}

// answer forwards the answer of a server.
func (c *client) answer(h *head, r *route, b *body, resp *http.Response, received func(n int)) (again bool, err error) {
	from := io.Reader(resp.Body)
	if r.lent != nil {
		if err := c.rules.cleanResponse(r, resp); err != nil {
			c.answerError(err)
			return false, err
		}
		from = newSecretReader(resp.Body, r.secret)
	}
	if resp.StatusCode < 200 {
		c.answerError(errUpgrade)
		return false, errUpgrade
	}
	c.unread = !b.over.Load()
	f := frame(h, resp, c.unread || !h.keepsAlive() || c.requests >= maxRequests)
	c.beginAnswer()
	if err := writeHead(c.out, resp, f); err != nil || f.empty {
		return !f.closes, err
	}
	if err := writeBody(c.out, from, f.chunked, received); err != nil {
		c.unread = false // cut it off: a regular end would make it look complete
		return false, err
	}
	return !f.closes, nil
}

// errUpgrade is for a server that switches protocols unasked.
var errUpgrade = &fault.Error{Kind: fault.Unavailable, Op: "connect", Why: "the server wants to change the protocol",
	Hint: "use https for it"}
