package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// newSite is a server that does what servers do.
func newSite(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %d %v %s", r.Method, r.Host, r.RequestURI, r.ContentLength, r.TransferEncoding, body)
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("Upgrade", "h2c")
		w.Header().Set("X-Passed", "yes")
		w.Header().Set("Connection", "X-Near")
		w.Header().Set("X-Near", "yes")
		w.Header().Set("Set-Cookie", "a=b")
		r.Header.Write(w)
	})
	mux.HandleFunc("/chunks", func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			fmt.Fprint(w, "piece ")
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.example/", http.StatusFound)
	})
	mux.HandleFunc("/torn", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/tornchunks", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/refuse", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "too much", http.StatusRequestEntityTooLarge)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.RequestURI, "//") {
			fmt.Fprint(w, r.Host, " ", r.RequestURI)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func siteWorld(t *testing.T, p *Proxy) (*world, func() (net.Conn, error)) {
	t.Helper()
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "80", newSite(t).URL)
	if p.Allow == nil {
		p.Allow = []string{"ok.example"}
	}
	return w, w.serve(t, p)
}

const okHost = " HTTP/1.1\r\nHost: ok.example\r\n"

func TestForward(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{})
	for _, tt := range []struct{ request, want string }{
		{"GET http://ok.example/echo?a=b%20c" + okHost + "\r\n", "GET ok.example /echo?a=b%20c 0 [] "},
		{"GET HTTP://OK.EXAMPLE:80/echo" + okHost + "\r\n", "GET ok.example /echo 0 [] "},
		{"POST http://ok.example/echo" + okHost + "Content-Length: 5\r\n\r\nhello", "POST ok.example /echo 5 [] hello"},
		{"POST http://ok.example/echo" + okHost + "Transfer-Encoding: Chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
			"POST ok.example /echo -1 [chunked] hello"},
		{"PATCH http://ok.example/echo" + okHost + "Content-Length: 0\r\n\r\n", "PATCH ok.example /echo 0 [] "},
		{"GET http://ok.example/chunks" + okHost + "\r\n", "piece piece piece "},
		{"GET http://ok.example/chunks HTTP/1.0\r\n\r\n", "piece piece piece "},
		{"GET http://ok.example//evil.example/x" + okHost + "\r\n", "ok.example //evil.example/x"},
	} {
		resp, text := ask(t, dial, tt.request)
		if resp.StatusCode != 200 || text != tt.want {
			t.Errorf("%.40q: %s %q, want %q", tt.request, resp.Status, text, tt.want)
		}
	}
	if got := w.dials(); len(got) != 8 ||
		slices.ContainsFunc(got, func(a string) bool { return a != "93.184.215.14:80" }) {
		t.Errorf("dialled %v", got)
	}
	events := w.told(t, Closed, 8)
	third := slices.IndexFunc(events, func(e Event) bool { return e.ID == 3 }) // they end in any order
	if e := events[third]; e.Method != "POST" || e.Host != "ok.example" || e.Port != 80 || e.Path != "/echo" || e.Sent != 5 ||
		e.Received != 32 || e.Why != "" || e.Duration == 0 {
		t.Errorf("on record: %+v", e)
	}
	if e := w.told(t, Opened, 8)[0]; !slices.Equal(e.Addresses, []netip.Addr{netip.MustParseAddr("93.184.215.14")}) ||
		e.Path != "/echo" {
		t.Errorf("on record: %+v", e)
	}
}

func TestHeadersOfTheHop(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{})
	resp, text := ask(t, dial, "GET http://ok.example/header"+okHost+
		"Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nX-Yours: 2\r\nProxy-Authorization: Basic eDp5\r\n"+
		"Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: websocket\r\nKeep-Alive: 5\r\nCookie: c=d\r\n\r\n")
	if text != "Cookie: c=d\r\nX-Yours: 2\r\n" {
		t.Errorf("the server got %q", text)
	}
	if resp.Header.Get("Keep-Alive") != "" || resp.Header.Get("Upgrade") != "" || resp.Header.Get("X-Near") != "" ||
		resp.Header.Get("X-Passed") != "yes" || resp.Header.Get("Set-Cookie") != "a=b" {
		t.Errorf("the client got %v", resp.Header)
	}
}

