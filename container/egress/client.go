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

// maxRequests is how many requests a connection is good for, so that what is pinned for it does not grow for ever.
const maxRequests = 1000

// A client is one connection from the container.
type client struct {
	*service
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer

	transports map[*repository]*http.Transport // by what they lend; nil is plain HTTP
	unread     bool                            // it may still send what nobody reads
	requests   int                             // so far

	mu       sync.Mutex                  // guards what follows
	answered bool                        // the answer to the request has begun
	pins     map[pinnedHost][]netip.Addr // where the places asked for are, for as long as the connection lasts
}

// A pinnedHost is a place, and what is lent there: with a credential it may have
// addresses that without one are refused.
type pinnedHost struct {
	lent *repository
	at   string
}

// run answers one request after the other.
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

// await waits for the first byte of a request. From then on the whole head has
// to come in time, however slowly it trickles.
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

// refuseHead answers a head that could not be read, if anybody is there to hear it.
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

// refuse puts on record that something is not done, and says so.
func (c *client) refuse(v *logEntry, err error) {
	v.deny(err)
	c.answerError(err)
}

// answerError answers with an error. What the client goes on sending is not for us.
func (c *client) answerError(err error) {
	c.unread = true
	if !c.beginAnswer() {
		return
	}
	c.conn.SetWriteDeadline(time.Now().Add(c.limits.HeadTime))
	writeRefusal(c.out, refusal(err))
	c.out.Flush()
}

// close closes the connection.
func (c *client) close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	if c.unread {
		linger(c.conn)
	}
	c.conn.Close()
}

// linger takes what is still on its way: to close before would reset the connection, and the answer be lost with it.
func linger(conn net.Conn) {
	const patience, limit = 500 * time.Millisecond, 1 << 20
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	io.CopyN(io.Discard, conn, limit)
}

// A route is where a request goes.
type route struct {
	address
	header http.Header
	lent   *repository // whose credential goes along; nil means none
	secret []string    // what must not come back
}

// request passes on one request and its answer. It answers whether another may follow on the connection.
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

// body prepares for what follows the head.
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

// sendContinue tells a client that waits for it to send its body.
func (c *client) sendContinue() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered {
		return errAnswered
	}
	c.out.WriteString("HTTP/1.1 100 Continue\r\n\r\n")
	return c.out.Flush()
}

// errAnswered ends the reading of a body that is not wanted any more.
var errAnswered = errors.New("the request has been answered")

// beginAnswer answers whether the answer to the request has yet to be given.
func (c *client) beginAnswer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.answered
	c.answered = true
	return first
}

// route decides where a request goes, if it may.
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

// pin finds out where a place is, once for the whole connection.
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

// transport returns what carries requests to one kind of server. Every client has
// its own, so that nobody gets a connection whose address he has not pinned.
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

// exchange sends a request and passes on the answer.
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

// outgoing spells a request anew, so that nothing of the client's own framing reaches the server.
func outgoing(ctx context.Context, h *head, r *route, b *body) *http.Request {
	path, _ := url.PathUnescape(r.path) // head.address has tried it
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

// answer passes on what a server answered.
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
		c.unread = false // cut it off: an end in order would pass for the whole
		return false, err
	}
	return !f.closes, nil
}

// errUpgrade is the answer to a server that changes the protocol unasked.
var errUpgrade = &fault.Error{Kind: fault.Unavailable, Op: "connect", Why: "the server wants to change the protocol",
	Hint: "use https for it"}
