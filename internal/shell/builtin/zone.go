package builtin

import (
	"fmt"
	"strings"
	"time"

	"hako/internal/shell"
)

// zoneOf returns the time zone the script asked for by TZ. Only zones that can
// be written down are known (UTC, JST-9, EST5, <+09>-9): names such as
// Asia/Tokyo need a database, and the host's is out of reach.
func zoneOf(c *shell.Call) (*time.Location, error) {
	tz, _ := c.Getenv("TZ")
	return parseZone(tz)
}

// zoneOrUTC is zoneOf for commands that only show times by the way.
func zoneOrUTC(c *shell.Call) *time.Location {
	if loc, err := zoneOf(c); err == nil {
		return loc
	}
	return time.UTC
}

func parseZone(tz string) (*time.Location, error) {
	tz = strings.TrimPrefix(tz, ":")
	if loc, ok := knownZones[tz]; ok {
		return loc, nil
	}
	name, rest := cutZoneName(tz)
	off, rest, ok := cutOffset(rest)
	if name == "" || !ok || rest != "" {
		return nil, fmt.Errorf("TZ=%s: only UTC and zones with their offset are known, such as JST-9 or EST5", tz)
	}
	return time.FixedZone(name, -off), nil
}

var knownZones = map[string]*time.Location{
	"": time.UTC, "UTC": time.UTC, "UTC0": time.UTC, "Etc/UTC": time.UTC, "Universal": time.UTC, "Zulu": time.UTC,
	"GMT": time.FixedZone("GMT", 0), "GMT0": time.FixedZone("GMT", 0), "Etc/GMT": time.FixedZone("GMT", 0),
	"Asia/Tokyo": time.FixedZone("JST", 9*3600), "Japan": time.FixedZone("JST", 9*3600),
}

func cutZoneName(tz string) (name, rest string) {
	if quoted, ok := strings.CutPrefix(tz, "<"); ok {
		name, rest, _ = strings.Cut(quoted, ">")
		return name, rest
	}
	i := 0
	for i < len(tz) && isLetter(tz[i]) {
		i++
	}
	if i < 3 {
		return "", tz
	}
	return tz[:i], tz[i:]
}

// cutOffset reads [+-]h[h][:mm[:ss]] in seconds.
func cutOffset(s string) (seconds int, rest string, ok bool) {
	sign := 1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	for unit := 3600; unit > 0; unit /= 60 {
		n, after, found := cutNumber(s, 2)
		if !found || unit == 3600 && n > 24 || unit < 3600 && n > 59 {
			return 0, s, false
		}
		seconds += n * unit
		if s = after; !strings.HasPrefix(s, ":") {
			break
		}
		s = s[1:]
	}
	return sign * seconds, s, true
}

// cutNumber takes up to most digits off the front of s.
func cutNumber(s string, most int) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && isDigit(s[i]) {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i > 0
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
