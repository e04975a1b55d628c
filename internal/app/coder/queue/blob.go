package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hako/run/fault"
)

// A blob is a value that is too large for a record, which is written with every
// heartbeat and read for every list. Its content is in a stream of its own, in pieces,
// under a unique name; the record refers to it.
//
// It is written before the record refers to it, and removed after the record no longer
// does. A blob that no record refers to does no harm, whoever left it: a worker that
// lost its lease or was killed. It is swept away later.
type blob struct {
	Name string `json:"name"`
	Size int    `json:"size"`
	Sum  string `json:"sum"` // SHA-256 of the content
}

const (
	maxStep       = 64 << 20        // bytes
	maxInlineStep = 8 << 10         // bytes of a step that is stored in its record
	maxInlineRef  = 1 << 10         // bytes of an effect's outcome that is stored in its record
	piece         = 256 << 10       // bytes of a blob in one message
	lag           = 3 * time.Second // by which a server may be behind
)

// blobSubject is the subject of a piece of a blob; a star means all.
func (q *Queue) blobSubject(task, name, piece string) string {
	return fmt.Sprintf("%s.parcel.%s.%s.%s", q.opt.Name, task, name, piece)
}

// writeBlob writes a blob for a task.
func (q *Queue) writeBlob(ctx context.Context, op, id string, content []byte) (*blob, error) {
	p := &blob{Name: nonce(), Size: len(content), Sum: checksum(content)}
	n := 0
	for part := range slices.Chunk(content, int(min(piece, q.nc.MaxPayload()/2))) {
		if err := q.send(ctx, op, id, q.blobSubject(key(id), p.Name, strconv.Itoa(n)), part); err != nil {
			return nil, err
		}
		n++
	}
	return p, nil
}

func checksum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// send writes a piece. If it exists already it is ours: the response got lost.
func (q *Queue) send(ctx context.Context, op, id, subject string, part []byte) error {
	return q.retry(ctx, op, id, func(ctx context.Context) error {
		_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: part}, jetstream.WithExpectLastSequencePerSubject(0))
		if isConflict(err) {
			return nil
		}
		return err
	})
}

// readBlob reads a blob. Pieces may be missing for a moment on a server that lags
// behind.
func (q *Queue) readBlob(ctx context.Context, op, id string, p *blob) ([]byte, error) {
	for until := time.Now().Add(lag); ; {
		content := make([]byte, 0, min(p.Size, maxStep))
		err := q.forEachMessage(ctx, op, q.blobs, q.blobSubject(key(id), p.Name, "*"), func(m *nats.Msg) error {
			content = append(content, m.Data...) // in order, as each was sent after the one before
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case len(content) == p.Size && checksum(content) == p.Sum:
			return content, nil
		case time.Now().After(until):
			return nil, &fault.Error{Kind: fault.Invalid, Op: op, Subject: id,
				Why:  "a part of what was saved is missing or damaged",
				Hint: "queue the task again and have it begin anew"}
		}
		if err := q.sleep(ctx, requestTimeout/20); err != nil {
			return nil, err
		}
	}
}

// blobs returns the blobs that a record refers to, by name.
func (r *record) blobs() map[string]*blob {
	all := map[string]*blob{}
	if r.Large != nil {
		all[r.Large.Name] = r.Large
	}
	for _, e := range r.Effects {
		if e.Large != nil {
			all[e.Large.Name] = e.Large
		}
	}
	return all
}

// removeUnused removes the blobs that a record no longer refers to, in the background:
// what cannot be removed now is swept away later.
func (q *Queue) removeUnused(id string, old, now *record) {
	before := old.blobs()
	if len(before) == 0 {
		return
	}
	still := now.blobs()
	maps.DeleteFunc(before, func(name string, _ *blob) bool { return still[name] != nil })
	if len(before) == 0 {
		return
	}
	q.spawn(func() {
		for name := range before {
			_ = q.withTimeout(q.ctx, func(ctx context.Context) error { return q.removeBlob(ctx, key(id), name) })
		}
	})
}

func (q *Queue) removeBlob(ctx context.Context, task, name string) error {
	return q.blobs.Purge(ctx, jetstream.WithPurgeSubject(q.blobSubject(task, name, "*")))
}
