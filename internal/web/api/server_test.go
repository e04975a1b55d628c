package api

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/gate"
	"hako/internal/app/records"
	"hako/internal/testload"
	"hako/run/fault"
)

func TestAddress(t *testing.T) {
	pair := Certificate{"a", "b"}
	for _, c := range []struct {
		s    *Server
		want string
		kind fault.Kind
	}{
		{&Server{}, "127.0.0.1:0", 0},
		{&Server{Addr: ":80"}, "127.0.0.1:80", 0},
		{&Server{Addr: "localhost:80"}, "127.0.0.1:80", 0},
		{&Server{Addr: "[::1]:80"}, "[::1]:80", 0},
		{&Server{Addr: ":80", Public: true}, ":80", 0},
		{&Server{Addr: "10.0.0.1:80", TLS: pair}, "10.0.0.1:80", 0},
		{&Server{Addr: "0.0.0.0:80", Public: true}, "0.0.0.0:80", 0},
		{&Server{Addr: "0.0.0.0:80"}, "", fault.Denied},
		{&Server{Addr: "10.0.0.1:80"}, "", fault.Denied},
		{&Server{Addr: "example.org:80"}, "", fault.Denied},
		{&Server{Addr: "80"}, "", fault.Invalid},
		{&Server{Addr: "127.0.0.1:http"}, "", fault.Invalid},
		{&Server{Addr: "127.0.0.1:70000"}, "", fault.Invalid},
	} {
		got, err := c.s.listenAddress().Address()
		if got != c.want || fault.KindOf(err) != c.kind || err != nil && fault.Hint(err) == "" {
			t.Errorf("%s: %s, %v", c.s.Addr, got, err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, _, err = (&Server{Addr: l.Addr().String()}).Start(t.Context())
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), l.Addr().String()) ||
		fault.Hint(err) == "" {
		t.Errorf("%v", err)
	}
}

func TestHintsNameTheFlags(t *testing.T) {
	for want, s := range map[string]*Server{
		"--tls-cert and --tls-key; or say --public": {Addr: "0.0.0.0:0"},
		"with --tls-key":  {TLS: Certificate{Cert: "c.pem"}},
		"with --tls-cert": {TLS: Certificate{Key: "k.pem"}},
	} {
		_, _, err := s.Start(t.Context())
		if !strings.Contains(fault.Hint(err), want) {
			t.Errorf("%v, hint %s", err, fault.Hint(err))
		}
	}
	_, _, err := (&Server{TLS: Certificate{Cert: "c.pem"}}).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "its key is missing") {
		t.Errorf("%v", err)
	}
}

func TestBadCertificate(t *testing.T) {
	for _, c := range []Certificate{{"missing", "missing"}, {Cert: "x"}, {Key: "x"}} {
		if _, _, err := (&Server{TLS: c}).Start(t.Context()); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// certificate makes one for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := Certificate{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for file, block := range map[string]*pem.Block{c.Cert: {Type: "CERTIFICATE", Bytes: der},
		c.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	one, _ := x509.ParseCertificate(der)
	pool.AddCert(one)
	return c, pool
}

// secure is a client that speaks HTTP/1 or HTTP/2 over TLS.
func (h *house) secure(token string, pool *x509.CertPool, version int) *client {
	h.url = "https" + h.url[strings.Index(h.url, ":"):]
	c := h.client(token)
	c.http.Jar, _ = cookiejar.New(nil)
	transport := c.http.Transport.(*http.Transport)
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: pool}, version == 2
	return c
}

func TestTLS(t *testing.T) {
	pair, pool := certificate(t)
	h := build(t, func(s *Server) { s.TLS = pair })
	for _, version := range []int{1, 2} {
		c := h.secure("", pool, version)
		r := c.request("POST", "/login", LoginRequest{Token: h.operator})
		r.Header.Set("Origin", h.url)
		status, header, body := c.do(r)
		if cookie := header.Get("Set-Cookie"); status != 200 || !strings.Contains(cookie, "Secure") ||
			!strings.HasPrefix(cookie, "__Host-hako_") {
			t.Errorf("%d %s %s", status, cookie, body)
		}
		e := c.listen(c.request("GET", "/api/v1/approvals/events", nil))
		e.want(`event: approvals|data: {"questions":[]}`)
		id, answer := h.ask()
		if got := e.next(); !strings.Contains(got, id) {
			t.Errorf("%s", got)
		}
		h.desk.Answer(t.Context(), ann, id, gate.No)
		<-answer
		e.body.Close()
	}
}

