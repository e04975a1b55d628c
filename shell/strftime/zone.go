package strftime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Zone returns the time zone that a value of TZ names: a name with an offset (UTC, JST-9,
// EST5, <+09>-9) or a place (Europe/Berlin).
func Zone(tz string) (*time.Location, error) {
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
	return nil, fmt.Errorf("TZ=%s: there is no such time zone; known are places such as Europe/Berlin, "+
		"and zones with their offset such as JST-9 or EST5", tz)
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

func notInPlaces(r rune) bool { return !strings.ContainsRune(letters+digits+"_+-/", r) }

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
)

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
	if rest = strings.TrimLeft(tz, letters); len(tz)-len(rest) < 3 {
		return "", tz
	}
	return tz[:len(tz)-len(rest)], rest
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
		width := min(2, len(s)-len(strings.TrimLeft(s, digits)))
		n, err := strconv.Atoi(s[:width])
		if err != nil || unit == 3600 && n > 24 || unit < 3600 && n > 59 {
			return 0, s, false
		}
		seconds += n * unit
		if s = s[width:]; !strings.HasPrefix(s, ":") {
			break
		}
		s = s[1:]
	}
	return sign * seconds, s, true
}
