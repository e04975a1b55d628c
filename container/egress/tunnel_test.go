package egress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// sized puts the number of bytes before them.
func sized(width int, parts ...[]byte) []byte {
	content := bytes.Join(parts, nil)
	n := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	return append(n[4-width:], content...)
}

func extension(kind uint16, content []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, kind), sized(2, content)...)
}

func serverName(names ...string) []byte {
	var list []byte
	for _, name := range names {
		list = append(append(list, 0), sized(2, []byte(name))...)
	}
	return extension(extServerName, sized(2, list))
}

// helloMessage is a ClientHello with these extensions.
func helloMessage(extensions ...[]byte) []byte {
	content := slices.Concat([]byte{3, 3}, make([]byte, 32), sized(1), sized(2, []byte{0x13, 1}), sized(1, []byte{0}),
		sized(2, extensions...))
	return append([]byte{typeClientHello}, sized(3, content)...)
}

func record(kind byte, content []byte) []byte {
	return append([]byte{kind, 3, 1}, sized(2, content)...)
}

// pieces splits a message over records of so many bytes.
func pieces(message []byte, size int) []byte {
	var all []byte
	for piece := range slices.Chunk(message, size) {
		all = append(all, record(recordHandshake, piece)...)
	}
	return all
}

func TestReadHello(t *testing.T) {
	good := helloMessage(extension(43, []byte{2, 3, 4}), serverName("ok.example"), extension(10, nil))
	padded := helloMessage(serverName("ok.example"), extension(21, make([]byte, 20_000)))
	trailing := append(slices.Clone(good), 0)
	twice := append(slices.Clone(good), good...)
	short := slices.Clone(good)
	short[3]--
	for name, tt := range map[string]struct {
		bytes  []byte
		name   string
		hidden bool
		ok     bool
	}{
		"good":            {record(recordHandshake, good), "ok.example", false, true},
		"in single bytes": {pieces(good, 1), "ok.example", false, true},
		"in two records":  {pieces(good, 40), "ok.example", false, true},
		"large":           {pieces(padded, 16_000), "ok.example", false, true},
		"no name":         {record(recordHandshake, helloMessage(extension(10, nil))), "", false, true},
		"no extensions": {record(recordHandshake,
			append([]byte{1}, sized(3, slices.Concat([]byte{3, 3}, make([]byte, 32), sized(1), sized(2), sized(1)))...)), "",
			false, true},
		"ECH": {record(recordHandshake,
			helloMessage(serverName("ok.example"), extension(extECH, []byte{0}))), "ok.example", true, true},
		"ESNI": {record(recordHandshake, helloMessage(extension(extOldESNI, nil))), "", true, true},
		"two names": {record(recordHandshake, helloMessage(serverName("ok.example", "evil.example"))), "", false,
			false},
		"two lists": {record(recordHandshake, helloMessage(serverName("ok.example"), serverName("evil.example"))),
			"", false, false},
		"empty name": {record(recordHandshake, helloMessage(serverName(""))), "", false, false},
		"empty list": {record(recordHandshake, helloMessage(serverName())), "", false, false},
		"another kind of name": {record(recordHandshake,
			helloMessage(extension(extServerName, sized(2, []byte{1}, sized(2, []byte("x")))))), "", false, false},
		"something after names": {record(recordHandshake,
			helloMessage(extension(extServerName, append(sized(2, []byte{0}, sized(2, []byte("x"))), 0)))), "", false, false},
		"something after hello": {record(recordHandshake, trailing), "", false, false},
		"two hellos":            {record(recordHandshake, twice), "", false, false},
		"length too small":      {record(recordHandshake, short), "", false, false},
		"a server's hello":      {record(recordHandshake, append([]byte{2}, good[1:]...)), "", false, false},
		"a cipher change first": {append(record(recordCipherChange, []byte{1}), record(recordHandshake, good)...), "", false,
			false},
		"an alert":        {record(recordAlert, []byte{1, 0}), "", false, false},
		"data":            {record(recordData, good), "", false, false},
		"an empty record": {append(record(recordHandshake, nil), record(recordHandshake, good)...), "", false, false},
		"SSL 2":           {append([]byte{0x80, 0x2e, 1, 3, 1, 0, 0x15}, make([]byte, 60)...), "", false, false},
		"HTTP":            {[]byte("GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n"), "", false, false},
		"SSH":             {[]byte("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"), "", false, false},
		"endless": {pieces(append([]byte{1, 0xff, 0xff, 0xff}, make([]byte, 50_000)...), 16_000), "", false,
			false},
		"a record too long": {append([]byte{22, 3, 1, 0xff, 0xff}, make([]byte, 0xffff)...), "", false, false},
	} {
		raw, h, err := readHello(bytes.NewReader(tt.bytes), false)
		if tt.ok && (err != nil || h != clientHello{tt.name, tt.hidden} || !bytes.Equal(raw, tt.bytes)) {
			t.Errorf("%s: %+v %v", name, h, err)
		}
		if !tt.ok && !errors.Is(err, errNotTLS) {
			t.Errorf("%s: %+v %v", name, h, err)
		}
	}
	if _, _, err := readHello(bytes.NewReader(record(recordHandshake, good)[:50]), false); err != io.ErrUnexpectedEOF {
		t.Errorf("half: %v", err)
	}
}