func TestTwoServersHaveTwoCookies(t *testing.T) {
	a, b := build(t), build(t)
	if a.server.cookie == b.server.cookie {
		t.Errorf("%s", a.server.cookie)
	}
}

// raw sends bytes and returns the first line of the answer.
func (h *house) raw(text string) string {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	io.WriteString(conn, text)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func TestRawRequests(t *testing.T) {
	h := build(t, func(s *Server) { s.limits.read = 200 * time.Millisecond })
	for text, want := range map[string]string{
		"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n": "HTTP/1.1 200 OK",
		"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 64<<10) +
			"\r\n\r\n": "HTTP/1.1 431 Request Header Fields Too Large",
		"GET /api/v1/health HTTP/1.1\r\n\r\n":                                   "HTTP/1.1 400 Bad Request: missing required Host header",
		"GET /api/v1/health HTTP/1.0\r\n\r\n":                                   "HTTP/1.0 421 Misdirected Request",
		"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{": "HTTP/1.1 400 Bad Request", // and never more
	} {
		if got := h.raw(text); got != want {
			t.Errorf("%.60q: %s", text, got)
		}
	}
}

// Strangers who take all connections keep nobody out, whether they are silent or
// send half a request; who has shown a token keeps theirs.
func TestConnectionsOfStrangers(t *testing.T) {
	for name, text := range map[string]string{
		"silent":      "",
		"half a line": "G",
		"half a body": "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
		"answered":    "GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"refused":     "POST /api/v1/todos HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
	} {
		h := build(t, func(s *Server) { s.limits.connections, s.limits.read = 4, time.Minute })
		c := h.client(h.reader)
		e := c.listen(c.request("GET", "/api/v1/events", nil))
		for range 6 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, text)
		}
		began := time.Now()
		o := h.client(h.operator)
		o.want(200, nil, "GET", "/api/v1/session", nil)
		if took := time.Since(began); took > testload.Bound(2*time.Second) {
			t.Errorf("%s: an operator waits %v", name, took)
		}
		tell(t, h.events, records.Entry{Seq: 1})
		if got := e.next(); !strings.HasPrefix(got, "id: 1|") {
			t.Errorf("%s: the stream: %s", name, got)
		}
	}
}

// A connection on which nothing is asked is not kept for ever, but for longer than
// a client of Go keeps it: one that both let go at once loses a request.
func TestIdleConnection(t *testing.T) {
	var l limits
	if l.setDefaults(); l.idle <= http.DefaultTransport.(*http.Transport).IdleConnTimeout || l.idle > 5*time.Minute {
		t.Errorf("%v", l.idle)
	}
	h := build(t, func(s *Server) { s.limits.idle = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(3 * time.Second))
	io.WriteString(conn, "GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if _, err := io.ReadAll(conn); err != nil {
		t.Error(err)
	}
}

func TestStopWaitsForAnswers(t *testing.T) {
	began := make(chan bool)
	h := build(t, func(s *Server) {
		s.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			time.Sleep(100 * time.Millisecond)
			fmt.Fprint(w, "whole")
		})
	})
	c := h.client("")
	got := make(chan string)
	go func() {
		res, err := c.http.Do(c.request("GET", "/", nil))
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		got <- string(body)
	}()
	<-began
	if err := h.stop(context.Background()); err != nil {
		t.Error(err)
	}
	if body := <-got; body != "whole" {
		t.Errorf("%s", body)
	}
}

// Browsers open connections in advance: nobody waits for a request on them.
func TestStopDoesNotWaitForSilence(t *testing.T) {
	h := build(t)
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	h.client(h.operator).want(200, nil, "GET", "/api/v1/health", nil) // they are accepted by now
	began := time.Now()
	if err := h.stop(t.Context()); err != nil || time.Since(began) > testload.Bound(3*time.Second) {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestStopCutsWhatTakesTooLong(t *testing.T) {
	began := make(chan bool)
	s := &Server{Pages: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { close(began); <-r.Context().Done() })}
	addr, stop, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		if res, err := http.Get("http://" + addr); err == nil {
			res.Body.Close()
		}
	}()
	<-began
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := stop(ctx); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
	<-done
}
