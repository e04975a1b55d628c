package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumerName is that of all workers together.
const consumerName = "workers"

// window is how long the server recognises a message that was sent once more
// because its answer got lost.
const window = 2 * time.Minute

// prepare makes the streams. What is there stays as it is: a command that only
// looks must not change how a cluster keeps its data.
func (q *Queue) prepare(ctx context.Context) error {
	return q.insist(ctx, "open queue", q.opt.Name, func(ctx context.Context) error {
		return errors.Join(q.prepareWork(ctx), q.prepareRecords(ctx), q.prepareDead(ctx), q.prepareBlobs(ctx),
			q.prepareKeyValues(ctx))
	})
}

func (q *Queue) prepareWork(ctx context.Context) (err error) {
	q.work, err = q.stream(ctx, jetstream.StreamConfig{Name: q.streamName("work"),
		Subjects:    []string{q.opt.Name + ".work.*.*"},
		Description: "somebody ought to look at these tasks",
		Retention:   jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxBytes: q.opt.MaxBytes,
		Duplicates: window, Replicas: q.opt.Replicas, AllowDirect: true})
	if err != nil {
		return err
	}
	return q.prepareConsumer(ctx)
}

// prepareConsumer makes the one consumer. The server counts no deliveries and
// gives nothing up: the record does, so that giving back is not counted.
func (q *Queue) prepareConsumer(ctx context.Context) error {
	c, err := q.work.Consumer(ctx, consumerName)
	wanted := jetstream.ConsumerConfig{Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait:    defaultAckWait,
		MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 14}
	if q.opt.AckWait != 0 {
		wanted.AckWait = q.opt.AckWait
	}
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

func (q *Queue) prepareRecords(ctx context.Context) (err error) {
	q.bucket, q.records, err = q.keyValue(ctx, jetstream.KeyValueConfig{Bucket: q.bucketName(),
		Description: "how each task is", LimitMarkerTTL: markerTTL})
	return err
}

func (q *Queue) prepareBlobs(ctx context.Context) (err error) {
	q.blobs, err = q.stream(ctx, jetstream.StreamConfig{Name: q.streamName("parcels"),
		Subjects:    []string{q.opt.Name + ".parcel.*.*.*"},
		Description: "what is too large for a record", Compression: jetstream.S2Compression, Replicas: q.opt.Replicas,
		AllowDirect: true})
	return err
}

func (q *Queue) prepareKeyValues(ctx context.Context) (err error) {
	_, q.values, err = q.keyValue(ctx, jetstream.KeyValueConfig{Bucket: q.keyValuesName(),
		Description: "what workers share beside their tasks"})
	return err
}

// keyValue opens a bucket, or makes it.
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

func (q *Queue) prepareDead(ctx context.Context) (err error) {
	q.dead, err = q.stream(ctx, jetstream.StreamConfig{Name: q.streamName("dead"),
		Subjects:    []string{q.opt.Name + ".dead.*"},
		Description: "tasks that were given up", MaxMsgsPerSubject: 1, Replicas: q.opt.Replicas, AllowDirect: true})
	return err
}

// stream opens a stream, or makes it.
func (q *Queue) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.js.CreateStream(ctx, c)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another made it meanwhile
		s, err = q.js.Stream(ctx, c.Name)
	}
	return s, err
}
