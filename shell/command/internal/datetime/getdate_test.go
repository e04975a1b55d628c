package datetime

import (
	"testing"
	"time"
)

func FuzzDate(f *testing.F) {
	for _, s := range []string{"2 days ago", "next monday", "2024-01-01T10:00:00.5+09:00", "@1.5", "Jan 5 2024 3pm",
		"1/2/24 +1 week ago"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { Parse(s, time.Unix(1700000000, 0).UTC()) })
}
