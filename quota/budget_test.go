package quota

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hako/run/fault"
)

func TestWeightedTokens(t *testing.T) {
	for _, c := range []struct {
		u    Usage
		want int64
	}{
		{Usage{Input: 10}, 10}, {Usage{Cached: 4}, 1}, {Usage{Cached: 1}, 1}, {Usage{Output: 3}, 12},
		{Usage{Input: 1, Cached: 5, Output: 1}, 7},
	} {
		if got := c.u.Tokens(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.u, got, c.want)
		}
	}
}

func TestOverBudget(t *testing.T) {
	m := New(Limits{Tokens: 100_000})
	if err := m.Charge(Usage{Input: 100_000}); err != nil {
		t.Fatal(err)
	}
	err := m.Charge(Usage{Input: 213})
	if fault.KindOf(err) != fault.Exhausted || err.Error() != "charge: used 100213 of 100000 tokens" ||
		fault.Hint(err) != "raise quota.tokens, or split the task" {
		t.Errorf("%v / %s", err, fault.Hint(err))
	}
	for name, u := range map[string]Usage{"calls": {Calls: 51}, "bytes read": {Read: 1 << 40},
		"bytes written": {Written: 1 << 40}, "scripts": {Scripts: 1 << 20}} {
		if err := New(Limits{}).Charge(u); err == nil || !strings.HasSuffix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingIsNothing(t *testing.T) {
	for name, m := range map[string]*Budget{"nil": nil, "zero": {}, "negative": New(Limits{Calls: -1}),
		"child of nil": (*Budget)(nil).Child(Limits{Calls: 5})} {
		if err := m.Charge(Usage{Calls: 1}); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("%s meter: %v", name, err)
		}
	}
	if err := New(Unlimited()).Charge(Usage{Calls: 1 << 40, Written: 1 << 60}); err != nil {
		t.Error(err)
	}
}

func TestWeightsOfModels(t *testing.T) {
	m := New(Limits{Weights: map[string]Weights{"big": {40, 10, 160}}})
	child := m.Child(Limits{})
	child.ChargeModel("big", Usage{Input: 2})
	child.ChargeModel("small", Usage{Input: 2})
	if got, want := child.Left().Tokens(), DefaultLimits().Tokens-22; got != want {
		t.Errorf("%d left, want %d", got, want)
	}
}

func TestWallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Limits{Wall: time.Minute})
		child := m.Child(Limits{Wall: time.Hour})
		time.Sleep(59 * time.Second)
		if err := child.Charge(Usage{Calls: 1}); err != nil {
			t.Fatal(err)
		}
		if end, ok := child.Deadline(); !ok || time.Until(end) != time.Second {
			t.Errorf("ends at %v, %v", end, ok)
		}
		time.Sleep(2 * time.Second)
		if err := child.Charge(Usage{}); err == nil || err.Error() != "charge: used 1m1s of 1m0s" {
			t.Error(err)
		}
		if _, ok := New(Unlimited()).Deadline(); ok {
			t.Error("no limit has a deadline")
		}
	})
}

func TestChildNeverHasMore(t *testing.T) {
	m := New(Limits{Calls: 10})
	m.Charge(Usage{Calls: 3})
	child := m.Child(Limits{Calls: 100})
	other := m.Child(Limits{Calls: 2})
	if got := child.Left().Calls(); got != 7 {
		t.Errorf("child got %d", got)
	}
	other.Charge(Usage{Calls: 2})
	if got := child.Left().Calls(); got != 5 {
		t.Errorf("after its sibling %d are left", got)
	}
	if err := other.Charge(Usage{Calls: 1}); err == nil {
		t.Error("a child went over its own limit")
	}
	if err := child.Charge(Usage{Calls: 5}); err == nil {
		t.Error("a child went over its parent's limit")
	}
}

