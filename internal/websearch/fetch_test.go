package websearch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/internal/text"
	"hako/run/fault"
)

// site is a server with everything a page can do.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "%s 日本語\n", r.Method)
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s|%s|%s|%s", r.UserAgent(), r.Header.Get("Cookie"), r.Header.Get("Authorization"), r.Referer())
	})
	mux.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, "/headers", http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop",
			http.StatusFound)
	})
	mux.HandleFunc("/nowhere", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusFound) })
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		var code int
		fmt.Sscan(r.URL.Query().Get("c"), &code)
		w.WriteHeader(code)
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 3000)) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for _, err := w.Write(make([]byte, 1000)); err == nil; {
			_, err = w.Write(make([]byte, 1000))
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(make([]byte, 1<<20))
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(b.Bytes())
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(testload.Bound(10 * time.Second)):
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestGet(t *testing.T) {
	s := site(t)
	f := &Fetcher{Prefixes: []string{s.URL}}
	p, err := f.Get(t.Context(), s.URL+"/ok")
	if err != nil {
		t.Fatal(err)
	}
	if string(p.Body) != "GET 日本語\n" || p.Status != 200 || p.Type != "text/plain; charset=utf-8" || p.URL != s.URL+"/ok" {
		t.Errorf("%+v", p)
	}
	if p, err = f.Get(t.Context(), s.URL+"/cookie"); err != nil || string(p.Body) != "hako|||" ||
		p.URL != s.URL+"/headers" {
		t.Errorf("%+v %v", p, err)
	}
}

func TestGetFails(t *testing.T) {
	s := site(t)
	f := &Fetcher{Prefixes: []string{s.URL}, MaxBytes: 2000, Timeout: 2 * time.Second, MaxRedirects: 3}
	tests := []struct {
		path string
		kind fault.Kind
		why  string
	}{
		{"/status?c=404", fault.NotFound, "404 Not Found"},
		{"/status?c=403", fault.Invalid, "403 Forbidden"},
		{"/status?c=500", fault.Unavailable, "500"},
		{"/status?c=429", fault.Unavailable, "429"},
		{"/big", fault.TooLarge, "2000 bytes"},
		{"/endless", fault.TooLarge, "2000 bytes"},
		{"/bomb", fault.TooLarge, "2000 bytes"},
		{"/loop", fault.Denied, "more than 3 times"},
		{"/nowhere", fault.Unavailable, "makes no sense"},
		{"/to?u=http://example.com/", fault.Denied, "redirects to http://example.com/: no allowed URL prefix"},
		{"/to?u=file:///etc/passwd", fault.Invalid, "redirects to file:///etc/passwd"},
		{"/to?u=//169.254.169.254/latest", fault.Denied, "redirects to http://169.254.169.254/latest"},
	}
	for _, tt := range tests {
		p, err := f.Get(t.Context(), s.URL+tt.path)
		if p != nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v (%v), want %v %q", tt.path, err, fault.KindOf(err), tt.kind, tt.why)
		}
	}
	f.Timeout = 50 * time.Millisecond
	if _, err := f.Get(t.Context(), s.URL+"/slow"); fault.KindOf(err) != fault.Timeout ||
		!strings.Contains(err.Error(), "50ms") {
		t.Errorf("slow: %v", err)
	}
}

func TestRedirectInsidePrefixOnly(t *testing.T) {
	s := site(t)
	f := &Fetcher{Prefixes: []string{s.URL + "/to"}}
	if _, err := f.Get(t.Context(), s.URL+"/to?u=/ok"); fault.KindOf(err) != fault.Denied {
		t.Errorf("left the prefix: %v", err)
	}
	f.Prefixes = append(f.Prefixes, s.URL+"/ok")
	if _, err := f.Get(t.Context(), s.URL+"/to?u=/ok"); err != nil {
		t.Error(err)
	}
	f.MaxRedirects = -1
	if _, err := f.Get(t.Context(), s.URL+"/to?u=/ok"); fault.KindOf(err) != fault.Denied {
		t.Errorf("followed: %v", err)
	}
}

func TestNoDowngrade(t *testing.T) {
	plain := site(t)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/ok", http.StatusFound))
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	f := &Fetcher{Prefixes: []string{plain.URL, secure.URL}, Roots: roots}
	if _, err := f.Get(t.Context(), secure.URL+"/"); fault.KindOf(err) != fault.Denied ||
		!strings.Contains(err.Error(), "not encrypted") {
		t.Error(err)
	}
	f.Roots = x509.NewCertPool()
	if _, err := f.Get(t.Context(), secure.URL+"/"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("unknown authority: %v", err)
	}
}

