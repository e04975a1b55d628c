package egress

import (
	"io"
	"net"
	"strings"
	"testing"
)

// TestRefusalIsHeard has a client that is still sending when it is refused: to
// close at once would reset the connection, and take the answer with it.
func TestRefusalIsHeard(t *testing.T) {
	w := newWorld()
	p := &Proxy{Log: w.log}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- p.Serve(t.Context(), l) }()
	for range 20 {
		c := open(t, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
		c.send("POST http://no.example/ HTTP/1.1\r\nHost: no.example\r\nContent-Length: 500000\r\n\r\n")
		for range 50 {
			if _, err := io.WriteString(c.Conn, strings.Repeat("x", 10_000)); err != nil {
				t.Fatal(err)
			}
		}
		if resp, _ := c.answer("POST"); resp.StatusCode != 403 {
			t.Error(resp.Status)
		}
		c.Close()
	}
	p.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
