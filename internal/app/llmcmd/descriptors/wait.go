package descriptors

import (
	"context"
	"strings"
	"time"
)

const (
	beat   = 20 * time.Millisecond  // poll interval
	settle = 2 * beat               // how long scripts must be blocked before a read returns what there is
	stall  = 200 * time.Millisecond // and before a call without data gives up
	linger = time.Second            // how long a read with data waits for more
	gather = 10 * time.Second       // how long close waits for the scripts behind a pipe
)

// A vigil decides when a call stops waiting: when everything it waits for is waiting for the model.
type vigil struct {
	d     *Table
	needs func() string // what the model has to do; called with mu held
	why   string        // its last result
	since time.Time     // when that changed
	came  time.Time     // when data arrived first
}

// over reports whether to stop waiting, and why; have means that there is data.
func (v *vigil) over(have bool) (why string, over bool) {
	v.d.mu.Lock()
	why = v.needs()
	v.d.mu.Unlock()
	now, patience := time.Now(), stall
	if why != v.why {
		v.why, v.since = why, now
	}
	if have {
		patience = settle
	}
	if why != "" && now.Sub(v.since) >= patience {
		return why, true
	}
	return "", v.lingered(have)
}

// lingered reports whether data has been available for long enough.
func (v *vigil) lingered(have bool) bool {
	if have && v.came.IsZero() {
		v.came = time.Now()
	}
	return have && time.Since(v.came) >= linger
}

// watch returns a vigil over scripts, which may be nil.
func (d *Table) watch(scripts ...*script) *vigil {
	return &vigil{d: d, needs: func() string {
		for _, s := range scripts {
			if s != nil {
				if why := d.needs(s, nil); why != "" {
					return why
				}
			}
		}
		return ""
	}}
}

// tick calls try with short contexts until it returns, or until the vigil is over. The error is nil, that of try, or
// that of ctx.
func (v *vigil) tick(ctx context.Context, have func() bool, try func(context.Context) error) (why string, over bool,
	err error) {
	for {
		short, cancel := context.WithTimeout(ctx, beat)
		err := try(short)
		late := short.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			v.why = ""
			return "", false, err
		}
		if why, over := v.over(have()); over {
			return why, true, nil
		}
	}
}

// remedy is the hint for what a script waits for.
func remedy(why, then string) string {
	if strings.Contains(why, "waits for input") {
		return "write to it, or close it if nothing more comes; then " + then + " again"
	}
	return "read it, or close it if you do not need it; then " + then + " again"
}

// collect waits until the scripts have ended, or need the model, and describes each of them.
func (d *Table) collect(ctx context.Context, scripts []*script, most time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	v := d.watch(scripts...)
	for _, s := range scripts {
		_, over, err := v.tick(ctx, func() bool { return false }, s.join)
		if over || err != nil {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var words []string
	for _, s := range scripts {
		words = append(words, d.state(s))
	}
	return strings.Join(words, "; ")
}

// join waits until the script has ended.
func (s *script) join(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
