package queue

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Limits of one read from a stream.
const (
	batchMessages = 1000
	batchBytes    = 1 << 20
)

// forEachMessage calls do for the messages of a stream with a subject, in the order in
// which they were written. They may come from any server of the cluster.
func (q *Queue) forEachMessage(ctx context.Context, op string, s jetstream.Stream, subject string,
	do func(*nats.Msg) error) error {
	for next, more := uint64(1), true; more; {
		var batch []*nats.Msg
		err := q.retry(ctx, op, q.opt.Name, func(ctx context.Context) (err error) {
			batch, more, err = q.readBatch(ctx, s, subject, next)
			return err
		})
		if err != nil {
			return err
		}
		more = more && len(batch) > 0
		for _, m := range batch {
			if err := do(m); err != nil {
				return err
			}
			next = sequence(m) + 1
		}
	}
	return nil
}

// readBatch reads messages from a sequence number on, and reports whether there are
// more.
func (q *Queue) readBatch(ctx context.Context, s jetstream.Stream, subject string, from uint64) (all []*nats.Msg,
	more bool, err error) {
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, false, err
	}
	defer sub.Unsubscribe()
	ask := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":%q,"batch":%d,"max_bytes":%d}`, from, subject, batchMessages,
		batchBytes)
	if err := q.nc.PublishRequest("$JS.API.DIRECT.GET."+s.CachedInfo().Config.Name, inbox, ask); err != nil {
		return nil, false, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, false, err
		}
		switch m.Header.Get(statusHeader) {
		case "":
			all = append(all, m)
		case "204": // the end of the batch
			return all, m.Header.Get("Nats-Num-Pending") != "0", nil
		case "404":
			return all, false, nil
		case "503":
			return nil, false, nats.ErrNoResponders
		default:
			return nil, false, fmt.Errorf("the server answers %s %s", m.Header.Get(statusHeader), m.Header.Get("Description"))
		}
	}
}

// sequence returns the sequence number of a message in its stream.
func sequence(m *nats.Msg) uint64 {
	n, _ := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	return n
}
