// Package datetime parses the dates of date -d and the time zones of TZ.
package datetime

import (
	"fmt"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

// Zone returns the time zone in the variable TZ: a name with an offset (UTC, JST-9, EST5,
// <+09>-9) or a place (Europe/Berlin).
func Zone(c *shell.Call) (*time.Location, error) {
	tz, _ := c.Getenv("TZ")
	return parseZone(tz)
}

// ZoneOrUTC is Zone that returns UTC for an invalid TZ.
func ZoneOrUTC(c *shell.Call) *time.Location {
	if loc, err := Zone(c); err == nil {
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
	if name != "" && ok && rest == "" {
		return time.FixedZone(name, -off), nil
	}
	if loc, err := place(tz); err == nil {
		return loc, nil
	}
	return nil, fmt.Errorf("TZ=%s: there is no such time zone; known are places such as Europe/Berlin, and zones with their offset such as JST-9 or EST5", tz)
}

// place returns the zone of a place, from the database of the host or the embedded one.
// Other names are not looked up: one of them ("localtime") reveals where the host is.
func place(name string) (*time.Location, error) {
	area, city, _ := strings.Cut(name, "/")
	if !capital(area) || !capital(city) || strings.ContainsFunc(name, notInPlaces) {
		return nil, fmt.Errorf("%q is not a place", name)
	}
	return time.LoadLocation(name)
}

func capital(word string) bool { return word != "" && 'A' <= word[0] && word[0] <= 'Z' }

func notInPlaces(r rune) bool {
	return r > 'z' || !cli.IsLetter(byte(r)) && !cli.IsDigit(byte(r)) && !strings.ContainsRune("_+-/", r)
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
	for i < len(tz) && cli.IsLetter(tz[i]) {
		i++
	}
	if i < 3 {
		return "", tz
	}
	return tz[:i], tz[i:]
}

// cutOffset parses [+-]h[h][:mm[:ss]] and returns seconds.
func cutOffset(s string) (seconds int, rest string, ok bool) {
	sign := 1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	for unit := 3600; unit > 0; unit /= 60 {
		n, after, found := cli.CutNumber(s, 2)
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
