package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"hako/run/fault"
)

const (
	// mostBridged is how many connections a bridge passes on at the same time.
	mostBridged = 256
	// bridgePiece is how much of a connection is in memory, each way: a bridge
	// lives in a guest, which has little, and all of them may be open.
	bridgePiece = 8 << 10
)

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
			sorry(conn, &fault.Error{Kind: fault.Unavailable, Op: "connect",
				Why: "the proxy outside the container does not answer", Hint: "start the environment again"})
			return
		}
		defer context.AfterFunc(ctx, func() {
			conn.Close()
			other.Close()
		})()
		join(conn, other, &sent, &received)
	}, func(conn net.Conn) {
		sorry(conn, &fault.Error{Kind: fault.Exhausted, Op: "connect", Why: "too many connections are open",
			Hint: "use fewer at a time"})
	})
	return Traffic{count.Load(), sent.Load(), received.Load()}, err
}

// join passes bytes both ways until both sides have said all or one of them
// breaks, and closes both.
func join(a, b net.Conn, there, back *atomic.Int64) {
	closeBoth := func() {
		a.Close()
		b.Close()
	}
	defer closeBoth()
	var both sync.WaitGroup
	for _, way := range []struct {
		from, to net.Conn
		passed   *atomic.Int64
	}{{a, b, there}, {b, a, back}} {
		both.Go(func() {
			if !carry(way.from, way.to, way.passed) {
				closeBoth()
			}
		})
	}
	both.Wait()
}

// carry passes bytes one way and counts them. It answers false when the other way
// has to end too.
func carry(from, to net.Conn, passed *atomic.Int64) bool {
	piece := make([]byte, bridgePiece)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if _, err := to.Write(piece[:n]); err != nil {
				return false
			}
			passed.Add(int64(n))
		}
		if err == io.EOF {
			half, ok := to.(interface{ CloseWrite() error })
			return ok && half.CloseWrite() == nil
		}
		if err != nil {
			return false
		}
	}
}

// sorry answers in the place of the proxy.
func sorry(conn net.Conn, e *fault.Error) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	out := bufio.NewWriter(conn)
	writeRefusal(out, e)
	out.Flush()
}
