package mcpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/netlisten"
	"hako/internal/testload"
	"hako/run"
)

// A request that goes on ends soon after its token was removed.
func TestRemovedTokenEndsItsRequests(t *testing.T) {
	var removed atomic.Bool
	d := open(t, Options{Maker: newVirtual(""), Caller: Bearer(func(string) string {
		if removed.Load() {
			return ""
		}
		return "ann"
	})})
	began := make(chan bool)
	url := serveOn(t, web(d.throttle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}), new(netlisten.IdleConns)), new(netlisten.IdleConns)))
	go func() {
		<-began
		removed.Store(true)
	}()
	start := time.Now()
	if knock(t, url, "right", strings.NewReader(hello)); time.Since(start) > testload.Bound(2*time.Second) {
		t.Errorf("it goes on for %v", time.Since(start))
	}
}

// listening is a door that lets in the token "right".
func listening(t *testing.T) (url string) {
	t.Helper()
	return listeningWith(t, newVirtual(""), Limits{})
}

func listeningWith(t *testing.T, m Maker, l Limits) (url string) {
	t.Helper()
	d := open(t, Options{Maker: m, Limits: l, Caller: Bearer(func(token string) string {
		if token == "right" {
			return "ann"
		}
		return ""
	})})
	ctx, stop := context.WithCancel(t.Context())
	at, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- d.Listen(ctx, "127.0.0.1:0", func(url string) { at <- url }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return <-at
}

func serveOn(t *testing.T, srv *http.Server) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String()
}

func knock(t *testing.T, url, token string, body io.Reader) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// Wrong tokens are slowed down, and do not keep out who has a right one.
func TestWrongTokensAreSlowedDown(t *testing.T) {
	url := listening(t)
	for range 10 {
		if res := knock(t, url, "wrong", strings.NewReader(hello)); res.StatusCode != 401 {
			t.Fatal(res.Status)
		}
	}
	if res := knock(t, url, "wrong", strings.NewReader(hello)); res.StatusCode != 429 ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	if res := knock(t, url, "", strings.NewReader(hello)); res.StatusCode != 401 {
		t.Errorf("who sends no token: %s", res.Status)
	}
	if res := knock(t, url, "right", strings.NewReader(hello)); res.StatusCode != 200 {
		t.Errorf("the right one: %s", res.Status)
	}
}

func TestLongRequest(t *testing.T) {
	url := listening(t)
	long := io.MultiReader(io.LimitReader(endless{}, maxBody), strings.NewReader(hello))
	if res := knock(t, url, "right", long); res.StatusCode != 400 && res.StatusCode != 413 {
		t.Errorf("%s", res.Status)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// The time for a request is not that for its answer: streams stay open.
func TestAnswerOutlivesTheTimeOfItsRequest(t *testing.T) {
	cut := make(chan bool, 1)
	srv := web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
			cut <- true
		case <-time.After(300 * time.Millisecond):
			cut <- false
		}
	}), new(netlisten.IdleConns))
	srv.ReadTimeout = 100 * time.Millisecond
	knock(t, serveOn(t, srv), "", strings.NewReader("hi"))
	if <-cut {
		t.Error("the answer is cut off")
	}
}

// A connection on which nothing is asked is not kept for long.
func TestIdleLimits(t *testing.T) {
	srv := web(nil, new(netlisten.IdleConns))
	if srv.IdleTimeout == 0 || srv.IdleTimeout > 10*time.Second || srv.ReadTimeout == 0 || srv.ReadHeaderTimeout == 0 ||
		srv.WriteTimeout != 0 || srv.MaxHeaderBytes == 0 {
		t.Errorf("%+v", srv)
	}
}

// Strangers who take all connections keep nobody out, whatever they send; who has
// shown a token keeps theirs while they are answered.
func TestConnectionsOfStrangers(t *testing.T) {
	for name, text := range map[string]string{
		"silent":      "",
		"half a line": "P",
		"half a body": "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
		"refused":     "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"wrong token": "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong\r\n\r\n",
	} {
		url := listeningWith(t, fake(func(ctx context.Context, _ *run.Request) (run.Result, error) {
			select {
			case <-time.After(300 * time.Millisecond):
				return run.Result{}, nil
			case <-ctx.Done():
				return run.Result{Exit: 1}, ctx.Err()
			}
		}), Limits{Connections: 4})
		c := dial(t, url, "right", stateless, nil)
		id := c.sandbox()
		kept := make(chan any)
		go func() {
			a, _ := c.call("execute", args{"sandbox_id": id, "command": "x"})
			kept <- a["ok"]
		}()
		time.Sleep(50 * time.Millisecond) // it is under way
		for range 6 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, text)
		}
		began := time.Now()
		if res := knock(t, url, "right", strings.NewReader(hello)); res.StatusCode != 200 ||
			time.Since(began) > testload.Bound(2*time.Second) {
			t.Errorf("%s: who has a token gets %s after %v", name, res.Status, time.Since(began))
		}
		if ok := <-kept; ok != true {
			t.Errorf("%s: a call that was under way: %v", name, ok)
		}
	}
}

// Connections that are closed make room, and are not counted for ever.
func TestClosedConnectionsAreForgotten(t *testing.T) {
	url := listeningWith(t, newVirtual(""), Limits{Connections: 4})
	for range 20 {
		if res := knock(t, url, "right", strings.NewReader(hello)); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
}

// TestRefusal tells a wrong token from none.
func TestRefusal(t *testing.T) {
	r := httptest.NewRequest("POST", "/", nil)
	if why := refusal(r); !strings.Contains(why, "log in first") {
		t.Error(why)
	}
	r.Header.Set("Authorization", "Bearer wrong")
	if why := refusal(r); !strings.Contains(why, "removed, or mistyped") {
		t.Error(why)
	}
}
