package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/internal/testload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world has names and servers of its own, and remembers what was done in it.
type world struct {
	names   map[string]string // to addresses, with commas between
	servers map[string]string // by address and port as dialled, to where they really are

	mu      sync.Mutex
	looked  []string
	dialled []string
	events  []Event
	refuse  bool // to put anything on record
}

func newWorld() *world {
	return &world{names: map[string]string{}, servers: map[string]string{}}
}

// host adds a server at a public address.
func (w *world) host(name, address, port, where string) {
	w.names[name] = address
	w.servers[net.JoinHostPort(address, port)] = strings.TrimPrefix(strings.TrimPrefix(where, "https://"), "http://")
}

func (w *world) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = append(w.looked, host)
	var all []netip.Addr
	for text := range strings.SplitSeq(w.names[host], ",") {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	if all == nil {
		return nil, errors.New("no such host: secret-of-the-resolver")
	}
	return all, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	where := w.servers[address]
	w.mu.Unlock()
	if where == "" {
		return nil, errors.New("connection refused by secret-of-the-dialler")
	}
	return new(net.Dialer).DialContext(ctx, network, where)
}

func (w *world) log(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse {
		return errors.New("disk full")
	}
	w.events = append(w.events, e)
	return nil
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialled)
}

// told returns the events of one kind. It waits for as many as are wanted: an end
// goes on record after the last byte has passed.
func (w *world) told(t *testing.T, what string, wanted int) []Event {
	t.Helper()
	var found []Event
	for deadline := time.Now().Add(testload.Bound(5 * time.Second)); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		found = slices.DeleteFunc(slices.Clone(w.events), func(e Event) bool { return e.What != what })
		w.mu.Unlock()
		if weight(found) >= wanted {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events %s, want %d: %+v", weight(found), what, wanted, found)
		}
	}
}

// weight is how many things events stand for.
func weight(events []Event) (n int) {
	for _, e := range events {
		n += max(int(e.Count), 1)
	}
	return n
}

// serve starts a proxy in this world and returns how to reach it.
func (w *world) serve(t *testing.T, p *Proxy) func() (net.Conn, error) {
	t.Helper()
	p.Resolve, p.Dial, p.Log = w.resolve, w.dial, w.log
	if p.Limits.Denials == 0 {
		p.Limits.Denials = time.Millisecond // nobody has to wait for what is counted
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		p.Close()
		if err := <-ended; err != nil {
			t.Errorf("served: %v", err)
		}
	})
	return func() (net.Conn, error) { return net.Dial("unix", socket) }
}

// A wire is a connection on which a test writes what it likes.
type wire struct {
	net.Conn
	in *bufio.Reader
	t  *testing.T
}

func open(t *testing.T, dial func() (net.Conn, error)) *wire {
	t.Helper()
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &wire{conn, bufio.NewReader(conn), t}
}

func (w *wire) send(text string) { io.WriteString(w.Conn, text) }

// answer reads one answer.
func (w *wire) answer(method string) (*http.Response, string) {
	w.t.Helper()
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("answer broken off: %v", err)
	}
	return resp, string(text)
}

// ask sends a request of which nothing but the head is odd.
func ask(t *testing.T, dial func() (net.Conn, error), request string) (*http.Response, string) {
	t.Helper()
	w := open(t, dial)
	defer w.Close()
	w.send(request)
	method, _, _ := strings.Cut(request, " ")
	return w.answer(method)
}

// get asks for a page in the ordinary way.
func get(t *testing.T, dial func() (net.Conn, error), address string) (*http.Response, string) {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
	return ask(t, dial, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, host))
}

func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}
