package server

import (
	"runtime"
	"sync"
)

// spareThreads is the number of reserved threads: more than were ever needed with all semaphores in use.
const spareThreads = 24

// reserveThreads creates threads while that is possible. The runtime keeps idle threads.
func reserveThreads(threads int) {
	var made, gone sync.WaitGroup
	enough := make(chan struct{})
	made.Add(threads)
	for range threads {
		gone.Go(func() {
			runtime.LockOSThread() // one thread for each goroutine
			defer runtime.UnlockOSThread()
			made.Done()
			<-enough
		})
	}
	made.Wait()
	close(enough)
	gone.Wait()
}
