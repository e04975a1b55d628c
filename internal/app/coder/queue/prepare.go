package queue

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumerName is the consumer of all workers.
const consumerName = "workers"

// duplicateWindow is how long the server recognises a message that was sent again
// because its response got lost.
const duplicateWindow = 2 * time.Minute

// prepare creates the streams. Existing ones stay as they are: a command that only
// reads must not change how a cluster stores its data.
func (q *Queue) prepare(ctx context.Context) error {
	return q.retry(ctx, "open queue", q.opt.Name, func(ctx context.Context) (err error) {
		var errs [4]error
		q.bucket, q.records, errs[0] = q.keyValue(ctx, jetstream.KeyValueConfig{Bucket: q.bucketName(),
			Description: "how each task is", LimitMarkerTTL: markerTTL})
		_, q.values, errs[1] = q.keyValue(ctx, jetstream.KeyValueConfig{Bucket: q.keyValuesName(),
			Description: "what workers share beside their tasks"})
		q.dead, errs[2] = q.stream(ctx, "dead", ".dead.*", jetstream.StreamConfig{
			Description: "tasks that were given up", MaxMsgsPerSubject: 1})
		q.blobs, errs[3] = q.stream(ctx, "parcels", ".parcel.*.*.*", jetstream.StreamConfig{
			Description: "what is too large for a record", Compression: jetstream.S2Compression})
		q.work, err = q.stream(ctx, "work", ".work.*.*", jetstream.StreamConfig{
			Description: "messages that wake workers", Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, MaxBytes: q.opt.MaxBytes, Duplicates: duplicateWindow})
		if err == nil {
			err = q.prepareConsumer(ctx)
		}
		return errors.Join(err, errors.Join(errs[:]...))
	})
}

// prepareConsumer creates the consumer. The server does not count deliveries and gives
// nothing up: the record does, so that releasing a task is not counted.
func (q *Queue) prepareConsumer(ctx context.Context) error {
	c, err := q.work.Consumer(ctx, consumerName)
	wanted := jetstream.ConsumerConfig{Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: cmp.Or(q.opt.AckWait, defaultAckWait), MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 14}
	missing := errors.Is(err, jetstream.ErrConsumerNotFound)
	if missing || err == nil && q.opt.AckWait != 0 && c.CachedInfo().Config.AckWait != q.opt.AckWait {
		c, err = q.work.CreateOrUpdateConsumer(ctx, wanted)
	}
	if err != nil {
		return err
	}
	q.ackWait = c.CachedInfo().Config.AckWait
	return nil
}

// keyValue opens or creates a bucket.
func (q *Queue) keyValue(ctx context.Context, c jetstream.KeyValueConfig) (jetstream.KeyValue, jetstream.Stream,
	error) {
	b, err := q.js.KeyValue(ctx, c.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		c.History, c.Replicas = 1, q.opt.Replicas
		b, err = q.js.CreateKeyValue(ctx, c)
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another made it meanwhile
		b, err = q.js.KeyValue(ctx, c.Bucket)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := q.js.Stream(ctx, "KV_"+c.Bucket)
	return b, s, err
}

// stream opens or creates a stream.
func (q *Queue) stream(ctx context.Context, name, subject string, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Name, c.Subjects = q.streamName(name), []string{q.opt.Name + subject}
	c.Replicas, c.AllowDirect = q.opt.Replicas, true
	s, err := q.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.js.CreateStream(ctx, c)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another made it meanwhile
		s, err = q.js.Stream(ctx, c.Name)
	}
	return s, err
}
