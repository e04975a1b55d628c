package system

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Sleep = shell.Command{Name: "sleep", Run: runSleep}

func runSleep(ctx context.Context, c *shell.Call) error {
	_, operands, err := c.Options()
	if err != nil {
		return err
	}
	if len(operands) == 0 {
		return cli.Misuse(c, "missing operand")
	}
	var total time.Duration
	for _, word := range operands {
		d, ok := parseInterval(word)
		if !ok {
			return cli.Misuse(c, "invalid time interval %s", cli.QuoteCurly(word))
		}
		if total += d; total < 0 {
			total = math.MaxInt64
		}
	}
	wait := total
	if end, ok := ctx.Deadline(); ok { // timeout wakes it earlier
		wait = min(wait, time.Until(end))
	}
	if wait > c.Limiter.Left() {
		return &fault.Error{Kind: fault.Timeout, Op: "sleep", Subject: total.String(),
			Why:  fmt.Sprintf("it would go over the limit time=%s", c.Limiter.Limits().Time),
			Hint: "sleep less, or have limits.time raised", FlagHint: "sleep less, or raise it: --limit time=…"}
	}
	timer := time.NewTimer(total)
	defer timer.Stop()
	c.Stdout.Flush() // the reader should not wait for output that exists already
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// parseInterval reads 1.5, 2m, 1h, infinity as a duration.
func parseInterval(s string) (time.Duration, bool) {
	unit := float64(time.Second)
	if n := len(s); n > 1 {
		units := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}
		if u := units[s[n-1]]; u > 0 {
			s, unit = s[:n-1], u*float64(time.Second)
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || n < 0 || math.IsNaN(n) {
		return 0, false
	}
	if n*unit >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(n * unit), true
}
