package tasks

import (
	"sync"
)

// session is how many steps wait for a reader; what comes after is lost to it.
const readerBuffer = 256

// readers are all who watch. The zero value has none.
type readers struct {
	mu      sync.Mutex // guards what follows
	members map[*reader]bool
	threads map[string]string // of tasks, by the names of their tries
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

// send passes a step on to who watches its task, and waits for nobody.
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

// setThreads notes down what the tries of tasks are called.
func (c *readers) setThreads(threads map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.threads = threads
}
