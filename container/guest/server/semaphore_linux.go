package server

// semaphore let only so many do a thing at the same time. Whoever waits in the system for a file or a new process
// holds a thread, and where commands have taken every place in the container there may be none to be had: a guest
// that asked for one more would be ended by the runtime, and the container with it. So few do such things at once,
// and the threads for them are there from the start, see reserve.
type semaphore chan struct{}

// maxConcurrent is how many of each kind of thing are done at the same time.
const maxConcurrent = 4

// take waits for a turn and returns what gives it back.
func (t semaphore) take() (giveBack func()) {
	t <- struct{}{}
	return func() { <-t }
}
