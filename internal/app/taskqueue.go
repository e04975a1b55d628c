package app

import (
	"context"
	"time"

	"hako/internal/app/coder/dispatch"
	"hako/internal/app/coder/queue"
	"hako/internal/config"
)

// A TaskQueue is the queue of the coding agent and the record.
type TaskQueue struct {
	*App
	Conf  *config.Config
	Queue *queue.Queue
}

// Close closes both.
func (t *TaskQueue) Close() {
	_ = t.Queue.Close()
	t.App.Close()
}

// A Waiting function is called before something that may take long; what it returns is called afterwards.
type Waiting func(what string) (over func())

// OpenTaskQueue opens queue and record.
func OpenTaskQueue(ctx context.Context, conf *config.Config, waiting Waiting) (*TaskQueue, error) {
	b, err := Open(conf)
	if err != nil {
		return nil, err
	}
	q, err := openQueue(ctx, conf, waiting)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &TaskQueue{b, conf, q}, nil
}

// openQueue opens the configured queue.
func openQueue(ctx context.Context, conf *config.Config, waiting Waiting) (*queue.Queue, error) {
	what := "waiting for whoever serves the queue of this machine"
	if config.QueueURL.Of(conf).V != "" {
		what = "waiting for the server of queue.url; it is asked again for some seconds"
	}
	defer waiting(what)()
	return queue.Open(ctx, QueueOptions(conf))
}

// extraDeliveries is how often the queue delivers a task beyond the attempts of a worker: the worker that gives up
// reports why.
const extraDeliveries = 5

// QueueOptions converts the settings.
func QueueOptions(conf *config.Config) queue.Options {
	return queue.Options{
		URL: string(config.QueueURL.Of(conf).V), Credentials: config.QueueCredentials.Of(conf).V,
		RootCA: config.QueueCA.Of(conf).V,
		Dir:    conf.StateFile("queue"), Name: config.QueueName.Of(conf).V, Replicas: config.QueueReplicas.Of(conf).V,
		MaxDeliver: config.QueueTries.Of(conf).V + extraDeliveries,
		AckWait:    time.Duration(config.QueueLease.Of(conf).V) * time.Second,
	}
}

// Worker returns who works on a task. A worker whose lease expired is silent: it was killed or is cut off.
func (t *TaskQueue) Worker(s dispatch.TaskStatus) string {
	if s.Worker == "" || time.Now().Before(t.Queue.Due(queue.Entry{State: queue.Held, Changed: s.Changed})) {
		return s.Worker
	}
	return s.Worker + " (silent)"
}
