package quota

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hako/run/fault"
)

func newTotal(t *testing.T, tokens int64) *SharedBudget {
	t.Helper()
	return &SharedBudget{UsageFile: UsageFile{filepath.Join(t.TempDir(), "state", "usage.json")}, Tokens: tokens}
}

func spentOf(t *testing.T, total *SharedBudget) int64 {
	t.Helper()
	n, err := total.Spent(total.Weights)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReserveParallel has many ask at once for what only some can have.
func TestReserveParallel(t *testing.T) {
	total := newTotal(t, 1000)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := total.Reserve(t.Context(), Need{Model: "m", Input: 60, Output: 10, Least: 10})
			if err != nil {
				if fault.KindOf(err) != fault.Exhausted {
					t.Error(err)
				}
				return
			}
			if err := r.Settle(Usage{Input: 60, Output: 10, Calls: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := spentOf(t, total); n != 1000 {
		t.Errorf("%d of 1000 were used", n)
	}
	left, err := filepath.Glob(filepath.Join(total.reservations(), "*"))
	if len(left) > 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestReserve(t *testing.T) {
	total := newTotal(t, 1000)
	total.Patience = 100 * time.Millisecond
	first, err := total.Reserve(t.Context(), Need{Input: 200, Output: 8192, Least: 50})
	if err != nil || first.Output != 200 { // what is left of 1000, at four each
		t.Fatal(first, err)
	}
	_, err = total.Reserve(t.Context(), Need{Input: 100, Output: 100, Least: 50})
	if fault.KindOf(err) != fault.Exhausted ||
		!strings.Contains(err.Error(), "used 0 of 1000 tokens, and this call may use 300 while others have reserved 1000") {
		t.Errorf("all was reserved: %v", err)
	}
	if _, err := total.Reserve(t.Context(), Need{Input: 1001}); err == nil ||
		!strings.Contains(err.Error(), "may use 1001") {
		t.Errorf("more than there is: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := total.Reserve(ctx, Need{Input: 100}); err != context.Canceled {
		t.Errorf("interrupted: %v", err)
	}
	waits := make(chan error, 1)
	go func() {
		patient := *total
		patient.Patience = time.Minute
		r, err := patient.Reserve(t.Context(), Need{Input: 100, Output: 100, Least: 50})
		if err == nil {
			err = r.Settle(Usage{})
		}
		waits <- err
	}()
	if err := first.Settle(Usage{Input: 10}); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("what was given back: %v", err)
	}
	if n := spentOf(t, total); n != 10 {
		t.Errorf("%d are used", n)
	}
}

// TestReserveDead: what a dead process had reserved counts as used, once, and
// stands in nobody's way after that.
func TestReserveDead(t *testing.T) {
	total := newTotal(t, 1000)
	dead, err := total.Reserve(t.Context(), Need{Model: "m", Input: 100, Output: 100, Least: 100})
	if err != nil {
		t.Fatal(err)
	}
	living, err := total.Reserve(t.Context(), Need{Model: "m", Input: 50})
	if err != nil {
		t.Fatal(err)
	}
	unlock(t, total, dead)
	os.WriteFile(filepath.Join(total.reservations(), "torn.json"), []byte(`{"per`), 0o600)
	for range 2 {
		if err := total.Reclaim(); err != nil {
			t.Fatal(err)
		}
		if n := spentOf(t, total); n != 500 {
			t.Errorf("%d are used", n)
		}
	}
	if _, err := total.Reserve(t.Context(), Need{Model: "m", Input: 501}); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("more than is left: %v", err)
	}
	if err := living.Settle(Usage{Input: 1}); err != nil {
		t.Fatal(err)
	}
	if n := spentOf(t, total); n != 501 {
		t.Errorf("%d are used", n)
	}
	if err := total.Reset(""); err != nil || spentOf(t, total) != 0 {
		t.Error(err)
	}
}

// unlock puts an unlocked file in the place of a reservation's, as the system
// leaves it when a process dies.
func unlock(t *testing.T, total *SharedBudget, r *Reservation) {
	t.Helper()
	text, err := json.Marshal(r.note)
	if err == nil {
		err = r.held.Release()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(total.reservations(), "dead.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReserveUnwritten: what cannot be written down is not reserved.
func TestReserveUnwritten(t *testing.T) {
	total := newTotal(t, 1000)
	if err := os.MkdirAll(total.Path+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := total.Reserve(t.Context(), Need{Input: 1}); err == nil {
		t.Error(r)
	}
}