func TestTreeOfMeters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	root := New(Limits{Calls: 1000, Tokens: 5000})
	all := []*Budget{root}
	for range 300 {
		m := all[r.IntN(len(all))]
		if r.IntN(4) == 0 {
			all = append(all, m.Child(Limits{Calls: r.Int64N(500), Tokens: r.Int64N(9000)}))
			continue
		}
		m.Charge(Usage{Calls: r.Int64N(3), Input: r.Int64N(5), Output: r.Int64N(2)})
		for _, c := range all {
			if c.parent != nil && (c.Left().Calls() > c.parent.Left().Calls() || c.Left().Tokens() > c.parent.Left().Tokens()) {
				t.Fatalf("%v is more than %v", c.Left(), c.parent.Left())
			}
		}
	}
}

func TestConcurrentCharges(t *testing.T) {
	m := New(Unlimited())
	var wg sync.WaitGroup
	for range 8 {
		c := m.Child(Limits{})
		wg.Go(func() {
			for range 1000 {
				c.Charge(Usage{Read: 1})
			}
		})
	}
	wg.Wait()
	if got := m.Used().Read; got != 8000 {
		t.Errorf("counted %d", got)
	}
}

func TestLeft(t *testing.T) {
	b := Unlimited()
	b.Calls, b.Read = 50, 1<<20
	m := New(b)
	m.Charge(Usage{Calls: 12})
	if got, want := m.Left().String(), "38 of 50 calls left, 1MB of 1MB bytes read left"; got != want {
		t.Errorf("got %q", got)
	}
	if got, _ := json.Marshal(m.Left()); string(
		got) != `{"calls":{"left":38,"of":50},"read":{"left":1048576,"of":1048576}}` {
		t.Errorf("got %s", got)
	}
	if got := New(Unlimited()).Left().String(); got != "no limits" {
		t.Errorf("got %q", got)
	}
	if got := m.Left().Of("calls"); got != 38 {
		t.Errorf("got %d", got)
	}
}

func TestBudgetSet(t *testing.T) {
	var b Limits
	for name, value := range map[string]string{"calls": "7", "tokens": "none", "read": "10MB", "written": "1KB",
		"scripts": "3", "wall": "2m"} {
		if err := b.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	if b.Calls != 7 || b.Tokens != NoLimit || b.Read != 10<<20 || b.Written != 1024 || b.Scripts != 3 ||
		b.Wall != 2*time.Minute {
		t.Errorf("%+v", b)
	}
	for name, value := range map[string]string{"calls": "-1", "read": "x", "nope": "1"} {
		if err := b.Set(name, value); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func BenchmarkCharge(b *testing.B) {
	m := New(Unlimited()).Child(Limits{})
	for b.Loop() {
		m.Charge(Usage{Written: 1})
	}
}

// TestAmountsDoNotWrap checks that no number a provider reports makes a budget
// larger.
func TestAmountsDoNotWrap(t *testing.T) {
	for _, n := range []int64{1 << 59, math.MaxInt64, math.MinInt64, -1000} {
		m := New(Limits{Tokens: 1000})
		first := m.Charge(Usage{Output: n, Input: n})
		if left := m.Left().Tokens(); left < 0 || left > 1000 || n > 0 && first == nil {
			t.Errorf("after %d: %d left, %v", n, left, first)
		}
		for range 3 {
			m.Charge(Usage{Output: 1 << 60})
		}
		if left := m.Left().Tokens(); left != 0 {
			t.Errorf("after %d and more: %d left", n, left)
		}
	}
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour - 2*time.Second: "1h", 90 * time.Minute: "1h30m", 599 * time.Second: "9m59s", 5 * time.Minute: "5m",
		10 * time.Second: "10s", 0: "0s",
	} {
		if got := about(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestLess(t *testing.T) {
	part, rest := Usage{1, 2, 3, 4, 5, 6, 7}, Usage{70, 60, 50, 40, 30, 20, 10}
	if got := part.Add(rest).Less(part); got != rest {
		t.Errorf("got %+v", got)
	}
}
