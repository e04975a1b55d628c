package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"hako/internal/testload"
	"hako/run/fault"
)

// Workers that share a directory are killed at random, the one that serves it
// for all included. Nothing is lost, and nothing happens twice.
func TestKilledWorkersAndServer(t *testing.T) {
	t.Parallel()
	n := 200
	if testing.Short() {
		n = 60
	}
	opt := Options{Dir: t.TempDir(), AckWait: time.Second, MaxDeliver: 50, RetryFor: 20 * time.Second}
	file := filepath.Join(t.TempDir(), "diary")
	q := opened(t, opt)
	fill(t, q, n)
	q.Close() // somebody else has to serve
	c := hired(t, 3, errand{Options: opt, Diary: file})
	opt.Join = true
	q = opened(t, opt)
	struggle(t, q, n, func(int) { c.replace(rand.IntN(3)) })
	diary(t, file, n)
}

// A trio is a cluster of three servers in this process.
type trio struct {
	t    *testing.T
	opts [3]*server.Options
	srv  [3]*server.Server
}

// port returns a port that was free a moment ago.
func port(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func cluster(t *testing.T) *trio {
	c := &trio{t: t}
	var routes []*url.URL
	ports := [3]int{port(t), port(t), port(t)}
	for _, p := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	for i := range 3 {
		c.opts[i] = &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: port(t), NoSigs: true,
			NoLog:     true,
			JetStream: true, StoreDir: t.TempDir(), Routes: routes,
			Cluster: server.ClusterOpts{Name: "trio", Host: "127.0.0.1", Port: ports[i]}}
		c.up(i)
	}
	t.Cleanup(func() {
		for i := range 3 {
			c.down(i)
		}
	})
	return c
}

func (c *trio) up(i int) {
	c.t.Helper()
	srv, err := server.NewServer(c.opts[i].Clone())
	ok(c.t, err)
	srv.Start()
	c.srv[i] = srv
}

// down cuts a server off.
func (c *trio) down(i int) {
	c.srv[i].Shutdown()
	c.srv[i].WaitForShutdown()
}

func (c *trio) url() string {
	var all []string
	for _, o := range c.opts {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}

func TestCluster(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	t.Run("chaos", func(t *testing.T) { chaos(t, servers) })
	t.Run("cut off", func(t *testing.T) { cutOff(t, servers) })
}

// Three servers, three workers; both are lost and come back at random.
func chaos(t *testing.T, servers *trio) {
	n := 200
	if testing.Short() {
		n = 40
	}
	opt := Options{URL: servers.url(), Replicas: 3, AckWait: 2 * time.Second, MaxDeliver: 50, RetryFor: 30 * time.Second}
	q := opened(t, opt)
	fill(t, q, n)
	file := filepath.Join(t.TempDir(), "diary")
	c := hired(t, 3, errand{Options: opt, Diary: file})
	missing := -1
	struggle(t, q, n, func(round int) {
		switch round % 5 {
		case 1:
			missing = round / 5 % 3
			servers.down(missing)
		case 4:
			servers.up(missing)
			missing = -1
		default:
			c.replace(rand.IntN(3))
		}
	})
	if missing >= 0 {
		servers.up(missing)
	}
	diary(t, file, n)
}

// What was carried out without an answer is recognised when it is tried again.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	q := opened(t, Options{})
	put(t, q, "a")
	c := workMessage{Item: Item{ID: "a"}}
	m, err := q.work.GetLastMsgForSubject(t.Context(), q.workSubject("a", 0))
	ok(t, err)
	for self, want := range map[string]bool{m.Header.Get("Nats-Msg-Id"): true, "other": false} {
		if got, err := q.sentByUs(t.Context(), c, self); err != nil || got != want {
			t.Errorf("%q: %v: %v", self, got, err)
		}
	}
	l := take(t, q)
	again := l.now.clone()
	if err := q.acquire(again, c, l.now.Lease); err != errAlreadyHeld {
		t.Error(err) // we have claimed it already
	}
	if err := q.acquire(again, c, "other"); err != nil || again.Token != 2 {
		t.Error(err)
	}
	l.Token++ // the lease of a token that the server which is asked does not know yet
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := l.Save(short, json.RawMessage(`1`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	l.Token--
	l.now.revision-- // as if our last write had not been answered
	ok(t, l.Save(t.Context(), json.RawMessage(`1`)))
	l.now.revision--
	ok(t, l.Done(t.Context(), nil))
	nothing(t, q)
}

// A worker that is cut off from all servers knows in time that its task may be
// somebody else's.
func cutOff(t *testing.T, servers *trio) {
	if testing.Short() {
		t.Skip("long: elections take their time")
	}
	q := opened(t, Options{URL: servers.url(), Name: "second", Replicas: 3, AckWait: 2 * time.Second,
		RetryFor: 20 * time.Second})
	put(t, q, "a")
	l := take(t, q)
	held := l.KeepAlive(t.Context())
	servers.down(0)
	servers.down(1) // the third alone decides nothing
	since := time.Now()
	<-l.Lost()
	if took := time.Since(since); took > testload.Bound(3*time.Second) {
		t.Errorf("it took %v", took)
	}
	<-held.Done()
	fenced(t, l.Done(t.Context(), nil))
	servers.up(0)
	servers.up(1)
	for range 10 { // the first after an election may take longer than a lease lasts
		if finished(t, q, l.Token) {
			return
		}
	}
	t.Error("nobody can finish it")
}

// finished tries to finish task a, unless one did whose answer came after its lease.
func finished(t *testing.T, q *Queue, after uint64) bool {
	t.Helper()
	brief, cancel := context.WithTimeout(t.Context(), testload.Bound(5*time.Second))
	defer cancel()
	next, err := q.Take(brief)
	if errors.Is(err, context.DeadlineExceeded) {
		return state(t, q, "a").State == Done
	}
	ok(t, err)
	if next.Token <= after {
		t.Errorf("%+v", next)
	}
	err = next.Done(t.Context(), nil)
	if !errors.Is(err, ErrFenced) {
		ok(t, err)
	}
	return err == nil
}

// Who refuses or does not answer is named, but not by its password.
func TestNoServer(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{URL: fmt.Sprintf("nats://me:secret@127.0.0.1:%d", port(t)),
		RetryFor: 200 * time.Millisecond})
	if fault.KindOf(err) != fault.Unavailable || fault.Hint(err) == "" || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "127.0.0.1") {
		t.Error(err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	for _, opt := range []Options{{Credentials: absent}, {RootCA: absent}} {
		began := time.Now()
		opt.URL, opt.RetryFor = fmt.Sprintf("nats://127.0.0.1:%d", port(t)), time.Hour
		if _, err := Open(t.Context(), opt); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), absent) ||
			time.Since(began) > time.Minute {
			t.Error(err)
		}
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, Username: "me",
		Password: "other"})
	ok(t, err)
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	at := srv.Addr().String()
	_, err = Open(t.Context(), Options{URL: "nats://me:secret@" + at, RetryFor: 200 * time.Millisecond})
	if fault.KindOf(err) != fault.Denied || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), at) {
		t.Error(err)
	}
	_, err = Open(t.Context(), Options{URL: "nats://me:other@" + at, RetryFor: 200 * time.Millisecond})
	if fault.KindOf(err) != fault.Unavailable || strings.Contains(err.Error(), "other@") {
		t.Error(err) // it has no JetStream
	}
}
