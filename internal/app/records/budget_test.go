package records

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"hako/quota"
	"hako/run/fault"
)

func budget(t *testing.T, total int64) Budget {
	return Budget{
		State: quota.UsageFile{Path: filepath.Join(t.TempDir(), "usage.json")}, Total: total,
		Weights: map[string]quota.Weights{"big": {Input: 8, Cached: 4, Output: 40}},
		Cost:    func(_ string, u quota.Usage) float64 { return float64(u.Input) / 100 },
		Clock:   func() time.Time { return time.Date(2026, 3, 5, 12, 0, 0, 0, time.Local) },
	}
}

// use adds what two models and a script used on three of the last days.
func use(t *testing.T, b Budget) {
	t.Helper()
	for _, u := range []struct {
		day, model string
		quota.Usage
	}{
		{"2026-03-02", "small", quota.Usage{Calls: 1, Input: 100, Cached: 40, Output: 10}},
		{"2026-03-04", "small", quota.Usage{Calls: 2, Input: 200}},
		{"2026-03-04", "big", quota.Usage{Calls: 1, Input: 100, Output: 1}},
		{"2026-03-04", "", quota.Usage{Scripts: 4, Read: 100}},
	} {
		if err := b.State.Add(u.day, u.model, u.Usage); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDays(t *testing.T) {
	b := budget(t, 1000)
	if days, err := b.Days(t.Context(), 7); err != nil || len(days) != 0 {
		t.Errorf("nothing used: %+v, %v", days, err)
	}
	use(t, b)
	none := []ModelUsage{}
	want := []Day{
		{Day: "2026-03-02", Models: []ModelUsage{{Model: "small", Calls: 1, Input: 100, Cached: 40, Output: 10, Tokens: 150,
			Cost: 1}}},
		{Day: "2026-03-03", Models: none},
		{Day: "2026-03-04", Models: []ModelUsage{
			{Model: "big", Calls: 1, Input: 100, Output: 1, Tokens: 210, Cost: 1},
			{Model: "small", Calls: 2, Input: 200, Tokens: 200, Cost: 2}}},
		{Day: "2026-03-05", Models: none},
	}
	for newest, from := range map[int]int{1 << 40: 0, 4: 0, 2: 2, 0: 4} {
		got, err := b.Days(t.Context(), newest)
		if err != nil || len(got) != len(want[from:]) || len(got) > 0 && !reflect.DeepEqual(got, want[from:]) {
			t.Errorf("%d days: %v\ngot  %+v\nwant %+v", newest, err, got, want[from:])
		}
	}
	b.Cost = nil
	if got, err := b.Days(t.Context(), 2); err != nil || got[0].Models[0].Cost != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLeft(t *testing.T) {
	b := budget(t, 1000)
	use(t, b) // 150 + 200 + 210
	for total, want := range map[int64]Left{
		1000: {Tokens: 440, Total: 1000}, 500: {Tokens: 0, Total: 500}, 0: {}, -5: {}, quota.NoLimit: {Tokens: -1, Total: -1},
	} {
		b.Total = total
		if got, err := b.Left(t.Context()); err != nil || got != want {
			t.Errorf("of %d: %+v, %v", total, got, err)
		}
	}
}

func TestDamagedUsage(t *testing.T) {
	b := budget(t, 1000)
	os.WriteFile(b.State.Path, []byte("{"), 0o600)
	_, err1 := b.Days(t.Context(), 7)
	_, err2 := b.Left(t.Context())
	for _, err := range []error{err1, err2} {
		if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%v", err)
		}
	}
}
