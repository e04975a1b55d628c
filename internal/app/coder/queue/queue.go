// Package queue is a durable work queue over NATS JetStream: an embedded server by
// default, or an existing cluster.
//
// A task is one record in a key-value bucket and at most one message in a work-queue
// stream. The message only wakes a worker; the record has the state of the task, its
// holder, its last step and its side effects. Large values are stored beside the
// record, which refers to them. The queue also has leases, orders to running tasks,
// live events, and a key-value store for what workers share. It does not know what a
// task means, nor whether it succeeded.
//
// Every change of a record is a compare-and-set on its revision, and a change by a
// worker checks its fencing token first. Nothing is decided by a clock, a message or a
// read alone. A worker that lost its lease can do no harm, however late it wakes up.
package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// Options configure a queue.
type Options struct {
	URL         string // of a NATS server, or several separated by commas; empty means the embedded one in Dir
	Credentials string // NATS credentials file for URL; empty means none
	RootCA      string // PEM file of certificate authorities for URL; empty means those of the system

	Dir      string        // data directory of the embedded server; required if URL is empty
	Join     bool          // only join a process that serves Dir; false means to serve it if no process does
	Sync     time.Duration // interval of flushes to disk by the embedded server; zero means 1 s, negative each write
	MaxBytes int64         // of waiting tasks before Put refuses; zero means 128 MiB

	Name     string // distinguishes queues on one server; empty means "hako"
	Worker   string // name of the holder of our leases; empty means host and process
	Replicas int    // of streams that are created; zero means one

	MaxDeliver int           // attempts of a task; zero means 5
	AckWait    time.Duration // after which a silent worker loses its lease; zero means what the queue has, at first 30 s
	// Backoff is how long a task waits after its first, second… failure; the last value
	// is for all others. Nil means 1 s, 5 s, 30 s, 2 min.
	Backoff   []time.Duration
	Retention time.Duration // of the records of tasks that are done; zero means 30 days
	RetryFor  time.Duration // how long requests are retried; zero means 15 s
}

const (
	defaultAckWait = 30 * time.Second
	minAckWait     = 100 * time.Millisecond
	markerTTL      = time.Minute // of the marker of a deleted record
)

// withDefaults applies defaults.
func (o Options) withDefaults() Options {
	host, _ := os.Hostname()
	o.Name, o.Worker = cmp.Or(o.Name, "hako"), cmp.Or(o.Worker, fmt.Sprintf("%s/%d", host, os.Getpid()))
	o.Sync, o.Retention = cmp.Or(o.Sync, time.Second), cmp.Or(o.Retention, 30*24*time.Hour)
	o.RetryFor, o.MaxBytes = cmp.Or(o.RetryFor, 15*time.Second), cmp.Or(o.MaxBytes, 128<<20)
	o.Replicas, o.MaxDeliver = max(1, o.Replicas), cmp.Or(o.MaxDeliver, 5)
	if len(o.Backoff) == 0 {
		o.Backoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}
	}
	return o
}

// check validates the options.
func (o Options) check() error {
	wrong := func(subject, why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "open queue", Subject: subject, Why: why, Hint: hint}
	}
	_, validURL := hosts(o.URL)
	switch {
	case !plainName(o.Name):
		return wrong(o.Name, "a queue's name has 1 to 32 letters, digits, - and _", "choose another name")
	case o.URL == "" && o.Dir == "":
		return wrong(o.Name, "there is neither a server nor a directory", "set queue.url, or give a data directory")
	case !validURL:
		return wrong(o.Name, "the URL of the server is invalid",
			"write it like nats://127.0.0.1:4222, several with commas between")
	case o.AckWait != 0 && o.AckWait < minAckWait:
		return wrong(o.Name, fmt.Sprintf("a worker that is silent for %v cannot be distinguished from a slow one", o.AckWait),
			"give at least "+minAckWait.String())
	case o.MaxDeliver < 0, o.Retention < 0, o.MaxBytes < 0, o.Replicas > 5, o.RetryFor < 0:
		return wrong(o.Name, "a limit is out of its range", "tries, times and bytes are positive, replicas at most 5")
	case o.Retention < time.Second:
		return wrong(o.Name, "records are kept for at least a second", "give a longer time")
	}
	return nil
}

func plainName(s string) bool {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	return s != "" && len(s) <= 32 && strings.TrimFunc(s, plain) == ""
}

// hosts returns the servers of a list of URLs, without the passwords that URLs may
// contain, and whether all URLs are valid.
func hosts(list string) (all []string, ok bool) {
	if list == "" {
		return nil, true
	}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		u, err := url.Parse(one)
		if err != nil || u.Host == "" {
			return nil, false
		}
		all = append(all, u.Host)
	}
	return all, true
}

