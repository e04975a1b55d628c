// Package queue keeps tasks until somebody has done them. It is a work queue
// over NATS JetStream: embedded by default, an existing cluster by its address.
//
// A task is one record in a key-value bucket and at most one message in a
// work-queue stream. The message only says that somebody ought to look; the
// record says how the task is, who holds it, how far it got and which side
// effects it had; what is too large for it is beside it, and the record says
// where. Inside are putting, taking, leases, steps, side effects that happen
// once, orders to a running task, live events, and values for what workers
// share. What a task means, and whether its end was a good one, is not known
// here.
//
// The rule to keep: every change of a record is a compare-and-set on its
// revision, and a worker's change looks at its token first. Nothing is ever
// decided by a clock, a message or a read alone, so whoever was taken over can
// do no harm, however late it wakes up.
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

// Options say where the queue is and how patient it is.
type Options struct {
	URL         string // a NATS server, or several with commas between; empty means the embedded one in Dir
	Credentials string // a NATS credentials file for URL; empty means none
	RootCA      string // a PEM file of authorities for URL; empty means those of the system

	Dir      string        // where the embedded server keeps its data; needed when URL is empty
	Join     bool          // only join a process that serves Dir; false means to serve it if nobody does
	Sync     time.Duration // how often the embedded server flushes to the disk; zero means each second, negative after every write
	MaxBytes int64         // how much may wait before Put refuses; zero means 128 MiB

	Name     string // tells queues on one server apart; empty means "hako"
	Worker   string // who we are, shown with what we hold; empty means host and process
	Replicas int    // on how many servers everything is kept when it is made; zero means one

	MaxDeliver int             // how often a task is tried; zero means 5
	AckWait    time.Duration   // how long a silent worker keeps a task; zero means what the queue has, at first 30 s
	Backoff    []time.Duration // how long a task waits after its first, second… failure, the last one for all others; nil means 1 s, 5 s, 30 s, 2 min
	Retention  time.Duration   // how long the record of a task that was done is kept; zero means 30 days
	RetryFor   time.Duration   // how long a server that does not answer is asked again; zero means 15 s
}

const (
	defaultAckWait = 30 * time.Second
	minAckWait     = 100 * time.Millisecond
	markerTTL      = time.Minute // how long it is remembered that a record was forgotten
)

// withDefaults fills in what zero means.
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

// check refuses what could not work.
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
		return wrong(o.Name, "the address of the server makes no sense",
			"write it like nats://127.0.0.1:4222, several with commas between")
	case o.AckWait != 0 && o.AckWait < minAckWait:
		return wrong(o.Name, fmt.Sprintf("a worker that is silent for %v cannot be told from a slow one", o.AckWait),
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

// A Queue is a connection to the queue. It may be used by many at once.
type Queue struct {
	opt     Options
	ackWait time.Duration // what the server goes by
	local   *local        // the embedded server or the way to it; nil with an URL
	nc      *nats.Conn
	js      jetstream.JetStream
	work    jetstream.Stream // messages: somebody ought to look
	bucket  jetstream.KeyValue
	records jetstream.Stream // the bucket, as a stream
	dead    jetstream.Stream // letters about tasks that were given up
	blobs   jetstream.Stream // what is too large for a record
	values  jetstream.Stream // a bucket for small things of others

	ctx   context.Context // ends when the queue is closed
	close context.CancelFunc
	mu    sync.Mutex     // so that nothing begins after the end
	idle  []*puller      // addresses that wait for nothing
	busy  sync.WaitGroup // what goes on in the background
}

// spawn does something in the background, which Close waits for. A queue that is
// closed does nothing any more.
func (q *Queue) spawn(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() == nil {
		q.busy.Go(do)
	}
}

// Open connects to the queue and makes what is missing of it. Without an URL the
// first process to open a directory serves it to all others that do; when it
// dies, one of the others goes on serving.
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

// connect opens the connection, again and again until patience ends: another
// process may just be starting or leaving.
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
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // slow watchers are told by what they miss
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

// checkReadable refuses a file that is not there: to the client it would be a server
// that does not answer, and it would ask again.
func checkReadable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "open queue", Subject: file,
			Why: "a file of the settings for the queue cannot be read", Err: err,
			Hint: "mend queue.credentials or queue.ca_certificates"}
	}
	return f.Close()
}

// Close lets go of the queue. Tasks that are held stay so until their time runs
// out; give them back before.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.close()
	q.mu.Unlock()
	if q.nc != nil {
		_ = q.nc.FlushTimeout(time.Second) // the last acknowledgements; without them a message comes once more
		q.nc.Close()
	}
	q.busy.Wait()
	if q.local != nil {
		q.local.close()
	}
	return nil
}

// stream and subject names
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