// TestKeepAlive checks every request of a connection anew.
func TestKeepAlive(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{})
	c := open(t, dial)
	for i, request := range []string{"GET http://ok.example/echo", "HEAD http://ok.example/echo",
		"GET http://ok.example/empty", "GET http://ok.example/chunks", "GET http://ok.example/to"} {
		c.send(request + okHost + "\r\n")
		method, _, _ := strings.Cut(request, " ")
		if resp, _ := c.answer(method); resp.StatusCode >= 400 || resp.Close {
			t.Fatalf("%d: %s", i, resp.Status)
		}
	}
	c.send("GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n")
	if resp, text := c.answer("GET"); resp.StatusCode != 403 ||
		!strings.Contains(text, "add other.example to allowed_domains") ||
		!strings.Contains(resp.Status, "not in allowed_domains") {
		t.Errorf("%s %s", resp.Status, text)
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("after a refusal: %v", err)
	}
	if got := w.dials(); len(got) != 1 {
		t.Errorf("dialled %v", got)
	}
	if w.mu.Lock(); len(w.looked) != 1 {
		t.Errorf("looked up %v", w.looked)
	}
	w.mu.Unlock()
}

func TestPipelined(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{})
	c := open(t, dial)
	c.send("POST http://ok.example/echo" + okHost + "Content-Length: 3\r\n\r\noneGET http://ok.example/echo" + okHost +
		"Connection: close\r\n\r\n")
	if _, text := c.answer("POST"); !strings.HasSuffix(text, "one") {
		t.Error(text)
	}
	if resp, text := c.answer("GET"); !strings.HasPrefix(text, "GET") || !resp.Close {
		t.Error(text)
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Error(err)
	}
}

func TestContinue(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{})
	c := open(t, dial)
	c.send("POST http://ok.example/echo" + okHost + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != 100 {
		t.Fatal(resp.Status)
	}
	c.send("hello")
	if _, text := c.answer("POST"); !strings.HasSuffix(text, "hello") {
		t.Error(text)
	}
	c.send("POST http://no.example/ HTTP/1.1\r\nHost: no.example\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != 403 {
		t.Error(resp.Status)
	}
}

// TestEarlyAnswer has a server that does not want to hear the whole body.
func TestEarlyAnswer(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{})
	c := open(t, dial)
	c.send("POST http://ok.example/refuse" + okHost + "Content-Length: 100000000\r\n\r\nsome")
	if resp, text := c.answer("POST"); resp.StatusCode != 413 || text != "too much\n" || !resp.Close {
		t.Errorf("%s %q", resp.Status, text)
	}
}

// TestTorn checks that half an answer does not pass for a whole one.
func TestTorn(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{})
	for i, path := range []string{"/torn", "/tornchunks"} {
		c := open(t, dial)
		c.send("GET http://ok.example" + path + okHost + "\r\n")
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); err == nil || string(text) != "half" {
			t.Errorf("%s: %q %v", path, text, err)
		}
		if e := w.told(t, Closed, i+1)[i]; e.Why == "" || e.Received != 4 {
			t.Errorf("on record: %+v", e)
		}
	}
}

func TestUnreachable(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Allow: []string{"gone.example", "unknown.example"}})
	w.names["gone.example"] = "93.184.215.20"
	for _, request := range []string{"GET http://gone.example/ HTTP/1.0\r\n\r\n",
		"CONNECT gone.example:443 HTTP/1.1\r\n\r\n", "CONNECT unknown.example:443 HTTP/1.1\r\n\r\n"} {
		resp, text := ask(t, dial, request)
		if resp.StatusCode != 502 || !strings.Contains(text, "hint: ") || strings.Contains(text, "secret-of") {
			t.Errorf("%q: %s %s", request, resp.Status, text)
		}
	}
	w.told(t, Closed, 2)
}

// TestNoRebinding has a name that changes its address between two looks.
func TestNoRebinding(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{})
	c := open(t, dial)
	for _, address := range []string{"93.184.215.14", "127.0.0.1"} {
		w.mu.Lock()
		w.names["ok.example"] = address
		w.mu.Unlock()
		c.send("GET http://ok.example/echo" + okHost + "\r\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
	}
	if got := w.dials(); !slices.Equal(got, []string{"93.184.215.14:80"}) {
		t.Errorf("dialled %v", got)
	}
	if resp, _ := get(t, dial, "http://ok.example/echo"); resp.StatusCode != 403 {
		t.Errorf("a new connection: %s", resp.Status)
	}
}

