package egress

import (
	"bufio"
	"context"
	"net"
	"time"

	"hako/run/fault"
)

const (
	maxBridged = 256 // connections at the same time
	// bridgeBuffer is small: a bridge lives in a guest, which has little memory, and all connections may be open.
	bridgeBuffer = 8 << 10
)

// Bridge makes a socket look like an ordinary proxy: what connects to the listener, inside the container, is passed to a
// connection that dial makes. It runs until ctx ends or the listener is closed, and closes everything. It decides
// nothing: that is for the proxy at the other end.
func Bridge(ctx context.Context, l net.Listener, dial func() (net.Conn, error)) error {
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	return accept(l, maxBridged, func(conn net.Conn) {
		other, err := dial()
		if err != nil {
			conn.SetReadDeadline(time.Now().Add(time.Second))
			conn.Read(make([]byte, 1)) // an answer before the request would surprise clients
			answer(conn, errNoProxy)
			linger(conn)
			conn.Close()
			return
		}
		defer context.AfterFunc(ctx, func() {
			conn.Close()
			other.Close()
		})()
		splice(spliceEnd{Conn: conn, from: conn}, spliceEnd{Conn: other, from: other}, bridgeBuffer, 0)
	}, func(conn net.Conn) { reject(conn, errTooMany) })
}

var (
	errTooMany = &fault.Error{Kind: fault.Exhausted, Op: "connect", Why: "too many connections are open",
		Hint: "use fewer at a time"}
	errNoProxy = &fault.Error{Kind: fault.Unavailable, Op: "connect",
		Why: "the proxy outside the container does not answer", Hint: "start the environment again"}
)

// reject answers a connection with an error and closes it.
func reject(conn net.Conn, e *fault.Error) {
	answer(conn, e)
	conn.Close()
}

func answer(conn net.Conn, e *fault.Error) {
	conn.SetDeadline(time.Now().Add(time.Second))
	out := bufio.NewWriter(conn)
	writeRefusal(out, e)
	out.Flush()
}
