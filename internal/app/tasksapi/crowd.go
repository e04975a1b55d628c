package tasksapi

import (
	"sync"

	"hako/internal/web/source"
)

// room is how many steps wait for a reader; what comes after is lost to it.
const room = 256

// A crowd is everybody who watches. The zero value is nobody.
type crowd struct {
	mu      sync.Mutex // guards what follows
	members map[*member]bool
	threads map[string]string // of tasks, by the names of their tries
}

// A member watches one task, or all if the thread is empty.
type member struct {
	thread string
	steps  chan source.Step
}

func (c *crowd) join(thread string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members == nil {
		c.members = make(map[*member]bool)
	}
	m := &member{thread, make(chan source.Step, room)}
	c.members[m] = true
	return m
}

func (c *crowd) leave(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m)
	close(m.steps)
}

// tell passes a step on to who watches its task, and waits for nobody.
func (c *crowd) tell(s source.Step) {
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

// called notes down what the tries of tasks are called.
func (c *crowd) called(threads map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.threads = threads
}
