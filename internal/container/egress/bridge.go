package egress

import (
	"bufio"
	"context"
	"net"
	"sync/atomic"
	"time"

	"hako/internal/fault"
)

// mostBridged is how many connections a bridge passes on at the same time.
const mostBridged = 256

// Traffic is what passed a bridge.
type Traffic struct {
	Connections    int64
	Sent, Received int64 // bytes
}

// Bridge makes a socket look like an ordinary proxy: what connects to the
// listener, inside the container, is passed to a connection that dial makes. It
// runs until ctx ends or the listener is closed, closes everything and returns
// what passed. It decides nothing: that is the work of the other end.
func Bridge(ctx context.Context, l net.Listener, dial func() (net.Conn, error)) (Traffic, error) {
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var count, sent, received atomic.Int64
	err := accept(l, mostBridged, func(conn net.Conn) {
		count.Add(1)
		other, err := dial()
		if err != nil {
			sorry(conn, &fault.Error{Kind: fault.Unavailable, Op: "connect", Why: "the proxy outside the container does not answer", Hint: "start the environment again"})
			return
		}
		defer context.AfterFunc(ctx, func() {
			conn.Close()
			other.Close()
		})()
		splice(
			end{conn, conn, func(n int) { sent.Add(int64(n)) }},
			end{other, other, func(n int) { received.Add(int64(n)) }}, 0)
	}, func(conn net.Conn) {
		sorry(conn, &fault.Error{Kind: fault.Exhausted, Op: "connect", Why: "too many connections are open", Hint: "use fewer at a time"})
	})
	return Traffic{count.Load(), sent.Load(), received.Load()}, err
}

// sorry answers in the place of the proxy.
func sorry(conn net.Conn, e *fault.Error) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	out := bufio.NewWriter(conn)
	writeRefusal(out, e)
	out.Flush()
}