// A Queue is a connection to the queue. It is safe for concurrent use.
type Queue struct {
	opt     Options
	ackWait time.Duration // of the server
	local   *local        // the embedded server or the connection to it; nil with a URL
	nc      *nats.Conn
	js      jetstream.JetStream
	work    jetstream.Stream // messages that wake workers
	bucket  jetstream.KeyValue
	records jetstream.Stream // the stream of the bucket
	dead    jetstream.Stream // IDs of tasks that were given up
	blobs   jetstream.Stream // values that are too large for a record
	values  jetstream.Stream // key-value pairs of [KeyValue]

	ctx   context.Context // ends when the queue is closed
	close context.CancelFunc
	mu    sync.Mutex     // guards the start of background work after Close, and idle
	idle  []*puller      // pullers that wait for nothing
	busy  sync.WaitGroup // background work
}

// spawn runs a function in the background, which Close waits for. After Close it does
// nothing.
func (q *Queue) spawn(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() == nil {
		q.busy.Go(do)
	}
}

// Open connects to the queue and creates what is missing. Without a URL, the first
// process to open a directory serves it to the others; when it dies, one of the others
// continues.
func Open(ctx context.Context, opt Options) (*Queue, error) {
	opt = opt.withDefaults()
	if err := opt.check(); err != nil {
		return nil, err
	}
	q := &Queue{opt: opt}
	q.ctx, q.close = context.WithCancel(context.Background())
	err := q.connect(ctx)
	if err == nil {
		err = q.prepare(ctx)
	}
	if err != nil {
		q.Close()
		return nil, err
	}
	q.spawn(q.sweepDaily)
	return q, nil
}

// connect retries: another process may be starting or leaving.
func (q *Queue) connect(ctx context.Context) error {
	opts, err := q.natsOptions()
	if err != nil {
		return err
	}
	return q.retry(ctx, "open queue", q.opt.Name, func(context.Context) error {
		nc, err := nats.Connect(q.opt.URL, opts...)
		if err == nil {
			q.nc = nc
			q.js, err = jetstream.New(nc)
		}
		return err
	})
}

func (q *Queue) natsOptions() ([]nats.Option, error) {
	opts := []nats.Option{nats.Name("hako " + q.opt.Worker), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.Timeout(requestTimeout), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // slow watchers notice by what they miss
	if q.opt.URL == "" {
		q.local = &local{dir: q.opt.Dir, sync: q.opt.Sync, joinOnly: q.opt.Join}
		if err := q.local.start(); err != nil {
			return nil, err
		}
		return append(opts, nats.InProcessServer(q.local)), nil
	}
	if err := errors.Join(checkReadable(q.opt.Credentials), checkReadable(q.opt.RootCA)); err != nil {
		return nil, err
	}
	if q.opt.Credentials != "" {
		opts = append(opts, nats.UserCredentials(q.opt.Credentials))
	}
	if q.opt.RootCA != "" {
		opts = append(opts, nats.RootCAs(q.opt.RootCA))
	}
	return opts, nil
}

// checkReadable refuses a missing file: to the NATS client it would look like a server
// that does not answer, and it would retry.
func checkReadable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "open queue", Subject: file,
			Why: "a file of the settings for the queue cannot be read", Err: err,
			Hint: "correct queue.credentials or queue.ca_certificates"}
	}
	return f.Close()
}

// Close closes the queue. Tasks that are held stay so until their leases expire;
// release them before.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.close()
	q.mu.Unlock()
	if q.nc != nil {
		_ = q.nc.FlushTimeout(time.Second) // the last acknowledgements; without them messages are delivered again
		q.nc.Close()
	}
	q.busy.Wait()
	if q.local != nil {
		q.local.close()
	}
	return nil
}

// Names of streams and subjects.
func (q *Queue) streamName(what string) string { return q.opt.Name + "_" + what }
func (q *Queue) bucketName() string            { return q.opt.Name + "_tasks" }
func (q *Queue) keyValuesName() string         { return q.opt.Name + "_shelves" }

func (q *Queue) workSubject(id string, round uint64) string {
	return fmt.Sprintf("%s.work.%s.%d", q.opt.Name, key(id), round)
}
func (q *Queue) deadSubject(id string) string    { return q.opt.Name + ".dead." + key(id) }
func (q *Queue) eventSubject(id string) string   { return q.opt.Name + ".event." + key(id) }
func (q *Queue) recordSubject(key string) string { return "$KV." + q.bucketName() + "." + key }

func nonce() string { return rand.Text() }
