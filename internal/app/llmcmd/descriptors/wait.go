package descriptors

import (
	"context"
	"strings"
	"time"
)

const (
	pollInterval       = 20 * time.Millisecond  // poll interval
	blockedWithData    = 2 * pollInterval       // how long scripts must be blocked before a read returns what there is
	blockedWithoutData = 200 * time.Millisecond // and before a call without data gives up
	moreDataWait       = time.Second            // how long a read with data waits for more
	closeWait          = 10 * time.Second       // how long close waits for the scripts behind a pipe
)

// A waitMonitor decides when a call stops waiting: when everything it waits for is waiting for the model.
type waitMonitor struct {
	d         *Table
	needs     func() string // what the model has to do; called with mu held
	why       string        // its last result
	since     time.Time     // when that changed
	dataSince time.Time     // when data arrived first
}

// over reports whether to stop waiting, and why; have means that there is data.
func (v *waitMonitor) over(have bool) (why string, over bool) {
	v.d.mu.Lock()
	why = v.needs()
	v.d.mu.Unlock()
	now, patience := time.Now(), blockedWithoutData
	if why != v.why {
		v.why, v.since = why, now
	}
	if have {
		patience = blockedWithData
	}
	if why != "" && now.Sub(v.since) >= patience {
		return why, true
	}
	return "", v.waitedForMore(have)
}

// waitedForMore reports whether data has been available for long enough.
func (v *waitMonitor) waitedForMore(have bool) bool {
	if have && v.dataSince.IsZero() {
		v.dataSince = time.Now()
	}
	return have && time.Since(v.dataSince) >= moreDataWait
}

// watch returns a vigil over scripts, which may be nil.
func (d *Table) watch(scripts ...*script) *waitMonitor {
	return &waitMonitor{d: d, needs: func() string {
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

// poll calls try with short contexts until it returns, or until the vigil is over. The error is nil, that of try, or
// that of ctx.
func (v *waitMonitor) poll(ctx context.Context, have func() bool, try func(context.Context) error) (
	why string, over bool, err error) {
	for {
		short, cancel := context.WithTimeout(ctx, pollInterval)
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

// waitHint is the hint for what a script waits for.
func waitHint(why, then string) string {
	if strings.Contains(why, "waits for input") {
		return "write to it, or close it if nothing more comes; then " + then + " again"
	}
	return "read it, or close it if you do not need it; then " + then + " again"
}

// waitScripts waits until the scripts have ended, or need the model, and describes each of them.
func (d *Table) waitScripts(ctx context.Context, scripts []*script, most time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	v := d.watch(scripts...)
	for _, s := range scripts {
		_, over, err := v.poll(ctx, func() bool { return false }, s.waitEnd)
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

// waitEnd waits until the script has ended.
func (s *script) waitEnd(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
