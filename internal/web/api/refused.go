package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// unknownActor is the actor of requests with an unknown token.
const unknownActor = "stranger"

// otherAddresses stands for all addresses beyond the limit.
const otherAddresses = "other addresses"

// refused records a refusal once. Repetitions are only counted until the next [Server.logRefused], so that a flood does
// not fill the disk.
func (s *Server) refused(r *http.Request, actor, wanted, kind string) {
	k := refusedKey{actor, kind, clientNetwork(r.RemoteAddr)}
	if !s.refusals.add(&k, s.limits.refusedAddresses) {
		return
	}
	// The request is refused in any case.
	_, _ = s.record(k.actor, short("was refused: "+wanted+", from "+k.from))
}

// logRefused records how often refusals were repeated.
func (s *Server) logRefused() {
	for k, n := range s.refusals.take() {
		if n > 0 {
			_, _ = s.record(k.actor, fmt.Sprintf("was refused %d more times: %s, from %s", n, k.kind, k.from))
		}
	}
}

func (s *Server) logRefusedRegularly(ctx context.Context) {
	tick := time.NewTicker(s.limits.reportRefused)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.logRefused()
		case <-ctx.Done():
			return
		}
	}
}

// refusals counts repeated refusals. The zero value is ready for use.
type refusals struct {
	mu    sync.Mutex
	again map[refusedKey]int
}

type refusedKey struct{ actor, kind, from string }

// add counts a refusal and reports whether it is the first. Beyond the limit of addresses, k becomes otherAddresses.
func (r *refusals) add(k *refusedKey, apart int) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again == nil {
		r.again = map[refusedKey]int{}
	}
	if _, known := r.again[*k]; !known && len(r.again) >= apart {
		k.from = otherAddresses
	}
	if _, known := r.again[*k]; known {
		r.again[*k]++
		return false
	}
	r.again[*k] = 0
	return true
}

// take returns the counts and resets them.
func (r *refusals) take() map[refusedKey]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.again
	r.again = nil
	return all
}