// forgedCertificate is one that its owner signed, for names of his choice.
func forgedCertificate(t *testing.T, names ...string) tls.Certificate {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestErrorsAreClean has servers put into our errors what a terminal obeys or
// nobody sees.
func TestErrorsAreClean(t *testing.T) {
	forged := "\x1b[2Jowned\x07.example"
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{forgedCertificate(t, forged, strings.Repeat("x", 5000))}}
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://other.example/?\u202ednuora\u200b")
		w.WriteHeader(http.StatusFound)
	}))
	defer plain.Close()
	resolve := func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no \x1b[31m\u202ehost") }
	var dialled []string
	byName := named(secure, "8.8.8.8", &dialled)
	byName.Prefixes = []string{"https://docs.example.com"}
	if _, err := byName.Get(t.Context(), "https://docs.example.com/"); err == nil ||
		!strings.Contains(err.Error(), "owned") {
		t.Errorf("the certificate is not what the error is about: %v", err)
	}
	for address, f := range map[string]*Fetcher{
		"https://docs.example.com/": byName,
		secure.URL + "/":            {Prefixes: []string{secure.URL}},
		plain.URL + "/":             {Prefixes: []string{plain.URL}},
		"http://docs.example.com/x": {Prefixes: []string{"http://docs.example.com"}, Resolve: resolve},
		"http://\u202ex.example/":   {Prefixes: []string{"http://docs.example.com"}},
		"http://x.example/?\u202ey": {Prefixes: []string{"http://docs.example.com"}},
	} {
		_, err := f.Get(t.Context(), address)
		if err == nil || text.Line(err.Error(), 2000) != err.Error() || len(err.Error()) > 1500 {
			t.Errorf("%q: %q", address, err)
		}
		for inner := err; inner != nil; inner = errors.Unwrap(inner) {
			if strings.Contains(inner.Error(), "\x1b") {
				t.Errorf("%q: inside is %q", address, inner)
			}
		}
	}
}

// TestPageAddressIsClean has a redirect to an address that writes backwards.
func TestPageAddressIsClean(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Location", "/there?q=\u202ed&r=日本")
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer s.Close()
	p, err := (&Fetcher{Prefixes: []string{s.URL}}).Get(t.Context(), s.URL+"/")
	if err != nil || p.URL != s.URL+"/there?q=%E2%80%AEd&r=日本" {
		t.Errorf("%+v %v", p, err)
	}
}

// named returns a fetcher for which every name has the given address, and which
// connects to s whatever the address.
func named(s *httptest.Server, address string, dialled *[]string) *Fetcher {
	return &Fetcher{
		Prefixes: []string{"http://docs.example.com", "http://localhost"},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr(address)}, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			*dialled = append(*dialled, address)
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		},
	}
}

func TestNamesWithPrivateAddresses(t *testing.T) {
	s := site(t)
	for _, address := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:192.168.0.1", "fd00::1"} {
		var dialled []string
		_, err := named(s, address, &dialled).Get(t.Context(), "http://docs.example.com/ok")
		if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "not a public address") || len(dialled) > 0 {
			t.Errorf("%s: %v, dialled %v", address, err, dialled)
		}
	}
	var dialled []string
	p, err := named(s, "8.8.8.8", &dialled).Get(t.Context(), "http://docs.example.com/ok")
	if err != nil || p.Status != 200 || len(dialled) != 1 || dialled[0] != "93.184.215.14:80" {
		t.Errorf("%+v %v, dialled %v", p, err, dialled)
	}
}

func TestLocalhostIsLoopbackOnly(t *testing.T) {
	s := site(t)
	var dialled []string
	f := named(s, "127.0.0.1", &dialled)
	if _, err := f.Get(t.Context(), "http://localhost/ok"); err != nil {
		t.Error(err)
	}
	if _, err := named(s, "10.0.0.1", &dialled).Get(t.Context(), "http://localhost/ok"); fault.KindOf(
		err) != fault.Denied {
		t.Errorf("localhost is elsewhere: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	f := &Fetcher{Prefixes: []string{"http://docs.example.com"}, Resolve: func(context.Context, string) ([]netip.Addr,
		error) {
		return nil, errors.New("no such host")
	}}
	if _, err := f.Get(t.Context(), "http://docs.example.com/"); fault.KindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "no such host") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Get(ctx, "http://docs.example.com/"); err == nil {
		t.Error("a cancelled request was answered")
	}
}

func TestProxyOnlyWhenSet(t *testing.T) {
	s := site(t)
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "by proxy")
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	var dialled []string
	f := named(s, "8.8.8.8", &dialled)
	if _, err := f.Get(t.Context(), "http://docs.example.com/ok"); err != nil || asked.Load() != 0 {
		t.Errorf("%v, proxy asked %d times", err, asked.Load())
	}
	u, _ := url.Parse(proxy.URL)
	p, err := (&Fetcher{Prefixes: f.Prefixes, Proxy: u}).Get(t.Context(), "http://docs.example.com/ok")
	if err != nil || string(p.Body) != "by proxy" || asked.Load() != 1 {
		t.Errorf("%+v %v", p, err)
	}
}
