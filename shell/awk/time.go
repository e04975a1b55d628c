package awk

import (
	"strings"
	"time"

	"hako/shell/strftime"
)

func (m *machine) now() time.Time {
	if m.cfg.Now == nil {
		return time.Unix(0, 0).UTC()
	}
	return m.cfg.Now()
}

// maxTimeFormat bounds a format of strftime, which is written out in one go.
const maxTimeFormat = 64 << 10

// strftime compiles strftime([format [, time [, utc]]]).
func (c *compiler) strftime(e *builtinCall) strFn {
	format := func(*machine) string { return "%a %b %e %H:%M:%S %Z %Y" }
	if len(e.args) > 0 {
		format = c.str(e.args[0])
	}
	var at numFn
	if len(e.args) > 1 {
		at = c.num(e.args[1])
	}
	utc := func(*machine) bool { return false }
	if len(e.args) > 2 {
		utc = c.cond(e.args[2])
	}
	return func(m *machine) string {
		f := format(m)
		t := m.now()
		if at != nil {
			t = time.Unix(int64(whole(at(m))), 0).In(t.Location())
		}
		if utc(m) {
			t = t.UTC()
		}
		if len(f) > maxTimeFormat {
			fail(e.line, "strftime: format longer than %d KB", maxTimeFormat>>10)
		}
		m.fits(16 * len(f))
		m.spend(256 * len(f))
		return strftime.Format(t, f)
	}
}

// mktime turns "YYYY MM DD HH MM SS [DST]" into seconds, or -1.
func (m *machine) mktime(s string) float64 {
	words := strings.Fields(s)
	if len(words) < 6 {
		return -1
	}
	var n [6]int
	for i := range n {
		n[i] = whole(toNumber(words[i]))
		if n[i] > 1e9 || n[i] < -1e9 {
			return -1
		}
	}
	return float64(time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, m.now().Location()).Unix())
}
