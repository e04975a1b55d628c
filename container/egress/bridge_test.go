package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
)

// A bridged is a bridge under test.
type bridged struct {
	address string
	cancel  context.CancelFunc
	ended   chan error
}

func startBridge(t *testing.T, dial func() (net.Conn, error)) *bridged {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &bridged{l.Addr().String(), cancel, make(chan error, 1)}
	go func() { b.ended <- Bridge(ctx, l, dial) }()
	t.Cleanup(cancel)
	return b
}

func (b *bridged) dial() (net.Conn, error) { return net.Dial("tcp", b.address) }

func (b *bridged) stop(t *testing.T) {
	t.Helper()
	b.cancel()
	if err := <-b.ended; err != nil {
		t.Errorf("bridge: %v", err)
	}
}

// TestBridgeHalfCloses has each side say all it has to say after the other is
// silent.
func TestBridgeHalfCloses(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		heard, _ := io.ReadAll(conn)
		io.WriteString(conn, strings.ToUpper(string(heard)))
	}()
	b := startBridge(t, func() (net.Conn, error) { return net.Dial("tcp", server.Addr().String()) })
	c := open(t, b.dial)
	c.send("hello")
	c.Conn.(*net.TCPConn).CloseWrite()
	if text, err := io.ReadAll(c.in); err != nil || string(text) != "HELLO" {
		t.Errorf("%q %v", text, err)
	}
	b.stop(t)
}

func TestBridgeToNowhere(t *testing.T) {
	b := startBridge(t, func() (net.Conn, error) { return nil, errors.New("no such file: /secret") })
	if resp, text := open(t, b.dial).answer("GET"); resp.StatusCode != 502 || !strings.Contains(text, "does not answer") ||
		strings.Contains(text, "/secret") {
		t.Errorf("%s %s", resp.Status, text)
	}
	b.stop(t)
}

// TestBridgeEnds cuts off what is under way.
func TestBridgeEnds(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	b := startBridge(t, func() (net.Conn, error) { return near, nil })
	c := open(t, b.dial)
	c.send("x")
	far.Read(make([]byte, 1))
	b.stop(t)
	if _, err := c.in.ReadByte(); err == nil {
		t.Error("still open")
	}
}

// TestBridgeSmall holds little memory for connections that wait, however many.
func TestBridgeSmall(t *testing.T) {
	const many = 200
	var far []net.Conn
	dialled := make(chan net.Conn, many)
	b := startBridge(t, func() (net.Conn, error) {
		near, other := net.Pipe()
		dialled <- other
		return near, nil
	})
	before := heap()
	for range many {
		c := open(t, b.dial)
		other := <-dialled
		far = append(far, other)
		c.send("x") // both ways are open after this
		other.Read(make([]byte, 1))
		other.Write([]byte("y"))
		if _, err := c.in.ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	if each := (heap() - before) / many; each > 40<<10 {
		t.Errorf("%d bytes for each", each)
	}
	for _, conn := range far {
		conn.Close()
	}
	b.stop(t)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
