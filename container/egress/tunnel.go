package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"hako/run/fault"
)

// A tunnel forwards TLS without decrypting it.
type tunnel struct {
	*client
	v  *logEntry
	to hostPort
	up net.Conn
}

// tunnel serves a CONNECT request.
func (c *client) tunnel(ctx context.Context, h *head) {
	v := c.newEntry()
	v.Method, v.Host = h.method, targetHost(h.target)
	to, err := c.destination(h, v)
	if err == nil {
		err = c.addresses(ctx, v, to, nil)
	}
	if err != nil {
		c.refuse(v, err)
		return
	}
	if err := v.open(); err != nil {
		c.answerError(err)
		return
	}
	up, addr, err := c.dial(ctx, v.Addresses, to.port)
	if err != nil {
		err = &fault.Error{Kind: fault.Unavailable, Op: "connect", Subject: to.String(), Why: "the server does not answer",
			Hint: "try again later"}
		c.answerError(err)
		v.end(err)
		return
	}
	defer up.Close()
	defer context.AfterFunc(ctx, func() { up.Close() })()
	v.Addresses = []netip.Addr{addr}
	t := &tunnel{c, v, to, up}
	v.end(t.pass())
}

// destination parses and checks the destination of a tunnel.
func (c *client) destination(h *head, v *logEntry) (hostPort, error) {
	if n, err := h.length(); err != nil || n != 0 {
		return hostPort{}, malformed("a CONNECT has no body")
	}
	to, err := parseHostPort(h.target, 0)
	if err != nil {
		return hostPort{}, err
	}
	if v.setTarget(to); to.port == 0 {
		return hostPort{}, malformed("a CONNECT names a port")
	}
	if err := h.checkHost(to, 0); err != nil {
		return hostPort{}, err
	}
	return to, c.rules.permit(to)
}

// pass checks the TLS handshake and then forwards everything.
func (t *tunnel) pass() error {
	t.out.WriteString("HTTP/1.1 200 Connection established\r\n\r\n")
	if err := t.out.Flush(); err != nil {
		return err
	}
	if err := t.passHellos(); err != nil {
		return err
	}
	splice(
		spliceEnd{t.conn, t.in, func(n int) { t.v.sent.Add(int64(n)) }},
		spliceEnd{t.up, t.up, func(n int) { t.v.received.Add(int64(n)) }}, 32<<10, t.limits.Idle)
	return nil
}

// passHellos forwards the first messages of both sides, each ClientHello after a check.
func (t *tunnel) passHellos() error {
	if err := t.passHello(false); err != nil {
		return err
	}
	retry, err := t.passServerHello()
	if err != nil || !retry {
		return err
	}
	return t.passHello(true)
}

func (t *tunnel) passHello(retry bool) error {
	t.conn.SetReadDeadline(time.Now().Add(t.limits.HeadTime))
	raw, h, err := readHello(t.in, retry)
	if err == nil {
		err = t.checkHello(h)
	}
	var e *fault.Error
	if errors.As(err, &e) {
		t.alert(e)
	}
	if err != nil {
		return err
	}
	t.conn.SetReadDeadline(time.Time{})
	n, err := t.up.Write(raw)
	t.v.sent.Add(int64(n))
	return err
}

// checkHello checks that a ClientHello names the permitted host. Many hosts share an address, and this name selects
// one.
func (t *tunnel) checkHello(h clientHello) error {
	refuse := func(why, hint string) error {
		return &fault.Error{Kind: fault.Denied, Op: "connect", Subject: t.to.String(), Why: why, Hint: hint}
	}
	switch {
	case h.hidden && !t.rules.open:
		return refuse("the name in the TLS hello may be encrypted", "switch off encrypted hellos (ECH)")
	case h.name == "" && t.to.addr.IsValid(): // an address is not sent as a name
		return nil
	case h.name == "":
		return refuse("the TLS hello names no host", "let the client send the server name (SNI)")
	}
	if name, err := parseHostPort(h.name, t.to.port); err != nil || name != t.to {
		return refuse("the TLS hello names another host", "ask the proxy for the host that is named in it")
	}
	return nil
}

// alert refuses a client with a TLS alert.
func (t *tunnel) alert(e *fault.Error) {
	const fatal, accessDenied = 2, 49
	t.v.deny(e)
	t.unread = true
	t.conn.SetWriteDeadline(time.Now().Add(t.limits.HeadTime))
	t.conn.Write([]byte{recordAlert, 3, 3, 0, 2, fatal, accessDenied})
}

// passServerHello forwards records of the server until it is known whether it requests another ClientHello. Other
// protocols than TLS are forwarded: it is the permitted host.
func (t *tunnel) passServerHello() (retry bool, err error) {
	t.up.SetReadDeadline(time.Now().Add(t.limits.Dial))
	defer t.up.SetReadDeadline(time.Time{})
	var message []byte
	for known := false; !known; {
		record, err := readRecord(t.up)
		n, failed := t.conn.Write(record)
		t.v.received.Add(int64(n))
		switch {
		case failed != nil:
			return false, failed
		case errors.Is(err, errNotTLS), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		case record[0] == recordAlert: // a warning may come before the hello
			continue
		case record[0] != recordHandshake:
			return false, nil
		}
		message = append(message, record[recordHead:]...)
		retry, known = wantsRetry(message)
	}
	return retry, nil
}