// TestSecondAddress falls back to an address that answers.
func TestSecondAddress(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{})
	w.names["ok.example"] = "93.184.215.99,93.184.215.14"
	if resp, _ := get(t, dial, "http://ok.example/echo"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestPrivate(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Allow: []string{"git.corp.example", "www.corp.example", "10.0.0.9:3000", "[fd12:0::1]",
		"meta.corp.example"}, Private: []string{"git.corp.example", "meta.corp.example"}})
	site := w.servers["93.184.215.14:80"]
	w.host("git.corp.example", "10.0.0.7", "80", site)
	w.host("www.corp.example", "10.0.0.8", "80", site)
	w.host("meta.corp.example", "169.254.169.254", "80", site)
	w.servers["10.0.0.9:3000"], w.servers["[fd12::1]:80"] = site, site
	for address, want := range map[string]int{
		"http://git.corp.example/echo": 200, "http://10.0.0.9:3000/echo": 200, "http://[fd12::0:1]/echo": 200,
		"http://www.corp.example/echo": 403, "http://meta.corp.example/echo": 403, "http://10.0.0.9/echo": 403,
		"http://10.0.0.7/echo": 403,
	} {
		resp, text := get(t, dial, address)
		if resp.StatusCode != want || strings.Contains(text, "10.0.0.8") || strings.Contains(address, "[") &&
			!strings.HasPrefix(text, "GET [fd12::1] /echo") {
			t.Errorf("%s: %s %s", address, resp.Status, text)
		}
	}
}

// TestUnrecorded makes no connection that is not on record.
func TestUnrecorded(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{})
	w.mu.Lock()
	w.refuse = true
	w.mu.Unlock()
	for _, request := range []string{"GET http://ok.example/echo" + okHost + "\r\n",
		"CONNECT ok.example:443 HTTP/1.1\r\n\r\n", "CONNECT no.example:443 HTTP/1.1\r\n\r\n"} {
		if resp, text := ask(t, dial, request); resp.StatusCode < 400 || strings.Contains(text, "disk full") {
			t.Errorf("%s %s", resp.Status, text)
		}
	}
	if got := w.dials(); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
}

func TestSlowHead(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{Limits: Limits{HeadTime: 50 * time.Millisecond, KeepAlive: 50 * time.Millisecond}})
	c := open(t, dial)
	c.send("GET http://ok.example/ HT")
	if resp, text := c.answer("GET"); resp.StatusCode != 408 || !strings.Contains(text, "in time") {
		t.Errorf("%s %s", resp.Status, text)
	}
	silent := open(t, dial)
	if _, err := silent.in.ReadByte(); err != io.EOF {
		t.Errorf("silence: %v", err)
	}
	again := open(t, dial)
	again.send("GET http://ok.example/echo" + okHost + "\r\n")
	again.answer("GET")
	if _, err := again.in.ReadByte(); err != io.EOF {
		t.Errorf("after a request: %v", err)
	}
}

func TestIdle(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Limits: Limits{Idle: 50 * time.Millisecond}})
	for i, request := range []string{"GET http://ok.example/slow" + okHost + "\r\n", "POST http://ok.example/echo" +
		okHost + "Content-Length: 5\r\n\r\nhel"} {
		c := open(t, dial)
		c.send(request)
		if text, err := io.ReadAll(c.in); err != nil && !errors.Is(err, net.ErrClosed) &&
			!strings.Contains(err.Error(), "reset") || bytes.HasSuffix(text, []byte("0\r\n\r\n")) {
			t.Errorf("%q %v", text, err)
		}
		w.told(t, Closed, i+1)
	}
}

func TestTooManyConnections(t *testing.T) {
	w, dial := siteWorld(t, &Proxy{Limits: Limits{Connections: 2}})
	var held []*wire
	for range 2 {
		c := open(t, dial)
		c.send("GET http://ok.example/echo" + okHost + "\r\n")
		c.answer("GET")
		held = append(held, c)
	}
	if resp, text := open(t, dial).answer("GET"); resp.StatusCode != 503 || !strings.Contains(text, "too many") {
		t.Errorf("%s %s", resp.Status, text)
	}
	w.told(t, Denied, 1)
	held[0].Close()
	for deadline := time.Now().Add(testload.Bound(5 * time.Second)); ; {
		if resp, _ := get(t, dial, "http://ok.example/echo"); resp.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the place of a closed connection is not given away")
		}
	}
}

