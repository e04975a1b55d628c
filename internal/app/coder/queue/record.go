package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// An Item is something to do.
type Item struct {
	ID      string          `json:"id"`                // names the task for ever; the same ID is the same task
	Kind    string          `json:"kind,omitempty"`    // the caller's word for what it is
	Payload json.RawMessage `json:"payload,omitempty"` // what the worker needs to know; nil means nothing
}

const maxIDLength = 256

// check refuses what could not be kept.
func (i Item) check(largest int64) error {
	wrong := func(kind fault.Kind, why, hint string) error {
		return &fault.Error{Kind: kind, Op: "queue task", Subject: fmt.Sprintf("%.64q", i.ID), Why: why, Hint: hint}
	}
	switch {
	case i.ID == "" || len(i.ID) > maxIDLength || !utf8.ValidString(i.ID):
		return wrong(fault.Invalid, fmt.Sprintf("a task's name has 1 to %d bytes of text", maxIDLength),
			"name it by its place, such as github.com/owner/project#12")
	case i.Payload != nil && !json.Valid(i.Payload):
		return wrong(fault.Invalid, "what it says is not JSON", "hand in a JSON value")
	case int64(len(i.Payload)) > largest:
		return wrong(fault.TooLarge, fmt.Sprintf("it has %d bytes, and a task may have %d", len(i.Payload), largest),
			"keep large things elsewhere and say where they are")
	}
	return nil
}

// A State is how a task is, as far as the queue knows.
type State string

// The states.
const (
	Queued State = "queued" // somebody will take it
	Held   State = "held"   // a worker has it
	Parked State = "parked" // it waits for an order
	Done   State = "done"
	Dead   State = "dead" // it was given up after too many tries
)

// A record is all that is known about a task.
type record struct {
	Item    Item              `json:"item"`
	Round   uint64            `json:"round,omitempty"` // how often it was asked for again; messages of earlier rounds mean nothing
	State   State             `json:"state"`
	Token   uint64            `json:"token,omitempty"` // grows with each holder
	Holder  string            `json:"holder,omitempty"`
	Lease   string            `json:"lease,omitempty"` // tells a holder that got no answer whether it has the task
	Tries   int               `json:"tries,omitempty"` // in this round
	Reason  string            `json:"reason,omitempty"`
	Step    json.RawMessage   `json:"step,omitempty"`
	Large   *blob             `json:"large,omitempty"` // the step, if it is too large to be here
	Effects map[string]effect `json:"effects,omitempty"`
	Order   *order            `json:"order,omitempty"` // the last one
	Changed time.Time         `json:"changed"`
}

// ended tells whether nobody has to look at it in this round.
func (r *record) ended() bool { return r.State == Done || r.State == Dead || r.State == Parked }

func (r *record) clone() *record {
	c := *r
	c.Effects = maps.Clone(r.Effects)
	return &c
}

// A version is a record as it was at a revision. Zero is one that is not there.
type version struct {
	*record
	revision uint64
}

// read returns the record of a task; one that is not there is empty and has no
// state. What is read may be a little old: only a write proves anything.
func (q *Queue) read(ctx context.Context, id string) (version, error) {
	return q.readKey(ctx, key(id))
}

func (q *Queue) readKey(ctx context.Context, key string) (version, error) {
	data, revision, err := getValue(ctx, q.records, q.recordSubject(key))
	v := version{&record{}, revision}
	if err != nil || data == nil {
		return v, err
	}
	if err := json.Unmarshal(data, v.record); err != nil {
		return version{}, &fault.Error{Kind: fault.Invalid, Op: "read task", Subject: key, Why: "its record makes no sense",
			Err:  err,
			Hint: "remove it from the bucket " + q.bucketName() + " and queue the task again"}
	}
	return v, nil
}

// getValue returns the value of a key in a bucket, nil if there is none, and its
// revision.
func getValue(ctx context.Context, bucket jetstream.Stream, subject string) (data []byte, revision uint64, err error) {
	m, err := bucket.GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case isDeleted(m.Header):
		return nil, m.Sequence, nil
	}
	return m.Data, m.Sequence, nil
}

// isDeleted tells whether a message only marks that a record was removed.
func isDeleted(h nats.Header) bool {
	return h.Get("KV-Operation") != "" || h.Get(jetstream.MarkerReasonHeader) != ""
}

// write replaces the version that was read; errMoved means that it is not the
// last any more. What was done is forgotten after a while.
func (q *Queue) write(ctx context.Context, id string, old uint64, r *record) (uint64, error) {
	r.Changed = time.Now().UTC()
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // steps are full of < and >, which would take six times the room
	if err := enc.Encode(r); err != nil {
		return 0, err
	}
	var opts []jetstream.PublishOpt
	if r.State == Done {
		opts = append(opts, jetstream.WithMsgTTL(q.opt.Retention.Round(time.Second)))
	}
	return q.putValue(ctx, q.recordSubject(key(id)), old, data.Bytes(), opts...)
}

// putValue writes a value over the revision that was read.
func (q *Queue) putValue(ctx context.Context, subject string, old uint64, data []byte, opts ...jetstream.PublishOpt) (
	uint64, error) {
	opts = append(opts, jetstream.WithExpectLastSequencePerSubject(old))
	ack, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data}, opts...)
	switch {
	case isConflict(err):
		return 0, errConflict
	case err != nil:
		return 0, err
	}
	return ack.Sequence, nil
}

// change reads, alters and writes until nobody came between. The first version
// to try may be given. A request that got no answer may still have been carried
// out, so alter has to bear being applied to its own outcome.
func (q *Queue) change(ctx context.Context, op, id string, first version, alter func(*record) error) (now version,
	err error) {
	now = first
	var refused error
	err = q.retry(ctx, op, id, func(ctx context.Context) (err error) {
		if now.record == nil {
			if now, err = q.read(ctx, id); err != nil {
				return err
			}
		}
		next := now.clone()
		refused = alter(next)
		if refused == errConflict { // what was read is old
			now, refused = version{}, nil
			return errConflict
		}
		if refused != nil {
			return nil
		}
		old := now.record
		revision, err := q.write(ctx, id, now.revision, next)
		now = version{}
		if err == nil {
			now = version{next, revision}
			q.removeUnused(id, old, next)
		}
		return err
	})
	if refused != nil {
		err = refused
	}
	return now, err
}

// key spells an ID with letters that subjects and keys may have, so that two
// IDs never share one.
func key(id string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(id) + 8)
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '/':
			b.WriteByte(c)
		default:
			b.Write([]byte{'=', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