// FuzzReadHello checks that whatever passes says the same to Go's own server.
func FuzzReadHello(f *testing.F) {
	f.Add(record(recordHandshake, helloMessage(serverName("ok.example"))), false)
	f.Add(pieces(helloMessage(serverName("ok.example"), extension(extECH, []byte{1})), 7), true)
	f.Add(append(record(recordCipherChange, []byte{1}), record(recordHandshake, helloMessage(serverName("a.b")))...), true)
	f.Add(realHello("ok.example"), false)
	f.Fuzz(func(t *testing.T, text []byte, retry bool) {
		raw, h, err := readHello(bytes.NewReader(text), retry)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(text, raw) || len(h.name) > len(raw) {
			t.Fatalf("%x: read %x", text, raw)
		}
		if retry {
			return
		}
		if heard, ok := heardByGo(raw); ok && heard != strings.TrimSuffix(h.name, ".") && heard != h.name {
			t.Errorf("%x: %q to us, %q to a server", raw, h.name, heard)
		}
	})
}

// realHello is what Go's own client says first.
func realHello(name string) []byte {
	var said bytes.Buffer
	tls.Client(halfConn{w: &said}, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	return said.Bytes()
}

// heardByGo returns the name that Go's own server reads out of a hello.
func heardByGo(raw []byte) (name string, ok bool) {
	tls.Server(halfConn{r: bytes.NewReader(raw), w: io.Discard},
		&tls.Config{GetConfigForClient: func(i *tls.ClientHelloInfo) (*tls.Config, error) {
			name, ok = i.ServerName, true
			return nil, errors.New("enough")
		}}).Handshake()
	return name, ok
}

// halfConn is a connection of which little works.
type halfConn struct {
	net.Conn
	r io.Reader
	w io.Writer
}

func (c halfConn) Read(p []byte) (int, error) {
	if c.r == nil {
		return 0, io.EOF
	}
	return c.r.Read(p)
}
func (c halfConn) Write(p []byte) (int, error)      { return c.w.Write(p) }
func (c halfConn) Close() error                     { return nil }
func (c halfConn) SetDeadline(time.Time) error      { return nil }
func (c halfConn) SetReadDeadline(time.Time) error  { return nil }
func (c halfConn) SetWriteDeadline(time.Time) error { return nil }

// secureWorld has an https server at example.com, which its certificate is for.
func secureWorld(t *testing.T, p *Proxy, config *tls.Config) (*world, func() (net.Conn, error), *x509.CertPool) {
	t.Helper()
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %s %d", r.Host, r.TLS.ServerName, n)
	}))
	site.TLS = config
	site.Config.ErrorLog = quiet()
	site.StartTLS()
	t.Cleanup(site.Close)
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	w := newWorld()
	w.host("example.com", "93.184.215.14", "443", site.URL)
	w.servers["10.0.0.9:443"] = site.Listener.Addr().String()
	p.Allow = append(p.Allow, "example.com", "10.0.0.9")
	return w, w.serve(t, p), roots
}

