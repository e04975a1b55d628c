package tasks

import (
	"sync"
)

// readerBuffer is how many steps wait for a reader; further ones are dropped.
const readerBuffer = 256

// readers are all who watch. The zero value has none.
type readers struct {
	mu      sync.Mutex // guards what follows
	members map[*reader]bool
	threads map[string]string // by task ID
}

// A reader watches one task, or all if the thread is empty.
type reader struct {
	thread string
	steps  chan Step
}

func (c *readers) join(thread string) *reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members == nil {
		c.members = make(map[*reader]bool)
	}
	m := &reader{thread, make(chan Step, readerBuffer)}
	c.members[m] = true
	return m
}

func (c *readers) leave(m *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m)
	close(m.steps)
}

// send sends a step to the readers of its task, without waiting.
func (c *readers) send(s Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if thread, ok := c.threads[s.Task]; ok {
		s.Task = thread
	}
	for m := range c.members {
		if m.thread != "" && m.thread != s.Task {
			continue
		}
		select {
		case m.steps <- s:
		default:
		}
	}
}

// setThreads sets the threads of task IDs.
func (c *readers) setThreads(threads map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.threads = threads
}
