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

// An Item is a task to be queued.
type Item struct {
	ID      string          `json:"id"`                // identifies the task for ever
	Kind    string          `json:"kind,omitempty"`    // defined by the caller
	Payload json.RawMessage `json:"payload,omitempty"` // for the worker; nil means nothing
}

const maxIDLength = 256

// check validates the item.
func (i Item) check(largest int64) error {
	wrong := func(kind fault.Kind, why, hint string) error {
		return &fault.Error{Kind: kind, Op: "queue task", Subject: fmt.Sprintf("%.64q", i.ID), Why: why, Hint: hint}
	}
	switch {
	case i.ID == "" || len(i.ID) > maxIDLength || !utf8.ValidString(i.ID):
		return wrong(fault.Invalid, fmt.Sprintf("a task's name has 1 to %d bytes of text", maxIDLength),
			"name it by its place, such as github.com/owner/project#12")
	case i.Payload != nil && !json.Valid(i.Payload):
		return wrong(fault.Invalid, "its payload is not JSON", "pass a JSON value")
	case int64(len(i.Payload)) > largest:
		return wrong(fault.TooLarge, fmt.Sprintf("it has %d bytes, and a task may have %d", len(i.Payload), largest),
			"keep large things elsewhere and say where they are")
	}
	return nil
}

// A State is the state of a task in the queue.
type State string

// The states.
const (
	Queued State = "queued" // it waits for a worker
	Held   State = "held"   // a worker has it
	Parked State = "parked" // it waits for an order
	Done   State = "done"
	Dead   State = "dead" // it was given up after too many attempts
)

// A record is the state of a task.
type record struct {
	Item Item `json:"item"`
	// Round is how often the task was queued again; messages of earlier rounds have no
	// effect.
	Round   uint64            `json:"round,omitempty"`
	State   State             `json:"state"`
	Token   uint64            `json:"token,omitempty"` // increases with each holder
	Holder  string            `json:"holder,omitempty"`
	Lease   string            `json:"lease,omitempty"` // by which a holder that got no response recognises itself
	Tries   int               `json:"tries,omitempty"` // in this round
	Reason  string            `json:"reason,omitempty"`
	Step    json.RawMessage   `json:"step,omitempty"`
	Large   *blob             `json:"large,omitempty"` // the step, if it is too large for the record
	Effects map[string]effect `json:"effects,omitempty"`
	Order   *order            `json:"order,omitempty"` // the last one
	Changed time.Time         `json:"changed"`
}

// ended reports whether the task needs no worker in this round.
func (r *record) ended() bool { return r.State == Done || r.State == Dead || r.State == Parked }

func (r *record) clone() *record {
	c := *r
	c.Effects = maps.Clone(r.Effects)
	return &c
}

// A version is a record with its revision. Zero is a record that does not exist.
type version struct {
	*record
	revision uint64
}

// read returns the record of a task; if there is none it is empty and has no state. It
// may be slightly old: only a write proves anything.
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

// isDeleted reports whether a message only marks that a record was deleted.
func isDeleted(h nats.Header) bool {
	return h.Get("KV-Operation") != "" || h.Get(jetstream.MarkerReasonHeader) != ""
}

// write replaces the version that was read; errConflict means that it is not the last
// any more. The records of tasks that are done expire.
func (q *Queue) write(ctx context.Context, id string, old uint64, r *record) (uint64, error) {
	r.Changed = time.Now().UTC()
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // steps are full of < and >, which would take six times the space
	if err := enc.Encode(r); err != nil {
		return 0, err
	}
	var opts []jetstream.PublishOpt
	if r.State == Done {
		opts = append(opts, jetstream.WithMsgTTL(q.opt.Retention.Round(time.Second)))
	}
	return q.putValue(ctx, q.recordSubject(key(id)), old, data.Bytes(), opts...)
}

// putValue replaces a value at a revision.
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

// change reads, alters and writes until there is no conflict. The first version to try
// may be given. A request without a response may have been carried out, so alter must
// accept its own result.
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

// key escapes an ID for subjects and keys, such that two IDs never share one.
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
