package strftime

import (
	"testing"
	"time"
)

// TestFormat has been answered by date(1) with the same formats.
func TestFormat(t *testing.T) {
	at := time.Date(2024, time.February, 3, 4, 5, 6, 789_000_000, time.UTC)
	for format, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S": "2024-02-03 04:05:06",
		"%F %T":             "2024-02-03 04:05:06",
		"%e|%k|%l|%I":       " 3| 4| 4|04",
		"%a %A %b %B %p":    "Sat Saturday Feb February AM",
		"%j %U %V %G %u %w": "034 04 05 2024 6 6",
		"%s %N %3N":         "1706933106 789000000 789",
		"%z %:z %Z":         "+0000 +00:00 UTC",
		"%-d %_m %^a %5Y":   "3  2 SAT 02024",
		"%D %R %r":          "02/03/24 04:05 04:05:06 AM",
		"100%% %Q 日本":       "100% %Q 日本",
	} {
		if got := Format(at, format); got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}
