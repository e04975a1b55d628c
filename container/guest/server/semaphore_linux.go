package server

// A semaphore limits concurrent system calls that block a thread, like reading files and starting processes. If
// commands use up all processes of the container, the runtime cannot create another thread and would crash the guest,
// and the container with it. So few such calls run at once, and their threads are reserved at the start, see
// reserveThreads.
type semaphore chan struct{}

const maxConcurrent = 4

// take acquires the semaphore and returns a function that releases it.
func (t semaphore) take() (giveBack func()) {
	t <- struct{}{}
	return func() { <-t }
}
