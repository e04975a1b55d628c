package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// stranger is the actor of requests whose token nobody has.
const stranger = "stranger"

// otherAddresses stands for all addresses beyond those that are counted apart.
const otherAddresses = "other addresses"

// refused puts on record that somebody was refused. It is written once, and
// repetitions are only counted until the next [Server.logRefused]: a flood must
// not fill the disk.
func (s *Server) refused(r *http.Request, actor, wanted, kind string) {
	k := refusedKey{actor, kind, addressOf(r.RemoteAddr)}
	if !s.refusals.add(&k, s.limits.apart) {
		return
	}
	// Nobody waits for this record: they are refused in any case.
	_, _ = s.record(k.actor, short("was refused: "+wanted+", from "+k.from))
}

// logRefused puts on record how often the refused came back.
func (s *Server) logRefused() {
	for k, n := range s.refusals.take() {
		if n > 0 {
			_, _ = s.record(k.actor, fmt.Sprintf("was refused %d more times: %s, from %s", n, k.kind, k.from))
		}
	}
}

// logRefusedRegularly does so until ctx ends.
func (s *Server) logRefusedRegularly(ctx context.Context) {
	tick := time.NewTicker(s.limits.tell)
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

// refusals counts how often the same ones were refused again. The zero value is
// ready for use.
type refusals struct {
	mu    sync.Mutex
	again map[refusedKey]int
}

type refusedKey struct{ actor, kind, from string }

// add counts one, and tells whether it is the first. Of very many addresses most
// are counted as one, and k becomes that one's.
func (r *refusals) add(k *refusedKey, apart int) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again == nil {
		r.again = map[refusedKey]int{}
	}
	if _, prefixed := r.again[*k]; !prefixed && len(r.again) >= apart {
		k.from = otherAddresses
	}
	if _, prefixed := r.again[*k]; prefixed {
		r.again[*k]++
		return false
	}
	r.again[*k] = 0
	return true
}

// take returns what was counted, and begins anew.
func (r *refusals) take() map[refusedKey]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.again
	r.again = nil
	return all
}
