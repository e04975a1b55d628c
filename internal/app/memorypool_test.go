package app

import (
	"errors"
	"fmt"
	"testing"

	"hako/quota"
	"hako/run/fault"
)

// TestMemoryPool: all callers together hold no more than the server may.
func TestMemoryPool(t *testing.T) {
	l := memoryPool{limits: quota.ScriptLimits{Memory: 1 << 20, Files: 10}}
	var shares []*memoryShare
	for i := range maxShares {
		s, err := l.open(fmt.Sprint("caller ", i))
		if err != nil {
			t.Fatal(err)
		}
		shares = append(shares, s)
		if err := s.hold(1 << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := shares[0].hold(1); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("one more byte of a caller: %v", err)
	}
	if err := errors.Join(shares[0].hold(-1), shares[0].hold(1)); err != nil {
		t.Errorf("what was given back: %v", err)
	}
	_, err := l.open("one more")
	if _, rerr := (pooledRunner{Runner: nil, share: shares[1]}).Run(t.Context(), nil); fault.KindOf(
		err) != fault.Exhausted || fault.KindOf(rerr) != fault.Exhausted || fault.Hint(err) == "" {
		t.Errorf("%v, %v", err, rerr)
	}
	l.release(shares[0])
	if _, err := l.open("one more"); err != nil || l.held() != (maxShares-1)<<20 {
		t.Errorf("after one has left: %v, %d bytes", err, l.held())
	}
}