func TestCloseDrains(t *testing.T) {
	w := newWorld()
	entered, goOn := make(chan bool), make(chan bool)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- true
		<-goOn
		fmt.Fprint(w, "whole")
	}))
	defer site.Close()
	w.host("ok.example", "93.184.215.14", "80", site.URL)
	p := &Proxy{Allow: []string{"ok.example"}}
	dial := w.serve(t, p)
	c, idle := open(t, dial), open(t, dial)
	c.send("GET http://ok.example/" + okHost + "\r\n")
	<-entered
	closed := make(chan bool)
	go func() {
		p.Close()
		close(closed)
	}()
	if _, err := idle.in.ReadByte(); err != io.EOF {
		t.Errorf("one that waits: %v", err)
	}
	goOn <- true
	if _, text := c.answer("GET"); text != "whole" {
		t.Error(text)
	}
	<-closed
	if conn, err := dial(); err == nil {
		conn.Close()
		t.Error("a closed proxy takes connections")
	}
}

func TestCloseCutsOff(t *testing.T) {
	p := &Proxy{Limits: Limits{Drain: 10 * time.Millisecond}}
	w, dial := siteWorld(t, p)
	c := open(t, dial)
	c.send("GET http://ok.example/slow" + okHost + "\r\n")
	w.told(t, Opened, 1)
	p.Close()
	w.told(t, Closed, 1)
	if err := p.Serve(t.Context(), nopListener{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("serving again: %v", err)
	}
}

type nopListener struct{ net.Listener }

func (nopListener) Close() error { return nil }

func TestContextCutsOff(t *testing.T) {
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "80", newSite(t).URL)
	p := &Proxy{Allow: []string{"ok.example"}, Resolve: w.resolve, Dial: w.dial, Log: w.log}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Serve(ctx, l) }()
	dial := func() (net.Conn, error) { return net.Dial("unix", socket) }
	open(t, dial) // says nothing
	c := open(t, dial)
	c.send("GET http://ok.example/slow" + okHost + "\r\n")
	w.told(t, Opened, 1)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeRefusesNonsense(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Proxy{}).Serve(t.Context(), l); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error("the listener is still open")
	}
}

// TestProtocolChange has a server that stops speaking HTTP unasked.
func TestProtocolChange(t *testing.T) {
	w := newWorld()
	w.host("ok.example", "93.184.215.14", "80", listen(t, func(conn net.Conn) {
		conn.Read(make([]byte, 1000))
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello")
		io.Copy(io.Discard, conn)
	}))
	dial := w.serve(t, &Proxy{Open: true})
	if resp, text := get(t, dial, "http://ok.example/"); resp.StatusCode != 502 ||
		!strings.Contains(text, "change the protocol") {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// TestNotForEver ends a connection after very many requests.
func TestNotForEver(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{})
	c := open(t, dial)
	for i := 1; ; i++ {
		c.send("GET http://ok.example/empty" + okHost + "\r\n")
		if resp, _ := c.answer("GET"); resp.Close != (i == maxRequests) {
			t.Fatalf("%d: %v", i, resp.Header)
		} else if resp.Close {
			return
		}
	}
}

// A lame listener fails so many times before it is closed.
type lame struct {
	net.Listener
	failures int
}

func (l *lame) Accept() (net.Conn, error) {
	if l.failures--; l.failures < 0 {
		return nil, net.ErrClosed
	}
	return nil, errors.New("too many open files")
}

func TestLameListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := accept(&lame{failures: 20}, 1, nil, nil); err != nil {
			t.Error(err)
		}
		if err := accept(&lame{failures: 21}, 1, nil, nil); fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
	})
}

// TestOrdinaryClient has Go's own client use the proxy by a bridge, as programs in
// the container do.
func TestOrdinaryClient(t *testing.T) {
	_, dial := siteWorld(t, &Proxy{})
	bridge := startBridge(t, dial)
	via, _ := url.Parse("http://" + bridge.address)
	transport := &http.Transport{Proxy: http.ProxyURL(via)}
	resp, err := (&http.Client{Transport: transport}).Post("http://ok.example/echo", "text/plain",
		strings.NewReader(strings.Repeat("x", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	transport.CloseIdleConnections()
	if err != nil || len(text) < 100_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	bridge.stop(t)
}
