package llm

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"hako/run/fault"
)

func TestAnnotate(t *testing.T) {
	files := []File{{"app.log", 20480}, {"売上 (2026).csv", 0}, {"a\nb", 3}, {`"q"`, 1}}
	for _, request := range []string{"count the lines", "x\n\n---\ny", "", "行を数えて\n"} {
		got, back := Plain(Annotate(request, files, "[turn 1 of 4]"))
		if got != request || !slices.Equal(back, files) {
			t.Errorf("%q came back as %q with %v", request, got, back)
		}
	}
	if got, files := Plain("nothing added"); got != "nothing added" || files != nil {
		t.Errorf("got %q, %v", got, files)
	}
	if _, files := Plain(Annotate("x", nil)); files != nil {
		t.Errorf("files out of nowhere: %v", files)
	}
}

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "abcd": 1, "abcde": 2, "日本語": 3, "ab日": 2, "\xff": 1} {
		if got := Estimate(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

// flaky fails with each of its errors in turn, then answers.
type flaky struct {
	errs  []error
	says  string // before it fails
	calls int
}

func (f *flaky) Next(_ context.Context, d *Dialog) (*Turn, error) {
	f.calls++
	if d.OnText != nil {
		d.OnText(f.says)
	}
	if len(f.errs) == 0 {
		return &Turn{Text: "done"}, nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func busy(r Refusal) error { return Refuse("m", "busy", "", &r) }

func TestRetry(t *testing.T) {
	again := busy(Refusal{Status: 500, Retry: true})
	tests := []struct {
		name  string
		errs  []error
		says  string
		calls int
		waits []time.Duration
		fails bool
	}{
		{"at once", nil, "", 1, nil, false},
		{"after two", []error{again, again}, "", 3, []time.Duration{time.Second, 2 * time.Second}, false},
		{"four tries at most", []error{again, again, again, again, again}, "", 4,
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, true},
		{"as told", []error{busy(Refusal{Status: 429, Retry: true, After: 7 * time.Second})}, "", 2,
			[]time.Duration{7 * time.Second}, false},
		{"not that long", []error{busy(Refusal{Status: 429, Retry: true, After: time.Hour})}, "", 1, nil, true},
		{"not for 401", []error{busy(Refusal{Status: 401})}, "", 1, nil, true},
		{"not for faults of ours", []error{errors.New("x")}, "", 1, nil, true},
		{"not in mid-sentence", []error{again}, "Half an ans", 1, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &flaky{errs: tt.errs, says: tt.says}
			var waits []time.Duration
			var told int
			r := &Retry{
				Model: m, Jitter: func(d time.Duration) time.Duration { return d }, Notify: func(w Waiting) { told++ },
				Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
			}
			_, err := r.Next(t.Context(), &Dialog{OnText: func(string) {}})
			if m.calls != tt.calls || !slices.Equal(waits, tt.waits) || (err != nil) != tt.fails || told != len(waits) {
				t.Errorf("%d calls, waited %v, told %d times, %v", m.calls, waits, told, err)
			}
		})
	}
}

func TestRetryStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &Retry{Model: &flaky{errs: []error{busy(Refusal{Status: 500, Retry: true})}}, Notify: func(Waiting) { cancel() }}
	if _, err := r.Next(ctx, new(Dialog)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestRefusal(t *testing.T) {
	err := Refuse("gpt-x", "openai is busy", "wait", &Refusal{Status: 429, Code: "rate_limit_exceeded",
		Message: "try later"})
	if got := err.Error(); got != "ask model gpt-x: openai is busy: rate_limit_exceeded: try later" {
		t.Error(got)
	}
	if fault.KindOf(err) != fault.Unavailable || fault.Hint(err) != "wait" {
		t.Errorf("%+v", err)
	}
}
