package queue

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// ErrFenced is wrapped by every error of a lease that was lost.
var ErrFenced = errors.New("another worker may hold the task by now")

// errConflict says that a record was changed since it was read.
var errConflict = errors.New("the record was changed meanwhile")

// requestTimeout is how long one request may take before it is retried.
const requestTimeout = 2 * time.Second

// retry retries a request after transient errors, such as the election of a leader or a
// lost connection, for some time.
func (q *Queue) retry(ctx context.Context, op, subject string, do func(context.Context) error) error {
	deadline := time.Now().Add(q.opt.RetryFor)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := q.withTimeout(ctx, do)
		if err == nil {
			return nil
		}
		if own := new(fault.Error); errors.As(err, &own) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isTransient(err) || time.Now().After(deadline) {
			return q.wrapError(op, subject, err)
		}
		if err := q.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// withTimeout makes a request with its own time limit.
func (q *Queue) withTimeout(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return do(ctx)
}

// sleep waits, until ctx ends or the queue is closed.
func (q *Queue) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-q.ctx.Done():
		return q.wrapError("use queue", q.opt.Name, nats.ErrConnectionClosed)
	}
}

// isTransient reports whether a request may succeed a little later.
func isTransient(err error) bool {
	for _, known := range []error{errConflict, errServed, nats.ErrTimeout, context.DeadlineExceeded, nats.ErrNoResponders,
		nats.ErrNoServers, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrStaleConnection, nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount} {
		if errors.Is(err, known) {
			return true
		}
	}
	var cut net.Error
	if errors.As(err, &cut) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return true // the connection was lost
	}
	api, ok := apiError(err)
	return ok && !isFull(err) && (api.Code == 503 || api.ErrorCode == duplicateInFlight || api.ErrorCode == noPeers)
}

// Error codes of the server that its client has no names for.
const (
	noResources       = 10023
	noStorage         = 10047
	accountFull       = 10002
	storeFailed       = 10077 // also returned when a stream is at its limit
	duplicateInFlight = 10158
	noPeers           = 10005 // a server is missing just now
)

func apiError(err error) (*jetstream.APIError, bool) {
	var js jetstream.JetStreamError
	if errors.As(err, &js) && js.APIError() != nil {
		return js.APIError(), true
	}
	var api *jetstream.APIError
	return api, errors.As(err, &api)
}

// isFull reports whether there was no space.
func isFull(err error) bool {
	api, ok := apiError(err)
	return ok && (api.ErrorCode == noResources || api.ErrorCode == noStorage || api.ErrorCode == accountFull ||
		api.ErrorCode == storeFailed)
}

// isConflict reports whether a compare-and-set failed.
func isConflict(err error) bool {
	api, ok := apiError(err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// wrapError makes the error that leaves the package.
func (q *Queue) wrapError(op, subject string, err error) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: op, Subject: subject, Err: err}
	_, api := apiError(err)
	switch {
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrInvalidConnection):
		e.Why, e.Hint, e.Err = "the queue was closed", "open it again", nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		e.Kind, e.Why, e.Hint = fault.Denied, q.where()+" refused our credentials",
			"check the user, token or credentials file of queue.url"
	case q.local != nil && q.local.broken():
		e.Kind, e.Why, e.Hint = fault.Exhausted, "the disk of the data directory is full or broken",
			"free space in "+q.opt.Dir+" and start again"
	case isFull(err):
		e.Kind, e.Why, e.Hint = fault.Exhausted, "the queue is full",
			"let the workers catch up, free space on the disk, or raise the limit"
	case errors.Is(err, nats.ErrMaxPayload):
		e.Kind, e.Why, e.Hint = fault.TooLarge, "it is larger than the server accepts",
			"keep large things in files and record where they are"
	case api:
		e.Why, e.Hint = q.where()+" refused",
			"it must be NATS 2.11 or later with JetStream, and the user must be allowed to create streams"
	default:
		e.Why, e.Hint = q.where()+" does not answer", "check whether it is running and reachable"
	}
	return e
}

// where names the server without the secrets in its URL.
func (q *Queue) where() string {
	if q.opt.URL == "" {
		return "the embedded server"
	}
	servers, _ := hosts(q.opt.URL)
	return "the server " + strings.Join(servers, ", ")
}