// connect opens a tunnel and says hello in it.
func connect(t *testing.T, dial func() (net.Conn, error), target string, config *tls.Config) (*tls.Conn, error) {
	t.Helper()
	c := open(t, dial)
	c.send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")
	resp, err := http.ReadResponse(c.in, &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	secure := tls.Client(c.Conn, config)
	return secure, secure.Handshake()
}

func TestTunnel(t *testing.T) {
	w, dial, roots := secureWorld(t, &Proxy{}, nil)
	bridge := startBridge(t, dial)
	via, _ := url.Parse("http://" + bridge.address)
	transport := &http.Transport{Proxy: http.ProxyURL(via), TLSClientConfig: &tls.Config{RootCAs: roots}}
	resp, err := (&http.Client{Transport: transport}).Post("https://EXAMPLE.com/", "text/plain",
		strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	transport.CloseIdleConnections()
	if string(text) != "EXAMPLE.com EXAMPLE.com 1048576" {
		t.Errorf("%s", text)
	}
	bridge.stop(t)
	e := w.told(t, Closed, 1)[0]
	if e.Method != "CONNECT" || e.Host != "example.com" || e.Port != 443 || e.Sent < 1<<20 || e.Received < 100 ||
		e.Why != "" {
		t.Errorf("on record: %+v", e)
	}
	if got := w.dials(); !slices.Equal(got, []string{"93.184.215.14:443"}) {
		t.Errorf("dialled %v", got)
	}
}

// TestTunnelToAnAddress has a listed address, to which clients send no name.
func TestTunnelToAnAddress(t *testing.T) {
	_, dial, _ := secureWorld(t, &Proxy{}, nil)
	conn, err := connect(t, dial, "10.0.0.9:443", &tls.Config{ServerName: "10.0.0.9", InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := connect(t, dial, "10.0.0.9:443",
		&tls.Config{ServerName: "example.com", InsecureSkipVerify: true}); err == nil {
		t.Error("a name for an address")
	}
}

func TestTunnelNames(t *testing.T) {
	w, dial, _ := secureWorld(t, &Proxy{}, nil)
	names := []string{"evil.example", "sub.example.com", "example.com.evil.example", "xn--exmple-cua.com", "example.co",
		"1.2.3.4"}
	for _, name := range names {
		if _, err := connect(t, dial, "example.com:443",
			&tls.Config{ServerName: name, InsecureSkipVerify: true}); err == nil || !strings.Contains(err.Error(),
			"access denied") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, e := range w.told(t, Denied, len(names)) {
		if !strings.Contains(e.Why, "TLS hello names") || e.Host != "example.com" {
			t.Errorf("on record: %+v", e)
		}
	}
	for _, e := range w.told(t, Closed, len(names)) {
		if e.Sent != 0 || e.Received != 0 {
			t.Errorf("something passed: %+v", e)
		}
	}
}

// TestTunnelAttacks sends what is not a plain hello for the host. No byte of it
// reaches the server.
func TestTunnelAttacks(t *testing.T) {
	heard := make(chan string, 100)
	l := listen(t, func(conn net.Conn) {
		text, _ := io.ReadAll(conn)
		heard <- string(text)
	})
	good := helloMessage(serverName("ok.example"))
	for name, text := range map[string][]byte{
		"HTTP":      []byte("GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n"),
		"SSH":       []byte("SSH-2.0-OpenSSH_9.2p1\r\n"),
		"no name":   record(recordHandshake, helloMessage()),
		"two names": record(recordHandshake, helloMessage(serverName("ok.example", "evil.example"))),
		"ECH": record(recordHandshake,
			helloMessage(serverName("ok.example"), extension(extECH, []byte{0, 0, 1}))),
		"ECH elsewhere": record(recordHandshake,
			helloMessage(serverName("public.example"), extension(extECH, []byte{0, 0, 1}))),
		"NUL in the name":  record(recordHandshake, helloMessage(serverName("ok.example\x00.evil.example"))),
		"port in the name": record(recordHandshake, helloMessage(serverName("ok.example:8443"))),
		"blank before":     record(recordHandshake, helloMessage(serverName(" ok.example"))),
		"two hellos":       record(recordHandshake, append(slices.Clone(good), helloMessage(serverName("evil.example"))...)),
		"SSL 2":            append([]byte{0x80, 0x2e, 1, 3, 1, 0, 0x15}, make([]byte, 60)...),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.host("ok.example", "93.184.215.14", "443", l)
			dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}})
			c := open(t, dial)
			c.send("CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + string(text)) // with the hello on its heels
			http.ReadResponse(c.in, &http.Request{Method: "CONNECT"})
			if alert, err := io.ReadAll(c.in); err != nil || !bytes.Equal(alert, []byte{recordAlert, 3, 3, 0, 2, 2, 49}) {
				t.Errorf("%x %v", alert, err)
			}
			if text := <-heard; text != "" {
				t.Errorf("the server heard %x", text)
			}
			if e := w.told(t, Denied, 1)[0]; e.Why == "" {
				t.Errorf("on record: %+v", e)
			}
		})
	}
}

// TestOpenTunnelsMayHide lets encrypted names pass where every name would.
func TestOpenTunnelsMayHide(t *testing.T) {
	text := record(recordHandshake, helloMessage(serverName("ok.example"), extension(extECH, []byte{0, 0, 1})))
	heard := make(chan []byte, 1)
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "443", listen(t, func(conn net.Conn) {
		got := make([]byte, len(text))
		io.ReadFull(conn, got)
		heard <- got
	}))
	dial := w.serve(t, &Proxy{Open: true})
	c := open(t, dial)
	c.send("CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + string(text))
	if got := <-heard; !bytes.Equal(got, text) {
		t.Errorf("%x", got)
	}
}

func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// TestRetry has a server that wants to hear another hello, and a client that
// names another host in it.
func TestRetry(t *testing.T) {
	special := sha256.Sum256([]byte("HelloRetryRequest"))
	retry := append([]byte{serverHello}, sized(3, []byte{3, 3}, special[:], sized(1), []byte{0x13, 1, 0}, sized(2))...)
	first := record(recordHandshake, helloMessage(serverName("ok.example")))
	before := append(record(recordCipherChange, []byte{1}), record(recordData, []byte("early"))...)
	for name, tt := range map[string]struct {
		answer []byte // of the server
		second []byte
		passes bool
	}{
		"the same": {record(recordHandshake, retry), append(slices.Clone(before), first...), true},
		"another": {record(recordHandshake, retry),
			record(recordHandshake, helloMessage(serverName("evil.example"))), false},
		"another after noise": {record(recordHandshake, retry),
			append(slices.Clone(before), record(recordHandshake, helloMessage(serverName("evil.example")))...), false},
		"none":            {record(recordHandshake, retry), record(recordHandshake, helloMessage()), false},
		"in small pieces": {pieces(retry, 9), record(recordHandshake, helloMessage(serverName("evil.example"))), false},
		"after a warning": {append(record(recordAlert, []byte{1, 112}), record(recordHandshake, retry)...),
			record(recordHandshake, helloMessage(serverName("evil.example"))), false},
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan []byte, 1)
			w := newWorld()
			w.host("ok.example", "93.184.215.14", "443", listen(t, func(conn net.Conn) {
				io.ReadFull(conn, make([]byte, len(first)))
				conn.Write(tt.answer)
				rest, _ := io.ReadAll(conn)
				heard <- rest
			}))
			dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}})
			c := open(t, dial)
			c.send("CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + string(first))
			http.ReadResponse(c.in, &http.Request{Method: "CONNECT"})
			if _, err := io.ReadFull(c.in, make([]byte, len(tt.answer))); err != nil {
				t.Fatal(err)
			}
			c.send(string(tt.second))
			c.Conn.(*net.UnixConn).CloseWrite()
			if got := <-heard; tt.passes != bytes.Equal(got, tt.second) || !tt.passes && len(got) > 0 {
				t.Errorf("the server heard %x", got)
			}
		})
	}
}

