package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"hako/internal/app/coder"
	"hako/internal/app/coder/queue"
)

// Watch implements [hako/internal/web/api.Tasks]. Workers publish what they do in the
// queue, in whichever process they are. The state of a task is polled, often enough to
// show a change within a second. The channel is closed when ctx ends, or when the queue
// is closed.
func (w *Service) Watch(ctx context.Context, id string) (<-chan Step, error) {
	if id != "" {
		t, err := w.find(ctx, id)
		if err != nil {
			return nil, err
		}
		id = t.Thread
	}
	w.opening.Lock()
	defer w.opening.Unlock()
	f, err := w.startFeed()
	if err != nil {
		return nil, err
	}
	m := w.readers.join(id)
	f.count++
	go func() {
		select {
		case <-ctx.Done():
		case <-f.done:
		}
		w.removeReader(f, m)
	}()
	return m.steps, nil
}

// Tell sends a step that the queue does not know, of this process alone. The task is
// named by its thread or its ID. Steps of workers come from the queue and would be
// shown twice.
func (w *Service) Tell(s Step) {
	if s.Time.IsZero() {
		s.Time = time.Now().UTC()
	}
	w.readers.send(s)
}

// startFeed returns the running feed, or starts one. The lock is held.
func (w *Service) startFeed() (*feed, error) {
	if w.feed != nil && w.feed.running() {
		return w.feed, nil
	}
	ctx, stop := context.WithCancel(context.Background())
	events, err := w.Queue.Watch(ctx, "")
	if err != nil {
		stop()
		return nil, err
	}
	f := &feed{Service: w, stop: stop, done: make(chan struct{}), changedIDs: make(chan string, readerBuffer)}
	go f.run(ctx, events)
	w.feed = f
	return f, nil
}

// removeReader removes a reader, and with the last one ends the feed.
func (w *Service) removeReader(f *feed, m *reader) {
	w.opening.Lock()
	defer w.opening.Unlock()
	w.readers.leave(m)
	if f.count--; f.count > 0 {
		return
	}
	f.stop()
	<-f.done
	if w.feed == f {
		w.feed = nil
	}
}

// A feed sends what happens in the queue to the readers.
type feed struct {
	*Service
	count      int // readers; guarded by opening
	stop       context.CancelFunc
	done       chan struct{} // closed when the feed has ended
	changedIDs chan string   // tasks to poll now
}

func (f *feed) running() bool {
	select {
	case <-f.done:
		return false
	default:
		return true
	}
}

// run receives events and polls at the same time: a slow answer of the queue does not
// delay events.
func (f *feed) run(ctx context.Context, events <-chan queue.Event) {
	defer close(f.done)
	var looking sync.WaitGroup
	looking.Go(func() { f.poll(ctx) })
	for e := range events {
		f.handle(e)
	}
	f.stop()
	looking.Wait()
}

// handle sends an event of a worker to the readers. That a worker took or left a task
// is only a reason to poll it: its state is what the queue says.
func (f *feed) handle(e queue.Event) {
	if s, ok := stepOf(e); ok {
		f.readers.send(s)
	}
	switch e.What {
	case "taken", "ended", "parked", "released", "failed", "lost":
		select {
		case f.changedIDs <- e.ID:
		default: // the next poll is of all tasks
		}
	}
}

// stepOf converts an event.
func stepOf(e queue.Event) (Step, bool) {
	s := Step{Task: e.ID, Time: e.At, Type: e.What}
	switch e.What {
	case "phase", "call", "result", "note", "heard", "ignored":
		var w coder.Event
		if json.Unmarshal(e.Data, &w) != nil {
			return s, false
		}
		s.Phase, s.Name, s.Text, s.OK = string(w.Phase), w.Name, w.Text, w.OK
		return s, true
	case "failed", "lost", "released":
		s.Type, s.Text = "note", releaseText(e)
		return s, true
	}
	return s, false
}

// releaseText says why a worker released a task that has not ended.
func releaseText(e queue.Event) string {
	var left struct {
		Why  string  `json:"why"`
		Try  int     `json:"try"`
		Wait float64 `json:"wait_seconds"` // zero means that nobody knows of another try
	}
	_ = json.Unmarshal(e.Data, &left) // the rest is optional
	text := map[string]string{
		"failed": fmt.Sprintf("attempt %d failed", left.Try), "lost": "another worker has it now",
		"released": "it is back in the queue",
	}[e.What]
	if left.Wait > 0 {
		text += fmt.Sprintf(", the next is due in %v", time.Duration(left.Wait*float64(time.Second)).Round(time.Millisecond))
	}
	if left.Why != "" {
		text += ": " + left.Why
	}
	return text
}
