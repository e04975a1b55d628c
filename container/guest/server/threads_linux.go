package server

import (
	"runtime"
	"sync"
)

// spareThreads is how many a guest keeps: more than it was ever seen to need, with
// everything that has [turns] being done at once.
const spareThreads = 24

// reserveThreads makes threads while there is room for them. The runtime keeps those that
// have nothing to do, and needs no new ones until all are busy.
func reserveThreads(threads int) {
	var made, gone sync.WaitGroup
	enough := make(chan struct{})
	made.Add(threads)
	for range threads {
		gone.Go(func() {
			runtime.LockOSThread() // one for each, as long as all are here
			defer runtime.UnlockOSThread()
			made.Done()
			<-enough
		})
	}
	made.Wait()
	close(enough)
	gone.Wait()
}