// TestRealRetry has Go's own client and server disagree about curves at first.
func TestRealRetry(t *testing.T) {
	_, dial, roots := secureWorld(t, &Proxy{}, &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}})
	conn, err := connect(t, dial, "example.com:443", &tls.Config{ServerName: "example.com", RootCAs: roots,
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}})
	if err != nil {
		t.Fatal(err)
	}
	if !conn.ConnectionState().HelloRetryRequest {
		t.Error("nothing was tried twice")
	}
	conn.Close()
}

// TestServerWithoutTLS is the server's own affair.
func TestServerWithoutTLS(t *testing.T) {
	for _, said := range []string{"220 hello, this is no TLS\r\n", "ab", ""} {
		first := record(recordHandshake, helloMessage(serverName("ok.example")))
		w := newWorld()
		w.host("ok.example", "93.184.215.14", "443", listen(t, func(conn net.Conn) {
			io.ReadFull(conn, make([]byte, len(first)))
			io.WriteString(conn, said)
		}))
		dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}})
		c := open(t, dial)
		c.send("CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + string(first))
		http.ReadResponse(c.in, &http.Request{Method: "CONNECT"})
		if text, err := io.ReadAll(c.in); err != nil || string(text) != said {
			t.Errorf("%q %v", text, err)
		}
	}
}

