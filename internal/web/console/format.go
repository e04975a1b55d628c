package console

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"hako/run/fault"
)

// visible spells out characters that could hide or reorder what a person judges: bidirectional and other control and
// format characters ("Trojan Source"). Line ends and tabs stay. The script has the same function for live data.
func visible(s string) string {
	if strings.IndexFunc(s, deceptive) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if deceptive(r) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func deceptive(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar ||
		r == '\u115f' || r == '\u3164'
}

// formatInt formats a number with thousands separators.
func formatInt(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits, sign := strings.TrimPrefix(s, "-"), ""
	if len(digits) < len(s) {
		sign = "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// formatShort formats a number in about four characters.
func formatShort(v float64) string {
	value, unit := scaled(v)
	return trim(value) + unit
}

// scaled returns a number in its largest unit.
func scaled(v float64) (value float64, unit string) {
	for _, step := range []struct {
		from float64
		unit string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= step.from {
			return v / step.from, step.unit
		}
	}
	return v, ""
}

// trim formats a number with three significant digits.
func trim(v float64) string {
	switch {
	case v == math.Trunc(v) || math.Abs(v) >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// formatSize formats a number of bytes.
func formatSize(n int64) string {
	v, i := float64(n), 0
	units := []string{"B", "KB", "MB", "GB", "TB"}
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	return trim(v) + " " + units[i]
}

// formatCost formats a cost, a small one with more digits.
func formatCost(v float64) string {
	if v != 0 && math.Abs(v) < 1 {
		return "$" + strconv.FormatFloat(v, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(v, 'f', 2, 64)
}

// formatDuration formats a duration.
func formatDuration(micros int64) string {
	d := time.Duration(micros) * time.Microsecond
	switch {
	case d < time.Millisecond:
		return strconv.FormatInt(micros, 10) + " µs"
	case d < time.Second:
		return trim(float64(micros)/1e3) + " ms"
	case d < time.Minute:
		return trim(d.Seconds()) + " s"
	}
	return d.Round(time.Second).String()
}

// At formats a time, with the date unless it is today.
func (p *page) At(t time.Time) string {
	t, now := t.In(p.Zone), p.Now.In(p.Zone)
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("01-02 15:04")
}

func formatISO(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// errorText describes an error.
func (p *page) errorText(err error) string {
	var ours *fault.Error
	if errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &ours) {
		return p.T("slow")
	}
	return visible(err.Error())
}

func hint(err error) string { return fault.Hint(err) }