func TestSilentTunnels(t *testing.T) {
	first := record(recordHandshake, helloMessage(serverName("ok.example")))
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "443", listen(t, func(conn net.Conn) {
		io.ReadFull(conn, make([]byte, len(first)))
		conn.Write(record(recordHandshake, append([]byte{serverHello}, make([]byte, 80)...)))
		io.Copy(io.Discard, conn)
	}))
	dial := w.serve(t, &Proxy{Allow: []string{"ok.example"}, Limits: Limits{HeadTime: 50 * time.Millisecond,
		Idle: 50 * time.Millisecond}})
	for i, said := range []string{"", string(first[:20]), string(first)} {
		c := open(t, dial)
		c.send("CONNECT ok.example:443 HTTP/1.1\r\n\r\n")
		http.ReadResponse(c.in, &http.Request{Method: "CONNECT"})
		c.send(said)
		io.ReadAll(c.in) // ends by itself
		w.told(t, Closed, i+1)
	}
}

// TestTunnelEndsWithContext leaves nothing behind while two still greet.
func TestTunnelEndsWithContext(t *testing.T) {
	arrived := make(chan bool)
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "443", listen(t, func(conn net.Conn) {
		conn.Read(make([]byte, 1))
		close(arrived)
		io.Copy(io.Discard, conn)
	}))
	p := &Proxy{Allow: []string{"ok.example"}, Resolve: w.resolve, Dial: w.dial, Log: w.log}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Serve(ctx, l) }()
	c := open(t, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
	c.send("CONNECT ok.example:443 HTTP/1.1\r\n\r\n" +
		string(record(recordHandshake, helloMessage(serverName("ok.example")))))
	<-arrived
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
